/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs scontrol and reads its answers. */
#include "cli/ask/scontrol.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ask/run_program.h"

#define WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)

char *scontrol_show(const char *what, int oneline, struct errmsg *err)
{
	const char *const lines[] = {"scontrol", "show", what, NULL};
	const char *const one[] = {"scontrol", "--oneliner", "show", what, NULL};
	char *text = run_program((char *const *)(oneline ? one : lines), OUTPUT_MAX, WAIT_MS, err);

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

int scontrol_state_file(const char *name, char *path, size_t size, struct errmsg *err)
{
	char dir[PATH_MAX], *text = scontrol_show("config", 0, err);

	if (!text)
		return -1;
	scontrol_value(text, "StateSaveLocation", dir, sizeof(dir));
	free(text);
	if (!*dir || snprintf(path, size, "%s/%s", dir, name) >= (int)size)
		return errmsg_set(err, "slurmctld names no StateSaveLocation for %s", name);
	return 0;
}
