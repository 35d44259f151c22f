/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the queue of plain runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/history/plain_queue.h"

static struct plain_queue queue = PLAIN_QUEUE_EMPTY;

static void add(uint32_t uid, const char *name, const char *partition)
{
	const struct spread_run run = {uid, name, partition, 16, 100};

	plain_queue_add(&queue, &run);
}

static void runs_come_out_once(void **state)
{
	struct plain_run run[PLAIN_QUEUE_OF_SLOT];

	(void)state;
	assert_int_equal(plain_queue_take(&queue, run), 0);
	add(7, "lu", "all");
	add(7, "cg", NULL);
	add(8, NULL, "all");
	assert_int_equal(plain_queue_take(&queue, run), 2);
	assert_int_equal(run[0].uid, 7);
	assert_int_equal(run[0].cpus, 16);
	assert_float_equal(run[0].seconds, 100, 0);
	assert_string_equal(run[0].name, "lu");
	assert_string_equal(run[0].partition, "all");
	assert_string_equal(run[1].name, "cg");
	assert_string_equal(run[1].partition, "");
	assert_int_equal(plain_queue_take(&queue, run), 1);
	assert_int_equal(run[0].uid, 8);
	assert_string_equal(run[0].name, "");
	assert_int_equal(plain_queue_take(&queue, run), 0);
}

/* Who ends more jobs than there is room for leaves out their own, and nobody else's. */
static void a_flood_leaves_out_its_own(void **state)
{
	struct plain_run run[PLAIN_QUEUE_OF_SLOT];
	int count, flood = 0, others = 0;

	(void)state;
	add(7, "early", "all");
	for (int i = 0; i < 100000; i++)
		add(7, "flood", "all");
	add(8, "quiet", "all");
	while ((count = plain_queue_take(&queue, run)))
		for (int i = 0; i < count; i++) {
			flood += !strcmp(run[i].name, "flood");
			others += strcmp(run[i].name, "flood") != 0;
		}
	assert_int_equal(flood, PLAIN_QUEUE_OF_SLOT - 1);
	assert_int_equal(others, 2);
}

static void long_names_are_cut(void **state)
{
	struct plain_run run[PLAIN_QUEUE_OF_SLOT];
	char name[5000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add(4294967295U, name, name);
	assert_int_equal(plain_queue_take(&queue, run), 1);
	assert_int_equal(run[0].uid, 4294967295U);
	assert_int_equal(strlen(run[0].name), JOB_NAMES_NAME_MAX - 1);
	assert_int_equal(strlen(run[0].partition), SPREAD_PARTITION_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_come_out_once),
		cmocka_unit_test(a_flood_leaves_out_its_own),
		cmocka_unit_test(long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
