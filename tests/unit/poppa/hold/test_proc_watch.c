/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/proc_watch.c, with a real process that waits, runs or is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/hold/proc_watch.h"

#define PATIENCE_MS 60000

static int order[2];
static pid_t child;
static struct proc_watch watch;

/* The child waits in read(), works a little for each 'w', and for ever after an 'e'. */
static int setup(void **state)
{
	volatile uint64_t work;
	char c;

	(void)state;
	if (pipe(order))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (syscall(SYS_read, order[0], &c, 1) == 1)
			for (work = 0; c == 'e' || work < 100000; work++)
				;
		_exit(0);
	}
	proc_watch_open(&watch, child);
	return child > 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	proc_watch_close(&watch);
	close(order[0]);
	close(order[1]);
	return 0;
}

static void give(char c)
{
	assert_int_equal(write(order[1], &c, 1), 1);
}

/* Waits until the child waits and has used more processor time than this; returns how much. */
static uint64_t waits_after(uint64_t ran)
{
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		/* Once it is in the call it stays there. */
		uint64_t now = proc_watch_call(&watch) == SYS_read ? proc_watch_ran(&watch) : 0;

		if (now > ran)
			return now;
		usleep(1000);
	}
	fail_msg("the child does not wait");
	return 0;
}

static void tells_whether_it_has_run(void **state)
{
	uint64_t before = waits_after(0);

	(void)state;
	assert_true(proc_watch_ran(&watch) == before);
	usleep(5000);
	assert_true(proc_watch_ran(&watch) == before);
	give('w');
	assert_true(waits_after(before) > before);
}

static void a_stop_hides_nothing(void **state)
{
	int status;

	(void)state;
	waits_after(0);
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_true(proc_watch_ran(&watch) > 0);
	assert_int_equal(proc_watch_call(&watch), SYS_read);
	kill(child, SIGCONT);
	waits_after(0);
}

/* A debugger may hold it on its way into the call: nobody knows whether the call was made. */
static void not_known_under_a_debugger(void **state)
{
	int status;

	(void)state;
	if (ptrace(PTRACE_ATTACH, child, NULL, NULL)) {
		print_message("skipped: no permission to trace\n");
		skip();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(proc_watch_call(&watch), -1);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	waits_after(0);
}

static void not_known_while_it_runs(void **state)
{
	(void)state;
	give('e');
	/* On its way out of the call it may sleep once more, for a lock of the pipe. */
	for (int ms = 0; proc_watch_ran(&watch) || proc_watch_call(&watch) != -1; ms++) {
		assert_in_range(ms, 0, PATIENCE_MS);
		usleep(1000);
	}
	for (int again = 0; again < 100; again++) {
		assert_true(proc_watch_ran(&watch) == 0);
		assert_int_equal(proc_watch_call(&watch), -1);
	}
}

static void not_known_once_it_is_gone(void **state)
{
	struct proc_watch none;

	(void)state;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(proc_watch_ran(&watch) == 0);
	assert_int_equal(proc_watch_call(&watch), -1);
	proc_watch_open(&none, child);
	assert_int_equal(none.tid, child);
	assert_true(proc_watch_ran(&none) == 0);
	assert_int_equal(proc_watch_call(&none), -1);
	proc_watch_close(&none);
	assert_int_equal(none.tid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_whether_it_has_run),
		cmocka_unit_test(a_stop_hides_nothing),
		cmocka_unit_test(not_known_under_a_debugger),
		cmocka_unit_test(not_known_while_it_runs),
		cmocka_unit_test(not_known_once_it_is_gone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
