/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which lanes bring a job most, and when they do not bring enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/partners/lane_yield.h"
#include "unit/striping/partners/two_that_fight.h"

/* A partner of so many nodes that has nobody beside it now, with that many lanes free. */
static struct lane_offer beside(int id, int partner, int nodes)
{
	return (struct lane_offer){.partner = partner,
		.nodes = nodes,
		.partner_nodes = nodes,
		.now = outlook_alone(outlook, partner),
		.id = id};
}

static struct lane_offer empty(int id, int nodes)
{
	return (struct lane_offer){.partner = LANE_NOBODY, .nodes = nodes, .id = id};
}

/* A twin is left to others. */
static void twins_wait(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 4), beside(1, net, 4)};

	(void)state;
	assert_true(lane_yield_order(outlook, mem, f, 2, 4, true));
	assert_int_equal(f[0].id, 1);
	assert_true(lane_yield_order(outlook, net, f, 2, 4, true));
	assert_int_equal(f[0].id, 0);
	f[0] = beside(0, mem, 4);
	assert_false(lane_yield_order(outlook, mem, f, 1, 4, true));
	/* Too few. */
	f[0] = beside(1, net, 4);
	assert_false(lane_yield_order(outlook, mem, f, 1, 5, true));
}

/* An empty node is as good as waiting, and comes before a twin. */
static void empty_nodes(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 2), empty(1, 2)};

	(void)state;
	assert_true(lane_yield_order(outlook, mem, f, 2, 2, true));
	assert_int_equal(f[0].id, 1);
}

/* While nobody waits an empty node costs nothing; else a good partner comes before it. */
static void empty_nodes_cost(void **state)
{
	struct lane_offer f[] = {beside(0, net, 2), empty(1, 2)};

	(void)state;
	assert_true(lane_yield_order(outlook, mem, f, 2, 2, false));
	assert_int_equal(f[0].id, 1);
	assert_true(f[0].yield.cost == 0);
	assert_true(lane_yield_order(outlook, mem, f, 2, 2, true));
	assert_true((f[0].id == 1 ? &f[0] : &f[1])->yield.cost > 0);
}

/* What a partner has lost already to others, it does not lose again. */
static void slowed_already(void **state)
{
	struct lane_offer f[] = {beside(0, mem, 4), beside(1, mem, 4)};

	(void)state;
	f[0].partner_nodes = f[1].partner_nodes = 8;
	f[1].now = outlook_speed(outlook, mem, mem);
	lane_yield_order(outlook, mem, f, 2, 4, true);
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
	assert_true(lane_yield_order(outlook, mem, f, 5, 4, true));
	assert_int_equal(f[0].id, 3);
}

/* A wide job waits for its slowest node: one twin among many others spoils them all. */
static void slowest_node(void **state)
{
	struct lane_offer f[] = {beside(0, net, 15), beside(1, mem, 1), empty(2, 1)};

	(void)state;
	assert_true(lane_yield_order(outlook, mem, f, 3, 16, true));
	assert_int_equal(f[0].id, 2);
	assert_int_equal(f[1].id, 0);
	assert_true(f[2].yield.slow && !f[1].yield.slow);
	assert_false(lane_yield_order(outlook, mem, f, 3, 18, true));
}

/* Beside a partner that others have slowed down that much, both together make less than one after
 * the other, though it loses nothing more. */
static void below_break_even(void **state)
{
	struct lane_offer f[] = {beside(0, net, 4), empty(1, 4)};

	(void)state;
	f[0].now = 0.3;
	assert_true(lane_yield_order(outlook, mem, f, 2, 4, true));
	assert_int_equal(f[0].id, 1);
	assert_true(f[1].yield.cost == 0 && f[1].yield.slow);
	assert_false(lane_yield_order(outlook, mem, f + 1, 1, 4, true));
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
	};

	return cmocka_run_group_tests(tests, begin, end);
}
