/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/new_tasks.c: real processes in a made-up cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/new_tasks.h"
#include "poppa/hold/proc.h"

enum { KNOWN, NEW, NEWER, ENDED, APPS };

static char dir[64];
static pid_t app[APPS], launcher;
static struct held_file *held;
static int held_fd;
static struct nodeconf conf;

static pid_t spawn(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static int setup(void **state)
{
	struct errmsg err;
	char path[128];

	(void)state;
	strcpy(dir, "/tmp/new_tasks-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/held", dir);
	held = held_create(path, &held_fd, &err);
	nodeconf_defaults(&conf);
	for (int i = 0; i < APPS; i++)
		app[i] = spawn();
	kill(app[ENDED], SIGKILL);
	waitpid(app[ENDED], NULL, 0);
	launcher = fork();
	if (!launcher) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	for (int ms = 0; ms < 5000; ms++) {
		if (!proc_exe(launcher, path, sizeof(path)) && strcmp(path, "test_new_tasks") &&
			!strstr(path, "lt-"))
			return held ? 0 : -1;
		usleep(1000);
	}
	return -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	for (int i = 0; i < ENDED; i++)
		kill(app[i], SIGKILL);
	kill(launcher, SIGKILL);
	while (wait(NULL) > 0)
		;
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void __attribute__((format(printf, 1, 2))) list(const char *fmt, ...)
{
	char path[128], text[1024];
	struct errmsg err;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static bool becomes(pid_t pid, bool stopped)
{
	struct proc_stat st = {0};

	for (int ms = 0; ms < 5000; ms++) {
		if (!proc_stat(pid, &st) && (st.state == 'T') == stopped)
			return true;
		usleep(1000);
	}
	return false;
}

static char state_of(pid_t pid)
{
	struct proc_stat st = {0};

	proc_stat(pid, &st);
	return st.state;
}

/* Its user has stopped it before poppad has seen it: it stays stopped. */
static void leaves_who_is_stopped(void **state)
{
	struct new_tasks *n = new_tasks_open(held);
	const char *dirs[] = {dir};

	(void)state;
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, &app[KNOWN], 1), 0);
	list("%d\n%d\n", (int)app[NEW], (int)app[NEWER]);
	kill(app[NEW], SIGSTOP);
	assert_true(becomes(app[NEW], true));
	assert_int_equal(new_tasks_stop(n), 1);
	assert_true(becomes(app[NEWER], true));
	new_tasks_resume(n);
	assert_true(becomes(app[NEWER], false));
	assert_int_equal(state_of(app[NEW]), 'T');
	kill(app[NEW], SIGCONT);
	assert_true(becomes(app[NEW], false));
	new_tasks_close(n);
}

static void stops_who_is_new(void **state)
{
	struct new_tasks *n = new_tasks_open(held);
	const char *dirs[] = {dir, "/nonexistent"};

	(void)state;
	assert_non_null(n);
	assert_int_equal(new_tasks_know(n, &conf, dirs, 2, &app[KNOWN], 1), 0);
	list("%d\n%d\n%d\n%d\n%d\n", (int)app[NEW], (int)app[KNOWN], (int)launcher, (int)app[ENDED],
		(int)app[NEWER]);
	for (int times = 0; times < 3; times++) {
		assert_int_equal(new_tasks_stop(n), 2);
		assert_true(becomes(app[NEW], true));
		assert_true(becomes(app[NEWER], true));
		assert_int_not_equal(state_of(app[KNOWN]), 'T');
		assert_int_not_equal(state_of(launcher), 'T');
		if (times == 1) {
			/* The guard knows them. */
			assert_int_equal(held_release(held, NULL, true, NULL), 2);
			assert_true(becomes(app[NEW], false));
			assert_true(becomes(app[NEWER], false));
		}
		new_tasks_resume(n);
		assert_true(becomes(app[NEW], false));
		assert_true(becomes(app[NEWER], false));
		assert_int_equal(held_release(held, NULL, true, NULL), 0);
	}
	/* A scan has found them: they have units of their own from now on. */
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, app, APPS), 0);
	assert_int_equal(new_tasks_stop(n), 0);
	new_tasks_resume(n);
	new_tasks_close(n);
	assert_int_equal(held->high, 0);
}

/* More than it has room for: those it can, and none of them stays. */
static void too_many(void **state)
{
	struct new_tasks *n = new_tasks_open(held);
	pid_t pid[NEW_TASKS_MAX + 5];
	char text[(NEW_TASKS_MAX + 5) * 12] = "";
	const char *dirs[] = {dir};

	(void)state;
	assert_non_null(n);
	for (int i = 0; i < NEW_TASKS_MAX + 5; i++) {
		pid[i] = spawn();
		sprintf(text + strlen(text), "%d\n", (int)pid[i]);
	}
	list("%s", text);
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, NULL, 0), 0);
	assert_int_equal(new_tasks_stop(n), NEW_TASKS_MAX);
	assert_int_equal(held_release(held, NULL, false, NULL), NEW_TASKS_MAX);
	new_tasks_resume(n);
	for (int i = 0; i < NEW_TASKS_MAX + 5; i++) {
		assert_true(becomes(pid[i], false));
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	new_tasks_close(n);
}

/* Where a list is cut, the rest of a number is the number of somebody else. */
static void cut_list(void **state)
{
	static char text[NEW_TASKS_LISTING + 64];
	struct new_tasks *n = new_tasks_open(held);
	const char *dirs[] = {dir};
	char stranger[16], path[128];
	struct errmsg err;

	(void)state;
	assert_non_null(n);
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, NULL, 0), 0);
	snprintf(stranger, sizeof(stranger), "%d", (int)app[NEW]);
	memset(text, '\n', NEW_TASKS_LISTING);
	sprintf(text + NEW_TASKS_LISTING - 1 - strlen(stranger), "%s0\n", stranger);
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
	assert_int_equal(new_tasks_stop(n), 0);
	new_tasks_resume(n);
	/* One that ends where the room does is whole. */
	sprintf(text + NEW_TASKS_LISTING - 2 - strlen(stranger), "%s\n", stranger);
	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
	assert_int_equal(new_tasks_stop(n), 1);
	assert_true(becomes(app[NEW], true));
	new_tasks_resume(n);
	assert_true(becomes(app[NEW], false));
	new_tasks_close(n);
}

/* poppa.conf may be read again in the middle of a shutter. */
static void conf_changes(void **state)
{
	struct new_tasks *n = new_tasks_open(held);
	const char *dirs[] = {dir};

	(void)state;
	assert_non_null(n);
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, NULL, 0), 0);
	list("%d\n", (int)app[NEW]);
	conf.launcher_count = 1;
	strcpy(conf.launcher[0], "*");
	assert_int_equal(new_tasks_stop(n), 1);
	new_tasks_resume(n);
	assert_int_equal(new_tasks_know(n, &conf, dirs, 1, NULL, 0), 0);
	assert_int_equal(new_tasks_stop(n), 0);
	new_tasks_resume(n);
	assert_true(becomes(app[NEW], false));
	conf.launcher_count = 0;
	new_tasks_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_who_is_stopped),
		cmocka_unit_test(stops_who_is_new),
		cmocka_unit_test(too_many),
		cmocka_unit_test(cut_list),
		cmocka_unit_test(conf_changes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
