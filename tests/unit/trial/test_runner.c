/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/runner.c and runner_tasks.c, with small programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/time.h>

#include "beating.h"
#include "programs.h"
#include "trial/tagged.h"

static char token[TAGGED_TOKEN_SIZE];
static volatile bool stop;
static struct runner_stage *stage;

static int new_stage(void **state)
{
	(void)state;
	tagged_token(token);
	stop = false;
	stage = runner_stage_new(token, NULL, &stop);
	return stage ? 0 : -1;
}

/* Nothing of a test's programs is left. */
static int end_stage(void **state)
{
	struct errmsg err;
	struct tagged_watch *w = tagged_watch_new(token, 0);
	const struct tagged_process *list;
	int left;

	(void)state;
	runner_stage_free(stage);
	left = tagged_look(w, &list, &err);
	tagged_kill_all(w, PATIENCE_NS, &err);
	tagged_watch_free(w);
	return left;
}

/* Starts a script of the shell in the first slot. */
static struct runner_program program;
static const char *script_argv[] = {"/bin/sh", "-c", NULL, NULL};

static void start_script(const char *script)
{
	struct errmsg err = {""};

	script_argv[2] = script;
	program = (struct runner_program){
		.argv = (char *const *)script_argv, .name = "script", .backend = COUNTER_AUTO};
	assert_int_equal(runner_start(stage, 0, &program, &first_pu, &err), 0);
}

/* Runs the loop until this is true of a process. */
static void wait_until(bool (*is)(pid_t pid), pid_t pid)
{
	int64_t end = clock_now() + PATIENCE_NS;
	struct errmsg err = {""};

	while (!is(pid) && clock_now() < end)
		assert_int_equal(runner_wait(stage, clock_now() + 5 * NS_PER_MS, false, &err), 0);
	assert_true(is(pid));
}

/* The script's shell. */
static pid_t leader(void)
{
	return find_child(getpid(), runs_on);
}

static void is_started_again(void **state)
{
	struct errmsg err = {""};
	const struct runner_state *is = runner_state(stage, 0);
	int64_t before;

	(void)state;
	start_script("exit 0");
	for (int i = 1; i <= 3; i++) {
		before = clock_now();
		assert_int_equal(runner_wait(stage, before + PATIENCE_NS, true, &err), 0);
		assert_true(is->runs >= i);
		assert_true(is->last_end_ns >= before && is->last_end_ns <= clock_now());
	}
	assert_true(is->started_ns < is->last_end_ns);
	assert_int_equal(runner_end(stage, &err), 0);
}

static void failures(void **state)
{
	static const struct {
		const char *script, *message;
	} row[] = {
		{"echo first >&2; echo 'the reason ' >&2; echo >&2; exit 3",
			"script failed with exit status 3: the reason"},
		{"exit 4", "script failed with exit status 4"},
		{"printf 'a\\033[31mb' >&2; exit 5", NULL},
		{"echo last words >&2; kill -9 $$", "script was ended by signal 9, Killed: last "
						    "words"},
		/* More than a pipe takes, and then more than is kept. */
		{"head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo all >&2; exit 1",
			"script failed with exit status 1: all"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct errmsg err = {""};

		start_script(row[i].script);
		assert_int_equal(runner_wait(stage, clock_now() + PATIENCE_NS, true, &err), -1);
		if (row[i].message)
			assert_string_equal(err.text, row[i].message);
		assert_null(strchr(err.text, '\033'));
		assert_int_equal(runner_end(stage, &err), 0);
	}
}

static void no_such_program(void **state)
{
	char *const *argv = TEXTS("/no/such/program");
	struct runner_program none = {.argv = argv, .name = "none"};
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(runner_start(stage, 0, &none, &first_pu, &err), -1);
	assert_non_null(strstr(err.text, "cannot run /no/such/program: No such file"));
	assert_int_equal(runner_end(stage, &err), 0);
}

static void much_to_say(void **state)
{
	struct errmsg err = {""};

	(void)state;
	start_script("head -c 4000000 /dev/zero >&2");
	assert_int_equal(runner_wait(stage, clock_now() + PATIENCE_NS, true, &err), 0);
	assert_int_equal(runner_wait(stage, clock_now() + PATIENCE_NS, true, &err), 0);
	assert_true(runner_state(stage, 0)->runs >= 2);
	assert_int_equal(runner_end(stage, &err), 0);
}

/* A process of the program that something else than the stage starts. */
static pid_t start_from_elsewhere(void)
{
	char *const *argv = TEXTS("/bin/sleep", "300");
	char mark[TAGGED_MARK_SIZE], *const env[] = {mark, NULL};

	tagged_mark(token, 0, mark);
	return start_program(argv, env, -1, true);
}

static void holds(void **state)
{
	struct errmsg err = {""};
	pid_t shell, child, stopped, late;

	(void)state;
	start_script("sleep 300 & sleep 301 & kill -STOP $!; wait");
	shell = leader();
	stopped = find_child(shell, is_stopped);
	child = find_child(shell, runs_on);
	assert_int_equal(runner_wait(stage, clock_now() + NS_PER_MS, false, &err), 0);
	assert_int_equal(runner_hold(stage, 0, true, &err), 0);
	assert_true(becomes(is_stopped, shell) && becomes(is_stopped, child));
	late = start_from_elsewhere();
	wait_until(is_stopped, late);
	assert_true(is_stopped(shell) && is_stopped(child) && is_stopped(stopped));

	assert_int_equal(runner_hold(stage, 0, false, &err), 0);
	assert_true(becomes(runs_on, shell) && becomes(runs_on, child) && becomes(runs_on, late));
	/* Somebody else has stopped it before. */
	assert_true(is_stopped(stopped));
	assert_int_equal(runner_wait(stage, clock_now() + NS_PER_MS, false, &err), 0);
	assert_true(is_stopped(stopped));
	/* Also a second time, and the end comes to those that are held. */
	assert_int_equal(runner_hold(stage, 0, true, &err), 0);
	assert_true(becomes(is_stopped, shell) && becomes(is_stopped, late));
	assert_int_equal(runner_end(stage, &err), 0);
	assert_true(is_gone(shell) && is_gone(child) && is_gone(stopped) && is_gone(late));
}

/* The other slot runs on. */
static void holds_one_slot(void **state)
{
	char *const *argv = TEXTS("/bin/sleep", "300");
	const struct runner_program other = {
		.argv = argv, .name = "sleep", .backend = COUNTER_AUTO};
	struct errmsg err = {""};
	pid_t shell, second;

	(void)state;
	start_script("sleep 300 & wait");
	shell = leader();
	find_child(shell, runs_on);
	assert_int_equal(runner_start(stage, 1, &other, &second_pu, &err), 0);
	assert_int_equal(runner_hold(stage, 0, true, &err), 0);
	assert_true(becomes(is_stopped, shell));
	second = find_child(getpid(), runs_on);
	assert_int_not_equal(second, shell);
	assert_int_equal(runner_end(stage, &err), 0);
	assert_true(is_gone(shell) && is_gone(second));
}

static bool has_ignored_term(pid_t pid)
{
	char path[64], line[256];
	unsigned long long ignored = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "SigIgn: %llx", &ignored);
	if (f)
		fclose(f);
	return ignored >> (SIGTERM - 1) & 1;
}

static void ends_the_stubborn(void **state)
{
	struct errmsg err = {""};
	pid_t shell, child;

	(void)state;
	start_script("trap '' TERM; sleep 300 & wait; wait");
	shell = leader();
	child = find_child(shell, has_ignored_term);
	assert_true(has_ignored_term(shell));
	assert_int_equal(runner_end(stage, &err), 0);
	assert_true(is_gone(shell) && is_gone(child));
	/* The slot is free again. */
	start_script("exit 0");
	assert_int_equal(runner_wait(stage, clock_now() + PATIENCE_NS, true, &err), 0);
	assert_int_equal(runner_state(stage, 0)->runs, 1);
	assert_int_equal(runner_end(stage, &err), 0);
}

static void on_alarm(int sig)
{
	(void)sig;
	stop = true;
}

static void stops_when_told(void **state)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval soon = {.it_value = {0, 50000}};
	struct errmsg err = {""};
	int64_t end;

	(void)state;
	start_script("sleep 300");
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	end = clock_now() + PATIENCE_NS;
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(runner_wait(stage, end, false, &err), -1);
	assert_string_equal(err.text, "interrupted");
	assert_true(clock_now() < end);
	assert_int_equal(runner_end(stage, &err), 0);
}

static void reads_progress(void **state)
{
	char *const *argv = TEXTS(own_path, BEATING);
	struct runner_program beating = {.argv = argv, .name = "beating", .backend = COUNTER_AUTO};
	const struct runner_state *is = runner_state(stage, 0);
	int64_t end = clock_now() + PATIENCE_NS;
	struct errmsg err = {""};
	uint64_t before;

	(void)state;
	assert_int_equal(runner_start(stage, 0, &beating, &first_pu, &err), 0);
	assert_int_equal(is->backend, COUNTER_NONE);
	for (int i = 0; i < 2; i++) {
		before = is->progress;
		while (is->progress == before && clock_now() < end) {
			assert_int_equal(
				runner_wait(stage, clock_now() + 10 * NS_PER_MS, false, &err), 0);
			runner_read(stage, 0);
		}
		assert_true(is->progress > before);
	}
	assert_int_equal(is->backend, COUNTER_HEARTBEAT);
	assert_true(is->readable);
	assert_false(is->mpi_calls);
	assert_int_equal(is->most_tasks, 1);
	assert_int_equal(is->runs, 0);
	/* Who is stopped makes no progress. */
	assert_int_equal(runner_hold(stage, 0, true, &err), 0);
	assert_true(becomes(is_stopped, find_child(getpid(), is_stopped)));
	runner_read(stage, 0);
	before = is->progress;
	assert_int_equal(runner_wait(stage, clock_now() + 50 * NS_PER_MS, false, &err), 0);
	runner_read(stage, 0);
	assert_int_equal(is->progress, before);
	assert_int_equal(runner_end(stage, &err), 0);
}

static bool is_on_first(pid_t pid)
{
	cpu_set_t has;

	return !sched_getaffinity(pid, sizeof(has), &has) && CPU_COUNT(&has) == 1 &&
	       CPU_ISSET(own_pu[0], &has);
}

/* Processes are bound, also one that another daemon starts. */
static void binds(void **state)
{
	struct errmsg err = {""};
	pid_t late;

	(void)state;
	start_script("sleep 300");
	assert_true(is_on_first(leader()));
	late = start_from_elsewhere();
	wait_until(is_on_first, late);
	assert_int_equal(runner_end(stage, &err), 0);
	assert_true(is_gone(late));
}

int main(int argc, char **argv)
{
#define STAGED(f) cmocka_unit_test_setup_teardown(f, new_stage, end_stage)
	const struct CMUnitTest tests[] = {
		STAGED(is_started_again),
		STAGED(failures),
		STAGED(no_such_program),
		STAGED(much_to_say),
		STAGED(holds),
		STAGED(holds_one_slot),
		STAGED(ends_the_stubborn),
		STAGED(stops_when_told),
		STAGED(reads_progress),
		STAGED(binds),
	};

	beat_if_asked(argc, argv);
	return cmocka_run_group_tests(tests, find_own, NULL);
}
