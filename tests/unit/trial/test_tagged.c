/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/tagged.c: which processes belong to a trial, and their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "programs.h"
#include "trial/tagged.h"

#define SLOT 3

static char token[TAGGED_TOKEN_SIZE], mark[TAGGED_MARK_SIZE];
#define MARKED TEXTS("PATH=/usr/bin:/bin", mark)
#define PLAIN TEXTS("PATH=/usr/bin:/bin")
#define SLEEPER TEXTS("/bin/sleep", "300")

static int new_token(void **state)
{
	(void)state;
	tagged_token(token);
	tagged_mark(token, SLOT, mark);
	return 0;
}

/* The slot in which a look finds a process; -1: in none. */
static int slot_of(struct tagged_watch *w, pid_t pid)
{
	const struct tagged_process *list;
	struct errmsg err;
	int n = tagged_look(w, &list, &err), slot = -1;

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_true(i == 0 || list[i - 1].pid < list[i].pid);
		if (list[i].pid == pid)
			slot = list[i].slot;
	}
	return slot;
}

static void end_all(struct tagged_watch *w)
{
	struct errmsg err;

	assert_int_equal(tagged_kill_all(w, PATIENCE_NS, &err), 0);
	tagged_watch_free(w);
}

static bool has_no_environment(pid_t pid)
{
	char path[64], byte;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : (int)read(fd, &byte, 1);
	if (fd >= 0)
		close(fd);
	return n == 0 && state_of(pid);
}

static void tokens_differ(void **state)
{
	char other[TAGGED_TOKEN_SIZE], expected[TAGGED_MARK_SIZE];

	(void)state;
	tagged_token(other);
	assert_string_not_equal(token, other);
	snprintf(expected, sizeof(expected), "POPPA_TRIAL=%s.%d", token, SLOT);
	assert_string_equal(mark, expected);
}

/* A child that clears its environment belongs to its parent's program. */
static void families(void **state)
{
	char *const *parent = TEXTS("/bin/sh", "-c", "env -i sleep 300 & wait");
	struct tagged_watch *w = tagged_watch_new(token, 0);
	pid_t pid = start_program(parent, MARKED, -1, true);
	pid_t child = find_child(pid, has_no_environment);

	(void)state;
	assert_int_equal(slot_of(w, pid), SLOT);
	assert_int_equal(slot_of(w, child), SLOT);
	/* What was found once is known without its parent. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(becomes(is_gone, pid));
	assert_int_equal(slot_of(w, pid), -1);
	assert_int_equal(slot_of(w, child), SLOT);
	end_all(w);
	assert_true(is_gone(child));
}

static void orphans(void **state)
{
	char *const *clears = TEXTS("/bin/sh", "-c", "read go; exec env -i sleep 300");
	struct tagged_watch *w = tagged_watch_new(token, 0);
	int input[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	pid = start_program(clears, MARKED, input[0], true);
	assert_int_equal(slot_of(w, pid), SLOT);
	assert_int_equal(write(input[1], "\n", 1), 1);
	assert_true(becomes(has_no_environment, pid));
	assert_int_equal(slot_of(w, pid), SLOT);
	close(input[0]);
	close(input[1]);
	end_all(w);
	assert_true(is_gone(pid));
}

static void strangers(void **state)
{
	char foreign[TAGGED_MARK_SIZE], high[TAGGED_MARK_SIZE], token2[TAGGED_TOKEN_SIZE];
	char *const others[] = {foreign, NULL}, *const too_high[] = {high, NULL};
	/* The value of another variable is no mark. */
	char quoted[TAGGED_MARK_SIZE + 8], *const quotes[] = {quoted, NULL};
	pid_t pid[5];
	struct tagged_watch *w;
	int n = 0;

	(void)state;
	tagged_token(token2);
	tagged_mark(token2, SLOT, foreign);
	tagged_mark(token, TAGGED_SLOTS, high);
	snprintf(quoted, sizeof(quoted), "X=%s", mark);
	pid[n++] = start_program(SLEEPER, PLAIN, -1, true);
	pid[n++] = start_program(SLEEPER, others, -1, true);
	pid[n++] = start_program(SLEEPER, too_high, -1, true);
	pid[n++] = start_program(SLEEPER, quotes, -1, true);
	pid[n++] = start_program(SLEEPER, PLAIN, -1, false);
	w = tagged_watch_new(token, pid[n - 1]);
	for (int i = 0; i < n; i++)
		assert_int_equal(slot_of(w, pid[i]), -1);
	end_all(w);
	for (int i = 0; i < n; i++) {
		assert_true(runs_on(pid[i]));
		kill(pid[i], SIGKILL);
	}
	assert_int_equal(waitpid(pid[n - 1], NULL, 0), pid[n - 1]);
}

/* A child without a mark belongs to some program, as this process starts nothing else. */
static void unknown_children(void **state)
{
	struct tagged_watch *w = tagged_watch_new(token, 0);
	pid_t pid = start_program(SLEEPER, PLAIN, -1, false);

	(void)state;
	assert_int_equal(slot_of(w, pid), TAGGED_UNKNOWN);
	end_all(w);
	/* It has been reaped. */
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void stopped_ones_are_killed(void **state)
{
	struct tagged_watch *w = tagged_watch_new(token, 0);
	const struct tagged_process *list;
	struct errmsg err;
	pid_t pid[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid[i] = start_program(SLEEPER, MARKED, -1, i);
		assert_int_equal(kill(pid[i], SIGSTOP), 0);
		assert_true(becomes(is_stopped, pid[i]));
	}
	assert_int_equal(tagged_look(w, &list, &err), 2);
	assert_int_equal(list[0].state, 'T');
	assert_int_equal(list[0].threads, 1);
	assert_int_equal(tagged_kill_all(w, PATIENCE_NS, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_true(is_gone(pid[i]));
	assert_int_equal(tagged_look(w, &list, &err), 0);
	tagged_watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tokens_differ, new_token),
		cmocka_unit_test_setup(families, new_token),
		cmocka_unit_test_setup(orphans, new_token),
		cmocka_unit_test_setup(strangers, new_token),
		cmocka_unit_test_setup(unknown_children, new_token),
		cmocka_unit_test_setup(stopped_ones_are_killed, new_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
