/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the threads of a task for backends whose counters belong to threads. */
#include "poppa/counter/counter_backend.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SCANS 8 /* a task that still makes threads after so many is left to refreshes */

/* A scan adds new threads at the end: with the count from before it, finds only older ones. */
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

/* Lists the thread ids of pid as they are now; the caller frees *tids. */
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

/* Opens the threads that are not counted yet (in_turn: only the next of them), and marks the others
 * as kept. *fresh is the number of new ones. */
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

/* Opens all threads once and looks again: *fresh is not 0 where threads were made meanwhile. */
static int open_all(struct counter_threads *set, size_t *fresh, struct errmsg *err)
{
	int rc = scan(set, false, fresh, err), code;

	/* With inherit, a thread that only the second look finds may be counted already, by the
	 * thread that made it, or not: then all are closed, and the caller tries again. */
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

/* Opens the thread that the next scan() in turn would open. */
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

/* Where the refresh has not taken the prepared thread, it has ended: its last counts are added. */
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
	int code = 0;

	/* The counter of a thread that has ended must stay: it counts the threads that it made. */
	if (set->inherit)
		return 0;
	for (size_t i = 0; i < set->count; i++)
		set->thread[i].kept = false;
	if (scan(set, set->ops->slow, &fresh, &ignored)) {
		if (errno == ESRCH)
			return -1;
		/* Open counters go on; the caller learns that some threads are missing. */
		code = errno;
		for (size_t i = 0; i < set->count; i++)
			set->thread[i].kept = true;
	} else if (set->prepared) {
		code = set->prepare_error;
	}
	drop_ready(set);
	for (size_t i = 0; i < set->count; i++) {
		struct counter_thread *t = &set->thread[i];

		if (t->kept) {
			set->thread[kept++] = *t;
			continue;
		}
		/* The thread has ended: add its last counts. */
		set->ops->read(set->arg, t, &set->total);
		set->ops->close(set->arg, t);
	}
	set->count = kept;
	if (!code && !kept)
		code = ESRCH;
	if (code)
		errno = code;
	return code ? -1 : 0;
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
