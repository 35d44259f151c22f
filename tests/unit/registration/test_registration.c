/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/registration/registration.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "registration/registration.h"

static struct registration r; /* large */

static void good_registration(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(registration_parse("12.3",
				 "JobId=12\nRestart=3\nUid=1000\nUser=eve\n"
				 "Colocate=\"stripe,with:7\"\nPartition=main\nNodes=n[1-2]\n"
				 "Cores=0,2,4-6\nRegistered=1700000000\nNewField=x\n",
				 &r, &err),
		0);
	assert_int_equal(r.job_id, 12);
	assert_int_equal(r.restart, 3);
	assert_int_equal(r.uid, 1000);
	assert_string_equal(r.user, "eve");
	assert_string_equal(r.colocate, "stripe,with:7");
	assert_int_equal(r.core_count, 5);
	assert_int_equal(r.core[4], 6);
	assert_int_equal(r.registered, 1700000000);
	assert_false(r.seeded);
	assert_string_equal(r.cgroup, "");
	assert_int_equal(registration_parse("12.3",
				 "JobId=12\nRestart=3\nUid=1000\n"
				 "Seed=\"0000000000000001000000000000000a\"\n"
				 "Cgroup=\"s0ABCDEFGHJKMN\"\n",
				 &r, &err),
		0);
	assert_string_equal(r.cgroup, "s0ABCDEFGHJKMN");
	assert_true(r.seeded && r.seed[0] == 1 && r.seed[1] == 10);
}

static void bad_registrations(void **state)
{
	static const char *const bad[][3] = {
		{"12.0", "JobId=13\nRestart=0\nUid=1\n", "differ"},
		{"12.0", "JobId=12\nRestart=1\nUid=1\n", "differ"},
		{"12.0", "JobId=12\nRestart=0\n", "Uid"},
		{"12.0", "JobId=x\nRestart=0\nUid=1\n", "JobId"},
		{"12.0", "JobId=12\nRestart=0\nUid=-1\n", "Uid"},
		{"12.0", "JobId=12\nRestart=0\nUid=1\nCores=3-1\n", "Cores"},
		{"12.0", "JobId=12\nRestart=0\nUid=1\nCores=a\n", "Cores"},
		{"12.0", "JobId=12\nRestart=0\nUid=1\nCores=0-99999\n", "Cores"},
		{"12.0", "JobId=12\nRestart=0\nUid=1\nSeed=12\n", "Seed"},
		{"12.0", "JobId=12\nRestart=0\nUid=1\nCgroup=../job_1\n", "Cgroup"},
		{"12.0", "nonsense\n", "12.0"},
		{"x", "JobId=12\nRestart=0\nUid=1\n", "JOBID.RESTART"},
		{"12", "JobId=12\nRestart=0\nUid=1\n", "JOBID.RESTART"},
		{"012.0", "JobId=12\nRestart=0\nUid=1\n", "JOBID.RESTART"},
		{"12.0x", "JobId=12\nRestart=0\nUid=1\n", "JOBID.RESTART"},
		{"99999999999.0", "JobId=12\nRestart=0\nUid=1\n", "JOBID.RESTART"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct errmsg err = {""};

		assert_int_equal(registration_parse(bad[i][0], bad[i][1], &r, &err), -1);
		if (!strstr(err.text, bad[i][2]))
			fail_msg("\"%s\" does not name %s", err.text, bad[i][2]);
	}
}

static void seeds(void **state)
{
	(void)state;
	registration_init(&r);
	assert_int_equal(registration_set_seed(&r, "0123456789abcdefFEDCBA9876543210"), 0);
	assert_true(r.seeded && r.seed[0] == UINT64_C(0x0123456789abcdef));
	assert_true(r.seed[1] == UINT64_C(0xfedcba9876543210));
	assert_int_equal(registration_set_seed(&r, "0123456789abcdeffedcba987654321"), -1);
	assert_int_equal(registration_set_seed(&r, "0123456789abcdeffedcba98765432100"), -1);
	assert_int_equal(registration_set_seed(&r, "0x23456789abcdeffedcba9876543210"), -1);
	assert_int_equal(registration_set_seed(&r, ""), -1);
}

static void lanes(void **state)
{
	(void)state;
	memset(&r, 0, sizeof(r));
	r.lane = 3;
	assert_int_equal(registration_lane(&r, 2), 3);
	r.lane = -1;
	assert_int_equal(registration_lane(&r, 2), -1);
	r.core_count = 3;
	r.core[0] = 1;
	r.core[1] = 3;
	r.core[2] = 9;
	assert_int_equal(registration_lane(&r, 2), 1);
	r.core[2] = 8;
	assert_int_equal(registration_lane(&r, 2), -1);
}

struct seen {
	int running, ended;
};

static void count(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct seen *s = arg;

	assert_int_equal(job_id, ended ? 8 : 7);
	assert_int_equal(restart, ended ? 1 : 0);
	s->running += !ended;
	s->ended += ended;
}

static void put(const char *dir, const char *name, const char *text)
{
	struct errmsg err;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);
static int readable = -1; /* entries until the disk fails; -1: it does not */

struct dirent *__wrap_readdir(DIR *d)
{
	if (readable < 0 || readable-- > 0)
		return __real_readdir(d);
	errno = EIO;
	return NULL;
}

/* Which of the files with one id are of the same run: not the times decide. */
static void same_run(void **state)
{
	static const char *const same = "JobId=12\nUid=7\nCores=0-3\nBootId=b\nRegistered=5\n"
					"Seed=\"0000000000000001000000000000000a\"\n",
				 *const other[] = {"JobId=12\nUid=8\nCores=0-3\nBootId=b\n"
						   "Seed=\"0000000000000001000000000000000a\"\n",
					 "JobId=12\nUid=7\nCores=0,2\nBootId=b\n"
					 "Seed=\"0000000000000001000000000000000a\"\n",
					 "JobId=12\nUid=7\nCores=0-3\nBootId=c\n"
					 "Seed=\"0000000000000001000000000000000a\"\n",
					 "JobId=12\nUid=7\nCores=0-3\nBootId=b\n"
					 "Seed=\"0000000000000001000000000000000b\"\n",
					 "JobId=12\nUid=7\nCores=0-3\nBootId=b\n"};
	static struct registration again; /* large */
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(registration_parse("12.0", same, &r, &err), 0);
	assert_int_equal(registration_parse("12.0", same, &again, &err), 0);
	again.registered = 6;
	again.uptime = 60;
	assert_true(registration_same_run(&r, &again));
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		assert_int_equal(registration_parse("12.0", other[i], &again, &err), 0);
		assert_false(registration_same_run(&r, &again));
	}
}

static void files(void **state)
{
	char dir[] = "/tmp/registration-XXXXXX", jobs[64], path[128];
	struct cluster_conf c = {.node = "before"};
	struct seen seen = {0, 0};
	struct errmsg err = {""};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
	snprintf(path, sizeof(path), "%s/cluster.conf", dir);
	assert_int_equal(fsio_mkdirs(jobs, 0755, &err), 0);

	put(jobs, "7.0", "JobId=7\nRestart=0\nUid=5\n");
	put(jobs, "8.1.ended", "JobId=8\nRestart=1\nUid=5\n");
	put(jobs, "notes.txt", "");
	put(jobs, "9.0.XYZ", "");
	assert_int_equal(registration_scan(jobs, count, &seen, &err), 0);
	assert_int_equal(seen.running, 1);
	assert_int_equal(seen.ended, 1);
	readable = 3;
	assert_int_equal(registration_scan(jobs, count, &seen, &err), -1);
	assert_non_null(strstr(err.text, strerror(EIO)));
	readable = -1;
	assert_int_equal(registration_read(jobs, 8, 1, true, &r, &err), 0);
	assert_int_equal(r.uid, 5);
	assert_int_equal(registration_read(jobs, 8, 1, false, &r, &err), -1);
	assert_int_equal(errno, ENOENT);

	assert_int_equal(cluster_conf_read(path, &c, &err), -1);
	assert_int_equal(errno, ENOENT);
	put(dir, "cluster.conf", "ClusterName=c\n");
	assert_int_equal(cluster_conf_read(path, &c, &err), -1);
	assert_string_equal(c.node, "before");
	put(dir, "cluster.conf",
		"ClusterName=c\nNodeName=n1\nPrEpParameters=\"poppa_period=1s,other\"\n"
		"SlurmctldHost=a,b\n");
	assert_int_equal(cluster_conf_read(path, &c, &err), 0);
	assert_string_equal(c.node, "n1");
	assert_string_equal(c.prep_parameters, "poppa_period=1s,other");
	assert_string_equal(c.cgroup_mount, "/sys/fs/cgroup");
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	assert_int_equal(system(path), 0);
}

static char dir_of_test[] = "/tmp/registration-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	strcpy(strrchr(dir_of_test, '-'), "-XXXXXX");
	return mkdtemp(dir_of_test) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir_of_test);
	return system(command);
}

static void assert_file(const char *name, const char *text)
{
	struct errmsg err = {""};
	char path[128], *found;

	snprintf(path, sizeof(path), "%s/%s", dir_of_test, name);
	found = fsio_read(path, 65536, NULL, &err);
	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
}

/* The text of the file is the protocol: a node's slurmd and poppad may be of different releases. */
static void all_keys(void **state)
{
	static struct registration in, out;
	static const uint16_t core[] = {0, 2, 4, 5, 6, 9, 10};
	struct errmsg err = {""};
	uint32_t job, restart;
	bool ended;

	(void)state;
	registration_init(&in);
	in.job_id = 12;
	in.restart = 3;
	in.uid = 1000;
	strcpy(in.user, "e\"v\ne");
	strcpy(in.colocate, "stripe,with:7,not:#1");
	in.max_degradation = 0.125;
	strcpy(in.map, "auto");
	in.nodes = "n[1-2]";
	in.node_count = 2;
	in.node_index = 0;
	strcpy(in.partition, "main");
	strcpy(in.cgroup, "s0ABCDEFGHJKMN");
	in.registered = 1700000000;
	strcpy(in.boot_id, "3f1c0d5e-0000-4000-8000-000000000001");
	in.uptime = 86400;
	in.lane = 1;
	in.core_count = 7;
	memcpy(in.core, core, sizeof(core));
	assert_int_equal(registration_set_seed(&in, "0000000000000001fedcba9876543210"), 0);
	assert_int_equal(registration_write(dir_of_test, &in, &err), 0);
	assert_file("12.3",
		"JobId=12\nRestart=3\nUid=1000\nUser=\"eve\"\n"
		"Colocate=\"stripe,with:7,not:#1\"\nMap=auto\nMaxDegradation=0.125\nNodes=\"n[1-2]\"\n"
		"NodeCount=2\nNodeIndex=0\nPartition=\"main\"\nCores=\"0,2,4-6,9-10\"\n"
		"Cgroup=\"s0ABCDEFGHJKMN\"\nLane=1\n"
		"Seed=\"0000000000000001fedcba9876543210\"\nRegistered=1700000000\n"
		"BootId=3f1c0d5e-0000-4000-8000-000000000001\nUptime=86400\n");

	memset(&out, 0xff, sizeof(out));
	assert_int_equal(registration_read(dir_of_test, 12, 3, false, &out, &err), 0);
	assert_int_equal(out.job_id, in.job_id);
	assert_int_equal(out.restart, in.restart);
	assert_int_equal(out.uid, in.uid);
	assert_string_equal(out.user, "eve");
	assert_string_equal(out.colocate, in.colocate);
	assert_true(out.max_degradation == in.max_degradation);
	assert_string_equal(out.map, "auto");
	assert_null(out.nodes);
	assert_string_equal(out.partition, in.partition);
	assert_string_equal(out.cgroup, in.cgroup);
	assert_int_equal(out.registered, in.registered);
	assert_string_equal(out.boot_id, in.boot_id);
	assert_int_equal(out.uptime, in.uptime);
	assert_true(out.seeded && out.seed[0] == in.seed[0] && out.seed[1] == in.seed[1]);
	assert_int_equal(out.lane, in.lane);
	assert_int_equal(out.core_count, in.core_count);
	assert_memory_equal(out.core, in.core, sizeof(core));

	assert_int_equal(registration_end(dir_of_test, 12, 3, &err), 0);
	assert_int_equal(registration_end(dir_of_test, 12, 3, &err), 0);
	assert_int_equal(registration_read(dir_of_test, 12, 3, true, &out, &err), 0);
	registration_remove(dir_of_test, 12, 3, false);
	assert_int_equal(registration_read(dir_of_test, 12, 3, true, &out, &err), 0);
	registration_remove(dir_of_test, 12, 3, true);
	assert_int_equal(registration_read(dir_of_test, 12, 3, true, &out, &err), -1);
	assert_true(registration_is_name("12.3.ended", &job, &restart, &ended));
	assert_true(job == 12 && restart == 3 && ended);
}

/* What is not known is left out, or empty. */
static void few_keys(void **state)
{
	static struct registration in, out;
	struct errmsg err = {""};

	(void)state;
	registration_init(&in);
	in.job_id = 4000000000;
	in.uid = 5;
	assert_int_equal(registration_write(dir_of_test, &in, &err), 0);
	assert_file("4000000000.0",
		"JobId=4000000000\nRestart=0\nUid=5\nUser=\"\"\nColocate=\"\"\nNodes=\"\"\n"
		"Partition=\"\"\nCores=\"\"\nRegistered=0\n");
	memset(&out, 0xff, sizeof(out));
	assert_int_equal(registration_read(dir_of_test, 4000000000, 0, false, &out, &err), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(registration_write("/nonexistent", &in, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent"));
}

static void all_cluster_keys(void **state)
{
	struct cluster_conf in = {.cluster = "c",
		.node = "n1",
		.prep_parameters = "poppa_period=1s,poppa_price=main#1",
		.controllers = "a(10.0.0.1),b",
		.cgroup_mount = "/cgroup"};
	struct cluster_conf out;
	struct errmsg err = {""};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" CLUSTER_CONF_FILE, dir_of_test);
	assert_int_equal(cluster_conf_write(path, &in, &err), 0);
	assert_file("cluster.conf", "ClusterName=\"c\"\nNodeName=\"n1\"\n"
				    "PrEpParameters=\"poppa_period=1s,poppa_price=main#1\"\n"
				    "SlurmctldHost=\"a(10.0.0.1),b\"\n"
				    "CgroupMountpoint=\"/cgroup\"\n");
	assert_int_equal(cluster_conf_read(path, &out, &err), 0);
	assert_string_equal(out.cluster, in.cluster);
	assert_string_equal(out.node, in.node);
	assert_string_equal(out.prep_parameters, in.prep_parameters);
	assert_string_equal(out.controllers, in.controllers);
	assert_string_equal(out.cgroup_mount, in.cgroup_mount);
}

/* Of the runs of a job the last one that goes on. */
static void the_run_that_goes_on(void **state)
{
	static struct registration in, out;
	struct errmsg err = {""};

	(void)state;
	registration_init(&in);
	in.job_id = 71;
	in.uid = 5;
	assert_int_equal(registration_find(dir_of_test, 71, &out, &err), -1);
	assert_int_equal(errno, ENOENT);
	for (in.restart = 0; in.restart < 4; in.restart++)
		assert_int_equal(registration_write(dir_of_test, &in, &err), 0);
	assert_int_equal(registration_end(dir_of_test, 71, 3, &err), 0);
	assert_int_equal(registration_find(dir_of_test, 71, &out, &err), 0);
	assert_int_equal(out.job_id, 71);
	assert_int_equal(out.restart, 2);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(registration_end(dir_of_test, 71, i, &err), 0);
	assert_int_equal(registration_find(dir_of_test, 71, &out, &err), -1);
	for (uint32_t i = 0; i < 4; i++)
		registration_remove(dir_of_test, 71, i, true);
	assert_int_equal(registration_find("/nonexistent", 71, &out, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_registration),
		cmocka_unit_test(bad_registrations),
		cmocka_unit_test(seeds),
		cmocka_unit_test(lanes),
		cmocka_unit_test(all_keys),
		cmocka_unit_test(few_keys),
		cmocka_unit_test(all_cluster_keys),
		cmocka_unit_test(the_run_that_goes_on),
		cmocka_unit_test(same_run),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
