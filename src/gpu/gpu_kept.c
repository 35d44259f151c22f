/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and changes the file of percentages. */
#include "gpu/gpu_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"

#define FILE_MAX (1 << 20)
/* How long another process may have the file locked, and how often it is looked at. */
#define LOCK_MS 5000
#define TRY_MS 5

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

/* Nobody else changes the file until *lock is closed. Others may read meanwhile: they find the old
 * file or the new one. Where the file system has no locks, one of two sweeps that end at the same
 * moment may lose its class. Who can open a file can lock it, so others may not open this one. */
static int lock_file(const char *path, int *lock, struct errmsg *err)
{
	char name[PATH_MAX];
	int tries = LOCK_MS / TRY_MS;

	snprintf(name, sizeof(name), "%s.lock", path);
	*lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*lock < 0)
		return errmsg_set(err, "%s: %s", name, strerror(errno));
	while (flock(*lock, LOCK_EX | LOCK_NB)) {
		if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)
			break;
		if (errno != EINTR && errno != EWOULDBLOCK)
			return errmsg_set(
				err, "%s: it cannot be locked: %s", name, strerror(errno));
		if (!tries--)
			return errmsg_set(
				err, "%s: another process keeps it locked: end that one", name);
		usleep(TRY_MS * 1000);
	}
	return 0;
}

/* The text with the class in it, which the caller frees, or NULL. Consumes the text. */
static char *put_class(char *text, const char *class_name, int percent, size_t *size)
{
	char *next = text, *out = NULL;
	FILE *f = open_memstream(&out, size);
	bool failed = !f;

	while (f && next) {
		char *at = strsep(&next, "\n");
		const char *value;

		if (*at && !is_of(at, class_name, &value))
			failed |= fprintf(f, "%s\n", at) < 0;
	}
	free(text);
	if (f) {
		failed |= fprintf(f, "%s %d\n", class_name, percent) < 0;
		failed |= fclose(f) != 0;
	}
	if (!failed)
		return out;
	free(out);
	return NULL;
}

int gpu_kept_put(const char *path, const char *class_name, int percent, struct errmsg *err)
{
	char *text;
	size_t size = 0;
	int lock = -1, rc = make_folder(path, err);

	if (!rc)
		rc = lock_file(path, &lock, err);
	if (!rc) {
		text = read_all(path, err);
		rc = text ? 0 : -1;
	}
	if (!rc) {
		text = put_class(text, class_name, percent, &size);
		rc = text ? fsio_write(path, text, size, 0644, 0, err)
			  : errmsg_set(err, "%s: no memory", path);
		free(text);
	}
	if (lock >= 0)
		close(lock);
	return rc;
}
