/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/registration/ask_pace.c: what all nodes of a job ask together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "registration/ask_pace.h"

#define SPAN 7200 /* s */

static int asked_at[SPAN]; /* requests in each second */

/* Counts what all nodes of a job ask in the first two hours. */
static void ask_all(int nodes, bool stepped)
{
	memset(asked_at, 0, sizeof(asked_at));
	for (int node = 0; node < nodes; node++) {
		int at = 0;

		for (int asked = 0; (at += ask_pace_s(nodes, node, asked, stepped)) < SPAN; asked++)
			asked_at[at]++;
	}
}

static int most(int from)
{
	int max = 0;

	for (int s = from; s < SPAN; s++)
		max = asked_at[s] > max ? asked_at[s] : max;
	return max;
}

static const int sizes[] = {1, 2, 3, 4, 5, 7, 64, 100, 127, 128, 129, 1000, 1023, 10000, 65536};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void idle_jobs_ask_a_handful_a_second(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		ask_all(sizes[i], false);
		if (most(0) > 5)
			fail_msg("%d nodes ask %d times in a second", sizes[i], most(0));
	}
}

static void small_jobs_ask_soon_and_less_and_less(void **state)
{
	static const int waits[] = {1, 2, 4, 8, 16, 32, 32, 32};

	(void)state;
	for (int stepped = 0; stepped <= 1; stepped++)
		for (int i = 0; i < 8; i++)
			assert_int_equal(ask_pace_s(1, 0, i, stepped), waits[i]);
}

/* poppa_settle_timeout is 60 s. */
static void the_end_of_a_step_is_asked_about_soon(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		int first = 0;

		ask_all(sizes[i], true);
		for (int s = 0; s <= 17; s++)
			first += asked_at[s];
		if (first < sizes[i])
			fail_msg("%d of %d nodes have asked", first, sizes[i]);
		if (most(20) > 33)
			fail_msg("%d nodes ask %d times in a second", sizes[i], most(20));
	}
}

static void every_node_asks_again_and_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		for (int asked = 0; asked < 100; asked++) {
			int s = ask_pace_s(sizes[i], sizes[i] - 1, asked, false);

			assert_in_range(s, 1, 33 + sizes[i] / 4);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_jobs_ask_a_handful_a_second),
		cmocka_unit_test(small_jobs_ask_soon_and_less_and_less),
		cmocka_unit_test(the_end_of_a_step_is_asked_about_soon),
		cmocka_unit_test(every_node_asks_again_and_again),
	};

	return cmocka_run_group_tests_name("ask_pace", tests, NULL, NULL);
}
