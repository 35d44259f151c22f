/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the file of runs that wait: a JSON list in its first line, changes in the next lines. */
#include "accounting/settle/waiting_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "common/journal.h"

#define MAX_BYTES (1 << 30)
/* Up to this size changes do not make waiting_write() due. */
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

/* Adds or removes a run. Returns false where it cannot be read or there is no memory for it. */
static bool take(json_t *runs, json_t *change)
{
	char key[KEY_SIZE];

	if (key_of(change, key))
		return false;
	if (json_is_true(json_object_get(change, "gone"))) {
		json_object_del(runs, key);
		return true;
	}
	return !json_object_set(runs, key, change);
}

/* What was read so far. */
struct reading {
	json_t *runs;
	int damaged; /* unreadable runs in the list */
};

static bool take_line(const char *line, void *arg)
{
	json_t *json = json_loads(line, 0, NULL), *run;
	struct reading *r = arg;
	bool ok = true;
	size_t i;

	if (json_is_array(json)) {
		json_array_foreach(json, i, run) r->damaged += !take(r->runs, run);
	} else {
		ok = take(r->runs, json);
	}
	json_decref(json);
	return ok;
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

json_t *waiting_read(const char *path, int *damaged, struct errmsg *err)
{
	char *text = fsio_read(path, MAX_BYTES, NULL, err);
	struct reading r = {.runs = NULL};
	json_t *list = NULL;

	*damaged = 0;
	if (!text)
		return NULL;
	r.runs = json_object();
	if (r.runs) {
		/* A file without any line has lost its list. */
		if (!journal_lines(text, take_line, &r, damaged))
			++*damaged;
		*damaged += r.damaged;
		list = values_of(r.runs);
	}
	free(text);
	json_decref(r.runs);
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
	/* The newline takes the place of the terminating zero byte. */
	list[len] = '\n';
	rc = journal_replace(path, list, len + 1, err);
	free(list);
	if (!rc)
		*w = (struct waiting){.list = len + 1, .ours = true};
	return rc;
}

/* The changes as lines; the caller frees them. NULL without memory. */
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

int waiting_append(struct waiting *w, const char *path, json_t *changes, struct errmsg *err)
{
	size_t len = 0;
	char *text = lines_of(changes, &len);
	int rc;

	json_decref(changes);
	if (text)
		rc = journal_append_at(path, (off_t)(w->list + w->changes), text, len, err);
	else
		rc = errmsg_set(err, "%s: out of memory", path);
	free(text);
	if (rc)
		w->ours = false;
	else
		w->changes += len;
	return rc;
}
