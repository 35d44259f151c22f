/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/node/tally.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "poppa/node/tally.h"

#include "unit/poppa/noisy_block.h"
#include "unit/poppa/spool_in_tmp.h"

#define S NS_PER_S

static struct poppa_settings settings;

static void add_blocks(struct tally *t, int n, double before, double during)
{
	static int number;

	for (int i = 0; i < n; i++) {
		struct est_block b = {.start_ns = (uint64_t)++number * 400 * NS_PER_MS,
			.before_n = 4,
			.during_n = 4,
			.after_n = 4};

		for (int k = 0; k < 4; k++) {
			b.before[k] = b.after[k] = (struct est_window){before, 0, 800e3, 0};
			b.during[k] = (struct est_window){during, 0, 800e3, 0};
		}
		tally_block(t, &b);
	}
}

/* A job tells of slow refill once it has had a long block. */
static void tells_of_slow_refill(void **state)
{
	struct tally *t = tally_new(7, 1, 1000, 1700000000, 100 * S, NULL), *back;
	struct est_block b = {.before_n = 4, .during_n = 4, .beyond_n = 3};
	struct ledger_record r;
	json_t *saved;

	(void)state;
	add_blocks(t, 20, 700, 1000);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_false(r.slow_known);
	for (int k = 0; k < 4; k++) {
		b.before[k] = (struct est_window){700, 0, 800e3, 0};
		b.during[k] = (struct est_window){1000, 0, 800e3, 0};
	}
	for (int k = 0; k < 3; k++) {
		double ns = est_beyond_ns(k, 4 * 800e3);

		b.beyond[k] = (struct est_window){1000 * ns / 800e3, 0, ns, 0};
	}
	b.start_ns = INT64_C(1000) * S;
	tally_block(t, &b);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_true(r.slow_known && slow_likelihood_valid(r.slow_likelihood));
	assert_true(r.slow_likelihood[SLOW_NONE] > 0.6);
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 100 * S, 2);
	assert_non_null(back);
	memset(&r, 0, sizeof(r));
	tally_record(back, &settings, "c", "n1", false, 2, &r);
	assert_true(r.slow_known && slow_likelihood_valid(r.slow_likelihood));
	json_decref(saved);
	tally_free(t);
	tally_free(back);
}

static void times_add_up(void **state)
{
	struct tally *t = tally_new(7, 1, 1000, 1700000000, 100 * S, NULL);
	struct ledger_record r;

	(void)state;
	tally_advance(t, 101 * S, TALLY_SOLO); /* 1 s absent */
	tally_advance(t, 103 * S, TALLY_CO);   /* 2 s alone */
	tally_paused(t, S);
	tally_advance(t, 110 * S, TALLY_UNMEASURED); /* 7 s beside, 1 of them held */
	tally_advance(t, 113 * S, TALLY_ABSENT);     /* 3 s without shutters */
	tally_advance(t, 112 * S, TALLY_ABSENT);     /* the clock does not go back */
	tally_partner(t, 8);
	tally_partner(t, 9);
	tally_partner(t, 8);
	tally_record(t, &settings, "c", "n1", true, 1700000020, &r);
	assert_int_equal(r.solo_ns, 2 * S);
	assert_int_equal(r.co_ns, 6 * S);
	assert_int_equal(r.paused_ns, S);
	assert_int_equal(r.unmeasured_ns, 3 * S);
	assert_int_equal(r.partner_count, 2);
	assert_int_equal(r.seq, 1);
	assert_true(isnan(r.degradation));
	assert_string_equal(r.backend, "none");
	tally_free(t);
}

/* Slices of turns are no time beside others: what they held is lost, and its own turns are time
 * alone. Blocks stand for the time side by side only. */
static void turns_are_no_time_beside(void **state)
{
	struct tally *t = tally_new(7, 1, 1000, 1700000000, 0, NULL), *back;
	struct ledger_record r;
	json_t *saved;

	(void)state;
	tally_advance(t, 0, TALLY_CO);
	/* For 100 s D = 0.2, then turns for 100 s, with 10 s of D = 0.8 in them. */
	for (int i = 0; i < 220; i++) {
		int64_t at = i < 200 ? i * S / 2 : 100 * S + (i - 200) * 5 * S;
		struct est_block b = noisy_block(i < 200 ? 0.8 : 0.2, 1, 0.01);

		if (i > 200)
			tally_turned(t, 5 * S / 2 - S / 4, 5 * S / 2 - S / 4);
		b.start_ns = 1000 * (uint64_t)S + (uint64_t)at;
		tally_block(t, &b);
	}
	tally_turned(t, 5 * S / 2 - S / 4, 5 * S / 2 - S / 4);
	tally_advance(t, 200 * S, TALLY_CO);
	for (int i = 0; i < 2; i++) {
		tally_record(t, &settings, "c", "n1", true, 1700000020, &r);
		assert_int_equal(r.co_ns, 110 * S);
		assert_int_equal(r.solo_ns, 45 * S);
		assert_int_equal(r.turned_ns, 45 * S);
		assert_true(fabs(r.degradation - (100 * 0.2 + 10 * 0.8) / 110) < 0.01);
		saved = tally_save(t, "boot", 2);
		back = tally_load(saved, "boot", 200 * S, 2);
		json_decref(saved);
		tally_free(t);
		t = back;
		assert_non_null(t);
	}
	/* Where time is not measured, this much is known of it. */
	tally_advance(t, 210 * S, TALLY_UNMEASURED);
	tally_advance(t, 220 * S, TALLY_UNMEASURED);
	tally_turned(t, 2 * S, 3 * S);
	tally_record(t, &settings, "c", "n1", true, 1700000020, &r);
	assert_int_equal(r.turned_ns, 47 * S);
	assert_int_equal(
		r.co_ns + r.solo_ns + r.turned_ns + r.unmeasured_ns, 210 * S); /* 10 s absent */
	tally_free(t);
}

/* Time that it was held stopped is the only thing known of time that is not measured. */
static void held_while_unmeasured(void **state)
{
	struct tally *t = tally_new(7, 1, 1000, 1700000000, 0, NULL);
	struct ledger_record r;

	(void)state;
	tally_advance(t, 0, TALLY_CO);
	tally_advance(t, 10 * S, TALLY_UNMEASURED);
	tally_advance(t, 15 * S, TALLY_UNMEASURED);
	tally_paused(t, S);
	tally_record(t, &settings, "c", "n1", true, 1700000020, &r);
	assert_int_equal(r.co_ns, 10 * S);
	assert_int_equal(r.unmeasured_ns, 4 * S);
	assert_int_equal(r.paused_ns, S);
	tally_free(t);
}

static void few_blocks_are_no_data(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL);
	struct ledger_record r;

	(void)state;
	add_blocks(t, settings.min_blocks - 1, 600, 1000);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_true(isnan(r.degradation));
	assert_true(isnan(r.thesis_degradation));
	assert_int_equal(r.used, settings.min_blocks - 1);
	add_blocks(t, 5, 600, 1000);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_true(fabs(r.degradation - 0.4) < 0.01);
	assert_true(fabs(r.thesis_degradation - 0.4) < 0.01);
	assert_int_equal(r.seq, 2);
	tally_free(t);
}

/* Where a co-runner spoils most blocks, or keeps time from being measured, it is named: who did
 * most, also from a checkpoint. */
static void culprits(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL), *back;
	struct ledger_record r;
	json_t *saved;
	double all;

	(void)state;
	tally_advance(t, 0, TALLY_CO);
	tally_advance(t, 100 * S, TALLY_ABSENT);
	add_blocks(t, settings.min_blocks - 1, 600, 1000);
	tally_spoilt(t, 9);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_BLOCKS);
	assert_int_equal(r.culprit, 0);
	for (int i = 0; i < settings.min_blocks; i++)
		tally_spoilt(t, i % 4 ? 8 : 9);
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 100 * S, 2);
	json_decref(saved);
	assert_non_null(back);
	tally_record(back, &settings, "c", "n1", false, 2, &r);
	assert_true(isnan(r.degradation));
	assert_int_equal(r.lack, LACK_STILLNESS);
	assert_int_equal(r.culprit, 8);
	/* Enough blocks speak for themselves: whoever spoils the others chooses which are left. */
	add_blocks(back, 5, 600, 1000);
	tally_record(back, &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_NOTHING);
	assert_true(fabs(r.degradation - 0.4) < 0.01);
	all = (double)(r.blocks + settings.min_blocks + 1);
	assert_float_equal((double)r.co_ns / S, 100 * (double)r.blocks / all, 1e-6);
	assert_float_equal((double)r.unmeasured_ns / S, 100 - 100 * (double)r.blocks / all, 1e-6);
	assert_int_equal(r.culprit, 8);
	/* A few may be chance. */
	add_blocks(back, 10 * settings.min_blocks, 600, 1000);
	tally_record(back, &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.co_ns, 100 * S);
	assert_int_equal(r.culprit, 0);
	tally_blinded(back, 8);
	tally_record(back, &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.culprit, 8);
	tally_free(back);
	tally_free(t);
}

/* Whatever is missing has a name. */
static void what_is_lacking(void **state)
{
	struct poppa_settings demanding = settings;
	struct tally *t[4];
	struct ledger_record r;
	unsigned seed = 1;
	json_t *saved;

	(void)state;
	for (int i = 0; i < 4; i++) {
		t[i] = tally_new(7, 0, 1, 1, 0, NULL);
		tally_advance(t[i], 0, TALLY_CO);
		tally_advance(t[i], 100 * S, TALLY_ABSENT);
	}
	add_blocks(t[0], 3, 600, 1000);
	tally_record(t[0], &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_BLOCKS);
	assert_false(r.rough_known);
	/* What they show roughly stands in the record until there is a degradation. */
	add_blocks(t[0], settings.min_blocks - 4, 600, 1000);
	tally_record(t[0], &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_BLOCKS);
	assert_true(r.rough_known && r.rough[0] <= r.rough[1]);
	assert_true(r.rough[0] > 0.3 && r.rough[0] < 0.41 && r.rough[1] > 0.39 && r.rough[1] < 0.5);
	add_blocks(t[0], 1, 600, 1000);
	tally_record(t[0], &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_NOTHING);
	assert_false(r.rough_known);
	/* Most are silent; also from a checkpoint. */
	add_blocks(t[1], 40, 0, 0);
	add_blocks(t[1], settings.min_blocks - 1, 600, 1000);
	saved = tally_save(t[1], "boot", 2);
	tally_free(t[1]);
	t[1] = tally_load(saved, "boot", 100 * S, 2);
	json_decref(saved);
	assert_non_null(t[1]);
	tally_record(t[1], &settings, "c", "n1", false, 2, &r);
	assert_true(isnan(r.degradation));
	assert_int_equal(r.lack, LACK_PROGRESS);
	/* It is not the program's fault where it had no processor. An older checkpoint has no word.
	 */
	t[1]->starved = 21;
	saved = tally_save(t[1], "boot", 2);
	for (int old = 0; old < 2; old++) {
		if (old)
			json_object_del(saved, "starved");
		tally_free(t[1]);
		t[1] = tally_load(saved, "boot", 100 * S, 2);
		assert_non_null(t[1]);
		tally_record(t[1], &settings, "c", "n1", false, 2, &r);
		assert_int_equal(r.lack, old ? LACK_PROGRESS : LACK_CORE);
	}
	json_decref(saved);
	/* In most of them before and after have nothing in common: it comes in bursts. */
	for (uint64_t i = 0; i < 60; i++) {
		struct est_block b = {.before_n = 4, .during_n = 4, .after_n = 4};

		for (int w = 0; w < 12; w++)
			(w < 4          ? b.before
				: w < 8 ? b.during
					: b.after)[w % 4] =
				(struct est_window){exp(rand_r(&seed) % 7) * 1e3, 0, 800e3, 0};
		b.start_ns = i * 400000000;
		tally_block(t[2], &b);
	}
	demanding.min_blocks = 40;
	tally_record(t[2], &demanding, "c", "n1", false, 2, &r);
	assert_true(isnan(r.degradation) && r.blocks == 60);
	assert_int_equal(r.lack, LACK_PRECISION);
	assert_true(r.rough_known && r.rough[0] < 0 && r.rough[1] > 0);
	/* No time beside others lacks nothing. */
	tally_advance(t[3], 100 * S, TALLY_SOLO);
	t[3]->mode_ns[TALLY_CO] = 0;
	tally_record(t[3], &settings, "c", "n1", false, 2, &r);
	assert_int_equal(r.lack, LACK_NOTHING);
	for (int i = 0; i < 4; i++)
		tally_free(t[i]);
}

/* Blocks that contradict each other wildly. */
static void noise_is_no_data(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL);
	struct est_result raw, r;
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 40; i++)
		add_blocks(t, 1, 10 + rand_r(&seed) % 1000, 10 + rand_r(&seed) % 1000);
	estimator_result(t->robust, &raw);
	tally_result(t, ESTIMATE_ROBUST, 2, &r);
	assert_true(isnan(r.degradation) || (r.degradation < 1 && r.variance <= 0.0625));
	assert_int_equal(r.used, raw.used);
	tally_free(t);
}

static void checkpoints(void **state)
{
	char dir[] = "/tmp/tally-XXXXXX";
	struct tally *t = tally_new(7, 2, 1000, 1700000000, 100 * S, NULL), *again;
	struct ledger_record a, b;
	struct errmsg err = {""};
	struct spool spool;
	json_t *saved;

	(void)state;
	make_spool(dir, &spool);
	assert_null(spool_restore(&spool, 7, 2, &err));
	assert_int_equal(errno, ENOENT);
	t->lane = 1;
	t->cores = 8;
	t->backend = COUNTER_HEARTBEAT;
	tally_partner(t, 12);
	programs_ran(&t->programs, "lu", 100);
	add_blocks(t, 20, 600, 1000);
	tally_advance(t, 100 * S, TALLY_CO);
	tally_advance(t, 130 * S, TALLY_CO);
	tally_paused(t, S / 10);
	saved = tally_save(t, "boot-1", 1700000030);
	assert_non_null(saved);
	assert_int_equal(spool_checkpoint(&spool, 7, 2, saved, &err), 0);
	json_decref(saved);
	tally_record(t, &settings, "c", "n", false, 1, &a);

	saved = spool_restore(&spool, 7, 2, &err);
	assert_non_null(saved);
	/* Same boot: 5 s went by on the monotonic clock. */
	again = tally_load(saved, "boot-1", 135 * S, 1);
	assert_non_null(again);
	tally_advance(again, 135 * S, TALLY_CO);
	tally_record(again, &settings, "c", "n", false, 1, &b);
	assert_int_equal(b.unmeasured_ns, 5 * S);
	assert_int_equal(b.seq, a.seq); /* that record was made after the checkpoint */
	b.unmeasured_ns = 0;
	assert_string_equal(a.program, "lu");
	assert_string_equal(b.program, "lu");
	assert_int_equal(a.co_ns, b.co_ns);
	assert_int_equal(a.paused_ns, b.paused_ns);
	assert_int_equal(a.blocks, b.blocks);
	assert_true(a.degradation == b.degradation);
	assert_true(a.thesis_degradation == b.thesis_degradation);
	assert_int_equal(a.partner_count, b.partner_count);
	assert_int_equal(a.lane, b.lane);
	assert_string_equal(a.backend, b.backend);
	tally_free(again);
	/* Another boot: the wall clock, as the other one began anew. */
	again = tally_load(saved, "boot-2", 3 * S, 1700000040);
	assert_non_null(again);
	assert_int_equal(again->mode_ns[TALLY_UNMEASURED], 10 * S);
	tally_free(again);
	json_object_del(saved, "robust");
	assert_null(tally_load(saved, "boot-1", 135 * S, 1));
	json_decref(saved);
	spool_forget(&spool, 7, 2);
	assert_null(spool_restore(&spool, 7, 2, &err));
	tally_free(t);
	remove_dir(dir);
}

/* What a job shows in shams is taken off, it is marked, and a checkpoint keeps both. */
static void shams(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL), *back;
	struct ledger_record r;
	json_t *saved;

	(void)state;
	add_blocks(t, 40, 600, 1000);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_float_equal(r.degradation, 0.4, 0.02);
	assert_false(r.sensing);
	for (int i = 0; i < 20; i++) {
		struct est_block b = {.before_n = 1, .during_n = 1, .after_n = 1};

		b.before[0] = b.after[0] = (struct est_window){800 + i % 3, 0, 800e3, 0};
		b.during[0] = (struct est_window){1000, 0, 800e3, 0};
		tally_sham(t, &b);
	}
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 0, 2);
	assert_non_null(back);
	tally_record(back, &settings, "c", "n1", true, 2, &r);
	assert_float_equal(r.degradation, 0.2, 0.02);
	assert_true(r.sensing);
	tally_free(back);
	json_object_del(saved, "sham");
	assert_null(tally_load(saved, "boot", 0, 2));
	json_decref(saved);
	tally_free(t);
}

/* What each of two co-runners costs is in the record and survives a checkpoint. */
static void attributions(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL), *back;
	struct ledger_record r;
	json_t *saved;

	(void)state;
	add_blocks(t, 40, 600, 1000);
	t->mode_ns[TALLY_CO] = 100 * S;
	tally_partner(t, 8);
	tally_partner(t, 9);
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_false(r.attributed);
	for (uint32_t id = 8; id <= 9; id++) {
		attribution_together(&t->attribution, id, 100 * S, false);
		for (int i = 0; i < 20; i++) {
			struct est_block b = {.before_n = 1, .during_n = 1, .after_n = 1};

			b.before[0] = b.after[0] = (struct est_window){600 + i % 3, 0, 800e3, 0};
			b.during[0] = (struct est_window){id == 8 ? 1000 : 600, 0, 800e3, 0};
			assert_true(attribution_block(&t->attribution, id, &b));
		}
	}
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 0, 2);
	assert_non_null(back);
	tally_record(back, &settings, "c", "n1", true, 2, &r);
	assert_true(r.attributed);
	assert_float_equal(r.partner_degradation[0], r.degradation, 0.01);
	assert_float_equal(r.partner_degradation[1], 0, 0.01);
	assert_true(r.timed);
	assert_int_equal(r.partner_ns[0], 100 * S);
	assert_int_equal(r.partner_ns[1], 100 * S);
	tally_free(back);
	json_object_del(saved, "attribution");
	assert_null(tally_load(saved, "boot", 0, 2));
	json_decref(saved);
	tally_free(t);
}

/* A suspicion of spin waiting is in the record and survives a checkpoint. */
static void spinning(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL), *back;
	const uint64_t id[] = {11, 12};
	const double x[] = {0.4, 0};
	struct ledger_record r;
	json_t *saved;

	(void)state;
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_false(r.spin);
	for (int i = 0; i < 20; i++)
		tally_tasks(t, 2, id, x);
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 0, 2);
	assert_non_null(back);
	/* Too little is known anew to say anything else. */
	tally_tasks(back, 2, id, x);
	tally_record(back, &settings, "c", "n1", true, 2, &r);
	assert_true(r.spin);
	assert_float_equal(back->spin_result.most, 0.33, 0.01);
	tally_free(back);
	json_object_set_new(saved, "spin", json_string("much"));
	assert_null(tally_load(saved, "boot", 0, 2));
	json_decref(saved);
	tally_free(t);
}

/* The line between misses and cycles survives a checkpoint, and a job that reacts tells none. */
static void cache_misses(void **state)
{
	struct tally *t = tally_new(7, 0, 1, 1, 0, NULL), *back;
	struct ledger_record r;
	json_t *saved;

	(void)state;
	saved = tally_save(t, "boot", 2);
	assert_null(json_object_get(saved, "misses"));
	json_decref(saved);
	tally_misses(t, NULL, 0);
	for (int i = 0; i < 20; i++) {
		struct miss_window w[] = {{1e6, 1.4e6, 4e3}, {1e6, 1.1e6 + i, 2e3}};

		tally_misses(t, w, 2);
	}
	tally_record(t, &settings, "c", "n1", false, 2, &r);
	assert_false(r.miss_known);
	saved = tally_save(t, "boot", 2);
	back = tally_load(saved, "boot", 0, 2);
	assert_non_null(back);
	for (int i = 0; i < 20; i++) {
		struct miss_window w[] = {{1e6, 1.4e6, 4e3}, {1e6, 1.1e6 + i, 2e3}};

		tally_misses(back, w, 2);
	}
	tally_record(back, &settings, "c", "n1", true, 2, &r);
	assert_true(r.miss_known);
	assert_float_equal(r.miss_line[0], 0.8, 0.001);
	assert_float_equal(r.miss_line[1], 150, 0.1);
	assert_int_equal(r.miss_blocks, 40);
	for (int i = 0; i < 40; i++) {
		struct est_block b = noisy_block(0.9, 1, 0.01);

		tally_sham(back, &b);
	}
	tally_record(back, &settings, "c", "n1", true, 2, &r);
	assert_true(r.sensing);
	assert_false(r.miss_known);
	tally_free(back);
	/* What is no state costs the line, and not the run. */
	json_object_set_new(saved, "misses", json_string("many"));
	back = tally_load(saved, "boot", 0, 2);
	assert_non_null(back);
	assert_int_equal(back->misses.blocks, 0);
	tally_free(back);
	json_decref(saved);
	tally_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_of_slow_refill),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(turns_are_no_time_beside),
		cmocka_unit_test(held_while_unmeasured),
		cmocka_unit_test(few_blocks_are_no_data),
		cmocka_unit_test(shams),
		cmocka_unit_test(attributions),
		cmocka_unit_test(spinning),
		cmocka_unit_test(cache_misses),
		cmocka_unit_test(culprits),
		cmocka_unit_test(what_is_lacking),
		cmocka_unit_test(noise_is_no_data),
		cmocka_unit_test(checkpoints),
	};

	settings_defaults(&settings);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
