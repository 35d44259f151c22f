/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs scontrol and reads its answers. */
#include "cli/ask/scontrol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ask/run_program.h"

#define WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)

char *scontrol_show(const char *what, int oneline, struct errmsg *err)
{
	static char name[] = "scontrol", oneliner[] = "--oneliner", show[] = "show";
	char *argv[5] = {name}, *object = strdup(what), *text = NULL;
	int n = 1;

	if (oneline)
		argv[n++] = oneliner;
	argv[n++] = show;
	argv[n++] = object;
	errmsg_set(err, "out of memory");
	if (object)
		text = run_program(argv, OUTPUT_MAX, WAIT_MS, err);
	free(object);
	if (!text && !strstr(err->text, "PATH"))
		errmsg_set(err, "slurmctld does not answer scontrol: %s", err->text);
	return text;
}

const char *scontrol_value(const char *text, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key);

	*out = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *value;
		size_t len;

		line += *line == '\n';
		if (strncasecmp(line, key, key_len) || isalnum((unsigned char)line[key_len]))
			continue;
		value = line + strcspn(line, "=\n");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " ");
		len = strcspn(value, "\n");
		while (len && value[len - 1] == ' ')
			len--;
		if (len < size) {
			memcpy(out, value, len);
			out[len] = '\0';
		}
		break;
	}
	if (!strcmp(out, "(null)"))
		*out = '\0';
	return out;
}
