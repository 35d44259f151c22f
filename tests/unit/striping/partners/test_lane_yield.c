/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which lanes bring a job most, and when they do not bring enough. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/partners/lane_yield.h"
#include "unit/striping/partners/two_that_fight.h"

/* Those of all offers of a test. */
static struct lane_partner partner[16];

static double usually(int class_number, double speed)
{
	return speed / outlook_typical(outlook, class_number);
}

/* A partner of so many nodes that has nobody beside it now, with that many lanes free. */
static struct lane_offer beside(int id, int class_number, int nodes)
{
	partner[id] = (struct lane_partner){
		class_number, nodes, usually(class_number, outlook_alone(outlook, class_number))};
	return (struct lane_offer){.partner = &partner[id],
		.partners = 1,
		.lanes = 2,
		.mine = mem,
		.nodes = nodes,
		.id = id};
}

static struct lane_offer empty(int id, int nodes)
{
	return (struct lane_offer){.lanes = 2, .nodes = nodes, .id = id};
}

/* With the settings as they usually are; returns whether the lanes bring enough. */
static bool order(int mine, struct lane_offer *offer, int count, int need, bool others_wait)
{
	struct poppa_settings s;
	struct lane_wish wish;

	settings_defaults(&s);
	for (int i = 0; i < count; i++)
		offer[i].mine = mine;
	wish = lane_wish(&s, need, others_wait);
	return lane_yield_order(outlook, &wish, offer, count) == 0;
}

/* A twin is left to others. */
static void twins_wait(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 4), beside(1, net, 4)};

	(void)state;
	assert_true(order(mem, f, 2, 4, true));
	assert_int_equal(f[0].id, 1);
	assert_true(order(net, f, 2, 4, true));
	assert_int_equal(f[0].id, 0);
	f[0] = beside(0, mem, 4);
	assert_false(order(mem, f, 1, 4, true));
	/* Too few. */
	f[0] = beside(1, net, 4);
	assert_false(order(mem, f, 1, 5, true));
}

/* An empty node is as good as waiting, and comes before a twin. */
static void empty_nodes(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 2), empty(1, 2)};

	(void)state;
	assert_true(order(mem, f, 2, 2, true));
	assert_int_equal(f[0].id, 1);
}

/* While nobody waits an empty node costs nothing; else a good partner comes before it. */
static void empty_nodes_cost(void **state)
{
	struct lane_offer f[] = {beside(0, net, 2), empty(1, 2)};

	(void)state;
	assert_true(order(mem, f, 2, 2, false));
	assert_int_equal(f[0].id, 1);
	assert_true(f[0].yield.cost == 0);
	assert_true(order(mem, f, 2, 2, true));
	assert_true((f[0].id == 1 ? &f[0] : &f[1])->yield.cost > 0);
}

/* What a partner has lost already to others, it does not lose again. */
static void slowed_already(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 4), beside(1, mem, 4)};

	(void)state;
	partner[0].nodes = partner[1].nodes = 8;
	partner[1].now = usually(mem, outlook_speed(outlook, mem, mem));
	order(mem, f, 2, 4, true);
	assert_int_equal(f[0].id, 1);
	assert_true(f[0].yield.cost == 0 && f[1].yield.cost > 0);
}

/* Of offers that bring as much: exactly as many nodes. A bigger one costs its partner a second one,
 * more so the bigger it is; the job itself would have several beside smaller ones. */
static void sizes(void **state)
{
	struct lane_offer f[] = {beside(0, net, 9), beside(1, net, 2), beside(2, net, 6),
		beside(3, net, 4), beside(4, net, 3)};

	(void)state;
	assert_true(order(mem, f, 5, 4, true));
	assert_int_equal(f[0].id, 3);
}

/* A wide job waits for its slowest node: one twin among many others spoils them all. */
static void slowest_node(void **state)
{
	struct lane_offer f[] = {beside(0, net, 15), beside(1, mem, 1), empty(2, 1)};

	(void)state;
	assert_true(order(mem, f, 3, 16, true));
	assert_int_equal(f[0].id, 2);
	assert_int_equal(f[1].id, 0);
	assert_true(f[2].yield.slow && !f[1].yield.slow);
	assert_true(f[2].yield.fault == LANE_SLOWS && f[1].yield.fault == LANE_FITS);
	assert_false(order(mem, f, 3, 18, true));
}

/* Beside a partner that others have slowed down that much, both together make less than one after
 * the other, though it loses nothing more. */
static void below_break_even(void **state)
{
	struct lane_offer f[] = {beside(0, net, 4), empty(1, 4)};

	(void)state;
	partner[0].now = usually(net, 0.3);
	assert_true(order(mem, f, 2, 4, true));
	assert_int_equal(f[0].id, 1);
	assert_true(f[1].yield.cost == 0 && f[1].yield.slow);
	assert_false(order(mem, f + 1, 1, 4, true));
}

/* Whether the job may be beside a net, by that wish. */
static bool may_share(const struct lane_wish *wish)
{
	struct lane_offer f = beside(0, net, 4);
	bool enough = lane_yield_order(outlook, wish, &f, 1) < LANE_LACK_MOST;

	assert_true(enough != f.yield.slow);
	return enough;
}

/* What the settings ask for: of both together, and of each. */
static void bounds(void **state)
{
	const double both = outlook_worth(outlook, mem, net);
	const double least =
		fmin(outlook_speed(outlook, mem, net), outlook_speed(outlook, net, mem));
	struct lane_wish wish = {.need = 4, .others_wait = true};

	(void)state;
	wish.together = both - 0.01;
	assert_true(may_share(&wish));
	wish.together = both + 0.01;
	assert_false(may_share(&wish));
	wish.together = 0;
	wish.each = least - 0.01;
	assert_true(may_share(&wish));
	wish.each = least + 0.01;
	assert_false(may_share(&wish));
}

/* That a partner is slow already is not the job's doing; what both make then is less all the same.
 */
static void bounds_beside_others(void **state)
{
	struct lane_wish wish = {.need = 4, .others_wait = true, .each = 0.5};
	struct lane_offer f = beside(0, net, 4);

	(void)state;
	partner[0].now = usually(net, 0.3);
	assert_true(lane_yield_order(outlook, &wish, &f, 1) < LANE_LACK_MOST);
	assert_false(f.yield.slow);
	wish.together = 0.9;
	assert_true(lane_yield_order(outlook, &wish, &f, 1) == LANE_LACK_MOST);
	assert_true(f.yield.slow);
}

/* Each offer says why it comes last, with what the wish was compared with. */
static void faults(void **state)
{
	const double both = outlook_worth(outlook, mem, net);
	const double own = outlook_speed(outlook, mem, net);
	const double other = outlook_speed(outlook, net, mem);
	struct lane_wish wish = {.need = 4, .others_wait = true};
	struct lane_offer f = beside(0, net, 4);

	(void)state;
	lane_yield_order(outlook, &wish, &f, 1);
	assert_true(f.yield.fault == LANE_FITS && !f.yield.slow);
	assert_float_equal(f.yield.together, both, 1e-9);
	assert_float_equal(f.yield.each, fmin(own, other), 1e-9);
	assert_int_equal(f.yield.hurts_itself, own < other);
	wish.together = both + 0.01;
	lane_yield_order(outlook, &wish, &f, 1);
	assert_true(f.yield.fault == LANE_GAINS_LITTLE && f.yield.slow);
	wish.together = 0;
	wish.each = fmin(own, other) + 0.01;
	lane_yield_order(outlook, &wish, &f, 1);
	assert_true(f.yield.fault == LANE_HURTS && f.yield.slow);
}

/* Jobs that are all alike do not wait for better ones: the partner is faster than usual only as
 * long as nobody comes. */
static void one_class(void **state)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}};
	struct outlook *before = outlook;
	struct lane_offer f;

	(void)state;
	outlook = outlook_new(expected, demand, 1);
	assert_non_null(outlook);
	f = beside(0, outlook_class(outlook, "7/mem"), 4);
	assert_true(order(partner[0].class_number, &f, 1, 4, true));
	assert_true(f.yield.cost > 0 && f.yield.passing > 0);
	for (f.lanes = 4; f.lanes <= 16; f.lanes *= 2) {
		const int class_number = partner[0].class_number;

		partner[0].now = outlook_among(outlook, f.lanes, class_number, NULL, 0) /
				 outlook_usual(outlook, f.lanes, class_number);
		assert_true(order(class_number, &f, 1, 4, true));
		assert_false(f.yield.slow);
	}
	outlook_free(outlook);
	outlook = before;
}

/* On nodes of four lanes all that are there count: beside two nets it is better than beside a net
 * and one of its own class, and a node with two jobs of any class costs more than one with one. */
static void four_lanes(void **state)
{
	static const int class_of[3][2] = {{0, 1}, {0, 0}, {0, -1}};
	struct lane_offer f[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		f[i] = (struct lane_offer){
			.partner = &partner[2 * i], .lanes = 4, .nodes = 4, .id = i};
		for (int k = 0; k < 2 && class_of[i][k] >= 0; k++) {
			int one = class_of[i][k] ? mem : net,
			    others[] = {class_of[i][!k] ? mem : net};

			partner[2 * i + k] = (struct lane_partner){one, 4,
				outlook_among(outlook, 4, one, others, class_of[i][1] >= 0) /
					outlook_usual(outlook, 4, one)};
			f[i].partners++;
		}
	}
	order(mem, f, 3, 4, true);
	assert_int_equal(f[0].id, 2);
	assert_int_equal(f[1].id, 1);
	assert_int_equal(f[2].id, 0);
	/* What they make together is against as many lanes as there are jobs. */
	assert_float_equal(f[0].yield.own, outlook_speed(outlook, mem, net), 1e-9);
	assert_float_equal(f[0].yield.least, outlook_speed(outlook, net, mem), 1e-9);
	assert_float_equal(f[1].yield.own, pow(outlook_speed(outlook, mem, net), 2), 1e-9);
	assert_true(f[1].yield.left > f[1].yield.least);
}

/* On nodes of several types the job may be of several classes: it prefers those where it is fast
 * for what it usually does. */
static void several_types(void **state)
{
	struct lane_wish wish = {.need = 4, .others_wait = true};
	struct lane_offer f[] = {beside(0, net, 4), beside(1, net, 4)};

	(void)state;
	f[0].mine = net;
	assert_true(lane_yield_order(outlook, &wish, f, 2) < LANE_LACK_MOST);
	assert_int_equal(f[0].id, 1);
	assert_true(f[0].yield.price < f[1].yield.price);
	f[0].mine = net;
	f[1].mine = mem;
	assert_true(lane_yield_order(outlook, &wish, f, 2) < LANE_LACK_MOST);
	assert_int_equal(f[0].id, 0);
}

/* Two users with the same program; the second one has lost three times as much, of other jobs. */
static struct outlook *two_users(struct expectation **e)
{
	static const char *const name[] = {"7/mem", "8/mem", "9/new"};
	struct pairs *p = pairs_new();
	struct outlook *o;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			assert_int_equal(pairs_learn(p, name[i], name[k], 0.1, 36000, 1), 0);
	assert_int_equal(pairs_learn(p, "7/idle", "6/idle", 0.01, 36000, 1), 0);
	assert_int_equal(pairs_learn(p, "8/poor", "6/rude", 0.8, 36000, 1), 0);
	*e = expectation_fit(p, NULL);
	o = outlook_of_history(p, *e, NULL);
	assert_non_null(o);
	pairs_free(p);
	return o;
}

/* Which of two partners that lose as much a job goes to, with that policy. */
static struct lane_offer chosen(struct outlook *o, enum stripe_policy policy, int first, int second)
{
	struct poppa_settings s;
	struct lane_wish wish;
	const int class_of[] = {first, second};
	struct lane_offer f[2];

	settings_defaults(&s);
	s.stripe_policy = policy;
	wish = lane_wish(&s, 4, true);
	for (int i = 0; i < 2; i++) {
		/* By hand: both lose a tenth of what is usual. */
		partner[i] = (struct lane_partner){class_of[i], 4,
			outlook_speed(o, class_of[i], class_of[0]) /
					outlook_typical(o, class_of[i]) +
				0.1};
		f[i] = (struct lane_offer){.partner = &partner[i],
			.partners = 1,
			.lanes = 2,
			.mine = outlook_class(o, "9/new"),
			.nodes = 4,
			.id = i};
	}
	lane_yield_order(o, &wish, f, 2);
	return f[0];
}

/* Who has lost much is spared under fair, and counts as everybody else under perf. */
static void policies(void **state)
{
	struct expectation *e;
	struct outlook *o = two_users(&e);
	const int rich = outlook_class(o, "7/mem"), poor = outlook_class(o, "8/mem");
	double cost;

	(void)state;
	assert_true(outlook_weight(o, poor) > 1.5 && outlook_weight(o, rich) < 0.9);
	/* Of equal ones the first comes first. */
	cost = chosen(o, POLICY_PERF, rich, rich).yield.cost;
	assert_int_equal(chosen(o, POLICY_PERF, poor, rich).id, 0);
	assert_int_equal(chosen(o, POLICY_PERF, rich, poor).id, 0);
	assert_int_equal(chosen(o, POLICY_FAIR, poor, rich).id, 1);
	assert_int_equal(chosen(o, POLICY_FAIR, rich, poor).id, 0);
	assert_float_equal(chosen(o, POLICY_FAIR, rich, rich).yield.cost,
		outlook_weight(o, rich) * cost, 1e-9);
	outlook_free(o);
	expectation_free(e);
}

/* What lanes beside a twin that loses nothing more lack where user 7 and another one have lost such
 * shares of as much time. */
static double lacks(bool fair, double lost, double others)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}, {"7/net", 100}};
	struct outlook *o = outlook_new(expected, demand, 2);
	struct pairs *p = pairs_new();
	struct lane_wish wish = {.need = 4, .others_wait = true, .fair = fair};
	struct lane_offer f = {.partner = partner, .partners = 1, .lanes = 2, .nodes = 4};
	double lack;

	assert_int_equal(pairs_learn(p, "7/mem", "6/x", lost, 36000, 1), 0);
	assert_int_equal(pairs_learn(p, "6/x", "7/mem", others, 36000, 1), 0);
	outlook_weigh_users(o, p);
	f.mine = outlook_class(o, "7/mem");
	partner[0] = (struct lane_partner){f.mine, 4, 0.3};
	lack = lane_yield_order(o, &wish, &f, 1);
	outlook_free(o);
	pairs_free(p);
	return lack;
}

/* What the job itself loses of its usual speed counts by its own user's weight: who has lost much
 * waits for better lanes. */
static void own_losses(void **state)
{
	const double usual = lacks(false, 0.1, 0.1);

	(void)state;
	assert_true(usual > 0 && usual < LANE_LACK_MOST);
	assert_true(lacks(false, 0.12, 0.08) == usual && lacks(false, 0.05, 0.2) == usual);
	assert_float_equal(lacks(true, 0.1, 0.1), usual, 1e-12);
	assert_true(lacks(true, 0.12, 0.08) > usual + 0.01);
	assert_true(lacks(true, 0.05, 0.2) < usual - 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_wait),
		cmocka_unit_test(empty_nodes),
		cmocka_unit_test(empty_nodes_cost),
		cmocka_unit_test(slowed_already),
		cmocka_unit_test(sizes),
		cmocka_unit_test(slowest_node),
		cmocka_unit_test(below_break_even),
		cmocka_unit_test(bounds),
		cmocka_unit_test(bounds_beside_others),
		cmocka_unit_test(faults),
		cmocka_unit_test(one_class),
		cmocka_unit_test(four_lanes),
		cmocka_unit_test(several_types),
		cmocka_unit_test(policies),
		cmocka_unit_test(own_losses),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
