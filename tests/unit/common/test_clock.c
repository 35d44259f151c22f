/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/common/clock.c, with clocks that stand still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/units.h"

/* The first second of each clock; no two are alike. */
static time_t second_of(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC           ? 1000
	       : clock == CLOCK_REALTIME          ? 2000
	       : clock == CLOCK_BOOTTIME          ? 3000
	       : clock == CLOCK_THREAD_CPUTIME_ID ? 4000
						  : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	*out = (struct timespec){second_of(clock), 999999999};
	return 0;
}

static void each_reads_its_clock(void **state)
{
	(void)state;
	assert_int_equal(clock_now(), 1000999999999);
	assert_int_equal(clock_now_ms(), 1000999);
	assert_int_equal(clock_wall(), 2000999999999);
	assert_int_equal(clock_boot(), 3000999999999);
	assert_int_equal(clock_own(), 4000999999999);
}

static void times_in_parts(void **state)
{
	struct timespec t = clock_spec(5 * NS_PER_S + 7);

	(void)state;
	assert_int_equal(t.tv_sec, 5);
	assert_int_equal(t.tv_nsec, 7);
	t = clock_wall_in(2 * NS_PER_S + 1);
	assert_int_equal(t.tv_sec, 2003);
	assert_int_equal(t.tv_nsec, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reads_its_clock),
		cmocka_unit_test(times_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
