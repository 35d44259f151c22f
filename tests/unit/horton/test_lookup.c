/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of lookups in Horton tables: what they find, and how many lines they read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/xorshift.h"
#include "horton/poppa_horton.h"

#define BUCKETS 20000
#define SLOTS 8
#define TAGS 21

static double poisson(double lambda, int x)
{
	return exp(-lambda + x * log(lambda) - lgamma(x + 1));
}

/* Equations 5.5 and 5.7. */
static double lines_positive(double load)
{
	double lambda = load * SLOTS, away = 0;

	for (int x = SLOTS + 1; x < 60; x++)
		away += (x - SLOTS + 1) * poisson(lambda, x);
	return 1 + away / lambda;
}

/* Equations 5.8 and 5.9. */
static double lines_negative(double load)
{
	double alias = 0;

	for (int x = SLOTS + 1; x <= SLOTS - 1 + TAGS; x++)
		alias += (x - SLOTS + 1) * poisson(load * SLOTS, x);
	return 1 + alias / TAGS;
}

static uint32_t absent(const struct horton *t, uint64_t *random)
{
	uint32_t key = xorshift_32(random);

	while (horton_lookup(t, key, NULL))
		key = xorshift_32(random);
	return key;
}

/* Fills the table to that load. */
static void fill(struct horton *t, uint32_t *keys, uint32_t *n, double load, uint64_t *random)
{
	while (*n < load * BUCKETS * SLOTS) {
		enum horton_result result;

		keys[*n] = xorshift_32(random);
		if (horton_lookup(t, keys[*n], NULL))
			continue;
		result = horton_insert(t, keys[*n], ~keys[*n]);
		assert_int_equal(result, HORTON_NEW);
		++*n;
	}
}

static void lines_are_as_the_model_says(void **state)
{
	const double loads[] = {0.5, 0.7, 0.9, 0.95};
	struct horton *t = horton_create(BUCKETS, 42);
	uint32_t *keys = calloc(BUCKETS * SLOTS, sizeof(*keys)), n = 0;
	uint64_t random = 4711;

	(void)state;
	assert_non_null(keys);
	for (size_t l = 0; l < sizeof(loads) / sizeof(loads[0]); l++) {
		double positive = 0, negative = 0;

		fill(t, keys, &n, loads[l], &random);
		for (uint32_t i = 0; i < n; i++) {
			positive += horton_lines(t, keys[i]);
			negative += horton_lines(t, absent(t, &random));
		}
		assert_true(fabs(positive / n - lines_positive(loads[l])) < 0.006);
		assert_true(fabs(negative / n - lines_negative(loads[l])) < 0.006);
		/* What the paper promises at the highest load. */
		assert_true(positive / n <= 1.18);
		assert_true(negative / n <= 1.06);
	}
	assert_true(horton_check(t));
	free(keys);
	horton_destroy(t);
}

static void many_are_as_one(void **state)
{
	struct horton *t = horton_create(BUCKETS, 1);
	uint32_t *keys = calloc(BUCKETS * SLOTS, sizeof(*keys)), n = 0;
	uint32_t asked[1000], values[2][1000];
	uint8_t found[2][1000];
	uint64_t random = 99;

	(void)state;
	assert_non_null(keys);
	fill(t, keys, &n, 0.94, &random);
	for (int outside = 0; outside < 2; outside++) {
		if (outside)
			assert_int_equal(horton_insert(t, 0, 12345), HORTON_NEW);
		for (size_t count = 0; count <= 1000; count = count < 40 ? count + 1 : count * 5) {
			size_t hits = 0;

			for (size_t i = 0; i < count; i++)
				asked[i] = xorshift_32(&random) % 3 ? keys[xorshift_32(&random) % n]
					   : xorshift_32(&random) % 5 ? absent(t, &random)
								      : 0;
			memset(values, 0xaa, sizeof(values));
			horton_use(t, HORTON_BEST);
			hits = horton_lookup_many(t, asked, count, values[0], found[0]);
			horton_use(t, HORTON_SCALAR);
			assert_int_equal(
				horton_lookup_many(t, asked, count, values[1], found[1]), hits);
			for (size_t i = 0; i < count; i++) {
				uint32_t value = 0xaaaaaaaau;

				assert_int_equal(horton_lookup(t, asked[i], &value), found[0][i]);
				assert_int_equal(found[1][i], found[0][i]);
				assert_int_equal(values[0][i], value);
				assert_int_equal(values[1][i], value);
				hits -= found[0][i];
			}
			assert_int_equal(hits, 0);
		}
	}
	free(keys);
	horton_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_as_the_model_says),
		cmocka_unit_test(many_are_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
