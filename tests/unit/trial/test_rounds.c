/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/rounds.c: trials of programs that sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "beating.h"
#include "programs.h"
#include "trial/rounds.h"
#include "trial/tagged.h"

#define PHASES (TRIAL_ALONE + 1)

static char token[TAGGED_TOKEN_SIZE];
static volatile bool stop;
static int told[PHASES], last_round;
static const char *const naps_argv[] = {"/bin/sleep", "0.05", NULL};
static char *const *const naps = (char *const *)naps_argv;

static void tell(
	void *arg, enum trial_phase phase, const char *a, const char *b, int round, int64_t left_ns)
{
	assert_ptr_equal(arg, told);
	told[phase]++;
	last_round = round;
	assert_non_null(a);
	assert_int_equal(b != NULL, phase == TRIAL_TOGETHER || phase == TRIAL_TURNS);
	assert_true(left_ns >= 0);
}

static int reset(void **state)
{
	(void)state;
	tagged_token(token);
	stop = false;
	memset(told, 0, sizeof(told));
	return 0;
}

static struct trial *new_trial(char *const *a, char *const *b, int rounds)
{
	struct trial *t = trial_new(2, rounds);

	assert_non_null(t);
	t->program[0].run.argv = a;
	t->program[0].run.name = "first";
	t->program[1].run.argv = b;
	t->program[1].run.name = "second";
	return t;
}

static int run_rounds(struct trial *t, int64_t time_ns, int rounds, struct errmsg *err)
{
	struct trial_options o = {.lane = {first_pu, second_pu},
		.both = both_pus,
		.time_ns = time_ns,
		.rounds = rounds,
		.progress = tell,
		.arg = told};
	struct runner_stage *stage = runner_stage_new(token, NULL, &stop);
	struct tagged_watch *w = tagged_watch_new(token, 0);
	const struct tagged_process *list;
	struct errmsg why;
	int rc = trial_rounds(stage, &o, t, err);

	assert_int_equal(tagged_look(w, &list, &why), 0);
	tagged_watch_free(w);
	runner_stage_free(stage);
	return rc;
}

static void counts_runs(void **state)
{
	struct trial *t = new_trial(naps, naps, 2);
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(run_rounds(t, NS_PER_S, 2, &err), 0);
	assert_int_equal(t->rounds, 2);
	assert_int_equal(last_round, 2);
	assert_true(t->took_ns > 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(t->program[i].unit, TRIAL_UNIT_RUNS);
		assert_string_equal(t->program[i].note, "");
		/* A nap of 0.05 s takes that or more, however busy the machine is. */
		assert_true(t->program[i].run_s >= 0.05);
		for (int k = 0; k < 2; k++) {
			assert_true(t->program[i].compact[k] <= 20);
			assert_true(t->program[i].compact[k] > 0);
			assert_true(t->program[i].alone[i][k] <= 20);
			assert_true(t->program[i].alone[i][k] > 0);
			assert_true(t->pair[0].round[k].rate[i] <= 20);
			assert_true(t->pair[0].round[k].rate[i] > 0);
		}
		/* No pair has it in the other place. */
		assert_true(isnan(t->program[i].alone[1 - i][0]));
	}
	assert_true(told[TRIAL_COMPACT] && told[TRIAL_TOGETHER] && told[TRIAL_ALONE]);
	assert_int_equal(told[TRIAL_TURNS], 0);
	trial_judge(t);
	assert_true(t->stp.mean > 0 && t->stp.lo <= t->stp.mean);
	assert_true(t->pair[0].loss[1].mean < 1);
	trial_free(t);
}

/* Phases that are too short for a busy machine show no rates. */
static bool all_is_known(const struct trial *t)
{
	bool known = true;

	for (int i = 0; i < 2; i++)
		known &= t->program[i].compact[0] > 0 && t->pair[0].round[0].rate[i] > 0 &&
			 !isnan(t->pair[0].round[0].loss[i]);
	return known;
}

static void takes_turns(void **state)
{
	char *const *beats = TEXTS(own_path, BEATING);
	struct errmsg err = {""};
	struct trial *t = NULL;
	bool known = false;

	for (int64_t time = 4 * NS_PER_S; !known && time < PATIENCE_NS; time *= 2) {
		reset(state);
		trial_free(t);
		t = new_trial(beats, beats, 1);
		assert_int_equal(run_rounds(t, time, 1, &err), 0);
		known = all_is_known(t);
	}
	assert_true(known);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(t->program[i].backend, COUNTER_HEARTBEAT);
		assert_int_equal(t->program[i].unit, TRIAL_UNIT_COUNTER);
		/* A nap of 1 ms takes that or more; one beat may fall on the edge. */
		assert_true(t->program[i].compact[0] < 1010);
		assert_true(t->pair[0].round[0].rate[i] < 1010);
		assert_true(t->pair[0].round[0].loss[i] < 1);
		assert_true(isnan(t->program[i].run_s));
	}
	assert_true(told[TRIAL_TURNS] > 0);
	assert_int_equal(told[TRIAL_ALONE], 0);
	trial_free(t);
}

static void failures(void **state)
{
	char *const *fails = TEXTS("/bin/sh", "-c", "echo broken >&2; exit 2");
	struct trial *t = new_trial(naps, fails, 2);
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(run_rounds(t, NS_PER_S, 2, &err), -1);
	assert_string_equal(err.text, "second failed with exit status 2: broken");
	assert_int_equal(t->rounds, 0);
	trial_free(t);
	t = new_trial(naps, naps, 2);
	stop = true;
	assert_int_equal(run_rounds(t, NS_PER_S, 2, &err), -1);
	assert_string_equal(err.text, "interrupted");
	trial_free(t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(counts_runs, reset),
		cmocka_unit_test_setup(takes_turns, reset),
		cmocka_unit_test_setup(failures, reset),
	};

	beat_if_asked(argc, argv);
	return cmocka_run_group_tests(tests, find_own, NULL);
}
