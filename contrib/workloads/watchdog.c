/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that resumes what this program has stopped, when the program is gone or hangs. */
#include "watchdog.h"

#include <errno.h>
#include <error.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/units.h"
#include "poppa/hold/proc.h"

/* The child is told a job's number before its stop, and NOTHING after it goes on again. */
#define NOTHING 255
#define PATIENCE_MS 2000

static const struct meter_job *watched;
static int told[2] = {-1, -1};

static void signal_job(int job, int sig)
{
	for (int i = 0; i < watched[job].tasks; i++)
		proc_signal(watched[job].pidfd[i], sig);
}

static void watch(int timeout_ms)
{
	struct pollfd p = {.fd = told[0], .events = POLLIN};
	int held = -1;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	close(told[1]);
	for (;;) {
		int rc = poll(&p, 1, held >= 0 ? timeout_ms : -1);
		unsigned char c;

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc > 0 && read(p.fd, &c, 1) == 1) {
			held = c == NOTHING ? -1 : c;
			continue;
		}
		if (held >= 0)
			signal_job(held, SIGCONT);
		if (rc != 0)
			_exit(0);
		held = -1;
	}
}

static void tell(unsigned char c)
{
	if (write(told[1], &c, 1) != 1)
		error(EXIT_FAILURE, errno, "the watchdog is gone; nothing is stopped without it");
}

void watchdog_start(const struct meter_job *job, int64_t longest_ns)
{
	pid_t pid;

	watched = job;
	if (pipe(told))
		error(EXIT_FAILURE, errno, "pipe");
	pid = fork();
	if (pid < 0)
		error(EXIT_FAILURE, errno, "fork");
	if (pid == 0)
		watch((int)(longest_ns / NS_PER_MS) + PATIENCE_MS);
	close(told[0]);
}

void watchdog_stop(int job)
{
	tell((unsigned char)job);
	signal_job(job, SIGSTOP);
}

void watchdog_resume(int job)
{
	signal_job(job, SIGCONT);
	tell(NOTHING);
}

void watchdog_end(void)
{
	close(told[1]);
	wait(NULL);
}
