/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of which lanes a job takes by their prices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "striping/partners/lane_choice.h"
#include "unit/striping/partners/two_that_fight.h"

static struct lane_group beside(int id, int partner, int nodes)
{
	return (struct lane_group){.partner = partner, .nodes = nodes, .id = id};
}

/* A twin is left to others. */
static void twins_come_last(void **state)
{
	struct lane_group g[] = {beside(0, mem, 4), beside(1, net, 4), beside(2, LANE_EMPTY, 4)};

	(void)state;
	lane_choice(outlook, mem, g, 3, 4, true);
	assert_int_equal(g[0].id, 1);
	assert_int_equal(g[1].id, 2);
	assert_int_equal(g[2].id, 0);
	lane_choice(outlook, net, g, 3, 4, true);
	assert_int_equal(g[0].id, 0);
}

/* Where nobody else waits, a node of one's own costs nobody anything. */
static void empty_nodes(void **state)
{
	struct lane_group g[] = {beside(0, net, 2), beside(1, LANE_EMPTY, 2)};

	(void)state;
	lane_choice(outlook, mem, g, 2, 2, false);
	assert_int_equal(g[0].id, 1);
	lane_choice(outlook, mem, g, 2, 2, true);
	assert_int_equal(g[0].id, 0);
}

/* Of groups that leave as much: exactly as many nodes, then the next bigger one. */
static void sizes(void **state)
{
	struct lane_group g[] = {beside(0, net, 9), beside(1, net, 2), beside(2, net, 6),
		beside(3, net, 4), beside(4, net, 3)};

	(void)state;
	lane_choice(outlook, mem, g, 5, 4, true);
	assert_int_equal(g[0].id, 3);
	assert_int_equal(g[1].id, 2);
	assert_int_equal(g[2].id, 0);
	assert_int_equal(g[3].id, 4);
	assert_int_equal(g[4].id, 1);
}

/* A wide job waits for its slowest node: one twin among many others spoils them all. */
static void slowest_node(void **state)
{
	struct lane_group g[] = {beside(0, net, 15), beside(1, mem, 1), beside(2, LANE_EMPTY, 1)};

	(void)state;
	lane_choice(outlook, mem, g, 3, 16, true);
	assert_int_equal(g[0].id, 0);
	assert_int_equal(g[1].id, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_come_last),
		cmocka_unit_test(empty_nodes),
		cmocka_unit_test(sizes),
		cmocka_unit_test(slowest_node),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
