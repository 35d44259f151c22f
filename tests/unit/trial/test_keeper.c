/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/keeper.c: what is left when one of the two processes ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "programs.h"
#include "trial/keeper.h"
#include "trial/tagged.h"

#define REFUSED 200

static char token[TAGGED_TOKEN_SIZE];
/* What the worker says: its pid, the pid of a program, and that SIGTERM has come. */
static int talk[2];

static int new_token(void **state)
{
	(void)state;
	tagged_token(token);
	return pipe2(talk, O_CLOEXEC);
}

static int close_talk(void **state)
{
	(void)state;
	close(talk[0]);
	return 0;
}

static void say(pid_t what)
{
	if (write(talk[1], &what, sizeof(what)) != (ssize_t)sizeof(what))
		_exit(126);
}

static pid_t hear(void)
{
	pid_t what = 0;

	assert_int_equal(read(talk[0], &what, sizeof(what)), sizeof(what));
	return what;
}

/* All that could talk is gone. */
static void hear_the_end(void)
{
	pid_t what;

	assert_int_equal(read(talk[0], &what, sizeof(what)), 0);
}

/* The keeper in a process of its own, as it changes its signals and whose parent it is. It ends
 * with what keeper_run() returns, or with REFUSED where that is -1 with such a message. */
static pid_t start_keeper(int (*work)(void *arg), const char *message)
{
	pid_t pid = fork();

	if (!pid) {
		struct errmsg err = {""};
		int rc = keeper_run(token, work, talk, &err);

		if (rc < 0 && message)
			_exit(strstr(err.text, message) ? REFUSED : 99);
		_exit(rc < 0 ? 98 : rc);
	}
	close(talk[1]);
	return pid;
}

static int status_of(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Leaves a program that has left its parents. */
static void leave_program(void)
{
	char *const *argv = TEXTS("/bin/sleep", "300");
	char mark[TAGGED_MARK_SIZE], *const env[] = {mark, NULL};

	tagged_mark(token, 0, mark);
	say(start_program(argv, env, -1, true));
}

static int returns_7(void *arg)
{
	assert_ptr_equal(arg, talk);
	leave_program();
	return 7;
}

static void gives_the_status(void **state)
{
	pid_t keeper = start_keeper(returns_7, NULL), program = hear();

	(void)state;
	assert_int_equal(status_of(keeper), 7);
	assert_true(is_gone(program));
}

static int is_killed(void *arg)
{
	(void)arg;
	leave_program();
	raise(SIGKILL);
	return 0;
}

static void clears_up_behind_a_killed_worker(void **state)
{
	pid_t keeper = start_keeper(is_killed, "was ended by signal 9"), program = hear();

	(void)state;
	assert_int_equal(status_of(keeper), REFUSED);
	assert_true(is_gone(program));
}

/* Waits for SIGTERM as a user's wish to end. Its parent has blocked it before it says its pid. */
static int waits_for_term(void *arg)
{
	sigset_t set;
	int sig = 0;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say(getpid());
	sigwait(&set, &sig);
	say(sig);
	return 9;
}

static void worker_hears_of_a_killed_keeper(void **state)
{
	pid_t keeper = start_keeper(waits_for_term, NULL);

	(void)state;
	assert_true(hear() > 0);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_int_equal(status_of(keeper), 1000 + SIGKILL);
	assert_int_equal(hear(), SIGTERM);
	hear_the_end();
}

static void signals_become_term(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		pid_t keeper;

		if (i) {
			close_talk(state);
			assert_int_equal(new_token(state), 0);
		}
		keeper = start_keeper(waits_for_term, NULL);
		assert_true(hear() > 0);
		assert_int_equal(kill(keeper, signals[i]), 0);
		assert_int_equal(hear(), SIGTERM);
		assert_int_equal(status_of(keeper), 9);
		hear_the_end();
	}
}

int main(void)
{
#define WITH_TOKEN(f) cmocka_unit_test_setup_teardown(f, new_token, close_talk)
	const struct CMUnitTest tests[] = {
		WITH_TOKEN(gives_the_status),
		WITH_TOKEN(clears_up_behind_a_killed_worker),
		WITH_TOKEN(worker_hears_of_a_killed_keeper),
		WITH_TOKEN(signals_become_term),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
