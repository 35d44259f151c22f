/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what earlier runs of a kind tell. */
#include "accounting/bill/past_runs.h"

#include <string.h>

#include "unit/accounting/bill/bill_rows.h"

#define RUN(id, name, elapsed, comment)                                                            \
	ROW_ON(id, "ada", name, DAY1 + 1000 * (id), elapsed, 9, 0, comment, 16, 2)
#define FACTS(d, ci, co, dco, partners, more)                                                      \
	"poppa: d=" d " ci=" ci " co=" co " dco=" dco " stopped=0.0000 partners=" partners         \
	" raw=100 charged=80 policy=solo" more
#define LEN(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static const struct past_kind lammps = {"ada", "lmp-1", false};

static struct past_runs made(const struct row *rows, int n, const struct past_kind *kind,
	const char *price, bool against_plain)
{
	struct bills bills = bills_of(rows, n);
	struct plain_runs *plain = against_plain ? plain_runs_find(&bills) : NULL;
	struct price_policy policy;
	struct past_runs p;
	struct errmsg err;

	if (price)
		assert_int_equal(price_policy_parse(price, &policy, &err), 0);
	assert_int_equal(past_runs_make(&bills, kind, plain, price ? &policy : NULL, &p), 0);
	plain_runs_free(plain);
	bills_free(&bills);
	p.qos = NULL;
	return p;
}

/* Two runs, one of which was half of its time beside others: the loss weighs by that time, prices
 * by all of it. */
static void weights(void **state)
{
	const struct row rows[] = {
		RUN(1, "lmp-7", 600, FACTS("0.2000", "0.190..0.210", "1.00", "0.2000", "9", "")),
		RUN(2, "lmp-8", 600,
			FACTS("0.2000", "0.190..0.210", "0.50", "0.4000", "9,11", ""))};
	struct past_runs p = made(rows, 2, &lammps, "solo", false);

	(void)state;
	assert_int_equal(p.runs, 2);
	assert_true(near(p.beside_s, 900) && near(p.all_s, 1200));
	assert_int_equal(p.co_runners, 2);
	assert_false(p.more_co_runners);
	assert_int_equal(p.last, DAY1 + 2600);
	assert_true(near(p.loss.mean, (600 * 0.2 + 300 * 0.4) / 900));
	assert_true(p.loss.lo >= -1 && p.loss.lo < 0.2 && p.loss.hi <= 1 && p.loss.hi > 0.4);
	assert_true(near(p.rate.mean, 0.8) && near(p.work.mean, 1));
	/* Both prices are 0.8, but each is measured to 0.01 only. */
	assert_true(near(p.rate.hi, 0.8 + 0.01 / sqrt(2)) && near(p.work.lo, 1));
	assert_int_equal(p.plain.n, 0);
}

static void one_run(void **state)
{
	const struct row rows[] = {RUN(
		1, "lmp-7", 600, FACTS("0.2000", "0.190..0.210", "1.00", "0.2000", "9", ",+2"))};
	struct past_runs p = made(rows, 1, &lammps, NULL, false);

	(void)state;
	assert_int_equal(p.runs, 1);
	assert_true(near(p.loss.mean, 0.2) && isnan(p.loss.lo) && isnan(p.loss.hi));
	assert_true(!p.rate.n && isnan(p.rate.mean));
}

/* Whose runs count, and which of them tell of a loss. */
static void who_counts(void **state)
{
	struct row rows[] = {
		RUN(1, "lmp-7", 600, FACTS("0.1000", "0.090..0.110", "1.00", "0.1000", "9", "")),
		RUN(2, "lmp", 600, FACTS("0.3000", "0.290..0.310", "1.00", "0.3000", "9", "")),
		RUN(3, "lmp-9", 600,
			"colocate: stripe,class:lmp-9; " FACTS(
				"0.3000", "0.290..0.310", "1.00", "0.3000", "9", "")),
		RUN(4, "lmp-4", 600, "poppa: nodata=no-record raw=100 charged=100 policy=solo"),
		RUN(5, "lmp-5", 600,
			FACTS("0.3000", "0.290..0.310", "1.00", "0.3000", "9", " partial=1/2")),
		RUN(6, "lmp-6", 600,
			FACTS("0.3000", "0.290..0.310", "1.00", "0.3000", "9", " spin=suspected")),
		RUN(7, "lmp-7", 600,
			FACTS("0.3000", "0.290..0.310", "1.00", "0.3000", "9", " unmeasured=0.20")),
		RUN(8, "lmp-8", 600,
			"poppa: d=0.0000 co=0.00 stopped=0.0000 raw=100 charged=100 policy=solo"),
		RUN(9, "lmp-9", 600, "colocate: stripe"), RUN(10, "lmp-10", 600, ""),
		RUN(11, "lmp-11", 600, FACTS("0.3000", "0.290..0.310", "1.00", "0.3000", "9", ""))};
	struct past_kind class = {"ada", "lmp-9", true};
	struct past_runs p;

	(void)state;
	rows[10].user = "bob";
	p = made(rows, LEN(rows), &lammps, "thesis", true);
	assert_int_equal(p.runs, 1);
	assert_true(near(p.loss.mean, 0.1) && near(p.rate.mean, 0.81));
	assert_int_equal(p.no_data, 1);
	assert_int_equal(p.doubtful, 3);
	assert_int_equal(p.alone, 1);
	assert_int_equal(p.unsettled, 1);
	p = made(rows, LEN(rows), &class, "thesis", true);
	assert_int_equal(p.runs, 1);
	assert_true(near(p.loss.mean, 0.3) && !p.no_data && !p.doubtful && !p.alone);
}

/* The same work was 1.25 times as fast as on whole nodes, so it is cheaper still. */
static void against_plain_runs(void **state)
{
	const struct row rows[] = {
		RUN(1, "lmp-7", 600, FACTS("0.2000", "0.190..0.210", "1.00", "0.2000", "9", "")),
		ROW_ON(2, "ada", "lmp-7", DAY1, 750, 9, 0, "", 16, 1),
		ROW_ON(3, "ada", "lmp-7", DAY1 + 10, 750, 9, 0, "", 16, 1)};
	struct past_runs p = made(rows, LEN(rows), &lammps, "thesis", true);

	(void)state;
	assert_true(near(p.rate.mean, 0.64) && near(p.work.mean, 0.8));
	assert_int_equal(p.plain.n, 1);
	assert_true(near(p.plain.mean, 0.64 / 1.25));
}

/* A policy's limits hold, and a price of nothing is no share of anything. */
static void limits(void **state)
{
	struct row rows[] = {
		RUN(1, "lmp-7", 600, FACTS("0.5000", "0.490..0.510", "1.00", "0.5000", "9", "")),
		RUN(2, "lmp-8", 600,
			"poppa: d=1.0000 ci=0.990..1.010 co=1.00 dco=1.0000 stopped=0.0000 "
			"raw=0 charged=0 policy=solo")};
	struct past_runs p = made(rows, 1, &lammps, "thesis/cap=0.3", false);

	(void)state;
	assert_true(near(p.rate.mean, 0.7) && near(p.work.mean, 1.4));
	p = made(rows, 1, &lammps, "thesis/floor=90", false);
	assert_true(near(p.rate.mean, 0.9));
	p = made(rows, 1, &lammps, "thesis/estimate=upper", false);
	assert_true(near(p.rate.mean, 0.49 * 0.49));
	p = made(rows, 2, &lammps, "thesis", false);
	assert_int_equal(p.loss.n, 2);
	assert_true(p.rate.n == 1 && near(p.rate.mean, 0.25) && p.loss.hi <= 1);
	p = made(rows, 0, &lammps, "thesis", false);
	assert_true(!p.runs && isnan(p.loss.mean) && isnan(p.rate.mean));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(weights), cmocka_unit_test(one_run),
		cmocka_unit_test(who_counts), cmocka_unit_test(against_plain_runs),
		cmocka_unit_test(limits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
