/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/map/affinity.c. */
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
#include "poppa/hold/proc.h"
#include "poppa/map/affinity.h"

#define SOMEBODY 65534 /* a user who owns nothing of this test */

/* The PUs on which this test may run. */
static cpu_set_t all;
static char dir[] = "/tmp/test_affinity.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? affinity_get(getpid(), &all) : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void write_text(const char *name, const char *text)
{
	char path[512], folder[512];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(fsio_mkdirs(folder, 0755, NULL), 0);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 0, NULL), 0);
}

static int where(pid_t tid, uint64_t *ticks, int *pu)
{
	int fd = proc_thread_open(tid, tid), rc;
	struct proc_stat st = {.pu = -1};

	if (fd < 0)
		return -1;
	rc = proc_stat_read(fd, &st);
	close(fd);
	*ticks = st.own_ticks;
	*pu = st.pu;
	return rc;
}

/* A process that runs, for where one that sleeps ran last is not where it would. */
static pid_t running_process(uid_t uid)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (uid && setuid(uid))
		_exit(1);
	/* Another user id would end this. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned i = 0;; i++)
		;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A test under taskset has fewer than its cpuset. */
static bool has_all(const cpu_set_t *now)
{
	cpu_set_t both;

	CPU_AND(&both, now, &all);
	return CPU_EQUAL(&both, &all);
}

static void moves_and_lets_go(void **state)
{
	pid_t pid = running_process(0);
	uint64_t ticks = 0, later = 0;
	cpu_set_t now;
	int at;

	(void)state;
	for (int pu = 0; pu < CPU_SETSIZE; pu++) {
		if (!CPU_ISSET(pu, &all))
			continue;
		assert_int_equal(affinity_move(pid, geteuid(), pu), 0);
		/* It is there, and may run everywhere. */
		assert_int_equal(affinity_get(pid, &now), 0);
		assert_true(has_all(&now));
		assert_int_equal(where(pid, &ticks, &at), 0);
		assert_true(CPU_ISSET(at, &all));
	}
	do {
		usleep(10000);
		assert_int_equal(where(pid, &later, &at), 0);
	} while (later == ticks);
	assert_true(later > ticks);
	end_process(pid);
	assert_int_equal(affinity_move(pid, geteuid(), 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(affinity_get(pid, &now), -1);
	assert_int_equal(where(pid, &ticks, &at), -1);
}

/* A number that is another user's by now. */
static void moves_the_users_only(void **state)
{
	pid_t ours = running_process(0), theirs;
	cpu_set_t now;
	int pu = 0, rc;

	(void)state;
	if (geteuid())
		skip();
	while (!CPU_ISSET(pu, &all))
		pu++;
	theirs = running_process(SOMEBODY);
	assert_int_equal(affinity_move(ours, SOMEBODY, pu), -1);
	assert_int_equal(errno, EPERM);
	/* Its own user id is back, with all rights. */
	assert_int_equal(geteuid(), 0);
	assert_int_equal(kill(theirs, 0), 0);
	/* It may be that it has not taken on its user yet. */
	for (int i = 0; (rc = affinity_move(theirs, SOMEBODY, pu)) && i < 1000; i++)
		usleep(1000);
	assert_int_equal(rc, 0);
	assert_int_equal(affinity_get(theirs, &now), 0);
	assert_true(has_all(&now));
	end_process(ours);
	end_process(theirs);
}

static void cpusets(void **state)
{
	char own[512], *text = fsio_read("/proc/self/cpuset", 256, NULL, NULL);
	cpu_set_t set;

	(void)state;
	/* What a namespace does not show is refused. */
	if (!text || strstr(text, "/.."))
		skip();
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(affinity_cpuset(dir, getpid(), &set), -1);
	assert_int_equal(errno, ENODATA);
	/* cgroup v2 */
	snprintf(own, sizeof(own), "%s/cpuset.cpus.effective", text);
	write_text(own, "2-3\n");
	assert_int_equal(affinity_cpuset(dir, getpid(), &set), 0);
	assert_true(CPU_COUNT(&set) == 2 && CPU_ISSET(2, &set) && CPU_ISSET(3, &set));
	/* cgroup v1 comes first */
	snprintf(own, sizeof(own), "/cpuset%s/cpuset.effective_cpus", text);
	write_text(own, "1,5\n");
	assert_int_equal(affinity_cpuset(dir, getpid(), &set), 0);
	assert_true(CPU_COUNT(&set) == 2 && CPU_ISSET(1, &set) && CPU_ISSET(5, &set));
	write_text(own, "\n");
	assert_int_equal(affinity_cpuset(dir, getpid(), &set), -1);
	free(text);
}

static void place(int pu, const char *socket, const char *core)
{
	char name[128];

	snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		pu);
	write_text(name, socket);
	snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/topology/core_id", pu);
	write_text(name, core);
}

static void topologies(void **state)
{
	struct mapper_pu pu[MAPPER_PUS_MAX];
	char sys[256];
	cpu_set_t set;

	(void)state;
	snprintf(sys, sizeof(sys), "%s/sys", dir);
	CPU_ZERO(&set);
	/* Sockets take turns, cores' numbers begin anew in each and have gaps, and PUs 0 and 4 are
	 * of one core. */
	place(0, "0\n", "8\n");
	place(1, "3\n", "8\n");
	place(2, "0\n", "2\n");
	place(4, "0\n", "8\n");
	for (int i = 0; i < 5; i++)
		if (i != 3)
			CPU_SET(i, &set);
	assert_int_equal(affinity_topology(sys, &set, pu), 4);
	assert_true(pu[0].pu == 2 && pu[0].core == 0 && pu[0].socket == 0);
	assert_true(pu[1].pu == 0 && pu[1].core == 1 && pu[1].socket == 0);
	assert_true(pu[2].pu == 4 && pu[2].core == 1 && pu[2].socket == 0);
	assert_true(pu[3].pu == 1 && pu[3].core == 2 && pu[3].socket == 1);
	/* A machine that tells neither is one socket, and no two of its PUs are of one core. */
	place(2, "-1\n", "-1\n");
	place(4, "-1\n", "-1\n");
	CPU_CLR(0, &set);
	CPU_CLR(1, &set);
	assert_int_equal(affinity_topology(sys, &set, pu), 2);
	assert_true(pu[0].core == 0 && pu[1].core == 1 && pu[1].socket == 0);
	CPU_SET(9, &set);
	assert_int_equal(affinity_topology(sys, &set, pu), -1);
	CPU_ZERO(&set);
	assert_int_equal(affinity_topology(sys, &set, pu), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_and_lets_go),
		cmocka_unit_test(moves_the_users_only),
		cmocka_unit_test(cpusets),
		cmocka_unit_test(topologies),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
