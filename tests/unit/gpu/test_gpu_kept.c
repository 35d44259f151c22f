/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the file of percentages: what is found, what is changed, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fsio.h"
#include "gpu/gpu_kept.h"

static char folder[] = "/tmp/test-gpu-kept-XXXXXX", path[128];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/config/poppa/gpu", folder);
	return 0;
}

static int tear_down(void **state)
{
	char command[192];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void write_text(const char *text)
{
	struct errmsg err;

	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static void assert_text(const char *text)
{
	struct errmsg err;
	char *found = fsio_read(path, 1 << 20, NULL, &err);

	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
}

static void test_put_and_find(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(gpu_kept_find(path, "md", &err), 0);
	assert_int_equal(gpu_kept_put(path, "md", 50, &err), 0);
	assert_int_equal(gpu_kept_put(path, "md2", 10, &err), 0);
	assert_int_equal(gpu_kept_put(path, "md", 60, &err), 0);
	assert_int_equal(gpu_kept_find(path, "md", &err), 60);
	assert_int_equal(gpu_kept_find(path, "md2", &err), 10);
	assert_int_equal(gpu_kept_find(path, "m", &err), 0);
	assert_text("md2 10\nmd 60\n");
}

/* Sweeps that end at the same time: none takes another one's class away. */
static void test_many_at_once(void **state)
{
	enum { PROCESSES = 8, EACH = 25 };
	struct errmsg err = {""};
	char name[32];

	(void)state;
	for (int p = 0; p < PROCESSES; p++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid)
			continue;
		for (int i = 0; i < EACH; i++) {
			snprintf(name, sizeof(name), "c%d-%d", p, i);
			if (gpu_kept_put(path, name, 1 + i, &err))
				_exit(1);
		}
		_exit(0);
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int p = 0; p < PROCESSES; p++)
		for (int i = 0; i < EACH; i++) {
			snprintf(name, sizeof(name), "c%d-%d", p, i);
			assert_int_equal(gpu_kept_find(path, name, &err), 1 + i);
		}
}

/* Nobody else can do that; a process that hangs can. */
static void test_a_lock_that_somebody_keeps(void **state)
{
	struct errmsg err = {""};
	char name[160];
	struct stat st;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(gpu_kept_put(path, "md", 50, &err), -1);
	assert_non_null(strstr(err.text, "gpu.lock: another process keeps it locked"));
	close(fd);
	assert_int_equal(gpu_kept_put(path, "md", 50, &err), 0);
}

static void test_what_cannot_be_made_is_named(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(gpu_kept_put("/dev/null/gpu", "md", 50, &err), -1);
	assert_non_null(strstr(err.text, "/dev/null"));
}

static void test_what_is_not_understood_stays(void **state)
{
	struct errmsg err = {""};

	(void)state;
	write_text("# by hand\nmd\t 30\nlater words of a next release\ncfd none");
	assert_int_equal(gpu_kept_find(path, "md", &err), 30);
	assert_int_equal(gpu_kept_find(path, "cfd", &err), -1);
	assert_non_null(strstr(err.text, "line 4: class cfd"));
	assert_int_equal(gpu_kept_put(path, "md", 40, &err), 0);
	assert_text("# by hand\nlater words of a next release\ncfd none\nmd 40\n");
	assert_int_equal(gpu_kept_put(path, "cfd", 1, &err), 0);
	assert_int_equal(gpu_kept_find(path, "cfd", &err), 1);
}

static void test_paths(void **state)
{
	char buf[64];

	(void)state;
	setenv("XDG_CONFIG_HOME", "/x", 1);
	setenv("HOME", "/h", 1);
	assert_string_equal(gpu_kept_path(buf, sizeof(buf)), "/x/poppa/gpu");
	setenv("XDG_CONFIG_HOME", "relative", 1);
	assert_string_equal(gpu_kept_path(buf, sizeof(buf)), "/h/.config/poppa/gpu");
	assert_null(gpu_kept_path(buf, 5));
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	assert_null(gpu_kept_path(buf, sizeof(buf)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_find),
		cmocka_unit_test(test_what_is_not_understood_stays),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_a_lock_that_somebody_keeps),
		cmocka_unit_test(test_what_cannot_be_made_is_named),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
