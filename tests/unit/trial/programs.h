/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts small programs for the tests of trials, and waits until something is seen of them. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "poppa/hold/proc.h"

/* The arguments or the environment of a program. */
#define TEXTS(...) ((char *const *)(const char *const[]){__VA_ARGS__, NULL})

/* For so long a busy machine may keep a test waiting. */
#define PATIENCE_NS (60 * NS_PER_S)

/* Executes with this environment (NULL: as it is) and standard input (-1: as it is), and tells the
 * pid when the new program is there. */
static inline void become_program(char *const *argv, char *const *env, int input, int tell)
{
	pid_t self = getpid();

	if (input >= 0)
		dup2(input, 0);
	if (write(tell, &self, sizeof(self)) != (ssize_t)sizeof(self))
		_exit(126);
	if (env)
		execve(argv[0], argv, env);
	else
		execv(argv[0], argv);
	_exit(127);
}

/*
 * A child of this process, or with `apart` a process of its own session whose parent has ended.
 * argv[0] is a path. The program has been executed when this returns.
 */
static inline pid_t start_program(char *const *argv, char *const *env, int input, bool apart)
{
	pid_t pid = 0, child;
	int tell[2];
	char more;

	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		if (apart && (setsid() < 0 || fork()))
			_exit(0);
		if (!apart)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		become_program(argv, env, input, tell[1]);
	}
	close(tell[1]);
	if (apart)
		assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(read(tell[0], &pid, sizeof(pid)), sizeof(pid));
	/* The other end is closed by the execution. */
	assert_int_equal(read(tell[0], &more, 1), 0);
	close(tell[0]);
	return pid;
}

/* 0 where there is none, and for a zombie. */
static inline char state_of(pid_t pid)
{
	struct proc_stat st;

	return proc_stat(pid, &st) || st.state == 'Z' ? 0 : st.state;
}

static inline bool is_gone(pid_t pid)
{
	return state_of(pid) == 0;
}

static inline bool is_stopped(pid_t pid)
{
	return state_of(pid) == 'T';
}

static inline bool runs_on(pid_t pid)
{
	return state_of(pid) && state_of(pid) != 'T';
}

/* Whether this becomes true of the process. */
static inline bool becomes(bool (*is)(pid_t pid), pid_t pid)
{
	int64_t end = clock_now() + PATIENCE_NS;

	while (!is(pid) && clock_now() < end)
		usleep(2000);
	return is(pid);
}

/* The first child of a process of which this is true, or 0. */
static inline pid_t child_of(pid_t parent, bool (*is)(pid_t pid))
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));)
		if (is(atoi(word)))
			return atoi(word);
	return 0;
}

/* Waits for such a child. */
static inline pid_t find_child(pid_t parent, bool (*is)(pid_t pid))
{
	int64_t end = clock_now() + PATIENCE_NS;
	pid_t pid;

	while (!(pid = child_of(parent, is)) && clock_now() < end)
		usleep(2000);
	assert_true(pid > 0);
	return pid;
}
