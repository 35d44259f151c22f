/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of poppad's answer, a JSON object, as text in columns. */
#include "cli/ask/value_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text_append.h"

const json_t *value_at(const json_t *v, const char *path)
{
	while (v && *path) {
		size_t len = strcspn(path, ".");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		v = json_is_array(v) ? json_array_get(v, (size_t)atoi(key))
				     : json_object_get(v, key);
		path += len + (path[len] == '.');
	}
	return v;
}

const char *value_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "?";
}

json_int_t value_whole(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

double value_real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *value_number(struct value_cell *c, int digits, double v)
{
	if (isfinite(v))
		snprintf(c->text, sizeof(c->text), "%.*f", digits, v);
	else
		strcpy(c->text, "-");
	return c->text;
}

const char *value_interval(
	struct value_cell *c, int digits, double scale, const char *between, const json_t *ci)
{
	if (json_array_size(ci) == 2)
		snprintf(c->text, sizeof(c->text), "%.*f%s%.*f", digits,
			scale * json_number_value(json_array_get(ci, 0)), between, digits,
			scale * json_number_value(json_array_get(ci, 1)));
	else
		strcpy(c->text, "-");
	return c->text;
}

const char *value_partners(struct value_cell *c, const json_t *job)
{
	const json_t *costs = json_object_get(job, "attribution"),
		     *ids = json_object_get(job, "partners"), *v;
	size_t i;

	c->text[0] = '\0';
	json_array_foreach(costs, i, v)
	{
		if (!text_append(c->text, sizeof(c->text), "%s%" JSON_INTEGER_FORMAT ":%.2f",
			    i ? "," : "", value_whole(v, "job"), value_real(v, "degradation")))
			break;
	}
	if (*c->text)
		return c->text;
	json_array_foreach(ids, i, v)
	{
		if (!text_append(c->text, sizeof(c->text), "%s%" JSON_INTEGER_FORMAT, i ? "," : "",
			    json_integer_value(v)))
			break;
	}
	if (!*c->text)
		strcpy(c->text, "-");
	return c->text;
}

void value_notes(FILE *out, const json_t *status)
{
	const char *bad = json_string_value(json_object_get(status, "bad_settings"));
	const json_t *jobs = json_object_get(status, "jobs"), *job;
	size_t i;

	if (json_is_true(json_object_get(status, "waiting_for_slurmd")))
		fputs("NOTE      waits for slurmd with prep/poppa to tell it about the cluster\n",
			out);
	if (bad)
		fprintf(out, "NOTE      PrEpParameters refused: %s\n", bad);
	if (!value_whole(status, "guard_pid"))
		fputs("NOTE      no guard runs, so there are no shutters\n", out);
	if (value_real(status, "hold_s") > 0)
		fprintf(out, "NOTE      shutters are held off for another %.0f s\n",
			value_real(status, "hold_s"));
	json_array_foreach(jobs, i, job)
	{
		if (json_is_true(json_object_get(job, "shutter_sensing")))
			fprintf(out,
				"NOTE      job %" JSON_INTEGER_FORMAT
				" reacts to shutters that stop nobody: no discount\n",
				value_whole(job, "job"));
		if (value_whole(job, "tasks") > 0 && !value_whole(job, "counted_tasks") &&
			strcmp(value_text(job, "backend"), "none"))
			fprintf(out,
				"NOTE      job %" JSON_INTEGER_FORMAT
				" has no counter any more, so its time is not measured\n",
				value_whole(job, "job"));
		if (value_whole(job, "ran_while_held") > 0)
			fprintf(out,
				"NOTE      job %" JSON_INTEGER_FORMAT
				" ran in %" JSON_INTEGER_FORMAT
				" shutters that held it stopped: these are of no use\n",
				value_whole(job, "job"), value_whole(job, "ran_while_held"));
	}
}

void value_turns(FILE *out, const json_t *totals)
{
	const json_t *turns = json_object_get(totals, "turns");
	struct value_cell number;

	if (!json_is_true(json_object_get(turns, "on")))
		return;
	if (json_is_integer(json_object_get(turns, "favoured")))
		fprintf(out,
			"turns     job %" JSON_INTEGER_FORMAT
			" runs alone for %s %% of the time, as its max-degradation says",
			value_whole(turns, "favoured"),
			value_number(&number, 0, 100 * value_real(turns, "share")));
	else
		fprintf(out, "turns     jobs run one after the other, %s s each",
			value_number(&number, 1, value_real(turns, "slice_s")));
	fprintf(out, ": %" JSON_INTEGER_FORMAT " slices, %" JSON_INTEGER_FORMAT " disturbed\n",
		value_whole(turns, "slices"), value_whole(turns, "disturbed"));
}
