/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of what is kept of runs that have told of pairs before their price. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/pair_told.h"

#define DAY 86400LL
#define NOW 1700000000LL

static struct pair_told_key key_of(uint32_t uid, uint32_t job)
{
	return (struct pair_told_key){
		.pair = 7, .uid = uid, .job_id = job, .start = NOW, .partner = 13};
}

/* Returns what pair_told_reserve() says. */
static int tell(
	struct pair_told_table *t, const struct pair_told_key *key, double seconds, long long now)
{
	const struct pair_told told = {seconds, seconds / 4};
	int rc = pair_told_reserve(t, key, now);

	if (rc == 1)
		pair_told_set(t, key, &told, now);
	return rc;
}

static double told(const struct pair_told_table *t, const struct pair_told_key *key)
{
	return pair_told_of(t, key).seconds;
}

static void keeps_each_by_itself(void **state)
{
	struct pair_told_table *t = pair_told_new();
	struct pair_told_key key = key_of(1, 5), other;

	(void)state;
	assert_true(told(t, &key) == 0);
	assert_int_equal(tell(t, &key, 100, NOW), 1);
	assert_true(told(t, &key) == 100);
	assert_true(pair_told_of(t, &key).lost == 25);
	other = key;
	other.pair = 6;
	assert_int_equal(tell(t, &other, 200, NOW), 1);
	other = key;
	other.partner = 14;
	assert_true(told(t, &other) == 0);
	assert_int_equal(tell(t, &other, 300, NOW), 1);
	other = key;
	other.start++;
	assert_int_equal(tell(t, &other, 400, NOW), 1);
	other = key;
	other.job_id = 4;
	assert_int_equal(tell(t, &other, 500, NOW), 1);
	assert_int_equal(tell(t, &key, 150, NOW), 1);
	assert_true(told(t, &key) == 150);
	/* The most of all classes. */
	assert_true(pair_told_seconds(t, 5, NOW, 13) == 200);
	assert_true(pair_told_seconds(t, 5, NOW, 14) == 300);
	assert_true(pair_told_seconds(t, 5, NOW + 1, 13) == 400);
	assert_true(pair_told_seconds(t, 6, NOW, 13) == 0);
	/* A run goes with all that it has told, and no other one. */
	assert_true(pair_told_end(t, 5, NOW));
	assert_false(pair_told_end(t, 5, NOW));
	assert_true(told(t, &key) == 0);
	assert_true(pair_told_seconds(t, 5, NOW, 14) == 0);
	assert_true(told(t, &other) == 500);
	assert_true(pair_told_drop_pair(t, 7));
	assert_false(pair_told_drop_pair(t, 7));
	assert_true(told(t, &other) == 0);
	pair_told_free(t);
	pair_told_free(NULL);
}

/* One user fills their own share, and takes nobody else's. */
static void a_user_has_so_many(void **state)
{
	struct pair_told_table *t = pair_told_new();
	struct pair_told_key key;

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		key = key_of(1, 1 + i);
		assert_int_equal(tell(t, &key, 100, NOW + i), 1);
	}
	key = key_of(1, 501);
	assert_int_equal(tell(t, &key, 100, NOW), 0);
	/* Those that are there go on. */
	key = key_of(1, 1);
	assert_int_equal(tell(t, &key, 300, NOW + 1000), 1);
	key = key_of(2, 501);
	assert_int_equal(tell(t, &key, 100, NOW), 1);
	/* Those of prices that never came make room. */
	key = key_of(1, 502);
	assert_int_equal(tell(t, &key, 100, NOW + 90 * DAY + 1), 0);
	assert_int_equal(tell(t, &key, 100, NOW + 90 * DAY + 2), 1);
	key = key_of(1, 1);
	assert_true(told(t, &key) == 300);
	key = key_of(1, 2);
	assert_true(told(t, &key) == 0);
	key = key_of(1, 3);
	assert_true(told(t, &key) == 100);
	pair_told_free(t);
}

/* One run beside many that come and go leaves room for the user's other runs. */
static void a_run_has_so_many(void **state)
{
	struct pair_told_table *t = pair_told_new();
	struct pair_told_key key = key_of(1, 5);

	(void)state;
	for (key.partner = 100; key.partner < 150; key.partner++)
		assert_int_equal(tell(t, &key, 100, NOW), 1);
	assert_int_equal(tell(t, &key, 100, NOW), 0);
	key.partner = 100;
	assert_int_equal(tell(t, &key, 200, NOW), 1);
	key.partner = 150;
	key.start++;
	assert_int_equal(tell(t, &key, 100, NOW), 1);
	key = key_of(1, 6);
	assert_int_equal(tell(t, &key, 100, NOW), 1);
	pair_told_free(t);
}

/* Where all is full, the user with the most loses the oldest. */
static void all_have_so_many(void **state)
{
	struct pair_told_table *t = pair_told_new();
	struct pair_told_key key;

	(void)state;
	for (uint32_t u = 0; u < 20; u++)
		for (uint32_t i = 0; i < (u == 7 ? 500 : 499); i++) {
			key = key_of(u, 1000 * u + i);
			assert_int_equal(tell(t, &key, 100, NOW + (i + 250) % 500), 1);
		}
	for (uint32_t i = 0; i < 20; i++) {
		key = key_of(100 + i, 100000 + i);
		assert_int_equal(tell(t, &key, 100, NOW), 1);
	}
	key = key_of(7, 7250);
	assert_true(told(t, &key) == 0);
	key = key_of(7, 7251);
	assert_true(told(t, &key) == 100);
	key = key_of(119, 100019);
	assert_true(told(t, &key) == 100);
	pair_told_free(t);
}

static void survives_the_file(void **state)
{
	struct pair_told_table *t = pair_told_new(), *again = pair_told_new();
	struct pair_told_key key = key_of(4294967295U, 5), later = key_of(1, 6), other = key;
	char *text = NULL, *save = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	other.pair = 8;
	assert_int_equal(tell(t, &key, 123456.789, NOW), 1);
	assert_int_equal(tell(t, &later, 100, NOW + 100 * DAY), 1);
	assert_int_equal(tell(t, &other, 100, NOW), 1);
	/* Of one pair; the first one is too old by now. */
	assert_int_equal(tell(t, &key, 123456.789, NOW), 1);
	pair_told_write(t, 7, f);
	fclose(f);
	key.pair = later.pair = other.pair = 3;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_int_equal(strncmp(line, PAIR_TOLD_LINE, strlen(PAIR_TOLD_LINE)), 0);
		assert_true(pair_told_read(again, 3, line));
	}
	assert_float_equal(told(again, &key), 123456.789, 1e-3);
	assert_float_equal(pair_told_of(again, &key).lost, 123456.789 / 4, 1e-3);
	assert_true(told(again, &later) == 100);
	/* The clock was wrong, so the later one is as old as the other. */
	pair_told_no_later(again, NOW);
	other.job_id = 9;
	assert_int_equal(tell(again, &other, 100, NOW + 91 * DAY), 1);
	assert_true(told(again, &later) == 0);
	free(text);
	pair_told_free(t);
	pair_told_free(again);
}

static void passes_over_broken_lines(void **state)
{
	static const char *const bad[] = {"", "1", "1\t5\t100\t13\t60\t6", "1\t5\t100\t13\t60\t6\t",
		"1\t5\t100\t13\t60\t6\t200\t", "x\t5\t100\t13\t60\t6\t200",
		"-1\t5\t100\t13\t60\t6\t200", "4294967296\t5\t100\t13\t60\t6\t200",
		"1\t\t100\t13\t60\t6\t200", "1\t5\tx\t13\t60\t6\t200", "1\t5\t100\t+13\t60\t6\t200",
		"1\t5\t100\t13\t0\t0\t200", "1\t5\t100\t13\tnan\t6\t200",
		"1\t5\t100\t13\tinf\t6\t200", "1\t5\t100\t13\t60\t61\t200",
		"1\t5\t100\t13\t60\tnan\t200", "1\t5\t100\t13\t60\t6\t2x"};
	struct pair_told_table *t = pair_told_new();
	struct pair_told_key key = {.pair = 1, .uid = 1, .job_id = 5, .start = 100, .partner = 13};
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), PAIR_TOLD_LINE "%s", bad[i]);
		assert_false(pair_told_read(t, 1, line));
	}
	assert_true(told(t, &key) == 0);
	snprintf(line, sizeof(line), PAIR_TOLD_LINE "1\t5\t100\t13\t60\t-6\t200");
	assert_true(pair_told_read(t, 1, line));
	assert_true(pair_told_of(t, &key).lost == -6);
	/* The same once more. */
	snprintf(line, sizeof(line), PAIR_TOLD_LINE "1\t5\t100\t13\t70\t7\t200");
	assert_false(pair_told_read(t, 1, line));
	assert_true(told(t, &key) == 60);
	pair_told_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_each_by_itself),
		cmocka_unit_test(a_user_has_so_many),
		cmocka_unit_test(a_run_has_so_many),
		cmocka_unit_test(all_have_so_many),
		cmocka_unit_test(survives_the_file),
		cmocka_unit_test(passes_over_broken_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
