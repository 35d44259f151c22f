/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and changes the file of percentages. */
#include "gpu/gpu_kept.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "common/units.h"

#define FILE_MAX (1 << 20)

char *gpu_kept_path(char *buf, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n = -1;

	if (config && *config == '/')
		n = snprintf(buf, size, "%s/poppa/gpu", config);
	else if (home && *home == '/')
		n = snprintf(buf, size, "%s/.config/poppa/gpu", home);
	return n >= 0 && (size_t)n < size ? buf : NULL;
}

/* Whether a line, without its end, is that of a class; its percentage is then behind *value. */
static bool is_of(const char *line, const char *class_name, const char **value)
{
	size_t n = strcspn(line, " \t");

	if (n != strlen(class_name) || strncmp(line, class_name, n) || !line[n])
		return false;
	*value = line + n + strspn(line + n, " \t");
	return true;
}

/* The file's text, "" where it is not there, or NULL with err. */
static char *read_all(const char *path, struct errmsg *err)
{
	char *text = fsio_read(path, FILE_MAX, NULL, err);

	return text || errno != ENOENT ? text : strdup("");
}

int gpu_kept_find(const char *path, const char *class_name, struct errmsg *err)
{
	char *text = read_all(path, err), *next = text;
	int64_t percent = 0;
	int rc = 0;

	if (!text)
		return -1;
	for (int line = 1; next && !percent && !rc; line++) {
		char *at = strsep(&next, "\n");
		const char *value;
		struct errmsg why;

		if (is_of(at, class_name, &value) && units_parse_int(value, 1, 100, &percent, &why))
			rc = errmsg_set(
				err, "%s: line %d: class %s: %s", path, line, class_name, why.text);
	}
	free(text);
	return rc ? rc : (int)percent;
}

static int make_folder(const char *path, struct errmsg *err)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return fsio_mkdirs(folder, 0755, err);
}

int gpu_kept_put(const char *path, const char *class_name, int percent, struct errmsg *err)
{
	char *text = read_all(path, err), *next = text, *out = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	if (!text)
		return -1;
	f = open_memstream(&out, &size);
	while (f && next) {
		char *at = strsep(&next, "\n");
		const char *value;

		if (*at && !is_of(at, class_name, &value))
			fprintf(f, "%s\n", at);
	}
	free(text);
	if (!f || fprintf(f, "%s %d\n", class_name, percent) < 0 || fclose(f)) {
		free(out);
		return errmsg_set(err, "%s: no memory", path);
	}
	rc = make_folder(path, err);
	if (!rc)
		rc = fsio_write(path, out, size, 0644, 0, err);
	free(out);
	return rc;
}
