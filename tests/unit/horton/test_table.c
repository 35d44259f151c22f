/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of Horton tables as a whole: their size, their walk and their growth. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/xorshift.h"
#include "horton/poppa_horton.h"

static void sizes(void **state)
{
	(void)state;
	errno = 0;
	assert_null(horton_create(0, 1));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(horton_create(HORTON_BUCKETS_MAX + 1, 1));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(horton_buckets_for(0, 0.9), 1);
	assert_int_equal(horton_buckets_for(7200, 0.9), 1001);
	assert_int_equal(horton_buckets_for(100, 0), 0);
	assert_int_equal(horton_buckets_for(100, 1.1), 0);
	assert_int_equal(horton_buckets_for(UINT64_MAX, 0.9), 0);
	horton_destroy(NULL);
}

static void walks_over_all(void **state)
{
	struct horton *t = horton_create(100, 1);
	uint64_t cursor = 0, random = 88172645463325252u, sum = 0, n = 0;
	uint32_t key, value;

	(void)state;
	assert_false(horton_next(t, &cursor, &key, &value));
	assert_int_equal(horton_insert(t, 0, 5), HORTON_NEW);
	assert_int_equal(horton_insert(t, 0, 6), HORTON_REPLACED);
	while (horton_items(t) < 700) {
		key = xorshift_32(&random);
		if (horton_insert(t, key, 3) == HORTON_NEW)
			sum += key;
	}
	for (cursor = 0; horton_next(t, &cursor, &key, &value); n++) {
		assert_int_equal(value, key ? 3 : 6);
		sum -= key;
	}
	assert_false(horton_next(t, &cursor, &key, &value));
	assert_int_equal(n, 700);
	assert_int_equal(sum, 0);
	assert_true(horton_erase(t, 0));
	assert_false(horton_erase(t, 0));
	assert_int_equal(horton_items(t), 699);
	horton_destroy(t);
}

static void grows(void **state)
{
	struct horton *t = horton_create(1, 9);
	uint32_t value;

	(void)state;
	for (uint32_t key = 0; key < 50000; key++) {
		while (horton_insert(t, key, key * 3) == HORTON_FULL)
			assert_int_equal(horton_resize(t, horton_buckets(t) * 2), 0);
	}
	assert_int_equal(horton_items(t), 50000);
	assert_true(horton_check(t));
	for (uint32_t key = 0; key < 50000; key++) {
		assert_true(horton_lookup(t, key, &value));
		assert_int_equal(value, key * 3);
	}
	/* Less than what is there needs is made to suffice. */
	assert_int_equal(horton_resize(t, 100), 0);
	assert_int_equal(horton_items(t), 50000);
	assert_true(horton_buckets(t) >= 50000 / 8);
	assert_true(horton_check(t));
	assert_int_equal(horton_resize(t, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(horton_items(t), 50000);
	horton_destroy(t);
}

/* With another seed other keys share a bucket. */
static void seeds_differ(void **state)
{
	struct horton *a = horton_create(1000, 1), *b = horton_create(1000, 2);
	uint64_t at[2] = {0, 0};
	uint32_t key[2], value, same = 0, n = 0;

	(void)state;
	for (uint32_t k = 1; k < 1000; k++) {
		horton_insert(a, k, k);
		horton_insert(b, k, k);
	}
	for (; horton_next(a, &at[0], &key[0], &value) && horton_next(b, &at[1], &key[1], &value);
		n++)
		same += key[0] == key[1];
	assert_int_equal(n, 999);
	assert_true(same < 100);
	horton_destroy(a);
	horton_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(walks_over_all),
		cmocka_unit_test(grows),
		cmocka_unit_test(seeds_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
