/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/pause*.c and held.c, with real processes and, as root, real freezers. */
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
#include "poppa/pause.h"
#include "poppa/proc.h"

static char dir[64], held_path[128];
static struct held_file *held;
static int held_fd;
static pid_t child;
static struct proc_stat child_stat;

static int setup(void **state)
{
	struct errmsg err;

	(void)state;
	strcpy(dir, "/tmp/pause-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(held_path, sizeof(held_path), "%s/held", dir);
	held = held_create(held_path, &held_fd, &err);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return held && !proc_stat(child, &child_stat) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static char state_of(pid_t pid)
{
	struct proc_stat st = {.state = '?'};

	proc_stat(pid, &st);
	return st.state;
}

/* A stop takes effect when the task has had its turn; waits seconds, not for a fixed time. */
static bool becomes(pid_t pid, bool stopped)
{
	for (int ms = 0; ms < 5000; ms++) {
		if ((state_of(pid) == 'T') == stopped)
			return true;
		usleep(1000);
	}
	return false;
}

static void stops_and_resumes(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(held_release(held, false, NULL), 0);
	assert_false(pause_stopped(u));
	assert_int_equal(pause_stop(u), 0);
	assert_int_equal(pause_settled(u), 1);
	assert_true(becomes(child, true));
	assert_true(pause_stopped(u));
	assert_false(pause_resume(u, true));
	assert_true(becomes(child, false));
	assert_int_equal(held_release(held, false, NULL), 0);
	pause_close(u);
	assert_int_equal(held->high, 0);
}

/* Somebody suspends the job while we hold it: it stays suspended after our resume. */
static void gives_a_foreign_stop_back(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	kill(child, SIGSTOP);
	assert_true(pause_resume(u, true));
	assert_true(becomes(child, true));
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	pause_close(u);
}

static void another_process_of_that_pid(void **state)
{
	(void)state;
	assert_null(pause_open_process(held, child, child_stat.starttime + 1));
	assert_int_equal(errno, ESRCH);
	assert_int_equal(held->high, 0);
}

static void gone(void **state)
{
	struct pause_unit *u;
	struct proc_stat st;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		for (;;)
			pause();
	}
	assert_int_equal(proc_stat(pid, &st), 0);
	u = pause_open_process(held, pid, st.starttime);
	assert_non_null(u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(held_release(held, false, NULL), 0);
	pause_close(u);
}

/* What a guard, or the next start, does after a crash. */
static void released_from_the_list(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);
	struct errmsg err;
	int failed = 1;

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, false, &failed), 1);
	assert_int_equal(failed, 0);
	assert_true(becomes(child, false));
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	assert_int_equal(held_repair(held_path, &err), 1);
	assert_true(becomes(child, false));
	assert_int_equal(held_repair(held_path, &err), 0);
	/* A list of another boot names processes of another boot. */
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	held->boot_id[0] ^= 1;
	assert_int_equal(held_repair(held_path, &err), 0);
	assert_int_equal(state_of(child), 'T');
	held->boot_id[0] ^= 1;
	assert_int_equal(held_repair(held_path, &err), 1);
	pause_close(u);
}

static void bad_lists(void **state)
{
	char path[128], junk[100] = "junk";
	struct errmsg err = {""};

	(void)state;
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(held_repair(path, &err), 0);
	assert_int_equal(fsio_write(path, junk, sizeof(junk), 0600, 0, &err), 0);
	assert_int_equal(held_repair(path, &err), -1);
	assert_true(*err.text);
}

static void slots_run_out(void **state)
{
	(void)state;
	for (int i = 0; i < HELD_SLOTS; i++)
		assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), i);
	assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), -1);
	assert_int_equal(errno, ENOSPC);
	for (int i = 0; i < HELD_SLOTS; i++)
		held_free(held, i);
	assert_int_equal(held->high, 0);
}

/* --- freezers --- */

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
		int rc = pause_settled(u);

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
	assert_int_equal(held_release(held, false, NULL), 1); /* as the guard would */
	assert_int_equal(pause_settled(u), 0);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_false(pause_resume(u, true));
	assert_int_equal(pause_settled(u), 0);
	assert_int_equal(held_release(held, false, NULL), 0);
	/* Frozen by somebody else: not ours to thaw. */
	put(cgroup, file, freeze);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(held_release(held, false, NULL), 0);
	put(cgroup, file, thaw);
	put(parent, "cgroup.procs", pid);
	assert_int_equal(rmdir(cgroup), 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ESRCH);
	pause_close(u);
}

static void freezer_v1(void **state)
{
	(void)state;
	freezer("/sys/fs/cgroup/freezer", HELD_FREEZER_V1, "freezer.state", "FROZEN", "THAWED");
}

static void freezer_v2(void **state)
{
	bool hybrid = !access("/sys/fs/cgroup/unified/cgroup.procs", F_OK);

	(void)state;
	freezer(hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", HELD_FREEZER_V2,
		"cgroup.freeze", "1", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_and_resumes),
		cmocka_unit_test(gives_a_foreign_stop_back),
		cmocka_unit_test(another_process_of_that_pid),
		cmocka_unit_test(gone),
		cmocka_unit_test(released_from_the_list),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(slots_run_out),
		cmocka_unit_test(freezer_v1),
		cmocka_unit_test(freezer_v2),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
