/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations that each counter backend implements, and the code that the backends share. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"
#include "poppa/counter/counter.h"

/*
 * To add a backend, add its row to common/counter_backends.h (the settings, poppad, poppa doctor
 * and tests/lint read it), its operations in a new file counter_NAME.c, and its line to the table
 * in counter.c. Then name the file in local.mk and the backend in docs/counters.md.
 *
 * open() fails with errno ENODATA where this task or this machine gives the backend no signal,
 * ESRCH where the task is gone, and anything else where it should have worked. The other operations
 * are the functions of counter.h.
 */
struct counter_ops {
	enum counter_backend kind;
	bool has_cycles;
	bool interrupts; /* counter_interrupts() */
	bool (*available)(const struct nodeconf *conf, struct errmsg *err);
	int (*open)(const struct nodeconf *conf, pid_t pid, void **state, struct errmsg *err);
	int (*read)(void *state, struct counter_sample *out);
	void (*prepare)(void *state); /* NULL: refresh() is quick */
	int (*refresh)(void *state);
	void (*close)(void *state);
	bool (*has_misses)(const void *state);   /* NULL: it never has */
	void (*region)(void *state, int region); /* NULL: the backend does not need it */
};

/* One for each row: counter_perf_ops, counter_heartbeat_ops, ... */
#define COUNTER_OPS(kind, name, order, automatic, counts)                                          \
	extern const struct counter_ops counter_##name##_ops;
COUNTER_TABLE(COUNTER_OPS)

/* --- errors (counter_error.c) --- */

/* Writes err and returns -1 with errno = code. */
int counter_fail(int code, struct errmsg *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Says in err what an error of perf_event_open() means and how to fix it; what names the event.
 * Returns -1 with errno. */
int counter_perf_open_error(int code, const char *what, struct errmsg *err);

/* The number that a file of /proc or /sys holds; otherwise where it cannot be read. */
int counter_number_in(const char *path, int otherwise);

/* --- counters of a task's threads (counter_threads.c) --- */

/* One thread under a backend that counts threads. handle and last belong to the backend. */
struct counter_thread {
	pid_t tid;
	int handle[3];
	uint64_t last[5];
	bool kept; /* seen by the refresh under way */
};

struct counter_thread_ops {
	/* 0, or -1 with errno and err (ESRCH: the thread has just ended). With inherit, also counts
	 * the threads that this one makes; EINVAL where the kernel or its headers cannot. */
	int (*open)(void *arg, struct counter_thread *t, bool inherit, struct errmsg *err);
	/* Adds what was counted since this thread's last read; sets sum->missing where that is not
	 * known. 0 or -1 with errno. */
	int (*read)(void *arg, struct counter_thread *t, struct counter_sample *sum);
	void (*close)(void *arg, struct counter_thread *t);
	/* open() takes milliseconds: a refresh opens one new thread at most, and only one that was
	 * there at the refresh before too. close() must still be quick. */
	bool slow;
	bool can_inherit; /* open() supports inherit */
};

struct counter_threads {
	const struct counter_thread_ops *ops;
	void *arg;
	pid_t pid;
	bool inherit; /* the kernel follows new threads by itself: a refresh has nothing to do */
	struct counter_thread *thread;
	size_t count, room;
	pid_t *seen; /* all threads at the last refresh; kept for slow backends only */
	size_t seen_count;
	struct counter_thread ready; /* opened ahead of the next refresh; tid 0 = none */
	bool prepared;               /* the next refresh opens nothing else */
	int prepare_error;
	struct counter_sample total; /* of all threads that ever were */
};

/* Opens every thread of pid. Threads made later are counted from their first instruction where the
 * kernel can do that (Linux 5.13), else from the next refresh. On failure nothing is left open. */
int counter_threads_open(struct counter_threads *set, const struct counter_thread_ops *ops,
	void *arg, pid_t pid, struct errmsg *err);
int counter_threads_read(struct counter_threads *set, struct counter_sample *out);
void counter_threads_prepare(struct counter_threads *set);
int counter_threads_refresh(struct counter_threads *set);
void counter_threads_close(struct counter_threads *set);

/* --- the system calls that unit tests replace (counter_sys.c) --- */

int counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
ssize_t counter_sys_read(int fd, void *buf, size_t size);

/* Has the event also count the threads that the counted one makes. 0, or -1 with EINVAL where the
 * kernel's headers lack this. */
int counter_sys_inherit(struct perf_event_attr *attr);
