/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what changes Horton tables, against a plain array as a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/xorshift.h"
#include "horton/poppa_horton.h"

#define STEPS 12000

/* What should be there. Keys are 0 to range - 1. */
struct model {
	uint32_t range;
	uint32_t items;
	uint32_t *value;
	bool *there;
};

static void look(const struct horton *t, const struct model *m, uint32_t key)
{
	uint32_t value;
	bool found = horton_lookup(t, key, &value);

	assert_int_equal(found, m->there[key]);
	if (found)
		assert_int_equal(value, m->value[key]);
}

static void insert(struct horton *t, struct model *m, uint32_t key, uint32_t value)
{
	enum horton_result result = horton_insert(t, key, value);

	if (result == HORTON_FULL)
		return;
	assert_int_equal(result, m->there[key] ? HORTON_REPLACED : HORTON_NEW);
	m->items += !m->there[key];
	m->there[key] = true;
	m->value[key] = value;
}

static void erase(struct horton *t, struct model *m, uint32_t key)
{
	assert_int_equal(horton_erase(t, key), m->there[key]);
	m->items -= m->there[key];
	m->there[key] = false;
}

/* Fills a table beyond what it holds, empties it to a third, and so on. */
static void walk(uint32_t buckets, uint64_t seed)
{
	struct horton *t = horton_create(buckets, seed);
	struct model m = {.range = buckets * 10};
	uint64_t state = 88172645463325252u + seed;

	m.value = calloc(m.range, sizeof(*m.value));
	m.there = calloc(m.range, sizeof(*m.there));
	assert_non_null(t);
	assert_non_null(m.value);
	assert_non_null(m.there);
	for (int i = 0; i < STEPS; i++) {
		uint32_t key = xorshift_32(&state) % m.range, value = xorshift_32(&state);
		bool shrink = i / 1500 % 2;

		if (xorshift_32(&state) % 10 < (shrink ? 7 : 1))
			erase(t, &m, key);
		else
			insert(t, &m, key, value);
		look(t, &m, key);
		look(t, &m, xorshift_32(&state) % m.range);
		assert_int_equal(horton_items(t), m.items);
		assert_true(horton_check(t));
	}
	for (uint32_t key = 0; key < m.range; key++)
		look(t, &m, key);
	for (uint32_t key = 0; key < m.range; key++)
		erase(t, &m, key);
	assert_true(horton_check(t));
	free(m.value);
	free(m.there);
	horton_destroy(t);
}

static void is_a_map(void **state)
{
	(void)state;
	for (uint32_t buckets = 1; buckets <= 30; buckets += buckets < 4 ? 1 : 13)
		for (uint64_t seed = 1; seed <= 3; seed++)
			walk(buckets, seed);
}

/* Values whose top bit is set, alone: the last slot of a bucket of type A cannot have them. */
static void all_values(void **state)
{
	struct horton *t = horton_create(64, 1);
	uint32_t value, n = 0;

	(void)state;
	for (uint32_t key = 1; key < 400; key++)
		n += horton_insert(t, key, UINT32_MAX - key) == HORTON_NEW;
	assert_true(n > 380);
	assert_true(horton_check(t));
	for (uint32_t key = 1; key < 400; key++)
		if (horton_lookup(t, key, &value))
			assert_int_equal(value, UINT32_MAX - key);
	/* Small ones first, in all slots, and each is made large. */
	horton_destroy(t);
	t = horton_create(64, 2);
	for (uint32_t key = 1; key <= 440; key++)
		assert_int_equal(horton_insert(t, key, key), HORTON_NEW);
	n = 0;
	for (uint32_t key = 1; key <= 440; key++)
		n += horton_insert(t, key, key | 0x80000000u) == HORTON_REPLACED;
	assert_true(n > 400);
	assert_int_equal(horton_items(t), 440);
	assert_true(horton_check(t));
	for (uint32_t key = 1; key <= 440; key++) {
		assert_true(horton_lookup(t, key, &value));
		assert_int_equal(value & 0x7fffffffu, key);
	}
	horton_destroy(t);
}

/* Keys that are chosen so that one bucket gets them all: the insertion ends, and says that it is
 * full. */
static void one_bucket(void **state)
{
	struct horton *t = horton_create(1, 7);
	uint32_t n = 0;

	(void)state;
	for (uint32_t key = 1; key < 200; key++)
		n += horton_insert(t, key, key) == HORTON_NEW;
	assert_int_equal(n, 8);
	assert_int_equal(horton_items(t), 8);
	assert_true(horton_check(t));
	horton_destroy(t);
}

/* After many have come and gone, lookups are as short as in a table that is filled for the first
 * time. */
static void comes_home(void **state)
{
	struct horton *t = horton_create(2000, 3);
	struct horton_shape full, less;
	uint64_t random = 5;
	uint32_t *keys = calloc(16000, sizeof(*keys));
	uint32_t n = 0;

	(void)state;
	assert_non_null(keys);
	while (n < 2000 * 8 * 0.93) {
		keys[n] = xorshift_32(&random);
		n += horton_insert(t, keys[n], keys[n]) == HORTON_NEW;
	}
	horton_measure(t, &full);
	assert_true(full.secondary > 0.12 * n);
	while (n > 2000 * 8 * 0.4)
		assert_true(horton_erase(t, keys[--n]));
	horton_measure(t, &less);
	/* The model says 0.5 % at a load of 0.4 (section 5.5.3). */
	assert_true(less.secondary < 0.01 * n);
	assert_true(less.with_entries < 0.03 * less.buckets);
	assert_true(horton_check(t));
	free(keys);
	horton_destroy(t);
}

/* Here a bucket was full at a load of 0.949 of groups of two and three secondary items, which could
 * only go to buckets full of primary ones. */
static void fills_up(void **state)
{
	const uint32_t buckets = 200000;
	const uint64_t seed = 0x9d39247e33776d41u;
	struct horton *t = horton_create(buckets, seed);
	uint64_t random = seed;
	uint32_t key, value;

	(void)state;
	do {
		value = xorshift_32(&random);
		key = xorshift_32(&random);
	} while (horton_insert(t, key, value) != HORTON_FULL);
	assert_true((double)horton_items(t) > 0.951 * 8 * buckets);
	assert_true(horton_check(t));
	horton_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_a_map),
		cmocka_unit_test(all_values),
		cmocka_unit_test(one_bucket),
		cmocka_unit_test(comes_home),
		cmocka_unit_test(fills_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
