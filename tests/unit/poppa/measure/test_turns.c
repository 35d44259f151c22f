/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/turns.c: who takes turns, when they end, and what they bring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "common/units.h"
#include "poppa/measure/turns.h"
#include "../noisy_block.h"

#define TURN (500 * NS_PER_MS)
#define STEP (10 * NS_PER_MS)
#define SWITCH_NS (2 * NS_PER_MS)
#define NOISE 0.1
#define HOUR 3600
#define GROUP 77

/* Jobs of a node, of which blocks say the truth with noise. */
struct world {
	int jobs;
	double degradation[SCHEDULE_MAX_JOBS];
	double period_s; /* between blocks of a job, side by side */
	struct schedule schedule;
	struct turns turns;
	struct turns_blocks blocks[SCHEDULE_MAX_JOBS];
	double limit[SCHEDULE_MAX_JOBS];
	int64_t since[SCHEDULE_MAX_JOBS];
	bool unfit, unholdable;
	int64_t now_ns;
	double next_s[SCHEDULE_MAX_JOBS], beside_s; /* time side by side so far */
	double progress[SCHEDULE_MAX_JOBS], on_s;
	int changes;
};

static struct world world_of(int jobs, const double *degradation)
{
	struct world w = {.jobs = jobs, .period_s = 0.82, .now_ns = 1000 * NS_PER_S};

	w.schedule.jobs = jobs;
	for (int i = 0; i < jobs; i++) {
		w.degradation[i] = degradation[i];
		w.schedule.job[i].measured = true;
		w.schedule.job[i].seed = (struct schedule_seed){{7 + (uint64_t)i, 9}};
		w.next_s[i] = w.period_s * (1 + i) / jobs;
		w.since[i] = i;
	}
	return w;
}

static void decide(struct world *w)
{
	struct turns_job job[SCHEDULE_MAX_JOBS];

	for (int i = 0; i < w->jobs; i++)
		job[i] = (struct turns_job){.fit = !w->unfit,
			.blocks = &w->blocks[i],
			.lo = NAN,
			.holdable = !w->unholdable,
			.trusted = !w->unfit,
			.limit = w->limit[i],
			.since = w->since[i]};
	w->changes += turns_look(&w->turns, GROUP, job, w->jobs, TURN, w->now_ns);
	w->changes += turns_limits(&w->turns, job, w->jobs, w->now_ns);
}

static void live(struct world *w, int seconds)
{
	int runs = -1;

	for (int64_t step = 0; step < seconds * (NS_PER_S / STEP); step++) {
		double dt = (double)STEP / NS_PER_S;
		struct turns_slice s = {.runs = -1};

		if (step % (NS_PER_S / STEP) == 0)
			decide(w);
		if (w->turns.on)
			turns_slice(&w->schedule, TURN, w->now_ns, &s);
		if (w->turns.slices)
			turns_slice_alone(&w->schedule, TURN, w->turns.favoured, w->turns.slices,
				w->now_ns, &s);
		w->on_s += w->turns.on || w->turns.slices ? dt : 0;
		for (int i = 0; i < w->jobs && s.runs < 0; i++)
			w->progress[i] += dt * (1 - w->degradation[i]);
		if (s.runs >= 0)
			w->progress[s.runs] += dt - (s.runs != runs ? 1e-9 * SWITCH_NS : 0);
		else
			w->beside_s += dt;
		/* While they take turns, blocks are more frequent. */
		for (int i = 0; i < w->jobs && s.runs < 0; i++) {
			if (w->beside_s < w->next_s[i])
				continue;
			w->next_s[i] = w->beside_s +
				       w->period_s / (w->turns.on || w->turns.slices ? 3 : 1);
			turns_add(
				&w->blocks[i], GROUP, w->degradation[i] + noise(NOISE), w->now_ns);
		}
		runs = s.runs;
		w->now_ns += STEP;
	}
}

static double total(const struct world *w, int seconds)
{
	double sum = 0;

	for (int i = 0; i < w->jobs; i++)
		sum += w->progress[i] / seconds;
	return sum;
}

/* Whoever loses less than half beside one other is never held for a turn. */
static void innocent_never_turn(void **state)
{
	static const double pairs[][2] = {
		{0, 0}, {0.1, 0.1}, {0.3, 0.4}, {0.47, 0.47}, {0.9, 0.05}, {0.8, 0.45}, {0.5, 0.5}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct world w = world_of(2, pairs[i]);

		live(&w, HOUR);
		assert_int_equal(w.changes, 0);
		assert_true(w.on_s == 0);
	}
}

static void bad_pairs_turn(void **state)
{
	static const double all[] = {0.8, 0.8, 0.8, 0.8};
	double made;

	(void)state;
	for (int jobs = 2; jobs <= 4; jobs++) {
		struct world w = world_of(jobs, all);

		w.degradation[0] = w.degradation[1] = jobs == 2 ? 0.8 : 0.9;
		w.degradation[2] = w.degradation[3] = 0.9;
		live(&w, HOUR);
		assert_int_equal(w.changes, 1);
		made = total(&w, HOUR);
		print_message("# %d jobs make %.3f of one's progress\n", jobs, made);
		assert_true(made >= (jobs == 2 ? 0.95 : 0.93));
		/* Nobody is left behind. */
		for (int i = 0; i < jobs; i++)
			assert_true(fabs(w.progress[i] * jobs / HOUR - made) < 0.01);
	}
}

/* Of a pair near the limit each makes at least nearly as much as side by side. */
static void nobody_loses(void **state)
{
	(void)state;
	for (double d = 0.50; d < 0.62; d += 0.01) {
		const double both[] = {d, d};
		struct world w = world_of(2, both);

		live(&w, HOUR);
		for (int i = 0; i < 2; i++)
			assert_true(w.progress[i] / HOUR > 1 - d - 0.012);
	}
}

static void end_when_they_suit(void **state)
{
	static const double bad[] = {0.75, 0.7};
	struct world w = world_of(2, bad);

	(void)state;
	live(&w, 300);
	assert_true(w.turns.on);
	assert_in_range((int)w.on_s, 240, 270);
	/* Another phase. */
	w.degradation[0] = w.degradation[1] = 0.2;
	w.on_s = 0;
	live(&w, HOUR);
	print_message("# turns end %.0f s after the jobs suit each other\n", w.on_s);
	assert_false(w.turns.on);
	assert_int_equal(w.changes, 2);
	assert_true(w.on_s < 150);
	/* And again; but not at once. */
	w.degradation[0] = w.degradation[1] = 0.8;
	w.on_s = 0;
	live(&w, 400);
	assert_int_equal(w.changes, 3);
	assert_true(w.on_s > 300);
}

/* Two blocks of twelve that something else has spoilt say nothing of the pair. */
static void spoilt_blocks_do_not_end_them(void **state)
{
	static const double bad[] = {0.75, 0.75};
	struct world w = world_of(2, bad);

	(void)state;
	live(&w, 300);
	for (int i = 0; i < 60; i++) {
		assert_true(w.turns.on);
		live(&w, 60);
		turns_add(&w.blocks[i % 2], GROUP, -1, w.now_ns);
		turns_add(&w.blocks[i % 2], GROUP, -1, w.now_ns);
	}
	assert_int_equal(w.changes, 1);
}

static void must_be_sure(void **state)
{
	static const double bad[] = {0.8, 0.8};
	struct world w = world_of(2, bad);
	struct turns_job job[2] = {{.fit = true, .blocks = &w.blocks[0], .lo = NAN},
		{.fit = true, .blocks = &w.blocks[1], .lo = 0.3}};

	(void)state;
	/* Too few blocks, then too short. */
	live(&w, 9);
	assert_int_equal(w.turns.sure_ns, 0);
	live(&w, 25);
	assert_true(w.turns.sure_ns);
	assert_false(w.turns.on);
	/* One that may not takes no turns, and ends them. */
	w.unfit = true;
	live(&w, 60);
	assert_int_equal(w.changes, 0);
	w.unfit = false;
	live(&w, 60);
	assert_true(w.turns.on);
	w.unfit = true;
	live(&w, 1);
	assert_false(w.turns.on);
	/* That says nothing of the pair: they come again as they came. */
	w.unfit = false;
	live(&w, TURNS_SURE_S - 1);
	assert_false(w.turns.on);
	live(&w, 5);
	assert_true(w.turns.on);
	/* Turned off. */
	assert_true(turns_look(&w.turns, GROUP, job, 2, 0, w.now_ns));
	assert_false(w.turns.on);
	/* The estimate over all of its time is against it. */
	w.turns = (struct turns){.on = false};
	for (int i = 0; i < 100; i++)
		assert_false(turns_look(&w.turns, GROUP, job, 2, TURN, w.now_ns + i * NS_PER_S));
	job[1].lo = 0.6;
	for (int i = 0; i < 100; i++)
		turns_look(&w.turns, GROUP, job, 2, TURN, w.now_ns + i * NS_PER_S);
	assert_true(w.turns.on);
	/* Another job comes: what was seen before says nothing. */
	assert_true(turns_look(&w.turns, GROUP + 1, job, 2, TURN, w.now_ns + 101 * NS_PER_S));
	assert_false(w.turns.on);
	turns_add(&w.blocks[0], GROUP + 1, 0.8, w.now_ns);
	assert_int_equal(w.blocks[0].count, 1);
	turns_add(&w.blocks[0], GROUP + 1, NAN, w.now_ns);
	assert_int_equal(w.blocks[0].count, 1);
}

/* Without blocks nobody knows whether turns still win. */
static void end_when_blind(void **state)
{
	static const double bad[] = {0.8, 0.8};
	struct world w = world_of(2, bad);

	(void)state;
	live(&w, 100);
	assert_true(w.turns.on);
	w.next_s[1] = 1e9;
	live(&w, TURNS_BLIND_S + 20);
	assert_false(w.turns.on);
	assert_int_equal(w.changes, 2);
}

static void slices_are_fair(void **state)
{
	static const double d[] = {0, 0, 0};
	struct world w = world_of(3, d);
	int count[3] = {0}, beside = 0;
	int64_t last_end = 0;

	(void)state;
	for (int64_t i = 0; i < TURNS_PROBE_EVERY * 300; i++) {
		int64_t at = (int64_t)1700000000 * NS_PER_S + i * TURN + TURN / 3;
		struct turns_slice s, again;

		turns_slice(&w.schedule, TURN, at, &s);
		assert_true(s.begins_ns <= at && s.ends_ns > at && s.ends_ns - s.begins_ns == TURN);
		assert_true(!last_end || s.begins_ns == last_end);
		last_end = s.ends_ns;
		if (s.runs < 0)
			beside++;
		else
			count[s.runs]++;
		/* Anywhere in the slice, and in any order of the jobs. */
		turns_slice(&w.schedule, TURN, s.begins_ns, &again);
		assert_int_equal(again.runs, s.runs);
		turns_slice(&w.schedule, TURN, s.ends_ns - 1, &again);
		assert_int_equal(again.runs, s.runs);
		assert_true(again.begins_ns == s.begins_ns);
	}
	assert_int_equal(beside, 300);
	for (int i = 0; i < 3; i++)
		assert_int_equal(count[i], (TURNS_PROBE_EVERY - 1) * 100);
}

/* Nodes that list the same jobs in another order agree. */
static void nodes_agree(void **state)
{
	static const double d[] = {0, 0};
	struct world w = world_of(2, d);
	struct schedule other = w.schedule;

	(void)state;
	other.job[0] = w.schedule.job[1];
	other.job[1] = w.schedule.job[0];
	for (int64_t i = 0; i < 1000; i++) {
		struct turns_slice a, b;

		turns_slice(&w.schedule, TURN, i * TURN, &a);
		turns_slice(&other, TURN, i * TURN + 3, &b);
		assert_int_equal(a.runs, b.runs < 0 ? -1 : 1 - b.runs);
	}
}

/* What a job with a limit loses is less than that in all, its first minute included; its co-runner
 * goes on. */
static void a_limit_is_kept(void **state)
{
	static const double limits[] = {0.02, 0.05, 0.1, 0.2, 0.4},
			    losses[] = {0.15, 0.3, 0.65, 0.9};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (size_t k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
			const double d[] = {losses[k], 0.3};
			struct world w = world_of(2, d);
			double lost;

			w.limit[0] = limits[i];
			live(&w, HOUR);
			lost = 1 - w.progress[0] / HOUR;
			if (losses[k] < limits[i]) {
				assert_true(w.on_s == 0);
				continue;
			}
			/* Its co-runner has a quarter of the time at least. */
			if (limits[i] < losses[k] / 4 + 0.01) {
				assert_true(w.progress[1] / HOUR >= 0.25 * 0.7);
				continue;
			}
			print_message("limit %.2f, loses %.2f side by side: %.3f in all, its "
				      "co-runner makes %.3f\n",
				limits[i], losses[k], lost, w.progress[1] / HOUR);
			assert_true(lost <= limits[i] + 0.01);
			assert_true(w.on_s > (losses[k] < 2 * limits[i] ? 0.8 : 0.98) * HOUR);
			assert_true(w.progress[1] / HOUR >=
				    0.9 * fmin(limits[i] / losses[k], 1) * 0.7 - 0.03);
		}
}

/* For how long the node waits before it tells, and slurmctld at most until it looks, s. */
#define TOLD_S (12 + 10)
/* After so much time no job leaves, s. */
#define WITHIN_S 300
/* A cycle of slices, s. */
#define CYCLE_S ((int)(TURNS_CYCLE * TURN / NS_PER_S))

/* A simulation of an hour of the job: at most 1 % of it are in cycles in which it has lost more
 * than its limit and a point, whether that is kept by slices or the job, which came last, leaves;
 * then it runs without a partner. */
static void time_above_a_limit(void **state)
{
	static const double limits[] = {0.02, 0.05, 0.1, 0.2, 0.3, 0.5},
			    losses[] = {0.05, 0.15, 0.3, 0.5, 0.65, 0.9};
	double worst = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (size_t k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
			const double d[] = {losses[k], 0.3};
			struct world w = world_of(2, d);
			int leave_s = 0, left_s = 0, above_s = 0, cycle = 0;
			double before = 0, lost, need = 1 - 0.95 * limits[i] / losses[k];

			w.limit[0] = limits[i];
			w.since[0] = 2;
			for (int s = 1; s <= HOUR; s++) {
				live(&w, 1);
				leave_s = w.turns.leave & 1 ? leave_s + 1 : 0;
				if (leave_s >= TOLD_S && s <= WITHIN_S && !left_s)
					left_s = s;
				cycle++;
				if (cycle < CYCLE_S && s < HOUR && s != left_s)
					continue;
				lost = 1 - (w.progress[0] - before) / cycle;
				if (lost > limits[i] + 0.01)
					above_s += cycle;
				before = w.progress[0];
				cycle = 0;
				if (left_s)
					break;
			}
			worst = fmax(worst, (double)above_s / HOUR);
			print_message(
				"limit %.2f, loses %.2f side by side: above it for %d s, %s\n",
				limits[i], losses[k], above_s, left_s ? "left" : "stayed");
			assert_true(above_s <= 0.01 * HOUR);
			/* Nobody who was there first is held for long for who came last; and who
			 * can be kept below its limit by less does not leave. */
			assert_true(left_s || need < 0.6);
			assert_true(!left_s || need > 0.4 || losses[k] < 3 * NOISE);
		}
	print_message("above the limit for %.1f %% of an hour at most\n", 100 * worst);
}

static void a_limit_ends_with_the_loss(void **state)
{
	const double d[] = {0.5, 0.3};
	struct world w = world_of(2, d);

	(void)state;
	w.limit[0] = 0.2;
	live(&w, 120);
	assert_true(w.turns.slices > 0);
	w.degradation[0] = 0.05;
	live(&w, 120);
	assert_int_equal(w.turns.slices, 0);
	/* More or less of it changes how many slices there are. */
	w.degradation[0] = 0.3;
	live(&w, 120);
	assert_in_range(w.turns.slices, 20, 32);
	w.degradation[0] = 0.8;
	live(&w, 300);
	assert_in_range(w.turns.slices, 44, TURNS_MOST_ALONE);
}

/* Nobody is held for a job that is below its limit, or that may be lying. */
static void no_slices_without_need(void **state)
{
	static const double losses[] = {0.0, 0.1, 0.15, 0.17};

	(void)state;
	for (size_t k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
		const double d[] = {losses[k], 0.8};
		struct world w = world_of(2, d);

		w.limit[0] = 0.2;
		live(&w, HOUR);
		assert_true(w.on_s < 0.01 * HOUR);
	}
	for (int i = 0; i < 2; i++) {
		const double d[] = {0.6, 0.3};
		struct world w = world_of(2, d);

		w.limit[0] = 0.2;
		w.unfit = i == 0;
		w.unholdable = i == 1;
		live(&w, 600);
		assert_true(w.on_s == 0);
		/* That it cannot be kept is told. */
		assert_int_equal(w.turns.unkept, i);
	}
}

/* Of two limits that exclude each other the older job's is kept. A limit that turns would break
 * has none. */
static void limits_exclude_each_other(void **state)
{
	const double d[] = {0.7, 0.7};
	struct world w = world_of(2, d);

	(void)state;
	w.limit[0] = w.limit[1] = 0.2;
	live(&w, 600);
	assert_true(w.turns.slices && w.turns.favoured == 0);
	assert_int_equal(w.turns.unkept, 2);
	w = world_of(2, d);
	w.limit[1] = 0.4;
	live(&w, 600);
	assert_true(w.turns.slices && w.turns.favoured == 1 && !w.turns.on);
	w = world_of(2, d);
	w.limit[1] = 0.75;
	live(&w, 600);
	assert_true(!w.turns.slices && w.turns.on);
}

/* A job that came last harms nobody who was there before: it leaves where it would need that one
 * for more than half of the time, or beyond that one's own limit. */
static void who_came_last_leaves(void **state)
{
	const double d[] = {0.05, 0.6};
	struct world w = world_of(2, d);

	(void)state;
	w.limit[1] = 0.4;
	live(&w, 60);
	assert_true(w.turns.favoured == 1 && w.turns.slices > 0);
	assert_true(!w.turns.unkept && !w.turns.leave);
	/* It is kept, as it may be unable to leave. */
	w.limit[1] = 0.2;
	live(&w, 60);
	assert_true(w.turns.favoured == 1 && w.turns.slices > TURNS_NEWCOMER);
	assert_true(!w.turns.unkept && w.turns.leave == 2);
	/* Who came first may have as much. */
	w.since[0] = 5;
	live(&w, 10);
	assert_true(w.turns.slices > TURNS_NEWCOMER && !w.turns.leave);
	w.since[0] = 0;
	w.limit[1] = 0.4;
	w.limit[0] = 0.3;
	live(&w, 60);
	assert_true(!w.turns.slices && w.turns.unkept == 2 && w.turns.leave == 2);
	w.limit[0] = 0.7;
	live(&w, 60);
	assert_true(w.turns.slices && w.turns.favoured == 1 && !w.turns.leave);
}

/* Slices alone are evenly spread, as many as there should be, and among those of a node that gives
 * more. */
static void slices_alone_are_spread(void **state)
{
	struct world w = world_of(2, (const double[]){0.5, 0.5});

	(void)state;
	for (int slices = 1; slices < TURNS_CYCLE; slices++) {
		int alone = 0, run = 0, longest = 0;

		for (int64_t i = 0; i < 100 * TURNS_CYCLE; i++) {
			struct turns_slice s, more;

			turns_slice_alone(&w.schedule, TURN, 1, slices, i * TURN + 5, &s);
			assert_true(s.begins_ns == i * TURN && s.ends_ns == (i + 1) * TURN);
			assert_true(s.runs == 1 || s.runs == -1);
			alone += s.runs == 1;
			run = s.runs == 1 ? run + 1 : 0;
			longest = run > longest ? run : longest;
			turns_slice_alone(&w.schedule, TURN, 1, TURNS_CYCLE - 1, i * TURN, &more);
			assert_true(s.runs == -1 || more.runs == 1);
		}
		assert_int_equal(alone, 100 * slices);
		assert_true(longest <= 4 * TURNS_CYCLE / (TURNS_CYCLE - slices));
	}
}

/* Each test has its own noise, whatever tests come before. */
static int same_noise(void **state)
{
	(void)state;
	random_state = FIRST_RANDOM;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(innocent_never_turn, same_noise),
		cmocka_unit_test_setup(bad_pairs_turn, same_noise),
		cmocka_unit_test_setup(nobody_loses, same_noise),
		cmocka_unit_test_setup(end_when_they_suit, same_noise),
		cmocka_unit_test_setup(spoilt_blocks_do_not_end_them, same_noise),
		cmocka_unit_test_setup(must_be_sure, same_noise),
		cmocka_unit_test_setup(end_when_blind, same_noise),
		cmocka_unit_test_setup(slices_are_fair, same_noise),
		cmocka_unit_test_setup(nodes_agree, same_noise),
		cmocka_unit_test_setup(a_limit_is_kept, same_noise),
		cmocka_unit_test_setup(time_above_a_limit, same_noise),
		cmocka_unit_test_setup(a_limit_ends_with_the_loss, same_noise),
		cmocka_unit_test_setup(no_slices_without_need, same_noise),
		cmocka_unit_test_setup(limits_exclude_each_other, same_noise),
		cmocka_unit_test_setup(who_came_last_leaves, same_noise),
		cmocka_unit_test_setup(slices_alone_are_spread, same_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
