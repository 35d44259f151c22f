/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses one process with SIGSTOP through a process descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/pause_ops.h"
#include "poppa/proc.h"

#define STATUS_SIZE 4096

static int stop(struct pause_unit *u)
{
	held_arm(u->held, u->slot);
	if (!proc_signal(u->fd[0], SIGSTOP))
		return 0;
	held_disarm(u->held, u->slot);
	return -1;
}

/* The signal reaches a running task within microseconds (an interrupt to its core); the state in
 * /proc is no measure, a preempted task reports it milliseconds late. */
static int settled(struct pause_unit *u)
{
	(void)u;
	return 1;
}

/* Text of /proc/PID/status; the state letter, or 0. */
static char read_status(const struct pause_unit *u, char *text, size_t size)
{
	ssize_t n = pread(u->fd[1], text, size - 1, 0);
	char *line;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	line = strstr(text, "\nState:\t");
	return line ? line[8] : 0;
}

static bool stopped(const struct pause_unit *u)
{
	char text[STATUS_SIZE], state = read_status(u, text, sizeof(text));

	return state == 'T' || state == 't';
}

/*
 * A process takes our SIGSTOP off its pending signals when it stops, so a stop signal that is
 * pending now came from somebody else while we held it; SIGCONT would wipe it out. While it has not
 * stopped yet, what is pending is ours.
 */
static int foreign_stop(const struct pause_unit *u)
{
	static const int stops[] = {SIGSTOP, SIGTSTP};
	char text[STATUS_SIZE], *line;
	unsigned long long pending;

	if (read_status(u, text, sizeof(text)) != 'T')
		return 0;
	line = strstr(text, "\nShdPnd:");
	if (!line)
		return 0;
	pending = strtoull(line + 8, NULL, 16);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (pending & (1ULL << (stops[i] - 1)))
			return stops[i];
	return 0;
}

static bool resume(struct pause_unit *u, bool look)
{
	int sig = look ? foreign_stop(u) : 0;

	proc_signal(u->fd[0], SIGCONT);
	if (sig)
		proc_signal(u->fd[0], sig);
	return sig != 0;
}

static const struct pause_ops ops = {stop, settled, stopped, resume};

struct pause_unit *pause_open_process(struct held_file *h, pid_t pid, uint64_t starttime)
{
	struct pause_unit *u = pause_new(&ops, h, HELD_PROCESS, pid, starttime, NULL);
	char path[64];
	int saved;

	if (!u)
		return NULL;
	u->fd[0] = proc_pidfd(pid, starttime);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (u->fd[0] >= 0)
		u->fd[1] = open(path, O_RDONLY | O_CLOEXEC);
	if (u->fd[1] >= 0)
		return u;
	saved = errno == ENOENT ? ESRCH : errno;
	pause_close(u);
	errno = saved;
	return NULL;
}
