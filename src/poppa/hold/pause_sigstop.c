/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses one process with SIGSTOP through a process descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "poppa/hold/pause_ops.h"
#include "poppa/hold/proc.h"

#define STATUS_SIZE 4096
#define SIGNALLED_OF_MANY 16 /* threads that get a signal where there are too many */

/*
 * The kernel may give a signal for the process to a thread that waits for a processor, while
 * another thread runs on for milliseconds. So each thread gets its own SIGSTOP: the first thread
 * that takes it stops all of them, and SIGCONT removes those that are still pending. A thread has
 * no descriptor before Linux 6.9, so it is named by its number, which was just read from the
 * directory of this very process: the kernel uses a number again only after all others. For each
 * signal the kernel looks at all threads, so of very many only some get one: a thousand idle
 * threads would hold everybody up.
 */
struct round {
	const struct held_file *held;
	pid_t pid;
	int sent, most; /* most: 0 = all */
};

static int sigstop_thread(pid_t tid, void *arg)
{
	struct round *r = arg;

	/* The deadline has passed and the guard has resumed the process: send no more stops. */
	if (held_late(r->held))
		return 1;
	r->sent += !syscall(SYS_tgkill, r->pid, tid, SIGSTOP);
	return r->most && r->sent >= r->most;
}

static int sigstop_threads(const struct pause_unit *u, int count)
{
	struct round r = {
		u->held, u->pid, 0, count > PAUSE_SIGNALLED_THREADS ? SIGNALLED_OF_MANY : 0};
	int rc = proc_each_thread(u->fd[2], sigstop_thread, &r);

	if (rc < 0)
		return -1;
	if (r.sent)
		return 0;
	errno = rc ? ETIME : ESRCH;
	return -1;
}

/* The number of threads to stop; -1 with errno. */
static int threads(const struct pause_unit *u)
{
	struct stat st;

	if (u->fd[2] < 0)
		return 1; /* adopted: not known */
	/* The directory's links are "." and ".." and one for each thread. */
	return fstat(u->fd[2], &st) ? -1 : (int)st.st_nlink - 2;
}

static int stop(struct pause_unit *u)
{
	int count = threads(u), saved;

	if (count < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	if (!held_arm(u->held, u->entry)) {
		errno = ETIME;
		return -1;
	}
	if (!(count > 1 ? sigstop_threads(u, count) : proc_signal_own(u->fd[0], SIGSTOP)))
		return 0;
	saved = errno == ENOENT ? ESRCH : errno;
	held_disarm(u->held, u->entry);
	errno = saved;
	return -1;
}

/* The signal reaches a running task within microseconds (an interrupt to its core). The state in
 * /proc cannot tell: a preempted task changes it milliseconds late. */
static int stands_still(struct pause_unit *u)
{
	(void)u;
	return 1;
}

static bool stopped(const struct pause_unit *u)
{
	char text[STATUS_SIZE], *line;
	ssize_t n = pread(u->fd[1], text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "\nState:\t");
	return line && (line[8] == 'T' || line[8] == 't');
}

static bool resume(struct pause_unit *u, bool look)
{
	int sig = look ? proc_pending_stop(u->pid, u->fd[1]) : 0;

	if (!held_resuming(u->held, u->entry))
		return sig != 0;
	proc_signal(u->fd[0], SIGCONT);
	if (sig)
		proc_signal(u->fd[0], sig);
	return sig != 0;
}

static const struct pause_ops ops = {stop, stands_still, stopped, resume, NULL, NULL};

struct pause_unit *pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime)
{
	struct pause_unit *u = pause_new(&ops, h, HELD_PROCESS, pid, starttime, NULL);
	char path[64];
	int saved;

	if (!u)
		return NULL;
	u->pid = pid;
	u->fd[0] = proc_pidfd(pid, starttime);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (u->fd[0] >= 0)
		u->fd[1] = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (u->fd[1] >= 0)
		u->fd[2] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u->fd[2] >= 0)
		return u;
	saved = errno == ENOENT ? ESRCH : errno;
	pause_close(u);
	errno = saved;
	return NULL;
}

struct pause_unit *pause_open_spare(struct held_file *h)
{
	return pause_new(&ops, h, HELD_PROCESS, 0, 0, NULL);
}

int pause_adopt(struct pause_unit *u, pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct proc_stat st;

	if (fd < 0)
		return -1;
	/* The start time is this very process's if the descriptor still finds it alive afterwards.
	 */
	if (proc_stat(pid, &st) || proc_signal(fd, 0)) {
		close(fd);
		errno = ESRCH;
		return -1;
	}
	/* Somebody else has stopped it, so it is not ours to resume. */
	if (st.state == 'T' || st.state == 't') {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	u->pid = pid;
	u->fd[0] = fd;
	held_retake(u->held, u->entry, pid, st.starttime);
	return 0;
}
