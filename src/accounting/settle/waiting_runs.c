/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the file of runs that wait: a JSON list in its first line, and changes in those behind it.
 */
#include "accounting/settle/waiting_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"

#define MAX_BYTES (1 << 30)
/* Changes of less than this are never in the way. */
#define FEW_BYTES (64 << 10)
#define KEY_SIZE 48

/* 0, or -1 where it is no run. */
static int key_of(const json_t *run, char key[KEY_SIZE])
{
	const json_t *job = json_object_get(run, "job"), *start = json_object_get(run, "start");

	if (!json_is_integer(job) || !json_is_integer(start))
		return -1;
	snprintf(key, KEY_SIZE, "%lld %lld", (long long)json_integer_value(job),
		(long long)json_integer_value(start));
	return 0;
}

/* Without memory it counts as damaged, too: the run is not there. */
static void take(json_t *runs, json_t *change, int *damaged)
{
	char key[KEY_SIZE];

	if (key_of(change, key))
		++*damaged;
	else if (json_is_true(json_object_get(change, "gone")))
		json_object_del(runs, key);
	else if (json_object_set(runs, key, change))
		++*damaged;
}

static void take_line(json_t *runs, const char *line, size_t len, int *damaged)
{
	json_t *json = json_loadb(line, len, 0, NULL), *run;
	size_t i;

	if (json_is_array(json)) {
		json_array_foreach(json, i, run) take(runs, run, damaged);
	} else {
		take(runs, json, damaged);
	}
	json_decref(json);
}

static json_t *values_of(json_t *runs)
{
	json_t *list = json_array(), *run;
	const char *key;

	json_object_foreach(runs, key, run)
	{
		if (json_array_append(list, run)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Earlier releases ended the list without a new line. */
static void take_text(json_t *runs, const char *text, int *damaged)
{
	const char *end = strchr(text, '\n');

	take_line(runs, text, end ? (size_t)(end - text) : strlen(text), damaged);
	while (end) {
		const char *line = end + 1;

		end = strchr(line, '\n');
		if (end)
			take_line(runs, line, (size_t)(end - line), damaged);
	}
}

json_t *waiting_read(const char *path, int *damaged, struct errmsg *err)
{
	char *text = fsio_read(path, MAX_BYTES, NULL, err);
	json_t *runs, *list = NULL;

	*damaged = 0;
	if (!text)
		return NULL;
	runs = json_object();
	if (runs) {
		take_text(runs, text, damaged);
		list = values_of(runs);
	}
	free(text);
	json_decref(runs);
	if (!list) {
		errmsg_set(err, "%s: out of memory", path);
		errno = ENOMEM;
	}
	return list;
}

json_t *waiting_gone(uint32_t job_id, int64_t start_unix)
{
	return json_pack("{s:I, s:I, s:b}", "job", (json_int_t)job_id, "start",
		(json_int_t)start_unix, "gone", 1);
}

bool waiting_is_due(const struct waiting *w)
{
	return !w->ours || w->changes > w->list + FEW_BYTES;
}

int waiting_write(struct waiting *w, const char *path, json_t *runs, struct errmsg *err)
{
	char *list = runs ? json_dumps(runs, JSON_COMPACT) : NULL;
	size_t len = list ? strlen(list) : 0;
	int rc;

	json_decref(runs);
	w->ours = false;
	if (!list)
		return errmsg_set(err, "%s: out of memory", path);
	/* Its end becomes that of the line. */
	list[len] = '\n';
	rc = fsio_write(path, list, len + 1, 0600, 1, err);
	free(list);
	if (!rc)
		*w = (struct waiting){.list = len + 1, .ours = true};
	return rc;
}

/* To be freed, or NULL. */
static char *lines_of(const json_t *changes, size_t *len)
{
	char *text = NULL;
	FILE *out = changes ? open_memstream(&text, len) : NULL;
	const json_t *change;
	bool bad = false;
	size_t i;

	if (!out)
		return NULL;
	json_array_foreach(changes, i, change) bad |=
		json_dumpf(change, out, JSON_COMPACT) || fputc('\n', out) == EOF;
	bad |= ferror(out) != 0;
	if (fclose(out) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

/* What is written in part is the end of the file, and the next one begins anew. */
static int append(
	const struct waiting *w, const char *path, const char *text, size_t len, struct errmsg *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), e = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		e = errno;
	} else if (st.st_size != (off_t)(w->list + w->changes)) {
		e = ESTALE;
	} else {
		n = write(fd, text, len);
		if (n != (ssize_t)len)
			e = n < 0 ? errno : ENOSPC;
		else if (fdatasync(fd))
			e = errno;
	}
	if (fd >= 0 && close(fd) && !e)
		e = errno;
	return e ? errmsg_set(err, "cannot write %s: %s", path, strerror(e)) : 0;
}

int waiting_append(struct waiting *w, const char *path, json_t *changes, struct errmsg *err)
{
	size_t len = 0;
	char *text = lines_of(changes, &len);
	int rc;

	json_decref(changes);
	if (text)
		rc = append(w, path, text, len, err);
	else
		rc = errmsg_set(err, "%s: out of memory", path);
	free(text);
	if (rc)
		w->ours = false;
	else
		w->changes += len;
	return rc;
}
