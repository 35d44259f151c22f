/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of partner choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/partners/partner.h"

struct job {
	struct partner p;
	struct colocate request;
};

static struct job *job(struct job *j, uint32_t id, const char *name, const char *option)
{
	struct errmsg err = {""};

	memset(j, 0, sizeof(*j));
	assert_int_equal(colocate_parse(option, &j->request, &err), 0);
	j->p.id = id;
	j->p.name = name;
	j->p.class_name = name;
	j->p.request = &j->request;
	return j;
}

static bool pair(const char *option_a, const char *option_b, const struct pairs *pairs)
{
	struct job a, b;
	const struct partner *pa = &job(&a, 1, "a", option_a)->p,
			     *pb = &job(&b, 2, "b", option_b)->p;
	bool ab = partner_compatible(pa, &pb, 1, pairs), ba = partner_compatible(pb, &pa, 1, pairs);

	assert_int_equal(ab, ba);
	return ab;
}

static void plain_jobs_go_together(void **state)
{
	struct job a;

	(void)state;
	assert_true(pair("", "", NULL));
	assert_true(pair("stripe", "class:x", NULL));
	assert_true(partner_compatible(&job(&a, 1, "a", "spread")->p, NULL, 0, NULL));
	assert_true(partner_compatible(&job(&a, 1, "a", "max-degradation:1")->p, NULL, 0, NULL));
}

static void options_hold_both_ways(void **state)
{
	(void)state;
	assert_false(pair("spread", "", NULL));
	assert_true(pair("with:2", "", NULL));
	assert_true(pair("with:2", "with:1", NULL));
	assert_false(pair("with:3", "", NULL));
	assert_false(pair("with:2", "with:3", NULL));
	assert_false(pair("not:b", "", NULL));
	assert_true(pair("not:c,not:a", "", NULL));
	assert_false(pair("", "not:a", NULL));
}

static void an_array_is_named_by_its_id(void **state)
{
	struct job a, b;
	const struct partner *pb;

	(void)state;
	job(&a, 1, "a", "with:70");
	job(&b, 75, "b", "");
	b.p.array_id = 70;
	pb = &b.p;
	assert_true(partner_compatible(&a.p, &pb, 1, NULL));
	b.p.array_id = 71;
	assert_false(partner_compatible(&a.p, &pb, 1, NULL));
}

static void a_limit_needs_a_known_pair(void **state)
{
	struct pairs *pairs = pairs_new();

	(void)state;
	assert_false(pair("max-degradation:20%", "", NULL));
	assert_false(pair("max-degradation:20%", "", pairs));
	assert_int_equal(pairs_learn(pairs, "b", "a", 0.01, 10, 1), 0);
	assert_false(pair("max-degradation:20%", "", pairs));
	assert_int_equal(pairs_learn(pairs, "a", "b", 0.15, 10, 1), 0);
	assert_true(pair("max-degradation:20%", "", pairs));
	assert_false(pair("max-degradation:10%", "", pairs));
	/* Only its own degradation is limited, not what it does to the other. */
	assert_true(pair("", "max-degradation:2%", pairs));
	assert_false(pair("", "max-degradation:0.5%", pairs));
	pairs_free(pairs);
}

/* A job that may leave is on probation beside whom the history does not know; nobody is put beside
 * a job whose limit is not known to hold. */
static void unknown_pairs_are_on_probation(void **state)
{
	struct pairs *pairs = pairs_new();
	struct job a, b, c;
	const struct partner *others[2];

	(void)state;
	job(&a, 1, "a", "max-degradation:20%");
	others[0] = &job(&b, 2, "b", "")->p;
	others[1] = &job(&c, 3, "c", "")->p;
	assert_false(partner_on_probation(&a.p, others, 1, NULL));
	a.p.may_leave = true;
	assert_true(partner_on_probation(&a.p, others, 1, NULL));
	assert_true(partner_on_probation(&a.p, others, 2, pairs));
	assert_false(partner_compatible(&a.p, others, 1, pairs));
	/* What is known of one partner counts, whatever is not known of the other one. */
	assert_int_equal(pairs_learn(pairs, "a", "c", 0.15, 600, 1), 0);
	assert_true(partner_on_probation(&a.p, others, 2, pairs));
	assert_int_equal(pairs_learn(pairs, "a", "c", 0.5, 600, 1), 0);
	assert_false(partner_on_probation(&a.p, others, 2, pairs));
	/* A probation that has failed is known. */
	assert_int_equal(pairs_learn(pairs, "a", "b", 0.5, 15, 1), 0);
	assert_false(partner_on_probation(&a.p, others, 1, pairs));
	/* Other things that the jobs ask for hold. */
	job(&b, 2, "b", "not:a");
	assert_false(partner_on_probation(&a.p, others, 1, NULL));
	/* The limit of a job that runs must be known to hold, whoever comes. */
	job(&b, 2, "b", "max-degradation:20%");
	assert_false(partner_on_probation(&a.p, others, 1, NULL));
	b.p.may_leave = true;
	assert_false(partner_on_probation(&a.p, others, 1, NULL));
	pairs_free(pairs);
	pairs = pairs_new();
	assert_int_equal(pairs_learn(pairs, "b", "a", 0.1, 15, 1), 0);
	assert_true(partner_on_probation(&a.p, others, 1, pairs));
	pairs_free(pairs);
}

/* However well the history says that they suit each other. */
static void who_has_left_does_not_come_back(void **state)
{
	struct apart apart = {.times = 1, .count = 1, .job = {2}};
	struct job a, b, c;
	const struct partner *pa, *pb, *pc;

	(void)state;
	pa = &job(&a, 1, "a", "")->p;
	pb = &job(&b, 2, "b", "")->p;
	pc = &job(&c, 3, "c", "")->p;
	a.p.apart = &apart;
	a.p.may_leave = true;
	assert_false(partner_compatible(pa, &pb, 1, NULL));
	assert_false(partner_on_probation(pa, &pb, 1, NULL));
	assert_false(partner_compatible(pb, &pa, 1, NULL));
	assert_true(partner_compatible(pa, &pc, 1, NULL));
}

/* Runs that tell the same mean of a class beside another, apart by `spread`. */
static void learn_runs(
	struct pairs *pairs, const char *job, const char *partner, double mean, double spread)
{
	for (int i = 0; i < 6; i++)
		assert_int_equal(
			pairs_learn(pairs, job, partner, mean + (i % 2 ? spread : -spread), 600, i),
			0);
}

/* What counts against a limit is not the mean but what the degradation is certainly not above. */
static void a_limit_counts_what_is_not_sure(void **state)
{
	struct pairs *pairs = pairs_new();

	(void)state;
	learn_runs(pairs, "a", "b", 0.15, 0.01);
	/* 0.15 + 2.015 * 0.02 / sqrt(6) = 0.1665 */
	assert_true(pair("max-degradation:17%", "", pairs));
	assert_false(pair("max-degradation:16%", "", pairs));
	pairs_free(pairs);
	pairs = pairs_new();
	learn_runs(pairs, "a", "b", 0.15, 0.10);
	/* 0.15 + 2.015 * 0.1095 / sqrt(6) = 0.2401 */
	assert_true(pair("max-degradation:25%", "", pairs));
	assert_false(pair("max-degradation:23%", "", pairs));
	pairs_free(pairs);
}

static bool loses(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	double own, rest;

	partner_certain(me, others, count, pairs, &own, &rest);
	return rest < own;
}

static void what_certainly_loses(void **state)
{
	struct pairs *pairs = pairs_new();
	struct job a, b, c;
	const struct partner *others[2];
	double own, rest;

	(void)state;
	job(&a, 1, "a", "");
	others[0] = &job(&b, 2, "b", "")->p;
	others[1] = &job(&c, 3, "c", "")->p;
	/* Nothing is certain without a history, beside nobody, or by means alone. */
	partner_certain(&a.p, others, 1, NULL, &own, &rest);
	assert_float_equal(own, 0, 0);
	assert_float_equal(rest, 1, 0);
	partner_certain(&a.p, NULL, 0, pairs, &own, &rest);
	assert_float_equal(own, 0, 0);
	assert_float_equal(rest, 0, 0);
	assert_false(loses(&a.p, NULL, 0, pairs));
	for (int i = 0; i < 2; i++) {
		pairs_learn(pairs, "a", "b", 0.9, 7200, i);
		pairs_learn(pairs, "b", "a", 0.9, 7200, i);
	}
	assert_false(loses(&a.p, others, 1, pairs));
	/* Of one direction alone: the other one may lose nothing. */
	pairs_learn(pairs, "a", "b", 0.9, 7200, 3);
	assert_false(loses(&a.p, others, 1, pairs));
	pairs_learn(pairs, "b", "a", 0.9, 7200, 3);
	assert_true(loses(&a.p, others, 1, pairs));
	partner_certain(&a.p, others, 1, pairs, &own, &rest);
	assert_true(own > 0.86 && own < 0.9);
	assert_true(rest > 0.1 && rest < 0.14);
	/* A third job of which nobody knows anything makes up for what they lose, for all we know.
	 */
	assert_true(loses(&a.p, others, 1, pairs));
	assert_false(loses(&a.p, others, 2, pairs));
	learn_runs(pairs, "c", "a", 0.5, 0.01);
	learn_runs(pairs, "c", "b", 0.5, 0.01);
	assert_true(loses(&a.p, others, 2, pairs));
	pairs_free(pairs);
}

/* 0.52 + 0.52 lost is less than one after the other, but only with little spread that is certain.
 */
static void a_doubt_is_no_loss(void **state)
{
	struct job a, b;
	const struct partner *pb;

	(void)state;
	job(&a, 1, "a", "");
	pb = &job(&b, 2, "b", "")->p;
	for (int i = 0; i < 2; i++) {
		struct pairs *pairs = pairs_new();

		learn_runs(pairs, "a", "b", 0.52, i ? 0.1 : 0.01);
		learn_runs(pairs, "b", "a", 0.52, i ? 0.1 : 0.01);
		assert_int_equal(loses(&a.p, &pb, 1, pairs), !i);
		pairs_free(pairs);
	}
}

static void several_partners_combine(void **state)
{
	struct pairs *pairs = pairs_new();
	struct job a, b, c;
	const struct partner *others[2];

	(void)state;
	job(&a, 1, "a", "max-degradation:28%");
	others[0] = &job(&b, 2, "b", "")->p;
	others[1] = &job(&c, 3, "c", "")->p;
	pairs_learn(pairs, "a", "b", 0.1, 10, 1);
	pairs_learn(pairs, "a", "c", 0.2, 10, 1);
	/* 1 - 0.9 * 0.8 = 0.28 */
	assert_true(partner_compatible(&a.p, others, 2, pairs));
	job(&a, 1, "a", "max-degradation:27%");
	assert_true(partner_compatible(&a.p, others, 1, pairs));
	assert_false(partner_compatible(&a.p, others, 2, pairs));
	pairs_free(pairs);
}

static void loss_orders_partners(void **state)
{
	struct pairs *pairs = pairs_new();
	struct job a, b, c, d;
	const struct partner *pb, *pc, *pd;

	(void)state;
	job(&a, 1, "a", "");
	pb = &job(&b, 2, "b", "")->p;
	pc = &job(&c, 3, "c", "")->p;
	pd = &job(&d, 4, "d", "")->p;
	assert_float_equal(partner_loss(&a.p, NULL, 0, pairs), 0, 0);
	assert_float_equal(partner_loss(&a.p, &pb, 1, NULL), 0, 0);
	pairs_learn(pairs, "a", "b", 0.05, 10, 1);
	pairs_learn(pairs, "b", "a", 0.05, 10, 1);
	pairs_learn(pairs, "a", "c", 0.01, 10, 1);
	pairs_learn(pairs, "c", "a", 0.40, 10, 1);
	assert_float_equal(partner_loss(&a.p, &pb, 1, pairs), 0.1, 1e-12);
	assert_float_equal(partner_loss(&a.p, &pc, 1, pairs), 0.41, 1e-12);
	/* An unknown one is taken for average: worse than the good pair, better than the bad one.
	 */
	assert_true(partner_loss(&a.p, &pd, 1, pairs) > partner_loss(&a.p, &pb, 1, pairs));
	assert_true(partner_loss(&a.p, &pd, 1, pairs) < partner_loss(&a.p, &pc, 1, pairs));
	pairs_free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_jobs_go_together),
		cmocka_unit_test(options_hold_both_ways),
		cmocka_unit_test(an_array_is_named_by_its_id),
		cmocka_unit_test(a_limit_needs_a_known_pair),
		cmocka_unit_test(unknown_pairs_are_on_probation),
		cmocka_unit_test(who_has_left_does_not_come_back),
		cmocka_unit_test(a_limit_counts_what_is_not_sure),
		cmocka_unit_test(what_certainly_loses),
		cmocka_unit_test(a_doubt_is_no_loss),
		cmocka_unit_test(several_partners_combine),
		cmocka_unit_test(loss_orders_partners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
