/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/map/map_job.c: real processes, on a made-up machine. */
/* The machine has two sockets of four PUs, a PU a core: the even ones are of socket 0. Which thread
 * has run how long and where is in a table here, and so is its mask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "mapper/recording.h"
#include "poppa/map/affinity.h"
#include "poppa/map/map_job.h"
#include "unit/poppa/waiting_process.h"

int64_t __wrap_clock_now(void);
int __wrap_affinity_get(pid_t tid, cpu_set_t *out);
int __wrap_affinity_move(pid_t tid, uid_t uid, int pu);
int __wrap_proc_stat_read(int stat, struct proc_stat *out);
int __wrap_affinity_cpuset(const char *mount, pid_t pid, cpu_set_t *out);
int __wrap_affinity_topology(const char *sys, const cpu_set_t *pus, struct mapper_pu *out);

#define PUS 8
#define UID 4711

/* What the kernel would know of each process, which has one thread. */
static struct known {
	pid_t pid;
	cpu_set_t mask;
	int pu;
	bool idle;
	uint64_t ticks;
} known[2];
static int processes, refuses, looks;
static cpu_set_t cpuset;
static bool apart; /* the second process is in another cpuset */
static int64_t now;

int64_t __wrap_clock_now(void)
{
	return now;
}

static struct known *find(pid_t pid)
{
	for (int i = 0; i < processes; i++)
		if (known[i].pid == pid)
			return &known[i];
	fail_msg("%d is none of these", (int)pid);
	return NULL;
}

int __wrap_affinity_get(pid_t tid, cpu_set_t *out)
{
	*out = find(tid)->mask;
	looks++;
	return 0;
}

int __wrap_affinity_move(pid_t tid, uid_t uid, int pu)
{
	assert_int_equal(uid, UID);
	assert_true(CPU_ISSET(pu, &cpuset));
	if (refuses) {
		errno = refuses;
		return -1;
	}
	find(tid)->pu = pu;
	return 0;
}

int __wrap_proc_stat_read(int stat, struct proc_stat *out)
{
	char name[64], path[64], *text;
	const struct known *k;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", stat);
	n = readlink(name, path, sizeof(path) - 1);
	assert_true(n > 0);
	path[n] = '\0';
	text = strstr(path, "/proc/");
	assert_non_null(text);
	k = find(atoi(text + strlen("/proc/")));
	*out = (struct proc_stat){.own_ticks = k->ticks, .pu = k->pu};
	return 0;
}

int __wrap_affinity_cpuset(const char *mount, pid_t pid, cpu_set_t *out)
{
	assert_string_equal(mount, "/cg");
	*out = cpuset;
	if (apart && pid == known[1].pid)
		CPU_CLR(7, out);
	return 0;
}

int __wrap_affinity_topology(const char *sys, const cpu_set_t *pus, struct mapper_pu *out)
{
	int n = 0;

	assert_string_equal(sys, "/sys");
	for (int socket = 0; socket < 2; socket++)
		for (int pu = socket; pu < PUS; pu += 2)
			if (CPU_ISSET(pu, pus)) {
				out[n] = (struct mapper_pu){pu, n, socket};
				n++;
			}
	return n;
}

static struct nodeconf conf;
static char recording[] = "/tmp/test_map_job.XXXXXX";
static struct map_job *job;
static pid_t process[MAP_THREADS_MAX + 1];

static int start(void **state)
{
	(void)state;
	refuses = looks = 0;
	apart = false;
	now = NS_PER_S;
	CPU_ZERO(&cpuset);
	for (int pu = 0; pu < PUS; pu++)
		CPU_SET(pu, &cpuset);
	processes = 2;
	for (int i = 0; i < 2; i++) {
		process[i] = waiting_process();
		known[i] = (struct known){.pid = process[i], .mask = cpuset, .pu = i};
	}
	job = map_job_new(&conf, "/cg", 9, UID, PUS);
	assert_non_null(job);
	map_job_look(job, process, 2);
	return 0;
}

static int end(void **state)
{
	(void)state;
	map_job_free(job);
	for (int i = 0; i < 2; i++) {
		kill(known[i].pid, SIGKILL);
		waitpid(known[i].pid, NULL, 0);
	}
	return 0;
}

/* Intervals, as poppad has them. */
static void intervals(int count, bool quiet)
{
	for (int i = 0; i < count; i++) {
		now += (MAP_INTERVAL_MS - MAP_COUNT_MS) * NS_PER_MS;
		map_job_prepare(job);
		map_job_count(job);
		now += MAP_COUNT_MS * NS_PER_MS;
		for (int k = 0; k < processes; k++)
			known[k].ticks += known[k].idle ? 0 : MAP_INTERVAL_MS / 10;
		map_job_step(job, quiet);
	}
}

/* Two programs that share much, each with itself: by the recording they belong on a socket each,
 * and what shares with nobody else stays where it is. */
static void nothing_moves_without_need(void **state)
{
	(void)state;
	assert_true(map_job_active(job));
	intervals(30, true);
	assert_int_equal(map_job_moves(job), 0);
	assert_string_equal(map_job_why(job), "");
}

/* Both ran on one socket: one of them goes to the other one. */
static void programs_that_share_within_themselves_go_apart(void **state)
{
	(void)state;
	known[0].pu = 0;
	known[1].pu = 2;
	/* Not before it holds (6 of 10), and not within blocks. */
	intervals(6, true);
	assert_int_equal(map_job_moves(job), 0);
	intervals(10, false);
	assert_int_equal(map_job_moves(job), 0);
	intervals(10, true);
	assert_int_equal(map_job_moves(job), 1);
	assert_int_equal((known[0].pu + known[1].pu) % 2, 1);
	intervals(30, true);
	assert_int_equal(map_job_moves(job), 1);
	/* The kernel has taken it back. */
	known[0].pu = 0;
	known[1].pu = 2;
	intervals(1, true);
	assert_int_equal(map_job_moves(job), 2);
}

static void what_does_not_run_is_left(void **state)
{
	(void)state;
	known[0].pu = 0;
	known[1].pu = 2;
	known[1].idle = true;
	intervals(30, true);
	assert_int_equal(map_job_moves(job), 0);
}

/* As emulated processors do it: nothing in one interval, and twice as much in the next. */
static void lumps_of_time(void **state)
{
	(void)state;
	known[0].pu = 0;
	known[1].pu = 2;
	for (int i = 0; i < 30; i++) {
		known[0].idle = i % 2;
		known[1].idle = !known[0].idle;
		known[known[0].idle].ticks += MAP_INTERVAL_MS / 10;
		intervals(1, true);
	}
	assert_int_equal(map_job_moves(job), 1);
}

static void what_its_user_binds_is_left_alone(void **state)
{
	(void)state;
	known[0].pu = 0;
	known[1].pu = 2;
	intervals(6, true);
	/* Between two looks it is seen before it is moved; whichever would be, so both are bound.
	 */
	CPU_CLR(3, &known[0].mask);
	CPU_CLR(3, &known[1].mask);
	intervals(10, true);
	assert_non_null(strstr(map_job_why(job), "has bound"));
	assert_false(map_job_active(job));
	assert_int_equal(map_job_moves(job), 0);
	/* One bound thread is enough, and the first one ends the look. */
	known[1].mask = cpuset;
	looks = 0;
	map_job_look(job, process, 2);
	assert_int_equal(looks, 1);
	assert_false(map_job_active(job));
	known[0].mask = cpuset;
	map_job_look(job, process, 2);
	assert_true(map_job_active(job));
	assert_string_equal(map_job_why(job), "");
	intervals(20, true);
	assert_int_equal(map_job_moves(job), 1);
}

static void why_not(void **state)
{
	(void)state;
	apart = true;
	map_job_look(job, process, 2);
	assert_non_null(strstr(map_job_why(job), "several cpusets"));
	apart = false;
	map_job_look(job, process, 2);
	assert_string_equal(map_job_why(job), "");
	map_job_look(job, process, MAP_THREADS_MAX + 1);
	assert_non_null(strstr(map_job_why(job), "too many threads"));
	intervals(3, true);
	map_job_free(job);
	job = map_job_new(&conf, "/cg", 9, UID, PUS - 1);
	map_job_look(job, process, 2);
	assert_non_null(strstr(map_job_why(job), "more cores than its lanes have"));
	CPU_ZERO(&cpuset);
	CPU_SET(2, &cpuset);
	map_job_look(job, process, 2);
	assert_non_null(strstr(map_job_why(job), "one PU"));
	intervals(3, true);
	map_job_free(job);
	conf.map_replay[0] = '\0';
	job = map_job_new(&conf, "/cg", 9, UID, PUS);
	assert_non_null(strstr(map_job_why(job), "cannot be counted"));
	map_job_look(job, process, 2);
	intervals(3, true);
	assert_int_equal(map_job_moves(job), 0);
	strcpy(conf.map_replay, recording);
}

static void without_the_right_it_stops(void **state)
{
	(void)state;
	known[0].pu = 0;
	known[1].pu = 2;
	refuses = EPERM; /* a number that is another user's by now */
	intervals(20, true);
	assert_string_equal(map_job_why(job), "");
	refuses = ENOTSUP;
	intervals(20, true);
	assert_non_null(strstr(map_job_why(job), "CAP_SETUID"));
	assert_int_equal(map_job_moves(job), 0);
}

/* Another cpuset is another machine. */
static void a_cpuset_may_change(void **state)
{
	(void)state;
	intervals(20, true);
	/* Where a thread runs outside of it for a moment, nothing is decided. */
	known[0].pu = 7;
	CPU_CLR(7, &cpuset);
	known[0].mask = known[1].mask = cpuset;
	map_job_look(job, process, 2);
	assert_true(map_job_active(job));
	intervals(3, true);
	known[0].pu = 5;
	known[1].pu = 3;
	intervals(20, true);
	assert_int_equal(map_job_moves(job), 1);
}

static void settings(void **state)
{
	struct errmsg err = {""};
	struct nodeconf c;

	(void)state;
	nodeconf_defaults(&c);
	assert_int_equal(map_conf_check(&c, &err), 0);
	strcpy(c.map_settings, "high_ipc=fast");
	assert_int_equal(map_conf_check(&c, &err), -1);
	assert_non_null(strstr(err.text, "MapSettings: high_ipc"));
	/* Another processor may know them. */
	c.map_settings[0] = '\0';
	strcpy(c.map_events, "inter=no-such-event");
	assert_int_equal(map_conf_check(&c, &err), 0);
}

static int make_recording(void **state)
{
	static const char rows[] = RECORDING_COLUMNS "\n"
						     "1,1,1,0,500,1000,10,0,0,0,900\n"
						     "1,2,2,0,500,1000,10,0,0,0,900\n";
	int fd = mkstemp(recording);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	nodeconf_defaults(&conf);
	strcpy(conf.map_replay, recording);
	return fsio_write(recording, rows, strlen(rows), 0600, 0, NULL);
}

static int remove_recording(void **state)
{
	(void)state;
	return unlink(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_moves_without_need, start, end),
		cmocka_unit_test_setup_teardown(
			programs_that_share_within_themselves_go_apart, start, end),
		cmocka_unit_test_setup_teardown(what_does_not_run_is_left, start, end),
		cmocka_unit_test_setup_teardown(lumps_of_time, start, end),
		cmocka_unit_test_setup_teardown(what_its_user_binds_is_left_alone, start, end),
		cmocka_unit_test_setup_teardown(why_not, start, end),
		cmocka_unit_test_setup_teardown(without_the_right_it_stops, start, end),
		cmocka_unit_test_setup_teardown(a_cpuset_may_change, start, end),
		cmocka_unit_test(settings),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}
