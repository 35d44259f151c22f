/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of how fast classes are beside each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "striping/partners/outlook.h"
#include "unit/striping/partners/three_classes.h"
#include "unit/striping/reuse/histograms.h"

static void speeds(void **state)
{
	/* The same class several times, and one of which nothing is known. */
	static const struct outlook_demand demand[] = {
		{"7/net", 50}, {"7/mem", 60}, {"7/net", 50}, {"7/new", 1}, {"7/mem", 40}};
	struct expectation *e = three();
	struct outlook *o = outlook_new(e, demand, 5);
	int mem, net, none;

	(void)state;
	assert_non_null(o);
	mem = outlook_class(o, "7/mem");
	net = outlook_class(o, "7/net");
	none = outlook_class(o, "nobody");
	assert_true(mem != net && none != mem && none != net);
	/* What was not about is as its class, or as others of its user. */
	assert_int_equal(outlook_class(o, "7/mem+4n"), mem);
	assert_int_equal(outlook_class(o, "7/calm+2n"), outlook_class(o, "#7"));
	assert_int_not_equal(outlook_class(o, "#7"), none);
	assert_int_equal(outlook_class(o, "8/mem"), none);
	assert_true(fabs(outlook_worth(o, mem, mem) - 1) < 0.02);
	assert_true(fabs(outlook_worth(o, mem, net) - (0.9 / 0.7 + 0.9 / 0.8) / 2) < 0.02);
	assert_true(outlook_worth(o, mem, net) == outlook_worth(o, net, mem));
	assert_true(fabs(outlook_alone(o, mem) - 1 / 0.7) < 0.02);
	/* Of the time on lanes, a hundred is net's, a hundred mem's and one of a class not known.
	 */
	assert_true(fabs(outlook_typical(o, mem) - (1 + 0.9 / 0.7) / 2) < 0.02);
	assert_true(fabs(outlook_typical(o, net) - (1 + 0.9 / 0.8) / 2) < 0.02);
	/* The slower one of two is a twin in three of four cases. */
	assert_true(fabs(outlook_another(o) - (0.25 * (0.9 / 0.7 - 1) / (1 + 0.9 / 0.7) +
						      0.25 * (0.9 / 0.8 - 1) / (1 + 0.9 / 0.8))) <
		    0.02);
	outlook_free(o);
	expectation_free(e);
}

/* More classes than are looked at one by one: those that want little are lumped together. */
static void many_classes(void **state)
{
	static struct outlook_demand demand[OUTLOOK_CLASSES + 40];
	static char name[OUTLOOK_CLASSES + 40][16];
	struct expectation *e = three();
	struct outlook *o;
	char longest[PAIRS_CLASS_MAX + 1];

	(void)state;
	for (int i = 0; i < OUTLOOK_CLASSES + 40; i++) {
		snprintf(name[i], sizeof(name[i]), "c%03d", i);
		demand[i] = (struct outlook_demand){name[i], i < 40 ? 1 : 1000};
	}
	o = outlook_new(e, demand, OUTLOOK_CLASSES + 40);
	assert_non_null(o);
	assert_int_equal(outlook_class(o, name[0]), OUTLOOK_CLASSES);
	assert_int_equal(outlook_class(o, name[39]), OUTLOOK_CLASSES);
	assert_int_equal(outlook_class(o, name[40]), 0);
	assert_int_equal(outlook_class(o, name[OUTLOOK_CLASSES + 39]), OUTLOOK_CLASSES - 1);
	assert_true(isfinite(outlook_speed(o, 0, OUTLOOK_CLASSES)));
	outlook_free(o);
	/* What is no class, or wants nothing. */
	memset(longest, 'x', sizeof(longest));
	longest[PAIRS_CLASS_MAX] = '\0';
	demand[0] = (struct outlook_demand){longest, 1};
	demand[1] = (struct outlook_demand){"7/mem", 0};
	o = outlook_new(e, demand, 2);
	assert_non_null(o);
	assert_int_equal(outlook_class(o, "7/mem"), 0);
	assert_true(isfinite(outlook_speed(o, 0, 0)) && isfinite(outlook_typical(o, 0)));
	outlook_free(o);
	expectation_free(e);
}

/* What of these belongs to a class that is kept, or to a user, is lumped together with that. */
static void many_variants(void **state)
{
	static struct outlook_demand demand[OUTLOOK_CLASSES + 40];
	static char name[OUTLOOK_CLASSES + 40][32];
	struct expectation *e = three();
	struct outlook *o;

	(void)state;
	for (int i = 0; i < OUTLOOK_CLASSES + 40; i++) {
		snprintf(name[i], sizeof(name[i]), i < 40 ? "7/mem+%dx1x1" : "%d/c",
			i < 40 ? i + 1 : 1000 + i);
		demand[i] = (struct outlook_demand){name[i], i < 40 ? 1 : 2};
	}
	o = outlook_new(e, demand, OUTLOOK_CLASSES + 40);
	assert_non_null(o);
	assert_int_equal(outlook_class(o, name[0]), outlook_class(o, "7/mem"));
	assert_int_not_equal(outlook_class(o, "7/mem"), outlook_class(o, "#7"));
	assert_int_not_equal(outlook_class(o, "#7"), OUTLOOK_CLASSES);
	assert_int_equal(outlook_class(o, "7/other"), outlook_class(o, "#7"));
	assert_int_equal(outlook_class(o, name[OUTLOOK_CLASSES + 39]), OUTLOOK_CLASSES);
	assert_true(fabs(outlook_worth(o, outlook_class(o, name[0]), outlook_class(o, name[1])) -
			    1) < 0.03);
	outlook_free(o);
	expectation_free(e);
}

/* Without a list of what is about, the time that each class has had counts. */
static void demand_of_a_history(void **state)
{
	static const char *const name[] = {"7/calm", "7/mem", "7/net"};
	static const double seconds[3] = {60, 7200, 3600};
	struct outlook_demand demand[3];
	struct pairs *p = pairs_new();
	struct expectation *e;
	struct outlook *of_history, *of_list, *none;

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(
				pairs_learn(p, name[i], name[j], i == j ? 0.3 : 0.1, seconds[i], 1),
				0);
	for (int i = 0; i < 3; i++)
		demand[i] = (struct outlook_demand){name[i], seconds[i]};
	e = expectation_fit(p, NULL);
	of_history = outlook_of_history(p, e, NULL);
	of_list = outlook_new(e, demand, 3);
	assert_non_null(of_history);
	for (int i = 0; i < 3; i++) {
		int number = outlook_class(of_history, name[i]);

		assert_int_equal(number, outlook_class(of_list, name[i]));
		assert_true(fabs(outlook_typical(of_history, number) -
				    outlook_typical(of_list, number)) < 1e-6);
	}
	assert_false(outlook_empty(of_history));
	pairs_free(p);
	expectation_free(e);
	/* Nothing is known of anybody. */
	p = pairs_new();
	e = expectation_fit(p, NULL);
	none = outlook_of_history(p, e, NULL);
	assert_non_null(none);
	assert_true(outlook_empty(none));
	assert_int_equal(outlook_class(none, "7/mem"), outlook_class(none, "nobody"));
	outlook_free(none);
	outlook_free(of_history);
	outlook_free(of_list);
	pairs_free(p);
	expectation_free(e);
}

/* All classes of a user have one weight, with a list of what is about as well, and in draws. */
static void weights(void **state)
{
	static const char *const name[] = {"7/mem", "8/net", "7/mem+4n", "7/new", "#7", "8:new"};
	static const bool has_lost[] = {true, false, true, true, true, false};
	static const struct outlook_demand demand[] = {{"7/mem", 1}, {"8/net", 1}};
	struct pairs *p = pairs_new();
	struct expectation *e;
	struct outlook *o, *listed, *drawn;

	(void)state;
	assert_int_equal(pairs_learn(p, "7/mem", "8/net", 0.3, 7200, 1), 0);
	assert_int_equal(pairs_learn(p, "8/net", "7/mem", 0.2, 7200, 1), 0);
	e = expectation_fit(p, NULL);
	o = outlook_of_history(p, e, NULL);
	drawn = outlook_drawn(o, 1);
	listed = outlook_new(e, demand, 2);
	assert_true(outlook_weight(listed, outlook_class(listed, "7/mem")) == 1);
	outlook_weigh_users(listed, p);
	for (int i = 0; i < 6; i++) {
		double weight = outlook_weight(o, outlook_class(o, name[i]));

		assert_true(has_lost[i] ? weight > 1.1 : weight < 0.9);
		assert_true(outlook_weight(drawn, outlook_class(drawn, name[i])) == weight);
		assert_true(outlook_weight(listed, outlook_class(listed, name[i])) == weight);
	}
	assert_true(outlook_weight(o, outlook_class(o, "9/nobody")) == 1);
	assert_true(outlook_weight(o, outlook_class(o, "weather")) == 1);
	outlook_free(drawn);
	outlook_free(listed);
	outlook_free(o);
	expectation_free(e);
	pairs_free(p);
}

static struct cache_forecast *profiles_of(const char *const *name, int count)
{
	struct profiles *p = profiles_new();
	const struct shared_cache cache = {1024, 10};
	struct cache_forecast *f;

	for (int i = 0; i < count; i++) {
		struct reuse_histogram h = at_distance(300 * (i + 1) * (i + 1), 5);

		assert_int_equal(profiles_set(p, name[i], &h, 1, NULL), 0);
	}
	f = cache_forecast_new(p, &cache, NULL, NULL);
	assert_int_equal(cache_forecast_classes(f), count);
	profiles_free(p);
	return f;
}

/* Profiles correct the product of what partners do, and of nobody else. */
static void several_on_a_cache(void **state)
{
	static const char *const name[] = {"7/mem", "7/net"};
	static const struct outlook_demand demand[] = {{"7/mem", 1}, {"7/net", 1}, {"7/calm", 1}};
	struct cache_forecast *f = profiles_of(name, 2);
	struct expectation *e = three();
	struct outlook *by_pairs = outlook_new(e, demand, 3), *o = outlook_new(e, demand, 3);
	int mem = outlook_class(o, "7/mem"), net = outlook_class(o, "7/net"),
	    calm = outlook_class(o, "7/calm");
	const int own[] = {mem, mem, mem}, mixed[] = {net, net, mem}, calms[] = {calm, calm, calm};
	double product, factor;

	(void)state;
	outlook_share_cache(o, f);
	cache_forecast_free(f);
	/* As fast as compact, as compact is all lanes of one class. */
	assert_true(fabs(outlook_among(o, 4, mem, own, 3) - 1) < 0.05);
	product = outlook_among(by_pairs, 4, mem, mixed, 3);
	factor = outlook_among(o, 4, mem, mixed, 3) / product;
	assert_true(fabs(factor - 1) > 0.02);
	assert_true(
		outlook_among(o, 2, mem, mixed, 1) == outlook_among(by_pairs, 2, mem, mixed, 1));
	assert_true(
		outlook_among(o, 4, calm, mixed, 3) == outlook_among(by_pairs, 4, calm, mixed, 3));
	assert_true(outlook_usual(o, 4, calm) == outlook_usual(by_pairs, 4, calm));
	assert_true(outlook_usual(o, 2, mem) == outlook_usual(by_pairs, 2, mem));
	assert_true(outlook_usual(o, 4, mem) != outlook_usual(by_pairs, 4, mem));
	/* Those without a profile are beside it as before, against the same class everywhere. */
	assert_true(fabs(outlook_among(o, 4, mem, calms, 3) / outlook_among(o, 4, mem, calms, 1) -
			    outlook_among(by_pairs, 4, mem, calms, 3) /
				    outlook_among(by_pairs, 4, mem, calms, 1)) < 1e-9);
	/* And back, without any. */
	outlook_share_cache(o, NULL);
	assert_true(outlook_among(o, 4, mem, mixed, 3) == product);
	outlook_free(o);
	outlook_free(by_pairs);
	expectation_free(e);
}

/* A class that has never run is there if it has a profile. */
static void known_by_profile(void **state)
{
	static const char *const name[] = {"7/mem", "7/new"};
	struct cache_forecast *f = profiles_of(name, 2);
	struct pairs *p = pairs_new();
	struct expectation *e;
	struct outlook *o;

	(void)state;
	assert_int_equal(pairs_learn(p, "7/mem", "7/mem", 0.3, 3600, 1), 0);
	e = expectation_fit(p, NULL);
	o = outlook_of_history(p, e, f);
	assert_int_not_equal(outlook_class(o, "7/new"), outlook_class(o, "7/other"));
	assert_int_not_equal(outlook_class(o, "7/new"), outlook_class(o, "7/mem"));
	outlook_free(o);
	o = outlook_of_history(p, e, NULL);
	assert_int_equal(outlook_class(o, "7/new"), outlook_class(o, "7/other"));
	outlook_free(o);
	expectation_free(e);
	pairs_free(p);
	cache_forecast_free(f);
}

/* Of pairs that are known the draw is the mean; of others it is near it as often as is expected. */
static void draws(void **state)
{
	static const struct outlook_demand demand[] = {{"7/calm", 1}, {"7/mem", 1}, {"7/net", 1}};
	struct expectation *e = three();
	struct outlook *o = outlook_new(e, demand, 3), *again, *drawn;
	int mem = outlook_class(o, "7/mem"), net = outlook_class(o, "7/net"),
	    none = outlook_class(o, "9/nobody"), below = 0;
	double least = INFINITY, most = 0, mean = outlook_speed(o, none, mem);
	struct expected x = expectation_of(e, -1, expectation_class(e, "7/mem"));
	double far = EXPECTED_90 * x.sd / (1 - x.degradation);

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		double speed;

		drawn = outlook_drawn(o, seed);
		assert_non_null(drawn);
		assert_true(outlook_speed(drawn, mem, net) == outlook_speed(o, mem, net));
		assert_true(outlook_speed(drawn, net, net) == outlook_speed(o, net, net));
		assert_true(outlook_typical(drawn, none) == outlook_typical(o, none));
		assert_true(outlook_alone(drawn, mem) == outlook_alone(o, mem));
		assert_int_equal(outlook_class(drawn, "7/net"), net);
		speed = outlook_speed(drawn, none, mem);
		least = fmin(least, speed);
		most = fmax(most, speed);
		below += speed < mean;
		/* Nobody is faster than alone. */
		assert_true(speed <= outlook_alone(o, none) * (1 + 1e-12));
		again = outlook_drawn(o, seed);
		assert_true(outlook_speed(again, none, mem) == speed);
		outlook_free(again);
		outlook_free(drawn);
	}
	assert_in_range(below, 150, 250);
	assert_true(least >= mean * exp(-far) * (1 - 1e-12) && least < mean * exp(-0.7 * far));
	assert_true(most > mean && most <= mean * exp(far) * (1 + 1e-12));
	outlook_free(o);
	expectation_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speeds),
		cmocka_unit_test(many_classes),
		cmocka_unit_test(many_variants),
		cmocka_unit_test(demand_of_a_history),
		cmocka_unit_test(weights),
		cmocka_unit_test(several_on_a_cache),
		cmocka_unit_test(known_by_profile),
		cmocka_unit_test(draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
