/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/askers.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/askers.h"
#include "common/units.h"

static int64_t now = 100 * NS_PER_S;

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
	return now;
}

static void so_many_a_second(void **state)
{
	struct askers a = {0};

	(void)state;
	assert_false(askers_had_enough(&a, 7, 2));
	askers_count(&a, 7);
	assert_false(askers_had_enough(&a, 7, 2));
	askers_count(&a, 7);
	assert_true(askers_had_enough(&a, 7, 2));
	assert_false(askers_had_enough(&a, 7, 3));
	/* Nobody pays for another, root neither. */
	assert_false(askers_had_enough(&a, 8, 2));
	assert_false(askers_had_enough(&a, 0, 2));
	now += NS_PER_S;
	assert_false(askers_had_enough(&a, 7, 2));
}

/* Those that asked last are known. */
static void more_users_than_room(void **state)
{
	struct askers a = {0};

	(void)state;
	askers_count(&a, 1);
	now += NS_PER_S;
	for (uid_t uid = 2; uid <= ASKERS + 1; uid++)
		askers_count(&a, uid);
	for (uid_t uid = 2; uid <= ASKERS + 1; uid++)
		assert_true(askers_had_enough(&a, uid, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_a_second),
		cmocka_unit_test(more_users_than_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
