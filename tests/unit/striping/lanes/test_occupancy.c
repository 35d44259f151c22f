/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the lane occupancy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "striping/lanes/occupancy.h"

static int released;

static void release(void *data)
{
	free(data);
	released++;
}

static struct occupancy_place at(int node, uint32_t lanes)
{
	struct occupancy_place place = {.node = node, .lanes = lanes, .memory = 100};

	return place;
}

static void lanes_fill_and_free(void **state)
{
	struct occupancy *o = occupancy_new(4, 2, release);
	struct occupancy_place two[] = {at(0, 1), at(1, 1)}, half[] = {at(1, 2)}, seen;

	(void)state;
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_EMPTY);
	assert_int_equal(occupancy_add(o, 10, true, malloc(1), two, 2), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	assert_int_equal(occupancy_add(o, 11, true, malloc(1), half, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	assert_int_equal(occupancy_state(o, 1), OCCUPANCY_FULL);
	assert_int_equal(occupancy_taken(o, 1), 3);
	assert_int_equal(occupancy_memory(o, 1), 200);
	assert_int_equal(occupancy_count(o, 1), 2);
	assert_int_equal(occupancy_at(o, 1, 1, &seen)->id, 11);
	assert_int_equal(seen.lanes, 2);
	assert_int_equal(occupancy_colocated(o), 2);
	assert_int_equal(occupancy_colocated_places(o), 3);
	released = 0;
	assert_true(occupancy_remove(o, 10));
	assert_int_equal(released, 1);
	assert_false(occupancy_remove(o, 10));
	assert_int_equal(occupancy_colocated_places(o), 1);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_EMPTY);
	assert_int_equal(occupancy_state(o, 1), OCCUPANCY_PARTIAL);
	assert_int_equal(occupancy_taken(o, 1), 2);
	assert_true(occupancy_remove_node(o, 11, 1));
	assert_int_equal(occupancy_colocated_places(o), 0);
	occupancy_free(o);
	assert_int_equal(released, 2);
}

static void strangers_close_a_node(void **state)
{
	struct occupancy *o = occupancy_new(2, 2, NULL);
	struct occupancy_place p = at(0, 0), q = at(0, 1);

	(void)state;
	assert_int_equal(occupancy_add(o, 1, false, NULL, &p, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_CLOSED);
	assert_int_equal(occupancy_colocated_on(o, 0), 0);
	assert_int_equal(occupancy_colocated_places(o), 0);
	/* Both kinds on one node can only come from outside: it stays closed until the other ends.
	 */
	assert_int_equal(occupancy_add(o, 2, true, NULL, &q, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_CLOSED);
	assert_int_equal(occupancy_colocated_on(o, 0), 1);
	assert_true(occupancy_remove(o, 1));
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	occupancy_free(o);
}

static void odd_input_leaves_the_map_whole(void **state)
{
	struct occupancy *o = occupancy_new(2, 2, release);
	struct occupancy_place twice[] = {at(0, 1), at(0, 2)}, outside[] = {at(0, 1), at(2, 1)},
			       good[] = {at(1, 1)};

	(void)state;
	released = 0;
	assert_int_equal(occupancy_add(o, 1, true, malloc(1), twice, 2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(occupancy_add(o, 1, true, malloc(1), outside, 2), -1);
	assert_int_equal(released, 2);
	assert_null(occupancy_find(o, 1));
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_EMPTY);
	assert_int_equal(occupancy_add(o, 1, true, NULL, NULL, 0), 0);
	assert_int_equal(occupancy_add(o, 1, true, NULL, good, 1), 0);
	assert_int_equal(occupancy_colocated(o), 1);
	assert_int_equal(occupancy_count(o, 1), 1);
	assert_false(occupancy_remove_node(o, 1, 0));
	assert_false(occupancy_remove_node(o, 1, 7));
	assert_true(occupancy_remove_node(o, 1, 1));
	assert_int_equal(occupancy_find(o, 1)->count, 0);
	assert_int_equal(occupancy_state(o, 1), OCCUPANCY_EMPTY);
	occupancy_free(o);
	assert_null(occupancy_new(1, 0, NULL));
	assert_null(occupancy_new(1, 17, NULL));
	assert_null(occupancy_new(-1, 2, NULL));
}

/* Random events against a plain table of who has what. */
static void random_events_agree_with_a_table(void **state)
{
	enum { NODES = 7, JOBS = 40, LANES = 3 };
	uint32_t table[JOBS + 1][NODES] = {0};
	struct occupancy *o = occupancy_new(NODES, LANES, NULL);
	unsigned int seed = 12345;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		uint32_t job = 1 + rand_r(&seed) % JOBS;
		int what = rand_r(&seed) % 3, node = rand_r(&seed) % NODES;

		if (what == 0) {
			struct occupancy_place places[NODES];
			int count = 0;

			for (int n = 0; n < NODES; n++) {
				table[job][n] = 0;
				if (rand_r(&seed) % 3)
					continue;
				table[job][n] = 1 + rand_r(&seed) % 7;
				places[count++] = at(n, table[job][n]);
			}
			assert_int_equal(occupancy_add(o, job * 257, true, NULL, places, count), 0);
		} else if (what == 1) {
			occupancy_remove(o, job * 257);
			memset(table[job], 0, sizeof(table[job]));
		} else {
			assert_int_equal(
				occupancy_remove_node(o, job * 257, node), table[job][node] != 0);
			table[job][node] = 0;
		}
		for (int n = 0; n < NODES; n++) {
			uint32_t taken = 0;
			int count = 0;

			for (int j = 1; j <= JOBS; j++) {
				taken |= table[j][n];
				count += table[j][n] != 0;
			}
			assert_int_equal(occupancy_taken(o, n), taken);
			assert_int_equal(occupancy_count(o, n), count);
			assert_int_equal(occupancy_state(o, n), !count       ? OCCUPANCY_EMPTY
								: taken == 7 ? OCCUPANCY_FULL
									     : OCCUPANCY_PARTIAL);
		}
	}
	occupancy_free(o);
}

static void maps_are_compared(void **state)
{
	struct occupancy *a = occupancy_new(3, 2, NULL), *b = occupancy_new(3, 2, NULL),
			 *c = occupancy_new(3, 3, NULL);
	struct occupancy_place p = at(1, 1), q = at(1, 2);
	struct errmsg err = {""};

	(void)state;
	assert_true(occupancy_same(a, b, &err));
	assert_false(occupancy_same(a, c, &err));
	/* The order of arrival does not matter. */
	occupancy_add(a, 300, true, NULL, &p, 1);
	occupancy_add(a, 44, true, NULL, &q, 1);
	occupancy_add(b, 44, true, NULL, &q, 1);
	assert_false(occupancy_same(a, b, &err));
	assert_non_null(strstr(err.text, "300"));
	assert_false(occupancy_same(b, a, &err));
	occupancy_add(b, 300, true, NULL, &p, 1);
	assert_true(occupancy_same(a, b, &err));
	occupancy_add(b, 300, true, NULL, &q, 1);
	assert_false(occupancy_same(a, b, &err));
	occupancy_free(a);
	occupancy_free(b);
	occupancy_free(c);
}

static void thousands_of_jobs(void **state)
{
	struct occupancy *o = occupancy_new(10000, 2, NULL);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct occupancy_place p = at(i / 2, 1u << i % 2);

		assert_int_equal(occupancy_add(o, 1000 + i, true, NULL, &p, 1), 0);
	}
	assert_int_equal(occupancy_colocated(o), 20000);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(occupancy_find(o, 1000 + i)->node[0], i / 2);
	for (int i = 0; i < 20000; i += 2)
		assert_true(occupancy_remove(o, 1000 + i));
	for (int n = 0; n < 10000; n++)
		assert_int_equal(occupancy_taken(o, n), 2);
	occupancy_free(o);
}

static void nodes_with_lanes_of_their_own(void **state)
{
	struct occupancy *o = occupancy_new(2, 4, NULL), *other = occupancy_new(2, 4, NULL);
	struct occupancy_place two[] = {at(0, 3), at(1, 3)};
	struct errmsg err = {""};

	(void)state;
	occupancy_set_lanes(o, 1, SHAPE_STRIPE, 2);
	assert_int_equal(occupancy_add(o, 1, true, NULL, two, 2), 0);
	assert_int_equal(occupancy_add(other, 1, true, NULL, two, 2), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	assert_int_equal(occupancy_state(o, 1), OCCUPANCY_FULL);
	assert_false(occupancy_same(o, other, &err));
	assert_non_null(strstr(err.text, "node 1"));
	occupancy_set_lanes(other, 1, SHAPE_STRIPE, 2);
	assert_true(occupancy_same(o, other, &err));
	occupancy_free(o);
	occupancy_free(other);
}

static void one_shape_at_a_time(void **state)
{
	struct occupancy *o = occupancy_new(1, 4, NULL);
	struct occupancy_place first = at(0, LANE_BIT(SHAPE_SOCKET, 0));
	struct occupancy_place second = at(0, LANE_BIT(SHAPE_SOCKET, 1));
	struct occupancy_place stripe = at(0, LANE_BIT(SHAPE_STRIPE, 3));

	(void)state;
	occupancy_set_lanes(o, 0, SHAPE_SOCKET, 2);
	assert_int_equal(occupancy_add(o, 1, true, NULL, &first, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	assert_int_equal(occupancy_add(o, 2, true, NULL, &second, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_FULL);
	occupancy_remove(o, 2);
	assert_int_equal(occupancy_taken(o, 0), first.lanes);
	/* Both shapes are there only where settings have changed: nobody else may come. */
	assert_int_equal(occupancy_add(o, 3, true, NULL, &stripe, 1), 0);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_FULL);
	occupancy_remove(o, 1);
	assert_int_equal(occupancy_state(o, 0), OCCUPANCY_PARTIAL);
	occupancy_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_fill_and_free),
		cmocka_unit_test(strangers_close_a_node),
		cmocka_unit_test(odd_input_leaves_the_map_whole),
		cmocka_unit_test(random_events_agree_with_a_table),
		cmocka_unit_test(maps_are_compared),
		cmocka_unit_test(thousands_of_jobs),
		cmocka_unit_test(one_shape_at_a_time),
		cmocka_unit_test(nodes_with_lanes_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
