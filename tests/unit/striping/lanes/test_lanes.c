/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/lanes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

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
	assert_int_equal(lanes_count(&s, 2, 16), 4);
	assert_int_equal(lanes_count(&s, 2, 64), 8);
	assert_int_equal(lanes_count(&s, 1, 64), 4);
	assert_int_equal(lanes_count(&s, 2, 8), 2);
	assert_int_equal(lanes_count(&s, 8, 3), 3);
	assert_int_equal(lanes_count(&s, 3, 1), 3);
	assert_int_equal(lanes_count(&s, 16, 1), 4);
	assert_int_equal(lanes_count(&s, 1, 1), 4);
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
	/* As many cores as a stripe, though a socket has one more. */
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 2, 5, NULL, 2, lane_of, &size), 4);
	assert_int_equal(size.sockets, 1);
	for (int c = 0; c < 10; c++)
		assert_int_equal(lane_of[c], c % 5 < 4 ? c / 5 : LANE_NONE);
}

static void lanes_of_sockets_are_equal(void **state)
{
	/* Four cores of the first socket are left and six of the second one: stripes have five. */
	const bool spare[12] = {[0] = true, [3] = true};
	/* Five of each: stripes have four. */
	const bool even[12] = {[0] = true, [7] = true};
	const int expected[] = {LANE_NONE, 0, 0, 0, 0, LANE_NONE, 1, LANE_NONE, 1, 1, 1, LANE_NONE};
	struct lane_size size;
	int lane_of[12], stripe_of[12];

	(void)state;
	assert_int_equal(lanes_of_node(SHAPE_STRIPE, 2, 6, spare, 2, stripe_of, &size), 5);
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 2, 6, spare, 2, lane_of, &size), 0);
	for (int c = 0; c < 12; c++)
		assert_int_equal(lane_of[c], LANE_NONE);
	assert_int_equal(lanes_of_node(SHAPE_SOCKET, 2, 6, even, 2, lane_of, &size), 4);
	assert_int_equal(size.socket_cores, 4);
	for (int c = 0; c < 12; c++)
		assert_int_equal(lane_of[c], expected[c]);
}

/* Random machines: lanes of both shapes have equally many cores, or there are none of sockets. */
static void both_shapes_are_equal(void **state)
{
	unsigned int seed = 1, both = 0;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		int sockets = 1 + rand_r(&seed) % 8, cores = 1 + rand_r(&seed) % 16;
		int lanes = 1 + rand_r(&seed) % 6, all = sockets * cores;
		int stripe[128], lane_of[128], count[LANES_MAX] = {0}, stripes, lane_cores;
		bool spare[128];

		for (int c = 0; c < all; c++)
			spare[c] = rand_r(&seed) % 8 == 0;
		stripes = lanes_of_node(SHAPE_STRIPE, sockets, cores, spare, lanes, stripe, NULL);
		lane_cores =
			lanes_of_node(SHAPE_SOCKET, sockets, cores, spare, lanes, lane_of, NULL);
		assert_true(lane_cores == 0 || lane_cores == stripes);
		both += lane_cores > 0;
		for (int c = 0; c < all; c++) {
			if (lane_of[c] == LANE_NONE)
				continue;
			assert_false(spare[c]);
			count[lane_of[c]]++;
			/* No socket is of two lanes. */
			for (int d = c / cores * cores; d < c; d++)
				assert_true(lane_of[d] == LANE_NONE || lane_of[d] == lane_of[c]);
		}
		for (int lane = 0; lane < lanes; lane++)
			assert_int_equal(count[lane], lane_cores);
	}
	assert_true(both > 100);
}

static void nodes_without_lanes_of_sockets(void **state)
{
	static const int none[][3] = {{1, 8, 2}, {2, 1, 2}, {2, 4, 3}, {3, 2, 2}};
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

static enum stripe_shape usual(const char *settings, int sockets, int cores, const bool *spare)
{
	enum stripe_shape shape;
	struct poppa_settings s;
	struct errmsg err = {""};
	int lane_of[256], other[256], rc;

	assert_int_equal(settings_parse(settings, &s, &err), 0);
	rc = lanes_usual(
		&s, sockets, cores, spare, lanes_count(&s, sockets, cores), lane_of, NULL, &shape);
	assert_true(rc > 0);
	assert_int_equal(lanes_of_node(shape, sockets, cores, spare,
				 lanes_count(&s, sockets, cores), other, NULL),
		rc);
	assert_memory_equal(lane_of, other, (size_t)(sockets * cores) * sizeof(int));
	return shape;
}

static void the_usual_shape(void **state)
{
	const bool spare[8] = {true, true, true, true};

	(void)state;
	assert_int_equal(usual("stripe_shape_on=2x64:socket", 2, 8, NULL), SHAPE_STRIPE);
	assert_int_equal(usual("stripe_shape_on=2x64:socket", 2, 64, NULL), SHAPE_SOCKET);
	assert_int_equal(
		usual("stripe_shape=socket,stripe_shape_on=2x8:stripe", 2, 8, NULL), SHAPE_STRIPE);
	assert_int_equal(
		usual("stripe_shape=socket,stripe_shape_on=2x8:stripe", 4, 8, NULL), SHAPE_SOCKET);
	/* They have no lanes of whole sockets. */
	assert_int_equal(usual("stripe_shape=socket", 1, 8, NULL), SHAPE_STRIPE);
	assert_int_equal(usual("stripe_shape=socket", 8, 1, NULL), SHAPE_STRIPE);
	assert_int_equal(usual("stripe_shape=socket,stripe_lanes=4", 2, 8, NULL), SHAPE_STRIPE);
	/* Nor does one whose first socket is all specialised. */
	assert_int_equal(usual("stripe_shape=socket", 2, 4, spare), SHAPE_STRIPE);
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
		cmocka_unit_test(both_shapes_are_equal),
		cmocka_unit_test(nodes_without_lanes_of_sockets),
		cmocka_unit_test(the_usual_shape),
		cmocka_unit_test(sets_of_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
