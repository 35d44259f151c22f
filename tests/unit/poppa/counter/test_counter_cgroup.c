/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/counter/counter_cgroup.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/counter/counter_cgroup.h"

static void lists_of_processors(void **state)
{
	cpu_set_t set;

	(void)state;
	assert_int_equal(counter_cgroup_cpus("0-2,7\n", &set), 0);
	assert_int_equal(CPU_COUNT(&set), 4);
	assert_true(CPU_ISSET(0, &set) && CPU_ISSET(2, &set) && CPU_ISSET(7, &set));
	assert_int_equal(counter_cgroup_cpus("\n", &set), -1);
	assert_int_equal(counter_cgroup_cpus("", &set), -1);
	assert_int_equal(counter_cgroup_cpus("3-1", &set), -1);
	assert_int_equal(counter_cgroup_cpus("0,3-1", &set), -1);
	assert_int_equal(counter_cgroup_cpus("1;2", &set), -1);
	assert_int_equal(counter_cgroup_cpus("99999999999", &set), -1);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* This test has no cgroup of its own: others are in it, or it is the root. A process that is gone
 * has none. */
static void not_alone(void **state)
{
	struct counter_cgroup c;
	pid_t pid = sleeper();

	(void)state;
	assert_int_equal(counter_cgroup_open(pid, &c), -1);
	assert_int_equal(errno, ENODATA);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(counter_cgroup_open(pid, &c), -1);
	assert_int_equal(errno, ENODATA);
}

/* Whether /proc has the process in a cgroup v2 of this name, directly below the root. */
static bool is_in(pid_t pid, const char *dir)
{
	char path[64], line[160], *text;
	struct errmsg err;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	snprintf(line, sizeof(line), "0::%s\n", strrchr(dir, '/'));
	text = fsio_read(path, 65536, NULL, &err);
	is = text && strstr(text, line);
	free(text);
	return is;
}

/* As root, where there is a cgroup v2 for it. */
static void a_cgroup_of_its_own(void **state)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	char dir[128], procs[160], text[16];
	struct counter_cgroup c;
	bool made = false;
	pid_t pid, other;
	int fd;

	(void)state;
	for (int i = 0; i < 2 && !made; i++) {
		snprintf(dir, sizeof(dir), "%s/poppatest-%d", mounts[i], (int)getpid());
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", mounts[i]);
		made = !access(procs, W_OK) && !mkdir(dir, 0755);
	}
	if (!made) {
		print_message("skipped: no cgroup v2 can be made here\n");
		skip();
	}
	pid = sleeper();
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	snprintf(text, sizeof(text), "%d", (int)pid);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (!is_in(pid, dir)) {
		print_message("skipped: the mount is not the root of what /proc names\n");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		rmdir(dir);
		skip();
	}
	assert_int_equal(counter_cgroup_open(pid, &c), 0);
	assert_true(CPU_COUNT(&c.cpus) > 0);
	assert_true(counter_cgroup_holds(&c, pid));
	assert_false(counter_cgroup_holds(&c, getpid()));
	/* Other processors would need other counters. */
	CPU_ZERO(&c.cpus);
	assert_false(counter_cgroup_holds(&c, pid));
	close(c.fd);
	/* Two tasks share it now. */
	other = sleeper();
	snprintf(text, sizeof(text), "%d", (int)other);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(counter_cgroup_open(pid, &c), -1);
	assert_int_equal(errno, ENODATA);
	close(fd);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_processors),
		cmocka_unit_test(not_alone),
		cmocka_unit_test(a_cgroup_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
