/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/run_dir_watch.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/node/run_dir_watch.h"

static void put(const char *dir, const char *name, const char *text)
{
	struct errmsg err;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static void changes(void **state)
{
	char dir[] = "/tmp/run-dir-XXXXXX", jobs[64], command[128];
	struct errmsg err = {""};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
	assert_int_equal(run_dir_watch(dir, &err), -1);
	assert_int_equal(fsio_mkdirs(jobs, 0755, &err), 0);
	fd = run_dir_watch(dir, &err);
	assert_true(fd >= 0);
	assert_int_equal(run_dir_changed(fd), 0);

	put(jobs, "7.0", "JobId=7\nRestart=0\nUid=5\n");
	assert_int_equal(run_dir_changed(fd), RUN_DIR_JOBS);
	put(jobs, "8.1.ended", "JobId=8\nRestart=1\nUid=5\n");
	assert_int_equal(run_dir_changed(fd), RUN_DIR_JOBS);
	put(jobs, "notes.txt", "");
	assert_int_equal(run_dir_changed(fd), 0);
	put(dir, "cluster.conf", "ClusterName=c\n");
	assert_int_equal(run_dir_changed(fd), RUN_DIR_CLUSTER);
	close(fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
