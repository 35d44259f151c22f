/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells through open files of /proc whether a thread has run, and where it waits. */
#include "poppa/hold/proc_watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "poppa/hold/proc.h"

static int open_one(pid_t tid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void proc_watch_open(struct proc_watch *w, pid_t tid)
{
	w->tid = tid;
	w->stat = proc_stat_open(tid);
	w->schedstat = open_one(tid, "schedstat");
	w->call = open_one(tid, "syscall");
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void proc_watch_close(struct proc_watch *w)
{
	close_one(&w->stat);
	close_one(&w->schedstat);
	close_one(&w->call);
	w->tid = 0;
}

static int text_of(int fd, char *text, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

/* The letter of the thread's state; 0 when the thread is gone or its state is not known. */
static char state(const struct proc_watch *w)
{
	char is = proc_state(w->stat);

	return is == PROC_UNKNOWN ? 0 : is;
}

uint64_t proc_watch_ran(const struct proc_watch *w)
{
	char text[128], is = state(w);
	uint64_t ns;

	if (!is || is == 'R' || text_of(w->schedstat, text, sizeof(text)))
		return 0;
	return sscanf(text, "%" SCNu64, &ns) == 1 ? ns : 0;
}

long proc_watch_call(const struct proc_watch *w)
{
	char text[256], is = state(w);
	long nr;

	if (!is || is == 't' || text_of(w->call, text, sizeof(text)))
		return -1;
	return sscanf(text, "%ld", &nr) == 1 ? nr : -1;
}
