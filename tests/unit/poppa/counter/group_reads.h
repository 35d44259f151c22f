/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the system calls of a reading, in a program that wraps counter_sys_read(). */
#pragma once

#include <sys/types.h>

#include "poppa/counter/counter.h"

static size_t group_reads;
ssize_t __real_counter_sys_read(int fd, void *buf, size_t size);
ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size);

ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size)
{
	group_reads++;
	return __real_counter_sys_read(fd, buf, size);
}

/* The groups of a counter: a reading takes one system call for each. */
static inline size_t groups(struct counter *c)
{
	struct counter_sample s;

	group_reads = 0;
	counter_read(c, &s);
	return group_reads;
}
