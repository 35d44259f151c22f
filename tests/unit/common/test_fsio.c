/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/fsio.c: directories, and files written and read whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"

static void files(void **state)
{
	static const char text[] = "# node\nRunDir=/r/%n # here\n";
	char dir[] = "/tmp/test_fsio.XXXXXX", path[64], deep[64];
	struct errmsg err = {""};
	char *back;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_mkdirs(deep, 0755, &err), 0);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 1, &err), 0);
	back = fsio_read(path, 1000, NULL, &err);
	assert_string_equal(back, text);
	free(back);
	assert_null(fsio_read(path, 5, NULL, &err));
	assert_int_equal(errno, EFBIG);
	assert_int_equal(unlink(path), 0);
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a", dir);
	rmdir(deep);
	assert_int_equal(rmdir(dir), 0);
}

/* What a user names as output stays what it is. */
static void output(void **state)
{
	char dir[] = "/tmp/test_fsio.XXXXXX", file[64], link[64], fifo[64], got[8] = "";
	struct errmsg err = {""};
	struct stat st, before;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(symlink("file", link), 0);
	/* A link to nothing yet, then to a longer text than the new one. */
	for (int i = 0; i < 2; i++) {
		const char *text = i ? "short" : "longer";
		char *back;

		assert_int_equal(fsio_output(link, text, strlen(text), 0600, &err), 0);
		assert_int_equal(lstat(link, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		back = fsio_read(file, 100, NULL, &err);
		assert_string_equal(back, text);
		free(back);
	}
	assert_int_equal(stat(file, &before), 0);
	assert_int_equal(fsio_output(file, "x", 1, 0640, &err), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_not_equal(st.st_ino, before.st_ino); /* replaced in one step */

	assert_int_equal(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR);
	assert_int_equal(fsio_output(fifo, "abc", 3, 0644, &err), 0);
	assert_int_equal(read(fd, got, sizeof(got)), 3);
	assert_string_equal(got, "abc");
	close(fd);
	assert_int_equal(lstat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fsio_output("/dev/full", "abc", 3, 0644, &err), -1);
	assert_non_null(strstr(err.text, "cannot write /dev/full: No space"));
	assert_int_equal(fsio_output(dir, "abc", 3, 0644, &err), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(unlink(fifo) | unlink(link) | unlink(file) | rmdir(dir), 0);
}

/* A program beside this one is preferred, if it can be executed. */
static void helper(void **state)
{
	char dir[PATH_MAX - 64], path[PATH_MAX], found[PATH_MAX], name[64];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	int fd;

	(void)state;
	assert_true(n > 0);
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	snprintf(name, sizeof(name), "test_fsio_helper.%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_ptr_equal(fsio_helper(name, found, sizeof(found)), found);
	assert_string_equal(strrchr(found, '/') + 1, name);
	assert_string_not_equal(found, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	fsio_helper(name, found, sizeof(found));
	assert_string_not_equal(found, path);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	assert_string_equal(fsio_helper(name, found, sizeof(found)), path);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(output),
		cmocka_unit_test(helper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
