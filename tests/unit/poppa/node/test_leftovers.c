/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/leftovers.c, on a made-up cgroup tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"
#include "poppa/node/leftovers.h"

#define EVERY (2 * NS_PER_S)
#define PROCESS "4711\n" /* only whether there is one counts */

static char mount[64], logged[4096];
static struct leftovers *l;
static uid_t ours; /* this user has a registered job */
static int64_t now;

static void __attribute__((format(printf, 2, 3))) put(const char *name, const char *fmt, ...)
{
	char path[512], text[256], *slash;
	struct errmsg err;
	va_list ap;

	snprintf(path, sizeof(path), "%s/%s", mount, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	*slash = '/';
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 0, &err), 0);
}

static void keep_line(enum plog_level level, const char *line)
{
	(void)level;
	if (strlen(logged) + strlen(line) + 2 > sizeof(logged))
		return;
	strcat(logged, line);
	strcat(logged, "\n");
}

static int setup(void **state)
{
	(void)state;
	strcpy(mount, "/tmp/leftovers-XXXXXX");
	if (!mkdtemp(mount))
		return -1;
	plog_init("test", PLOG_INFO);
	plog_set_sink(keep_line);
	l = leftovers_new();
	ours = (uid_t)-1;
	now = 1000 * NS_PER_S;
	*logged = '\0';
	return l ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	leftovers_free(l);
	plog_set_sink(NULL);
	snprintf(command, sizeof(command), "rm -rf %s", mount);
	return system(command);
}

static bool is_ours(void *arg, uid_t uid, uint32_t job_id)
{
	(void)arg;
	return uid == ours && (!job_id || job_id == 6);
}

/* The id of who works, as of a look. */
static uint32_t look(void)
{
	const struct leftovers_place place = {
		.mount = mount, .node = "n1", .works = 0.05, .ours = is_ours};

	now += EVERY;
	leftovers_look(l, &place, now);
	return leftovers_working(l, now);
}

#define USER "slurm_n1/uid_7"

/* User 7 has a process in a cgroup of their own below a step of job 5, and has used so much. */
static void leave(int64_t used)
{
	put("freezer/" USER "/job_5/cgroup.procs", "%s", "");
	put("freezer/" USER "/job_5/step_0/own/cgroup.procs", PROCESS "%s", "");
	put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)used);
}

static void works(void **state)
{
	(void)state;
	leave(0);
	assert_int_equal(look(), 0);
	assert_string_equal(logged, "");
	leave(EVERY / 2);
	assert_int_equal(look(), 5);
	assert_non_null(strstr(logged, "job 5 of uid 7 has ended and left processes"));
	*logged = '\0';
	leave(EVERY);
	assert_int_equal(look(), 5);
	assert_string_equal(logged, "");
	/* It rests, and counts as working for a while. */
	for (int i = 1; i * EVERY < LEFTOVERS_REST_S * NS_PER_S; i++)
		assert_int_equal(look(), 5);
	assert_int_equal(look(), 0);
	leave(2 * EVERY);
	assert_int_equal(look(), 5);
	/* It hides for a while, and works: by its user it is still known. */
	put("freezer/" USER "/job_5/step_0/own/cgroup.procs", "%s", "");
	for (int i = 3; i < 40; i++) {
		put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)(i * EVERY));
		assert_int_equal(look(), 5);
	}
	/* Root has ended it. */
	for (int i = 1; i * EVERY < LEFTOVERS_REST_S * NS_PER_S; i++)
		assert_int_equal(look(), 5);
	assert_int_equal(look(), 0);
}

static void only_waits(void **state)
{
	(void)state;
	leave(0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(look(), 0);
	assert_non_null(strstr(logged, "job 5"));
}

/* A job with its slurmstepd, which is in the job's own cgroup. */
static void runs(void **state)
{
	(void)state;
	leave(0);
	put("freezer/" USER "/job_5/cgroup.procs", PROCESS "%s", "");
	for (int k = 1; k < 5; k++) {
		put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)(k * EVERY));
		assert_int_equal(look(), 0);
	}
	assert_string_equal(logged, "");
}

/* What one user leaves goes from job to job. */
static void hops(void **state)
{
	uint32_t who = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		char name[128];

		put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)(i * EVERY));
		for (int k = 0; k < 8; k++) {
			snprintf(name, sizeof(name),
				"freezer/" USER "/job_%d/step_0/own/cgroup.procs", k + 1);
			put(name, "%s", k == i ? PROCESS : "");
		}
		who = look();
		assert_true(i == 0 || who == (uint32_t)i + 1);
	}
}

/* More cgroups than anybody looks at. */
static void too_many_cgroups(void **state)
{
	(void)state;
	for (int i = 0; i <= LEFTOVERS_DIRS; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/freezer/" USER "/job_5/step_0/%d", mount, i);
		assert_int_equal(fsio_mkdirs(path, 0755, &(struct errmsg){""}), 0);
	}
	for (int i = 0; i < 3; i++) {
		put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)(i * EVERY));
		assert_int_equal(look(), i ? 5 : 0);
	}
}

/* In one look only: a step that was ending. */
static void seen_half(void **state)
{
	(void)state;
	leave(0);
	assert_int_equal(look(), 0);
	put("freezer/" USER "/job_5/step_0/own/cgroup.procs", "%s", "");
	for (int i = 1; i < 5; i++) {
		put("cpuacct/" USER "/cpuacct.usage", "%lld\n", (long long)(i * EVERY));
		assert_int_equal(look(), 0);
	}
	assert_string_equal(logged, "");
}

/* What the user's other job uses is not the leftover's. */
static void another_job_runs(void **state)
{
	(void)state;
	leave(0);
	put("freezer/" USER "/job_6/cgroup.procs", PROCESS "%s", "");
	for (int i = 1; i < 5; i++) {
		leave(i * EVERY);
		put("cpuacct/" USER "/job_6/cpuacct.usage", "%lld\n", (long long)(i * EVERY));
		assert_int_equal(look(), 0);
	}
	leave(6 * EVERY);
	assert_int_equal(look(), 5);
}

/* Where the kernel counts a user's time, their job in the table is how they are watched. */
static void the_table_watches(void **state)
{
	(void)state;
	ours = 7;
	leave(0);
	look();
	leave(EVERY);
	assert_int_equal(look(), 0);
	assert_string_equal(logged, "");
	/* Else nobody counts what is outside that job. */
	put("freezer/" USER "/job_6/step_0/cgroup.procs", PROCESS "%s", "");
	snprintf(logged, sizeof(logged), "rm -r %s/cpuacct", mount);
	assert_int_equal(system(logged), 0);
	assert_int_equal(look(), 0);
	assert_int_equal(look(), 5);
}

/* Without the accounting of cgroups it works as long as it is there. */
static void without_cpuacct(void **state)
{
	(void)state;
	put("freezer/slurm/uid_7/job_5/step_0/own/cgroup.procs", PROCESS "%s", "");
	assert_int_equal(look(), 0);
	assert_int_equal(look(), 5);
	assert_int_equal(look(), 5);
}

static void told_each_hour(void **state)
{
	(void)state;
	leave(0);
	look();
	look();
	assert_non_null(strstr(logged, "job 5"));
	*logged = '\0';
	now += 3599 * NS_PER_S - EVERY;
	look();
	assert_string_equal(logged, "");
	now += NS_PER_S;
	look();
	assert_non_null(strstr(logged, "job 5"));
}

/* Users that only wait do not keep one that works from being seen. */
static void no_more_than_so_many(void **state)
{
	uint32_t who = 0;

	(void)state;
	for (int i = 0; i < LEFTOVERS_MAX + 8; i++) {
		char name[128];

		snprintf(name, sizeof(name),
			"freezer/slurm_n1/uid_%d/job_1/step_0/own/cgroup.procs", 100 + i);
		put(name, PROCESS "%s", "");
		snprintf(name, sizeof(name), "cpuacct/slurm_n1/uid_%d/cpuacct.usage", 100 + i);
		put(name, "0\n%s", "");
	}
	put("freezer/slurm_n1/uid_x/job_1/step_0/cgroup.procs", PROCESS "%s", "");
	put("freezer/slurm_n1/uid_8/job_1x/step_0/cgroup.procs", PROCESS "%s", "");
	for (int i = 0; i < 8 && !who; i++) {
		for (int k = 0; k < LEFTOVERS_MAX + 8; k++) {
			char name[128];

			snprintf(name, sizeof(name), "cpuacct/slurm_n1/uid_%d/cpuacct.usage",
				100 + k);
			put(name, "%lld\n", (long long)(i * EVERY));
		}
		who = look();
	}
	assert_int_equal(who, 1);
	assert_null(strstr(logged, "job 0"));
}

static void nothing_there(void **state)
{
	(void)state;
	assert_int_equal(look(), 0);
	assert_int_equal(look(), 0);
	assert_string_equal(logged, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(works, setup, teardown),
		cmocka_unit_test_setup_teardown(only_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(runs, setup, teardown),
		cmocka_unit_test_setup_teardown(hops, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_cgroups, setup, teardown),
		cmocka_unit_test_setup_teardown(told_each_hour, setup, teardown),
		cmocka_unit_test_setup_teardown(seen_half, setup, teardown),
		cmocka_unit_test_setup_teardown(another_job_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(the_table_watches, setup, teardown),
		cmocka_unit_test_setup_teardown(without_cpuacct, setup, teardown),
		cmocka_unit_test_setup_teardown(no_more_than_so_many, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
