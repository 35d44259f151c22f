/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of the counters, in a file of their own so that tests can replace them. */
#include "poppa_config.h"

#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	return (int)syscall(
		SYS_perf_event_open, attr, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
}

int counter_sys_inherit(struct perf_event_attr *attr)
{
#ifdef HAVE_STRUCT_PERF_EVENT_ATTR_INHERIT_THREAD
	attr->inherit = 1;
	attr->inherit_thread = 1; /* not the processes that it forks: they are other tasks */
	return 0;
#else
	(void)attr;
	errno = EINVAL;
	return -1;
#endif
}

ssize_t counter_sys_read(int fd, void *buf, size_t size)
{
	return read(fd, buf, size);
}
