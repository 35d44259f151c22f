/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/preload/offer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "preload/offer.h"

#define LIBRARY "/usr/lib/libpoppa-heartbeat-mpi.so"

static void arguments(void **state)
{
	static char *const none[] = {NULL}, *const automatic[] = {(char *)"heartbeat=auto"};
	static char *const twice[] = {(char *)"heartbeat=auto", (char *)"heartbeat=mpich"};
	static char *const bad[][2] = {
		{(char *)"heartbeat=on",
			(char *)"heartbeat=on is unknown: choose one of off, auto"},
		{(char *)"heartbeat", (char *)"\"heartbeat\" is unknown"},
		{(char *)"hartbeat=auto", (char *)"\"hartbeat=auto\" is unknown"},
		{(char *)"", (char *)"\"\" is unknown"},
	};
	enum preload_use use = PRELOAD_MPICH;
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(preload_read_arguments(0, none, &use, &err), 0);
	assert_int_equal(use, PRELOAD_OFF);
	assert_int_equal(preload_read_arguments(1, automatic, &use, &err), 0);
	assert_int_equal(use, PRELOAD_AUTO);
	assert_int_equal(preload_read_arguments(2, twice, &use, &err), 0);
	assert_int_equal(use, PRELOAD_MPICH);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *const both[] = {(char *)"heartbeat=auto", bad[i][0]};

		use = PRELOAD_AUTO;
		assert_int_equal(preload_read_arguments(2, both, &use, &err), -1);
		assert_non_null(strstr(err.text, bad[i][1]));
		assert_int_equal(use, PRELOAD_OFF);
	}
}

static void who_is_offered_it(void **state)
{
	static const enum preload_use use[] = {
		PRELOAD_OFF, PRELOAD_AUTO, PRELOAD_OPENMPI, PRELOAD_MPICH};
	static const bool wanted[4][4] = {
		/* unknown, Open MPI, MPICH, foreign */
		{false, false, false, false},
		{true, true, true, false},
		{true, true, false, false},
		{true, false, true, false},
	};
	static const enum program_kind kind[] = {
		PROGRAM_UNKNOWN, PROGRAM_OPENMPI, PROGRAM_MPICH, PROGRAM_FOREIGN};

	(void)state;
	for (int u = 0; u < 4; u++)
		for (int k = 0; k < 4; k++)
			assert_int_equal(preload_suits(use[u], kind[k]), wanted[u][k]);
}

static void the_list_of_the_user(void **state)
{
	static const char *const table[][2] = {
		/* before, and after; NULL: it stays */
		{NULL, LIBRARY},
		{"", LIBRARY},
		{"libm.so.6", "libm.so.6:" LIBRARY},
		{"/a/b.so c.so", "/a/b.so c.so:" LIBRARY},
		{LIBRARY, NULL},
		{"/opt/u/libpoppa-heartbeat-mpi.so:x.so", NULL},
		{"x.so libpoppa-heartbeat-mpi.so", NULL},
		{"libpoppa-heartbeat-mpi.so.bak", "libpoppa-heartbeat-mpi.so.bak:" LIBRARY},
		{":", "::" LIBRARY},
	};
	char out[256];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(
			preload_add(table[i][0], LIBRARY, out, sizeof(out)), table[i][1] != NULL);
		if (table[i][1])
			assert_string_equal(out, table[i][1]);
	}
	assert_false(preload_add("libm.so.6", LIBRARY, out, strlen("libm.so.6:" LIBRARY)));
	assert_true(preload_add("libm.so.6", LIBRARY, out, strlen("libm.so.6:" LIBRARY) + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(who_is_offered_it),
		cmocka_unit_test(the_list_of_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
