/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the four steps by which a worker finds its next task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "farm/farm_keys.h"
#include "farm/farm_schedule.h"

#define WORKERS 4

struct item {
	struct farm_task task;
	int key, number, started; /* started: in which turn */
};

static struct farm_schedule *make(enum farm_policy policy)
{
	struct farm_settings set = farm_defaults;
	struct farm_schedule *s;

	set.policy = policy;
	s = farm_schedule_create(WORKERS, &set, 1);
	assert_non_null(s);
	return s;
}

static void add(struct farm_schedule *s, struct item *item, int key, int number)
{
	char text[32];

	snprintf(text, sizeof(text), "key %d", key);
	*item = (struct item){.key = key, .number = number};
	item->task.key = key < 0 ? FARM_NO_KEY : farm_schedule_key(s, text, strlen(text));
	farm_schedule_add(s, &item->task);
}

/* n tasks of so many keys in random order; with keys 0 none has one. */
static struct item *fill(struct farm_schedule *s, int n, int keys)
{
	struct item *items = calloc((size_t)n, sizeof(*items));

	assert_non_null(items);
	srand(1);
	for (int i = 0; i < n; i++)
		add(s, &items[i], keys ? rand() % keys : -1, i);
	return items;
}

/* Workers take turns. Returns how often a worker had a task with the key of the task that it had
 * before. */
static int run(struct farm_schedule *s, int n)
{
	int last[WORKERS] = {-1, -1, -1, -1}, same = 0;

	for (int turn = 0; turn < n; turn++) {
		struct item *item =
			(struct item *)farm_schedule_next(s, (uint32_t)(turn % WORKERS));

		/* No worker is idle while a task waits. */
		assert_non_null(item);
		assert_int_equal(item->started, 0);
		item->started = turn + 1;
		same += item->key == last[turn % WORKERS];
		last[turn % WORKERS] = item->key;
	}
	for (uint32_t w = 0; w < WORKERS; w++)
		assert_null(farm_schedule_next(s, w));
	assert_int_equal(farm_schedule_waiting(s), 0);
	return same;
}

static void each_task_runs_once(void **state)
{
	(void)state;
	for (int policy = FARM_AFFINITY; policy <= FARM_QUEUE; policy++)
		for (int keys = 0; keys < 2000; keys = keys ? keys * 7 : 1) {
			struct farm_schedule *s = make((enum farm_policy)policy);
			struct item *items = fill(s, 3000, keys);

			run(s, 3000);
			free(items);
			farm_schedule_destroy(s);
		}
}

static void keys_stay_together(void **state)
{
	int same[3];

	(void)state;
	for (int policy = FARM_AFFINITY; policy <= FARM_QUEUE; policy++) {
		struct farm_schedule *s = make((enum farm_policy)policy);
		struct item *items = fill(s, 4000, 40);

		same[policy] = run(s, 4000);
		free(items);
		farm_schedule_destroy(s);
	}
	/* By chance one in 40 has the key of the one before it. */
	assert_true(same[FARM_QUEUE] < 200 && same[FARM_STEALING] < 200);
	assert_true(same[FARM_AFFINITY] > 1000);
}

/* A stream of one key must not hold up the others for ever. */
static void waits_end(void **state)
{
	struct farm_schedule *s = make(FARM_AFFINITY);
	struct item *items = calloc(20000, sizeof(*items)), *other = calloc(1, sizeof(*other));
	int added = 0, turn = 0;

	(void)state;
	assert_non_null(items);
	assert_non_null(other);
	for (; added < 64; added++)
		add(s, &items[added], 1, added);
	add(s, other, 2, 0);
	while (!other->started && turn < 15000) {
		struct item *item = (struct item *)farm_schedule_next(s, 0);

		item->started = ++turn;
		/* Each that has run is followed by one of the same key. */
		add(s, &items[added], 1, added);
		added++;
	}
	assert_true(other->started > 0 && other->started < 2000);
	while (farm_schedule_next(s, 0))
		;
	free(other);
	free(items);
	farm_schedule_destroy(s);
}

/* Nor must what its worker has been given hold up what it has stolen. */
static void stolen_ones_are_run(void **state)
{
	struct farm_schedule *s = make(FARM_AFFINITY);
	struct item first, plain[20], *many = calloc(4000, sizeof(*many));
	int starts = 0;

	(void)state;
	assert_non_null(many);
	/* Worker 0 has the key. */
	add(s, &first, 1, 0);
	assert_ptr_equal(farm_schedule_next(s, 0), &first.task);
	/* It runs its part of those without a key, and steals four. */
	for (int i = 0; i < 20; i++)
		add(s, &plain[i], -1, i);
	for (int i = 0; i < 6; i++)
		assert_int_equal(((struct item *)farm_schedule_next(s, 0))->key, -1);
	/* Worker 1 gives it a thousand. */
	for (int i = 0; i < 4000; i++)
		add(s, &many[i], 1, i);
	assert_non_null(farm_schedule_next(s, 1));
	while (((struct item *)farm_schedule_next(s, 0))->key == 1)
		starts++;
	assert_in_range(starts, 400, 600);
	while (farm_schedule_next(s, 0))
		;
	free(many);
	farm_schedule_destroy(s);
}

/* All tasks have one key, and its worker is busy for ever: the others run them. */
static void idle_workers_steal(void **state)
{
	struct farm_schedule *s = make(FARM_AFFINITY);
	struct item *items = fill(s, 100, 1);
	int n = 0;

	(void)state;
	assert_non_null(farm_schedule_next(s, 0));
	for (int turn = 0; farm_schedule_waiting(s); turn++, n++)
		assert_non_null(farm_schedule_next(s, 1 + (uint32_t)turn % (WORKERS - 1)));
	assert_int_equal(n, 99);
	free(items);
	farm_schedule_destroy(s);
}

/* One list in order, and a list for each worker in order. */
static void plain_policies_keep_order(void **state)
{
	struct farm_schedule *s = make(FARM_QUEUE);
	struct item *items = fill(s, 50, 5);

	(void)state;
	for (int i = 0; i < 50; i++)
		assert_int_equal(
			((struct item *)farm_schedule_next(s, (uint32_t)i % WORKERS))->number, i);
	free(items);
	farm_schedule_destroy(s);
	s = make(FARM_STEALING);
	items = fill(s, 40, 5);
	for (int i = 0; i < 10; i++)
		assert_int_equal(
			((struct item *)farm_schedule_next(s, 2))->number, 2 + i * WORKERS);
	while (farm_schedule_next(s, 2))
		;
	free(items);
	farm_schedule_destroy(s);
}

static void keys(void **state)
{
	struct farm_keys *k = farm_keys_create(7);
	char text[20];

	(void)state;
	assert_int_equal(farm_keys_take(k, "", 0), FARM_NO_KEY);
	for (uint32_t i = 0; i < 20000; i++) {
		int len = snprintf(text, sizeof(text), "%u", i);

		assert_int_equal(farm_keys_take(k, text, (size_t)len), i);
	}
	assert_int_equal(farm_keys_take(k, "17", 2), 17);
	assert_int_equal(farm_keys_at(k, 17)->worker, UINT32_MAX);
	farm_keys_destroy(k);
	farm_keys_destroy(NULL);
}

static uint32_t take(struct farm_keys *k, uint32_t key)
{
	char text[20];

	return farm_keys_take(k, text, (size_t)snprintf(text, sizeof(text), "%u", key));
}

/* A stream of keys without end takes no memory without end, and what tasks have is not forgotten.
 */
static void keys_are_forgotten(void **state)
{
	struct farm_keys *k = farm_keys_create(7);
	uint32_t kept, again;

	(void)state;
	kept = take(k, 0);
	farm_keys_at(k, kept)->worker = 3;
	for (uint32_t i = 1; i < FARM_KEYS_MAX + 1000; i++) {
		uint32_t number = take(k, i);

		assert_true(number < FARM_KEYS_MAX);
		farm_keys_at(k, number)->worker = 5;
		/* One that is used now and then is not the oldest. */
		again = take(k, 1);
		assert_true(i == 1 || farm_keys_at(k, again)->worker == 5);
		farm_keys_release(k, again);
		farm_keys_release(k, number);
	}
	assert_int_equal(take(k, 0), kept);
	assert_int_equal(farm_keys_at(k, kept)->worker, 3);
	assert_int_equal(farm_keys_at(k, take(k, 2))->worker, UINT32_MAX);
	assert_int_equal(farm_keys_at(k, take(k, FARM_KEYS_MAX))->worker, 5);
	farm_keys_release(k, FARM_NO_KEY);
	farm_keys_destroy(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_runs_once),
		cmocka_unit_test(keys_stay_together),
		cmocka_unit_test(waits_end),
		cmocka_unit_test(stolen_ones_are_run),
		cmocka_unit_test(idle_workers_steal),
		cmocka_unit_test(plain_policies_keep_order),
		cmocka_unit_test(keys),
		cmocka_unit_test(keys_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
