/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the mapper: who is placed with whom, what moves, and what a moment does not change.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mapper/mapper.h"

/* Two sockets of four cores with two threads each; siblings are c and c + 8, as Linux numbers them.
 */
#define CORES 8
#define PUS 16
#define CYCLES 200000000

static struct mapper *make(const char *settings)
{
	struct mapper_settings set = mapper_defaults;
	struct mapper_pu pus[PUS];
	struct errmsg err;
	struct mapper *m;

	assert_int_equal(mapper_settings_parse(&set, settings, &err), 0);
	for (int i = 0; i < PUS; i++)
		pus[i] = (struct mapper_pu){i / 2 + i % 2 * CORES, i / 2, i / 2 / 4};
	m = mapper_create(&set, pus, PUS);
	assert_non_null(m);
	return m;
}

static int core(int pu)
{
	return pu % CORES;
}

static int socket(int pu)
{
	return core(pu) / 4;
}

/* A task with these rates a cycle; stalls: for each event between sockets. */
static struct mapper_sample task(
	int app, int number, int pu, double ipc, double inter, double intra, double spc)
{
	return (struct mapper_sample){
		.task = 100 * app + number,
		.app = app,
		.pu = pu,
		.instructions = (uint64_t)(ipc * CYCLES),
		.cycles = CYCLES,
		.inter = (uint64_t)(inter * CYCLES),
		.intra = (uint64_t)(intra * CYCLES),
		.stalls = (uint64_t)(inter * CYCLES * spc),
	};
}

/* The same interval so often, without tasks that move; to[] is the last decision. */
static void steps(struct mapper *m, const struct mapper_sample *s, int n, int *to, int times)
{
	struct errmsg err = {""};

	while (times--)
		if (mapper_step(m, s, n, to, &err))
			fail_msg("%s", err.text);
}

static const struct mapper_app *app(const struct mapper *m, int64_t which)
{
	int count;
	const struct mapper_app *a = mapper_apps(m, &count);

	while (count-- && a->app != which)
		a++;
	return a;
}

static void test_two_that_share_get_a_socket_each(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[PUS];
	int to[PUS];

	(void)state;
	/* Each has half of its eight tasks on each socket. */
	for (int i = 0; i < PUS; i++)
		s[i] = task(1 + i % 2, i / 2, i, 0.7, 2e-3, 0, 400);
	steps(m, s, PUS, to, 10);
	assert_int_equal(app(m, 1)->coherence, MAPPER_HIGH);
	for (int i = 2; i < PUS; i++)
		assert_int_equal(socket(to[i]), socket(to[i % 2]));
	assert_int_not_equal(socket(to[0]), socket(to[1]));
	for (int i = 0; i < PUS; i++)
		for (int k = 0; k < i; k++)
			assert_int_not_equal(to[i], to[k]);
	mapper_destroy(m);
}

static void test_who_waits_longest_comes_first(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[PUS];
	int to[PUS], count;

	(void)state;
	/* Two of six tasks and one of four: not all can have a socket of their own. */
	for (int i = 0; i < PUS; i++)
		s[i] = task(1 + i % 3, i / 3, i, 0.7, 2e-3, 0, i % 3 == 1 ? 500 : 300);
	steps(m, s, PUS, to, 10);
	assert_int_equal(mapper_apps(m, &count)[0].app, 2);
	assert_int_equal(count, 3);
	assert_true(fabs(app(m, 2)->spc - 500) < 1);
	for (int i = 4; i < PUS; i += 3)
		assert_int_equal(socket(to[i]), socket(to[1]));
	mapper_destroy(m);
}

static void test_tasks_that_wait_much_share_cores(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[4];
	int to[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		s[i] = task(1, i, 2 * i, 0.5, 3e-3, 0, 700);
	steps(m, s, 4, to, 10);
	for (int i = 0; i < 4; i++) {
		int together = 0;

		for (int k = 0; k < 4; k++)
			together += core(to[k]) == core(to[i]);
		assert_int_equal(together, 2);
		assert_int_equal(socket(to[i]), socket(to[0]));
	}
	mapper_destroy(m);
	/* Those that wait less have cores of their own on the same socket. */
	m = make("");
	for (int i = 0; i < 4; i++)
		s[i] = task(1, i, 2 * i, 0.5, 3e-3, 0, 300);
	steps(m, s, 4, to, 10);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++) {
			assert_int_not_equal(core(to[i]), core(to[k]));
			assert_int_equal(socket(to[i]), socket(to[k]));
		}
	mapper_destroy(m);
}

static void test_busy_tasks_do_not_share_cores(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[PUS];
	int to[PUS];

	(void)state;
	/* Eight busy ones sit in pairs; as many that are not have the other cores. */
	for (int i = 0; i < PUS; i++)
		s[i] = task(i < 8 ? 1 : 2, i,
			i < 8 ? i / 2 + i % 2 * CORES : 4 + i % 4 + (i >= 12) * CORES,
			i < 8 ? 1.5 : 0.4, 1e-5, 0, 0);
	steps(m, s, PUS, to, 10);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < i; k++)
			assert_int_not_equal(core(to[i]), core(to[k]));
	mapper_destroy(m);
	/* Moderate sharing, and busy: across sockets rather than on one core (section 4.4). */
	m = make("");
	for (int i = 0; i < 6; i++)
		s[i] = task(1, i, i, 1.5, 6e-4, 0, 0);
	steps(m, s, 6, to, 10);
	assert_int_equal(app(m, 1)->coherence, MAPPER_MODERATE);
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < i; k++)
			assert_int_not_equal(core(to[i]), core(to[k]));
	mapper_destroy(m);
}

static void test_six_of_ten(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample apart[2], quiet[2];
	int to[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		apart[i] = task(1, i, i ? 4 : 0, 0.5, 2e-3, 0, 400);
		quiet[i] = task(1, i, i ? 4 : 0, 0.5, 0, 0, 0);
	}
	steps(m, apart, 2, to, 6);
	assert_int_equal(app(m, 1)->coherence, MAPPER_LOW);
	assert_int_equal(to[1], 4);
	steps(m, apart, 2, to, 1);
	assert_int_equal(app(m, 1)->coherence, MAPPER_HIGH);
	assert_int_equal(socket(to[0]), socket(to[1]));
	/* What is over in a moment changes nothing. */
	steps(m, quiet, 2, to, 3);
	assert_int_equal(app(m, 1)->coherence, MAPPER_HIGH);
	steps(m, quiet, 2, to, 1);
	assert_int_equal(app(m, 1)->coherence, MAPPER_LOW);
	mapper_destroy(m);
	m = make("history=1,majority=0");
	steps(m, apart, 2, to, 1);
	assert_int_equal(app(m, 1)->coherence, MAPPER_HIGH);
	steps(m, quiet, 2, to, 1);
	assert_int_equal(app(m, 1)->coherence, MAPPER_LOW);
	mapper_destroy(m);
}

static void test_what_was_found_apart_stays(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample apart[2], together[2];
	int to[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		apart[i] = task(1, i, i ? 4 : 0, 0.5, 2e-3, 0, 480);
		together[i] = task(1, i, i, 1.4, 0, 2e-3, 0);
	}
	steps(m, apart, 2, to, 12);
	steps(m, together, 2, to, 100);
	assert_int_equal(app(m, 1)->coherence, MAPPER_HIGH);
	assert_int_equal(to[0], 0);
	assert_int_equal(to[1], 1);
	mapper_destroy(m);
}

static void test_nothing_moves_without_need(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[PUS];
	int to[PUS];

	(void)state;
	for (int i = 0; i < 8; i++)
		s[i] = task(1 + i / 4, i, 7 - i, 0.5, 1e-5, 0, 0);
	steps(m, s, 8, to, 20);
	for (int i = 0; i < 8; i++)
		assert_int_equal(to[i], s[i].pu);
	mapper_destroy(m);
}

/* Steps with a task that needs memory, which is `local` as often as that here and `remote` as often
 * elsewhere. Returns where it is to run. */
static int with_memory(int pu, double local, double remote)
{
	struct mapper *m = make("");
	struct mapper_sample s = task(1, 0, pu, 0.5, 0, 0, 0);
	struct errmsg err;
	int to = -1;

	s.local = (uint64_t)(local * CYCLES);
	s.remote = (uint64_t)(remote * CYCLES);
	for (int i = 0; i < 12; i++)
		assert_int_equal(mapper_step(m, &s, 1, &to, &err), 0);
	mapper_destroy(m);
	return to;
}

static void test_they_are_near_their_memory(void **state)
{
	(void)state;
	assert_int_equal(socket(with_memory(5, 1e-3, 20e-3)), 0);
	assert_int_equal(socket(with_memory(1, 1e-3, 20e-3)), 1);
	/* There it stays, and so does one whose memory is on both, or that needs little. */
	assert_int_equal(with_memory(5, 20e-3, 1e-3), 5);
	assert_int_equal(with_memory(5, 10e-3, 12e-3), 5);
	assert_int_equal(with_memory(5, 0, 1e-3), 5);
}

static void test_those_that_need_memory_are_apart(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[4];
	int to[4], first = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		s[i] = task(1 + i, i, i, 0.5, 0, 0, 0);
		s[i].local = CYCLES / 100;
	}
	steps(m, s, 4, to, 10);
	for (int i = 0; i < 4; i++)
		first += socket(to[i]) == 0;
	assert_int_equal(first, 2);
	mapper_destroy(m);
}

static void test_tasks_come_and_go(void **state)
{
	struct mapper *m = make("");
	struct mapper_sample s[40];
	int to[40], count;
	struct errmsg err;

	(void)state;
	/* More tasks than PUs share them evenly. */
	for (int i = 0; i < 40; i++)
		s[i] = task(1 + i % 5, i, i % PUS, 1.2, 1e-3, 0, 400);
	steps(m, s, 40, to, 10);
	for (int pu = 0; pu < PUS; pu++) {
		int n = 0;

		for (int i = 0; i < 40; i++)
			n += to[i] == pu;
		assert_in_range(n, 2, 3);
	}
	steps(m, s, 1, to, 1);
	mapper_apps(m, &count);
	assert_int_equal(count, 1);
	steps(m, s, 0, to, 1);
	mapper_apps(m, &count);
	assert_int_equal(count, 0);
	s[0].pu = 99;
	assert_int_equal(mapper_step(m, s, 1, to, &err), -1);
	assert_non_null(strstr(err.text, "PU 99"));
	s[0].pu = 0;
	s[0].cycles = 0;
	steps(m, s, 1, to, 1);
	mapper_destroy(m);
}

static void test_settings(void **state)
{
	struct mapper_settings set = mapper_defaults;
	struct errmsg err;

	(void)state;
	assert_int_equal(
		mapper_settings_parse(&set, "high_ipc=1.1, history=64,majority=40", &err), 0);
	assert_int_equal(set.history, 64);
	assert_int_equal(mapper_settings_parse(&set, "history=65", &err), -1);
	assert_int_equal(mapper_settings_parse(&set, "history=10", &err), -1);
	assert_non_null(strstr(err.text, "majority=40"));
	assert_int_equal(mapper_settings_parse(&set, "low_coherence=1", &err), -1);
	assert_int_equal(mapper_settings_parse(&set, "speed=1", &err), -1);
	assert_int_equal(mapper_settings_parse(&set, "high_ipc", &err), -1);
	assert_int_equal(set.history, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_that_share_get_a_socket_each),
		cmocka_unit_test(test_who_waits_longest_comes_first),
		cmocka_unit_test(test_tasks_that_wait_much_share_cores),
		cmocka_unit_test(test_busy_tasks_do_not_share_cores),
		cmocka_unit_test(test_six_of_ten),
		cmocka_unit_test(test_what_was_found_apart_stays),
		cmocka_unit_test(test_nothing_moves_without_need),
		cmocka_unit_test(test_those_that_need_memory_are_apart),
		cmocka_unit_test(test_they_are_near_their_memory),
		cmocka_unit_test(test_tasks_come_and_go),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
