/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives the calling thread a real-time priority, also where its cgroup forbids that. */
#include "poppa/hold/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

char *realtime_cpu_mount(const char *mounts, char *buf, int size)
{
	FILE *f = setmntent(mounts, "re");
	const struct mntent *m;
	char *found = NULL;

	while (f && !found && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "cpu") &&
			!hasmntopt(m, "cpuset") && !hasmntopt(m, "memory") &&
			!hasmntopt(m, "freezer") &&
			snprintf(buf, (size_t)size, "%s", m->mnt_dir) < size)
			found = buf;
	if (f)
		endmntent(f);
	return found;
}

static bool leave_cpu_cgroup(void)
{
	char mount[PATH_MAX], file[PATH_MAX + 32];
	bool left;
	int fd;

	if (!realtime_cpu_mount("/proc/self/mounts", mount, sizeof(mount)))
		return false;
	/* Only a kernel that gives cgroups a real-time budget has it. */
	snprintf(file, sizeof(file), "%s/cpu.rt_runtime_us", mount);
	if (access(file, F_OK))
		return false;
	snprintf(file, sizeof(file), "%s/tasks", mount);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* 0 is the thread that writes. */
	left = write(fd, "0", 1) == 1;
	close(fd);
	if (left)
		plog_info(
			"a thread is in the root of %s, as its own cgroup has no real-time budget",
			mount);
	return left;
}

bool realtime_begin(int priority)
{
	const struct sched_param param = {.sched_priority = priority};
	int rc = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);

	if (rc == EPERM && leave_cpu_cgroup())
		rc = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	errno = rc;
	return !rc;
}
