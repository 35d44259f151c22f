/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that do nothing but wait, and end with the test that has started them. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "poppa/hold/proc.h"

static inline void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The caller ends the process and waits for it. */
static inline pid_t waiting_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_for_ever(NULL);
	}
	return pid;
}

/* The same, with one thread that waits and a first thread that has ended. Waits until both can be
 * seen, *st has that, and asserts that it takes no five seconds. */
static inline pid_t headless_process(struct proc_stat *st)
{
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	*st = (struct proc_stat){0};
	/* The other thread may be on its way to its pause(). */
	for (int ms = 0; !st->headless || st->state != 'S'; ms++) {
		assert_true(ms < 5000);
		usleep(1000);
		assert_int_equal(proc_stat(pid, st), 0);
	}
	return pid;
}
