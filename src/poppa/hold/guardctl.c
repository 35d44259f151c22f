/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts and ends the guard process and sets its deadline. */
#include "poppa/hold/guardctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"

#define START_WAIT_MS 2000
#define WAIT_PIDFD ((idtype_t)3) /* P_PIDFD, which glibc has since 2.36 */
#define NO_FD_BELOW 10           /* the sources of dup2() must not be among its targets */

static int spawn(const char *path, const int fd[3], pid_t *pid)
{
	static const int target[3] = {GUARD_HELD_FD, GUARD_TIMER_FD, GUARD_POPPAD_FD};
	char name[] = "poppa-guard", argument[] = GUARD_ARGUMENT;
	/* What plog_init() looks at, and nothing else. */
	const char *journal = getenv("JOURNAL_STREAM");
	char stream[64];
	char *const argv[] = {name, argument, NULL};
	char *const envp[] = {journal ? stream : NULL, NULL};
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	snprintf(stream, sizeof(stream), "JOURNAL_STREAM=%s", journal ? journal : "");
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&fa, fd[i], target[i]);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	rc = posix_spawn(pid, path, &fa, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return rc;
}

int guard_start(struct guard *g, struct held_file *h, int held_fd, struct errmsg *err)
{
	int self = syscall(SYS_pidfd_open, getpid(), 0);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int fd[3] = {fcntl(held_fd, F_DUPFD_CLOEXEC, NO_FD_BELOW),
		fcntl(timer, F_DUPFD_CLOEXEC, NO_FD_BELOW),
		fcntl(self, F_DUPFD_CLOEXEC, NO_FD_BELOW)};
	char path[PATH_MAX];
	int rc;

	g->pid = 0;
	g->pidfd = -1;
	g->timerfd = timer;
	h->guard_pid = 0;
	fsio_helper("poppa-guard", path, sizeof(path));
	if (fd[0] < 0 || fd[1] < 0 || fd[2] < 0) {
		rc = errno;
		errmsg_set(err, "cannot prepare the guard: %s", strerror(rc));
	} else {
		rc = spawn(path, fd, &g->pid);
		if (rc)
			errmsg_set(err, "cannot start %s: %s", path, strerror(rc));
	}
	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	if (self >= 0)
		close(self);
	if (rc) {
		if (timer >= 0)
			close(timer);
		g->timerfd = -1;
		return -1;
	}
	g->pidfd = syscall(SYS_pidfd_open, g->pid, 0);
	for (int ms = 0; g->pidfd >= 0 && ms < START_WAIT_MS && guard_alive(g); ms++) {
		if (h->guard_pid == g->pid)
			return 0;
		usleep(1000);
	}
	errmsg_set(err, "%s did not start its watch", path);
	guard_stop(g);
	return -1;
}

bool guard_alive(const struct guard *g)
{
	siginfo_t si = {0};

	/* WNOWAIT: only looks, and leaves the exit status for guard_stop(). */
	return g->pidfd >= 0 &&
	       !waitid(WAIT_PIDFD, (id_t)g->pidfd, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) &&
	       !si.si_pid;
}

int guard_deadline(const struct guard *g, int64_t when_ns)
{
	struct itimerspec t = {.it_value = {when_ns / NS_PER_S, when_ns % NS_PER_S}};

	return timerfd_settime(g->timerfd, TFD_TIMER_ABSTIME, &t, NULL);
}

void guard_stop(struct guard *g)
{
	if (g->pid > 0) {
		kill(g->pid, SIGKILL); /* our child and not yet waited for: it has this pid */
		waitpid(g->pid, NULL, 0);
	}
	if (g->pidfd >= 0)
		close(g->pidfd);
	if (g->timerfd >= 0)
		close(g->timerfd);
	g->pid = 0;
	g->pidfd = g->timerfd = -1;
}
