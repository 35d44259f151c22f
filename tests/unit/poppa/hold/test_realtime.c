/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/realtime.c: lists of mounts, and a real cgroup without real-time
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/hold/realtime.h"

static char file[] = "/tmp/test_realtime-XXXXXX";

static const char *mount_in(const char *text)
{
	static char buf[64];

	assert_int_equal(fsio_write(file, text, strlen(text), 0600, 0, NULL), 0);
	return realtime_cpu_mount(file, buf, sizeof(buf));
}

static void where_the_controller_is(void **state)
{
	(void)state;
	assert_string_equal(mount_in("cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
				     "cgroup /joint cgroup rw,cpuset,cpu,freezer 0 0\n"
				     "cgroup2 /sys/fs/cgroup/cpu2 cgroup2 rw,cpu 0 0\n"
				     "cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n"
				     "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
				     "cgroup /elsewhere cgroup rw,cpu 0 0\n"),
		"/sys/fs/cgroup/cpu,cpuacct");
	assert_null(mount_in("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"));
	assert_null(mount_in("cgroup /a/very/long/path/that/does/not/fit/into/the/buffer/of/this/"
			     "test/at/all cgroup rw,cpu 0 0\n"));
	assert_null(mount_in("no table\n\n"));
	unlink(file);
	assert_null(realtime_cpu_mount(file, file, sizeof(file)));
}

static const char *cgroup_of_thread(char *buf, size_t size)
{
	FILE *f = fopen("/proc/thread-self/cgroup", "re");

	while (f && fgets(buf, (int)size, f)) {
		char *controllers = strchr(buf, ':'), *path;

		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path = '\0';
		if (!strcmp(controllers, ":cpu") || !strncmp(controllers, ":cpu,", 5)) {
			path[1 + strcspn(path + 1, "\n")] = '\0';
			fclose(f);
			return path + 1;
		}
	}
	if (f)
		fclose(f);
	return "";
}

/* The other threads of the process stay where they are. */
static void *other(void *arg)
{
	char buf[PATH_MAX];

	*(bool *)arg = realtime_begin(3) && !strcmp(cgroup_of_thread(buf, sizeof(buf)), "/");
	return NULL;
}

enum said { FINE = 1, WRONG, NO_GROUP, NO_LIMIT, NOT_PERMITTED };

/* In a process of its own, which stays in the cgroup. */
static enum said begin_in(const char *folder)
{
	const struct sched_param param = {.sched_priority = 3};
	char path[PATH_MAX + 64], before[PATH_MAX], now[PATH_MAX];
	bool began = false;
	pthread_t thread;
	int fd, rc;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return NO_GROUP;
	rc = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (!rc)
		return NO_LIMIT;
	strcpy(before, cgroup_of_thread(now, sizeof(now)));
	if (rc != EPERM || !strcmp(before, "/") || pthread_create(&thread, NULL, other, &began) ||
		pthread_join(thread, NULL))
		return WRONG;
	/* Without the right to it, no cgroup helps. */
	if (!began)
		return NOT_PERMITTED;
	return strcmp(cgroup_of_thread(now, sizeof(now)), before) ? WRONG : FINE;
}

static void a_cgroup_without_real_time(void **state)
{
	const struct sched_param param = {.sched_priority = 3}, normal = {0};
	char mount[PATH_MAX], folder[PATH_MAX + 32];
	int status = 0;
	pid_t pid;

	(void)state;
	if (!realtime_cpu_mount("/proc/self/mounts", mount, sizeof(mount))) {
		print_message("skipped: no cgroup of version 1 has the controller cpu\n");
		skip();
	}
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)) {
		print_message("skipped: no real-time priority is permitted to this process\n");
		skip();
	}
	/* A container may see a part of the hierarchy only, whose root has another name then. */
	if (strcmp(cgroup_of_thread(folder, sizeof(folder)), "/")) {
		print_message("skipped: this process is not in the root of the controller cpu\n");
		skip();
	}
	assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal), 0);
	snprintf(folder, sizeof(folder), "%s/poppa_realtime_%d", mount, (int)getpid());
	if (mkdir(folder, 0755)) {
		print_message("skipped: no cgroup can be made: %s\n", strerror(errno));
		skip();
	}
	pid = fork();
	if (!pid)
		_exit(begin_in(folder));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* What has ended leaves it at once, and is seen to have a moment later. */
	for (int i = 0; i < 100 && rmdir(folder); i++)
		usleep(20000);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_LIMIT) {
		print_message("skipped: this kernel gives cgroups no real-time budget\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_the_controller_is),
		cmocka_unit_test(a_cgroup_without_real_time),
	};
	int fd = mkstemp(file);

	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
