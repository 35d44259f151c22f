/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the threads of a task for backends whose counters belong to threads. */
#include "poppa/counter/counter_backend.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCANS 8 /* a task that makes threads faster than this is followed by refreshes */

/* Fresh threads are appended at the end, so what was there before a scan is thread[0..count). */
static struct counter_thread *find(struct counter_threads *set, size_t count, pid_t tid)
{
	for (size_t i = 0; i < count; i++)
		if (set->thread[i].tid == tid)
			return &set->thread[i];
	return NULL;
}

static int add(struct counter_threads *set, pid_t tid, struct errmsg *err)
{
	struct counter_thread t = {.tid = tid, .handle = {-1, -1}, .kept = true};
	bool opened = set->ready.tid == tid;

	if (set->prepared && !opened)
		return 0;
	if (set->count == set->room) {
		size_t room = set->room ? 2 * set->room : 16;
		struct counter_thread *bigger = realloc(set->thread, room * sizeof(*bigger));

		if (!bigger)
			return counter_fail(ENOMEM, err, "out of memory");
		set->thread = bigger;
		set->room = room;
	}
	if (!opened && set->ops->open(set->arg, &t, set->inherit, err))
		return errno == ESRCH ? 0 : -1;
	if (opened) {
		t = set->ready;
		t.kept = true;
		set->ready.tid = 0;
	}
	set->thread[set->count++] = t;
	return 0;
}

/* The thread ids of pid as they are now; *tids is the caller's to free. */
static int list_tids(pid_t pid, pid_t **tids, size_t *count, struct errmsg *err)
{
	char path[64];
	struct dirent *entry;
	pid_t *list = NULL;
	size_t n = 0, room = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir) {
		int code = errno == ENOENT ? ESRCH : errno;

		return counter_fail(code, err, "task %d: %s", (int)pid,
			code == ESRCH ? "it is gone" : strerror(code));
	}
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (n == room) {
			pid_t *bigger = realloc(list, (room += 64) * sizeof(*list));

			if (!bigger) {
				free(list);
				closedir(dir);
				return counter_fail(ENOMEM, err, "out of memory");
			}
			list = bigger;
		}
		list[n++] = (pid_t)atoi(entry->d_name);
	}
	closedir(dir);
	*tids = list;
	*count = n;
	return 0;
}

static bool was_seen(const struct counter_threads *set, pid_t tid)
{
	for (size_t i = 0; i < set->seen_count; i++)
		if (set->seen[i] == tid)
			return true;
	return false;
}

/*
 * Opens the threads that are not counted yet, or of a slow backend's the next in turn, and marks
 * the others as kept; *fresh counts the new.
 */
static int scan(struct counter_threads *set, bool in_turn, size_t *fresh, struct errmsg *err)
{
	size_t before = set->count, n = 0;
	pid_t *tids = NULL;
	int rc = 0, code;

	if (list_tids(set->pid, &tids, &n, err))
		return -1;
	for (size_t i = 0; i < n && !rc; i++) {
		struct counter_thread *known = find(set, before, tids[i]);

		if (known)
			known->kept = true;
		else if (!in_turn || (set->count == before && was_seen(set, tids[i])))
			rc = add(set, tids[i], err);
	}
	code = errno;
	*fresh = set->count - before;
	if (in_turn) {
		free(set->seen);
		set->seen = tids;
		set->seen_count = n;
	} else {
		free(tids);
	}
	errno = code;
	return rc;
}

/* One try: a second look tells whether threads were made meanwhile, which *fresh then counts. */
static int open_all(struct counter_threads *set, size_t *fresh, struct errmsg *err)
{
	int rc = scan(set, false, fresh, err), code;

	/* With inherit, a thread found only now may be counted by the one that made it or not. */
	for (int i = 0; !rc && *fresh && i < (set->inherit ? 1 : MAX_SCANS); i++)
		rc = scan(set, false, fresh, err);
	code = errno;
	if (rc || (set->inherit && *fresh))
		counter_threads_close(set);
	errno = code;
	return rc;
}

int counter_threads_open(struct counter_threads *set, const struct counter_thread_ops *ops,
	void *arg, pid_t pid, struct errmsg *err)
{
	size_t fresh = 1;

	*set = (struct counter_threads){
		.ops = ops, .arg = arg, .pid = pid, .inherit = ops->can_inherit};
	for (int i = 0; set->inherit && fresh && i < MAX_SCANS; i++) {
		if (!open_all(set, &fresh, err))
			continue;
		if (errno != EINVAL)
			return -1;
		set->inherit = false; /* an older kernel, or its headers */
	}
	/* A task that never stops making threads can be followed by refreshes only. */
	if (set->inherit && fresh)
		set->inherit = false;
	if (!set->inherit && open_all(set, &fresh, err))
		return -1;
	if (!set->count) {
		counter_threads_close(set);
		return counter_fail(ESRCH, err, "task %d: it is gone", (int)pid);
	}
	return 0;
}

int counter_threads_read(struct counter_threads *set, struct counter_sample *out)
{
	set->total.missing = false;
	for (size_t i = 0; i < set->count; i++)
		if (set->ops->read(set->arg, &set->thread[i], &set->total))
			return -1;
	*out = set->total;
	return 0;
}

/* By the rule of scan(): the first in turn. */
void counter_threads_prepare(struct counter_threads *set)
{
	struct counter_thread t = {.handle = {-1, -1}};
	struct errmsg ignored;
	pid_t *tids = NULL;
	size_t n = 0;

	if (!set->ops->slow || set->prepared || list_tids(set->pid, &tids, &n, &ignored))
		return;
	set->prepared = true;
	set->prepare_error = 0;
	for (size_t i = 0; i < n && !t.tid; i++)
		if (!find(set, set->count, tids[i]) && was_seen(set, tids[i]))
			t.tid = tids[i];
	free(tids);
	if (!t.tid)
		return;
	if (!set->ops->open(set->arg, &t, set->inherit, &ignored))
		set->ready = t;
	else if (errno != ESRCH)
		set->prepare_error = errno;
}

/* What was opened for a thread that has ended since still counts. */
static void drop_ready(struct counter_threads *set)
{
	if (set->ready.tid) {
		set->ops->read(set->arg, &set->ready, &set->total);
		set->ops->close(set->arg, &set->ready);
	}
	set->ready.tid = 0;
	set->prepared = false;
}

int counter_threads_refresh(struct counter_threads *set)
{
	struct errmsg ignored;
	size_t fresh, kept = 0;
	int rc = 0, code;

	/* Counters of threads that have ended must stay: theirs count the threads they made. */
	if (set->inherit)
		return 0;
	for (size_t i = 0; i < set->count; i++)
		set->thread[i].kept = false;
	if (scan(set, set->ops->slow, &fresh, &ignored)) {
		if (errno == ESRCH)
			return -1;
		/* What is open goes on counting; the caller learns that some is missing. */
		code = errno;
		rc = -1;
		for (size_t i = 0; i < set->count; i++)
			set->thread[i].kept = true;
	} else if (set->prepared && set->prepare_error) {
		code = set->prepare_error;
		rc = -1;
	}
	drop_ready(set);
	for (size_t i = 0; i < set->count; i++) {
		struct counter_thread *t = &set->thread[i];

		if (t->kept) {
			set->thread[kept++] = *t;
			continue;
		}
		/* The last that an ended thread did still counts. */
		set->ops->read(set->arg, t, &set->total);
		set->ops->close(set->arg, t);
	}
	set->count = kept;
	if (rc)
		errno = code;
	else if (!kept)
		errno = ESRCH, rc = -1;
	return rc;
}

void counter_threads_close(struct counter_threads *set)
{
	for (size_t i = 0; i < set->count; i++)
		set->ops->close(set->arg, &set->thread[i]);
	drop_ready(set);
	free(set->thread);
	free(set->seen);
	set->thread = NULL;
	set->seen = NULL;
	set->count = set->room = 0;
}
