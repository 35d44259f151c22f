/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts one program in its own process group, on its PUs, with an environment that keeps it there.
 */
#pragma once

#include <sched.h>
#include <sys/types.h>

#include "common/errmsg.h"

struct launch {
	char *const *argv;
	const char *mark;    /* NAME=VALUE for its environment */
	const char *preload; /* a library, or NULL */
	const cpu_set_t *cpus;
	size_t cpus_size;
};

/*
 * Forks. The child calls child(arg), which executes a program, and leaves the reason in errno where
 * it returns because it could not. Returns 0 with *pid when the program runs, or that reason; then
 * there is no child any more. The child is killed when the calling thread dies.
 */
int launch_fork(pid_t *pid, void (*child)(void *arg), void *arg);

/*
 * Starts it with an empty standard input and no output. *errors becomes the reading end of its
 * standard error, which never blocks its reader. Returns its process id, or -1 with err that says
 * why it cannot be executed. It is killed when the calling thread dies.
 */
pid_t launch_program(const struct launch *l, int *errors, struct errmsg *err);

/* The library that counts the communication of MPI programs: beside this program in a build tree,
 * else where it is installed. Returns buf, or NULL where it is neither. */
const char *launch_find_preload(char *buf, size_t size);
