/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/pause_freezer.c: as root, with the freezers of this host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "unit/poppa/hold/pause_fixture.h"

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_true(write(fd, text, strlen(text)) > 0);
	close(fd);
}

static bool settles(struct pause_unit *u)
{
	for (int ms = 0; ms < 5000; ms++) {
		int rc = pause_stands_still(u);

		assert_true(rc >= 0);
		if (rc)
			return true;
		usleep(1000);
	}
	return false;
}

static void freezer(const char *parent, enum held_kind kind, const char *file, const char *freeze,
	const char *thaw)
{
	char cgroup[256], pid[32], path[512];
	struct pause_unit *u;

	snprintf(cgroup, sizeof(cgroup), "%s/poppatest-%d", parent, (int)getpid());
	if (mkdir(cgroup, 0755)) {
		print_message("skipped: no freezer at %s (%s)\n", parent, strerror(errno));
		skip();
	}
	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	if (access(path, W_OK)) {
		rmdir(cgroup);
		print_message("skipped: no %s at %s\n", file, parent);
		skip();
	}
	snprintf(pid, sizeof(pid), "%d", (int)child);
	put(cgroup, "cgroup.procs", pid);
	u = pause_open_freezer(held, kind, cgroup);
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_int_equal(held_release(held, NULL, false, NULL), 1); /* as the guard would */
	assert_int_equal(pause_stands_still(u), 0);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_false(pause_resume(u, true));
	assert_int_equal(pause_stands_still(u), 0);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	/* Frozen by somebody else: not ours to thaw. */
	put(cgroup, file, freeze);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	put(cgroup, file, thaw);
	/* Frozen by somebody else while we hold it. */
	assert_int_equal(pause_watch(u), 0);
	assert_int_equal(pause_watch(u), 0);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_false(pause_meddled(u));
	put(cgroup, file, freeze);
	assert_true(pause_meddled(u));
	assert_true(pause_resume(u, true));
	assert_int_equal(pause_stands_still(u), 1);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, EBUSY);
	put(cgroup, file, thaw);
	/* Our own commands, and the guard's, are nobody else's. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pause_stop(u), 0);
		assert_true(settles(u));
		assert_false(pause_meddled(u));
		if (i)
			assert_int_equal(held_release(held, NULL, false, NULL), 1);
		assert_false(pause_meddled(u));
		assert_false(pause_resume(u, true));
		assert_int_equal(pause_stands_still(u), 0);
	}
	/* A signal for what is frozen waits. */
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_false(proc_signalled(child));
	assert_int_equal(kill(child, SIGCHLD), 0);
	assert_false(proc_signalled(child));
	assert_int_equal(kill(child, SIGTSTP), 0);
	assert_true(proc_signalled(child));
	assert_false(pause_resume(u, true));
	assert_true(becomes(child, true));
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_true(becomes(child, false));
	assert_false(proc_signalled(child));
	put(parent, "cgroup.procs", pid);
	assert_int_equal(rmdir(cgroup), 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ESRCH);
	pause_close(u);
}

static void pauses_v1(void **state)
{
	(void)state;
	freezer("/sys/fs/cgroup/freezer", HELD_FREEZER_V1, "freezer.state", "FROZEN", "THAWED");
}

static void pauses_v2(void **state)
{
	bool hybrid = !access("/sys/fs/cgroup/unified/cgroup.procs", F_OK);

	(void)state;
	freezer(hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", HELD_FREEZER_V2,
		"cgroup.freeze", "1", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_v1),
		cmocka_unit_test(pauses_v2),
	};

	return cmocka_run_group_tests(tests, pause_setup, pause_teardown);
}
