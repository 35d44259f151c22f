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
		cmocka_unit_test(several_partners_combine),
		cmocka_unit_test(loss_orders_partners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
