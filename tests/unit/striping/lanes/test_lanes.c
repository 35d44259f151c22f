/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/lanes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "striping/lanes/lanes.h"

#define CORES 64

static void two_by_eight(void **state)
{
	const int cores[] = {8, 8};
	int lane_of[16];

	(void)state;
	assert_int_equal(lanes_assign(cores, 2, 2, lane_of), 8);
	for (int c = 0; c < 16; c++)
		assert_int_equal(lane_of[c], c % 2);
}

/* The first core of every socket is lane 0's, whatever the socket before it left over. */
static void odd_cores_are_left_out(void **state)
{
	const int cores[] = {5, 3};
	const int expected[] = {0, 1, 0, 1, LANE_NONE, 0, 1, LANE_NONE};
	int lane_of[8];

	(void)state;
	assert_int_equal(lanes_assign(cores, 2, 2, lane_of), 3);
	for (int c = 0; c < 8; c++)
		assert_int_equal(lane_of[c], expected[c]);
}

static void a_node_too_small(void **state)
{
	const int cores[] = {2, 1};
	int lane_of[3];

	(void)state;
	assert_int_equal(lanes_assign(cores, 2, 3, lane_of), 0);
	for (int c = 0; c < 3; c++)
		assert_int_equal(lane_of[c], LANE_NONE);
	assert_int_equal(lanes_assign(cores, 0, 2, lane_of), 0);
}

static void lane_counts_out_of_range(void **state)
{
	const int cores[] = {4}, bad[] = {0, -1, LANES_MAX + 1};
	int lane_of[4];

	(void)state;
	for (int i = 0; i < 3; i++) {
		errno = 0;
		assert_int_equal(lanes_assign(cores, 1, bad[i], lane_of), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(lanes_assign(cores, 1, 1, lane_of), 4);
}

/* On every socket each lane has the same number of cores, and the sum is what is returned. */
static void lanes_are_equal_per_socket(void **state)
{
	(void)state;
	for (int lanes = 1; lanes <= LANES_MAX; lanes++) {
		for (int a = 0; a <= CORES / 2; a += 3) {
			const int cores[] = {a, CORES / 2 - 1};
			int lane_of[CORES], total[LANES_MAX] = {0};
			int n = lanes_assign(cores, 2, lanes, lane_of);

			for (int s = 0, base = 0; s < 2; base += cores[s++]) {
				int count[LANES_MAX] = {0};

				for (int c = 0; c < cores[s]; c++) {
					int lane = lane_of[base + c];

					if (lane == LANE_NONE)
						continue;
					assert_in_range(lane, 0, lanes - 1);
					count[lane]++;
					total[lane]++;
				}
				for (int l = 1; l < lanes; l++)
					assert_int_equal(count[l], count[0]);
			}
			for (int l = 0; l < lanes; l++)
				assert_int_equal(total[l], n);
		}
	}
}

static void small_nodes_have_fewer_lanes(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(settings_parse("stripe_lanes=4,stripe_lanes_on=2x64:8,stripe_lanes_on=2x8:"
					"3,stripe_lanes_on=2x8:2",
				 &s, &err),
		0);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 2, 16), 4);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 2, 64), 8);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 1, 64), 4);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 2, 8), 2);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 8, 3), 3);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 3, 1), 3);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 16, 1), 4);
	assert_int_equal(lanes_count(&s, SHAPE_STRIPE, 1, 1), 4);
}

static void spare_cores_are_left_out(void **state)
{
	const bool spare[10] = {[0] = true, [7] = true};
	const int expected[] = {LANE_NONE, 0, 1, 0, 1, 0, 1, LANE_NONE, 0, 1};
	struct lane_size size;
	int lane_of[10];

	(void)state;
	assert_int_equal(lanes_of_node(SHAPE_STRIPE, 2, 5, spare, 2, lane_of, &size), 4);
	assert_int_equal(size.socket_cores, 2);
	for (int c = 0; c < 10; c++)
		assert_int_equal(lane_of[c], expected[c]);
	assert_int_equal(lanes_of_node(SHAPE_STRIPE, 0, 5, NULL, 2, lane_of, NULL), -1);
}

static void sockets_of_one_core_count_as_one(void **state)
{
	struct lane_size size;
	int lane_of[8];

	(void)state;
	assert_int_equal(lanes_of_node(SHAPE_STRIPE, 8, 1, NULL, 2, lane_of, &size), 4);
	assert_int_equal(size.socket_cores, 1);
	for (int c = 0; c < 8; c++)
		assert_int_equal(lane_of[c], c % 2);
	assert_int_equal(lanes_of_node(SHAPE_STRIPE, 1, 1, NULL, 2, lane_of, &size), 0);
	assert_int_equal(size.socket_cores, 0);
}

static void whole_sockets(void **state)
{
	struct lane_size size;
	int lane_of[16];

	(void)state;
	/* Two sockets each. */
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 4, 4, NULL, 2, lane_of, &size), 8);
	assert_int_equal(size.cores, 8);
	assert_int_equal(size.socket_cores, 4);
	assert_int_equal(size.sockets, 2);
	for (int c = 0; c < 16; c++)
		assert_int_equal(lane_of[c], c / 8);
	/* One socket each of three, of five cores: the stripes would have four. */
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 3, 5, NULL, 2, lane_of, &size), 5);
	assert_int_equal(size.sockets, 1);
	for (int c = 0; c < 15; c++)
		assert_int_equal(lane_of[c], c < 10 ? c / 5 : LANE_NONE);
}

static void lanes_of_sockets_are_equal(void **state)
{
	const bool spare[10] = {[0] = true, [6] = true, [7] = true};
	const int expected[] = {LANE_NONE, 0, 0, 0, LANE_NONE, 1, LANE_NONE, LANE_NONE, 1, 1};
	struct lane_size size;
	int lane_of[10];

	(void)state;
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 2, 5, spare, 2, lane_of, &size), 3);
	assert_int_equal(size.socket_cores, 3);
	for (int c = 0; c < 10; c++)
		assert_int_equal(lane_of[c], expected[c]);
}

static void nodes_without_lanes_of_sockets(void **state)
{
	static const int none[][3] = {{1, 8, 2}, {2, 1, 2}, {2, 4, 3}};
	struct lane_size size;
	int lane_of[8];

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(lanes_of_node(SHAPE_SOCKET, none[i][0], none[i][1], NULL,
					 none[i][2], lane_of, &size),
			0);
		assert_int_equal(size.cores, 0);
		for (int c = 0; c < none[i][0] * none[i][1]; c++)
			assert_int_equal(lane_of[c], LANE_NONE);
	}
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 2, 4, NULL, 17, lane_of, NULL), -1);
}

static void the_usual_shape(void **state)
{
	struct poppa_settings s;
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(settings_parse("stripe_lanes=4,stripe_shape_on=2x64:socket", &s, &err), 0);
	assert_int_equal(lanes_usual_shape(&s, 2, 8), SHAPE_STRIPE);
	assert_int_equal(lanes_usual_shape(&s, 2, 64), SHAPE_SOCKET);
	assert_int_equal(lanes_count(&s, SHAPE_SOCKET, 2, 64), 2);
	assert_int_equal(lanes_count(&s, SHAPE_SOCKET, 8, 8), 4);
	assert_int_equal(
		settings_parse("stripe_shape=socket,stripe_shape_on=2x8:stripe", &s, &err), 0);
	assert_int_equal(lanes_usual_shape(&s, 2, 8), SHAPE_STRIPE);
	assert_int_equal(lanes_usual_shape(&s, 4, 8), SHAPE_SOCKET);
	/* They have no lanes of whole sockets. */
	assert_int_equal(lanes_usual_shape(&s, 1, 8), SHAPE_STRIPE);
	assert_int_equal(lanes_usual_shape(&s, 8, 1), SHAPE_STRIPE);
}

static void sets_of_lanes(void **state)
{
	(void)state;
	for (int lane = 0; lane < LANES_MAX; lane++) {
		assert_true(LANES_HAVE(LANE_BIT(SHAPE_STRIPE, lane), SHAPE_STRIPE));
		assert_false(LANES_HAVE(LANE_BIT(SHAPE_STRIPE, lane), SHAPE_SOCKET));
		assert_true(LANES_HAVE(LANE_BIT(SHAPE_SOCKET, lane), SHAPE_SOCKET));
		assert_false(LANES_HAVE(LANE_BIT(SHAPE_SOCKET, lane), SHAPE_STRIPE));
	}
	assert_int_equal(LANE_BITS(SHAPE_SOCKET, LANES_MAX) | LANE_BITS(SHAPE_STRIPE, LANES_MAX),
		UINT32_MAX);
	assert_int_equal(
		LANE_BITS(SHAPE_SOCKET, 2), LANE_BIT(SHAPE_SOCKET, 0) | LANE_BIT(SHAPE_SOCKET, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_by_eight),
		cmocka_unit_test(odd_cores_are_left_out),
		cmocka_unit_test(a_node_too_small),
		cmocka_unit_test(lane_counts_out_of_range),
		cmocka_unit_test(lanes_are_equal_per_socket),
		cmocka_unit_test(small_nodes_have_fewer_lanes),
		cmocka_unit_test(spare_cores_are_left_out),
		cmocka_unit_test(sockets_of_one_core_count_as_one),
		cmocka_unit_test(whole_sockets),
		cmocka_unit_test(lanes_of_sockets_are_equal),
		cmocka_unit_test(nodes_without_lanes_of_sockets),
		cmocka_unit_test(the_usual_shape),
		cmocka_unit_test(sets_of_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
