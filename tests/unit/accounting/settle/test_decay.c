/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what is left of a run's usage, against priority/multifactor's loop acted out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "accounting/settle/decay.h"

/* Usage at d->last_unix, or at the end where that is later, of one unit a second. */
static double acted_out(const struct decay *d, int64_t start, int64_t end)
{
	double factor = d->half_life_s > 0 ? 1 - 0.693 / d->half_life_s : 1, usage = 0;
	/* The first period's end at or before the start. */
	int64_t tick =
		d->last_unix - (d->last_unix - start + d->period_s) / d->period_s * d->period_s;
	int64_t ran = tick;

	for (tick += d->period_s; ran < d->last_unix || ran < end; tick += d->period_s) {
		int64_t from = start > ran ? start : ran, until = end < tick ? end : tick;

		if (end < tick && end > ran) /* charged as it ends, within the period */
			usage += (double)(until - from) * pow(factor, (double)(until - from));
		if (tick > d->last_unix)
			break;
		if (d->reset_unix > ran && d->reset_unix <= tick)
			usage = 0;
		usage *= pow(factor, (double)(tick - ran));
		if (end >= tick && until > from)
			usage += (double)(until - from) * pow(factor, (double)(until - from));
		ran = tick;
	}
	return usage;
}

static void agree(const struct decay *d, int64_t start, int64_t end)
{
	double got = decay_left(d, start, end), want = acted_out(d, start, end);

	if (fabs(got - want) > 1e-9 * (want + 1))
		fail_msg("%lld..%lld, last %lld, period %lld, half-life %g, reset %lld: %.12g "
			 "instead of %.12g",
			(long long)start, (long long)end, (long long)d->last_unix,
			(long long)d->period_s, d->half_life_s, (long long)d->reset_unix, got,
			want);
}

static void nothing_decays(void **state)
{
	struct decay d = {.period_s = 300, .last_unix = 100000};

	(void)state;
	assert_true(decay_left(&d, 1000, 5000) == 4000);
	assert_true(decay_left(&d, 99999, 100100) == 101);
	assert_true(decay_left(&d, 5000, 5000) == 0 && decay_left(&d, 5001, 5000) == 0);
}

/* A run of a second, a half-life ago, on a clock that ticks each second. */
static void half_life(void **state)
{
	struct decay d = {.half_life_s = 86400, .period_s = 1, .last_unix = 1000000};

	(void)state;
	assert_true(fabs(decay_left(&d, 1000000 - 86401, 1000000 - 86400) - 0.5) < 0.001);
}

static void as_slurm_does(void **state)
{
	(void)state;
	srand(7);
	for (int i = 0; i < 20000; i++) {
		struct decay d = {.half_life_s = rand() % 4 ? 30 + rand() % 5000 : 0,
			.period_s = 1 + rand() % 400,
			.last_unix = 100000 + rand() % 1000};
		/* It may still run in the period that has not ended. */
		int64_t end = d.last_unix + d.period_s - 1 - rand() % 5000;

		if (rand() % 2)
			d.reset_unix = rand() % 2 ? d.last_unix - rand() % 20 * d.period_s
						  : (d.last_unix - rand() % 6000) / 900 * 900;
		agree(&d, end - 1 - rand() % 5000, end);
	}
}

static void clock_unknown(void **state)
{
	struct decay d = {.half_life_s = 3600, .period_s = 300};

	(void)state;
	assert_true(decay_left(&d, 1000, 1010) > 9.9 && decay_left(&d, 1000, 1010) <= 10);
}

/* A cluster is first started at 100,008, runs a job and is started again: its periods, now from
 * 100,064 on, would have had one begin at 100,004. */
static void clock_moved(void **state)
{
	struct decay d = {.period_s = 60, .last_unix = 100064, .reset_unix = 100008};

	(void)state;
	assert_true(decay_left(&d, 100055, 100060) == 5);
	assert_true(decay_left(&d, 100000, 100007) == 0);
	/* What fell due within a period was reset at its end. */
	d.reset_unix = 99900;
	d.last_unix = d.reset_unix + 70;
	assert_true(decay_left(&d, d.reset_unix, d.reset_unix + 5) == 0);
}

/* Weeks of periods, and a half-life that leaves nothing. */
static void extremes(void **state)
{
	struct decay d = {.half_life_s = 0.5, .period_s = 60, .last_unix = 4000000};

	(void)state;
	assert_true(decay_left(&d, 1000, 3999990) == 0);
	d.half_life_s = 604800;
	agree(&d, 1000, 3999990);
	d.reset_unix = 3999600;
	agree(&d, 1000, 3999990);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_decays),
		cmocka_unit_test(half_life),
		cmocka_unit_test(as_slurm_does),
		cmocka_unit_test(clock_unknown),
		cmocka_unit_test(clock_moved),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
