/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/registry.c. */
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
#include "poppa/node/registry.h"

static struct registration r; /* large */

static void good_registration(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(registry_parse("12.3",
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
	assert_int_equal(registry_parse("12.3",
				 "JobId=12\nRestart=3\nUid=1000\n"
				 "Seed=\"0000000000000001000000000000000a\"\n"
				 "Cgroup=\"s0ABCDEFGHJKMN\"\n",
				 &r, &err),
		0);
	assert_string_equal(r.cgroup, "s0ABCDEFGHJKMN");
	assert_true(r.seeded && r.seed.word[0] == 1 && r.seed.word[1] == 10);
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

		assert_int_equal(registry_parse(bad[i][0], bad[i][1], &r, &err), -1);
		if (!strstr(err.text, bad[i][2]))
			fail_msg("\"%s\" does not name %s", err.text, bad[i][2]);
	}
}

static void lanes(void **state)
{
	(void)state;
	memset(&r, 0, sizeof(r));
	r.lane = 3;
	assert_int_equal(registry_lane(&r, 2), 3);
	r.lane = -1;
	assert_int_equal(registry_lane(&r, 2), -1);
	r.core_count = 3;
	r.core[0] = 1;
	r.core[1] = 3;
	r.core[2] = 9;
	assert_int_equal(registry_lane(&r, 2), 1);
	r.core[2] = 8;
	assert_int_equal(registry_lane(&r, 2), -1);
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

static void files(void **state)
{
	char dir[] = "/tmp/registry-XXXXXX", jobs[64], path[128];
	struct cluster_conf c = {.node = "before"};
	struct seen seen = {0, 0};
	struct errmsg err = {""};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
	snprintf(path, sizeof(path), "%s/cluster.conf", dir);
	assert_int_equal(registry_watch(dir, &err), -1);
	assert_int_equal(fsio_mkdirs(jobs, 0755, &err), 0);
	fd = registry_watch(dir, &err);
	assert_true(fd >= 0);
	assert_int_equal(registry_changed(fd), 0);

	put(jobs, "7.0", "JobId=7\nRestart=0\nUid=5\n");
	assert_int_equal(registry_changed(fd), REGISTRY_JOBS);
	put(jobs, "8.1.ended", "JobId=8\nRestart=1\nUid=5\n");
	put(jobs, "notes.txt", "");
	put(jobs, "9.0.XYZ", "");
	assert_int_equal(registry_scan(jobs, count, &seen, &err), 0);
	assert_int_equal(seen.running, 1);
	assert_int_equal(seen.ended, 1);
	readable = 3;
	assert_int_equal(registry_scan(jobs, count, &seen, &err), -1);
	assert_non_null(strstr(err.text, strerror(EIO)));
	readable = -1;
	assert_int_equal(registry_read(jobs, 8, 1, true, &r, &err), 0);
	assert_int_equal(r.uid, 5);
	assert_int_equal(registry_read(jobs, 8, 1, false, &r, &err), -1);
	assert_int_equal(errno, ENOENT);
	registry_changed(fd);

	assert_int_equal(registry_cluster(path, &c, &err), -1);
	assert_int_equal(errno, ENOENT);
	put(dir, "cluster.conf", "ClusterName=c\n");
	assert_int_equal(registry_changed(fd), REGISTRY_CLUSTER);
	assert_int_equal(registry_cluster(path, &c, &err), -1);
	assert_string_equal(c.node, "before");
	put(dir, "cluster.conf",
		"ClusterName=c\nNodeName=n1\nPrEpParameters=\"poppa_period=1s,other\"\n"
		"SlurmctldHost=a,b\n");
	assert_int_equal(registry_cluster(path, &c, &err), 0);
	assert_string_equal(c.node, "n1");
	assert_string_equal(c.prep_parameters, "poppa_period=1s,other");
	assert_string_equal(c.cgroup_mount, "/sys/fs/cgroup");
	close(fd);
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_registration),
		cmocka_unit_test(bad_registrations),
		cmocka_unit_test(lanes),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
