/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects samples and writes them out for Prometheus. */
#include "cli/live/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"gauge", "counter"};

struct metrics {
	FILE *out;
	char *text;
	size_t len;
	json_t *samples;
	const char *name;
	enum metric_type type;
};

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->samples = json_array();
	m->out = open_memstream(&m->text, &m->len);
	if (m->out && m->samples)
		return m;
	if (m->out)
		fclose(m->out);
	json_decref(m->samples);
	free(m->text);
	free(m);
	return NULL;
}

void metrics_family(struct metrics *m, const char *name, enum metric_type type, const char *help)
{
	m->name = name;
	m->type = type;
	fprintf(m->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type_names[type]);
}

/* The format wants backslash, quote and newline escaped in the value of a label. */
static void put_label(FILE *out, const char *key, const char *value)
{
	fprintf(out, "%s=\"", key);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

void metrics_value(struct metrics *m, const json_t *labels, double value)
{
	const char *key;
	const json_t *v;
	char sep = '{';

	if (!isfinite(value))
		return;
	fputs(m->name, m->out);
	json_object_foreach((json_t *)labels, key, v)
	{
		fputc(sep, m->out);
		put_label(m->out, key, json_string_value(v));
		sep = ',';
	}
	fprintf(m->out, "%s %.15g\n", sep == ',' ? "}" : "", value);
	json_array_append_new(m->samples,
		json_pack("{s:s, s:s, s:o, s:f}", "name", m->name, "type", type_names[m->type],
			"labels", json_deep_copy(labels), "value", value));
}

char *metrics_finish(struct metrics *m, int json, size_t *len)
{
	int failed = ferror(m->out) | fclose(m->out);
	char *text = failed ? NULL : m->text;

	if (failed)
		free(m->text);
	*len = m->len;
	if (json && text) {
		json_t *all = json_pack("{s:O}", "metrics", m->samples);
		char *dump = json_dumps(all, JSON_REAL_PRECISION(15));

		free(text);
		text = dump ? realloc(dump, strlen(dump) + 2) : NULL;
		if (text)
			*len = strlen(strcat(text, "\n"));
		json_decref(all);
	}
	json_decref(m->samples);
	free(m);
	return text;
}
