/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of simulated private caches: where lines are found, what is evicted, and what writes
 * take from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/xorshift.h"
#include "sim/farm/caches.h"

#define CORES 4
#define LINES 64
#define WAYS 2
#define SETS 4

static struct caches *make(void)
{
	const struct caches_shape shape = {
		.cores = CORES,
		.cores_of_socket = 2,
		.bytes = SETS * WAYS * CACHE_LINE,
		.ways = WAYS,
		.lines = LINES,
	};
	struct caches *c = caches_create(&shape);

	assert_non_null(c);
	return c;
}

static void test_places(void **state)
{
	struct caches *c = make();

	(void)state;
	assert_int_equal(caches_access(c, 0, 5, false), CACHE_MEMORY);
	assert_int_equal(caches_access(c, 0, 5, false), CACHE_OWN);
	assert_int_equal(caches_access(c, 2, 5, false), CACHE_SOCKET);
	assert_int_equal(caches_access(c, 1, 5, false), CACHE_CORE);
	assert_int_equal(caches_access(c, 3, 5, false), CACHE_CORE);
	caches_destroy(c);
}

static void test_a_write_takes_the_line_from_others(void **state)
{
	struct caches *c = make();

	(void)state;
	caches_access(c, 0, 5, false);
	caches_access(c, 1, 5, false);
	assert_int_equal(caches_access(c, 0, 5, true), CACHE_CORE);
	assert_int_equal(caches_access(c, 0, 5, true), CACHE_OWN);
	assert_int_equal(caches_access(c, 1, 5, false), CACHE_CORE);
	caches_access(c, 3, 5, false);
	/* It waits for the farther one. */
	assert_int_equal(caches_access(c, 1, 5, true), CACHE_SOCKET);
	assert_int_equal(caches_access(c, 1, 5, true), CACHE_OWN);
	caches_destroy(c);
}

static void test_the_line_used_least_recently_goes(void **state)
{
	struct caches *c = make();

	(void)state;
	caches_access(c, 0, 1, false);
	caches_access(c, 0, 1 + SETS, false);
	caches_access(c, 0, 1, false);
	caches_access(c, 0, 1 + 2 * SETS, false);
	assert_int_equal(caches_access(c, 0, 1, false), CACHE_OWN);
	assert_int_equal(caches_access(c, 0, 1 + SETS, false), CACHE_MEMORY);
	caches_destroy(c);
}

/* A model that knows when each core has used each line last. */
struct model {
	uint64_t used[CORES][LINES]; /* 0: not there */
};

static enum cache_place expect(
	struct model *m, uint32_t core, uint32_t line, bool write, uint64_t now)
{
	enum cache_place place = CACHE_MEMORY;
	uint32_t in_set = 0, oldest = LINES;

	for (uint32_t i = 0; i < CORES; i++)
		if (i != core && m->used[i][line])
			place = i / 2 == core / 2     ? CACHE_CORE
				: place == CACHE_CORE ? place
						      : CACHE_SOCKET;
	if (write && place != CACHE_MEMORY)
		for (uint32_t i = 0; i < CORES; i++)
			if (i / 2 != core / 2 && m->used[i][line])
				place = CACHE_SOCKET;
	if (m->used[core][line] && (!write || place == CACHE_MEMORY))
		place = CACHE_OWN;
	for (uint32_t l = line % SETS; l < LINES; l += SETS)
		if (m->used[core][l]) {
			in_set++;
			if (oldest == LINES || m->used[core][l] < m->used[core][oldest])
				oldest = l;
		}
	if (!m->used[core][line] && in_set == WAYS)
		m->used[core][oldest] = 0;
	m->used[core][line] = now;
	for (uint32_t i = 0; write && i < CORES; i++)
		if (i != core)
			m->used[i][line] = 0;
	return place;
}

static void test_as_the_model(void **state)
{
	struct caches *c = make();
	struct model m = {0};
	uint64_t random = 7;

	(void)state;
	for (uint64_t i = 1; i < 200000; i++) {
		uint32_t core = xorshift_32(&random) % CORES, line = xorshift_32(&random) % LINES;
		bool write = xorshift_32(&random) % 4 == 0;

		assert_int_equal(
			caches_access(c, core, line, write), expect(&m, core, line, write, i));
	}
	caches_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_a_write_takes_the_line_from_others),
		cmocka_unit_test(test_the_line_used_least_recently_goes),
		cmocka_unit_test(test_as_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
