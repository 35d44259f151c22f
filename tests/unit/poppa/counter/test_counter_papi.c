/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the papi backend against a PAPI that is made up: its error codes and their fixes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <papi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/counter/counter.h"

#define STEP 1000 /* instructions between two reads; cycles are twice that */

static struct {
	int started; /* PAPI_is_initialized() */
	int init;    /* what the library answers */
	int counters;
	PAPI_component_info_t cpu;
	int create, assign, attach, add, start, read;
	int add_from; /* events that can be added before that */
	char event[2][128];
	int events, sets, running;
	unsigned long tid;
	long long reads;
} papi;

int __wrap_PAPI_is_initialized(void);
int __wrap_PAPI_library_init(int version);
int __wrap_PAPI_num_cmp_hwctrs(int component);
const PAPI_component_info_t *__wrap_PAPI_get_component_info(int component);
int __wrap_PAPI_create_eventset(int *set);
int __wrap_PAPI_assign_eventset_component(int set, int component);
int __wrap_PAPI_attach(int set, unsigned long tid);
int __wrap_PAPI_add_named_event(int set, const char *name);
int __wrap_PAPI_start(int set);
int __wrap_PAPI_read(int set, long long *value);
int __wrap_PAPI_stop(int set, long long *value);
int __wrap_PAPI_cleanup_eventset(int set);
int __wrap_PAPI_destroy_eventset(int *set);

int __wrap_PAPI_is_initialized(void)
{
	return papi.started;
}

int __wrap_PAPI_library_init(int version)
{
	assert_int_equal(version, PAPI_VER_CURRENT);
	return papi.init;
}

int __wrap_PAPI_num_cmp_hwctrs(int component)
{
	assert_int_equal(component, 0);
	return papi.counters;
}

const PAPI_component_info_t *__wrap_PAPI_get_component_info(int component)
{
	assert_int_equal(component, 0);
	return &papi.cpu;
}

int __wrap_PAPI_create_eventset(int *set)
{
	if (papi.create == PAPI_OK)
		*set = ++papi.sets;
	return papi.create;
}

int __wrap_PAPI_assign_eventset_component(int set, int component)
{
	assert_true(set > 0 && component == 0);
	return papi.assign;
}

int __wrap_PAPI_attach(int set, unsigned long tid)
{
	assert_true(set > 0);
	papi.tid = tid;
	return papi.attach;
}

int __wrap_PAPI_add_named_event(int set, const char *name)
{
	assert_true(set > 0);
	if (papi.add != PAPI_OK && papi.events >= papi.add_from)
		return papi.add;
	strcpy(papi.event[papi.events++], name);
	return PAPI_OK;
}

int __wrap_PAPI_start(int set)
{
	assert_true(set > 0);
	papi.running += papi.start == PAPI_OK;
	return papi.start;
}

int __wrap_PAPI_read(int set, long long *value)
{
	assert_true(set > 0);
	papi.reads++;
	value[0] = papi.reads * STEP;
	value[1] = papi.reads * 2 * STEP;
	return papi.read;
}

int __wrap_PAPI_stop(int set, long long *value)
{
	assert_true(set > 0 && value);
	papi.running--;
	return PAPI_OK;
}

int __wrap_PAPI_cleanup_eventset(int set)
{
	assert_true(set > 0);
	papi.events = 0;
	return PAPI_OK;
}

int __wrap_PAPI_destroy_eventset(int *set)
{
	papi.sets--;
	*set = PAPI_NULL;
	return PAPI_OK;
}

static int setup(void **state)
{
	(void)state;
	memset(&papi, 0, sizeof(papi));
	papi.started = PAPI_LOW_LEVEL_INITED;
	papi.counters = 6;
	return 0;
}

static int nothing_is_left(void **state)
{
	(void)state;
	return papi.sets || papi.running ? -1 : 0;
}

static void counts(void **state)
{
	struct counter_sample s;
	struct errmsg err = {""};
	struct counter *c;

	(void)state;
	assert_int_equal(counter_open(COUNTER_PAPI, NULL, getpid(), &c, &err), 0);
	assert_int_equal(counter_kind(c), COUNTER_PAPI);
	assert_true(counter_has_cycles(c));
	assert_int_equal(papi.sets, 1);
	assert_int_equal(papi.tid, getpid());
	assert_string_equal(papi.event[0], "perf::INSTRUCTIONS");
	assert_string_equal(papi.event[1], "perf::CYCLES");
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, STEP);
	assert_int_equal(s.cycles, 2 * STEP);
	assert_false(s.missing);
	assert_int_equal(counter_refresh(c), 0);
	papi.read = PAPI_ESYS;
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, EIO);
	counter_close(c);
}

static void the_event_is_configured(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	strcpy(conf->perf_event, "perf::BRANCHES");
	assert_int_equal(counter_open(COUNTER_PAPI, conf, getpid(), &c, &err), 0);
	assert_string_equal(papi.event[0], "perf::BRANCHES");
	counter_close(c);
	papi.add = PAPI_ENOEVNT;
	assert_int_equal(counter_open(COUNTER_PAPI, conf, getpid(), &c, &err), -1);
	assert_non_null(strstr(err.text, "perf::BRANCHES"));
	assert_non_null(strstr(err.text, "PerfEvent"));
	free(conf);
}

/* Every step of opening may fail with any code: one message names the thing and the fix. */
static void errors_name_the_mend(void **state)
{
	static const struct {
		int code, to_caller;
		const char *text;
	} cases[] = {
		{PAPI_EINVAL, EINVAL, "(-1)"},
		{PAPI_ENOMEM, ENOMEM, "(-2)"},
		{PAPI_ENOEVNT, ENODATA, "(-7)"},
		{PAPI_ENOEVNT, ENODATA, "PMU passed through"},
		{PAPI_ECNFLCT, ENODATA, "together with perf::CYCLES"},
		{PAPI_EPERM, EPERM, "CAP_PERFMON"},
		{PAPI_ENOSUPP, ENODATA, "papi_component_avail"},
		{PAPI_ECMP_DISABLED, ENODATA, "(-25)"},
		{PAPI_ECMP_DISABLED, ENODATA, "papi_component_avail"},
		{PAPI_ESYS, EIO, "papi_component_avail"},
	};
	int *const steps[] = {&papi.create, &papi.assign, &papi.attach, &papi.add, &papi.start};
	struct errmsg err;
	struct counter *c;

	(void)state;
	assert_int_equal(PAPI_EINVAL, -1);
	assert_int_equal(PAPI_ENOEVNT, -7);
	assert_int_equal(PAPI_ECMP_DISABLED, -25);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
			*steps[n] = cases[i].code;
			assert_int_equal(counter_open(COUNTER_PAPI, NULL, getpid(), &c, &err), -1);
			assert_int_equal(errno, cases[i].to_caller);
			assert_non_null(strstr(err.text, "papi: "));
			assert_non_null(strstr(err.text, cases[i].text));
			assert_false(counter_available(COUNTER_PAPI, NULL, &err));
			assert_non_null(strstr(err.text, cases[i].text));
			*steps[n] = PAPI_OK;
		}
		/* The second event: the set goes with it. */
		papi.add = cases[i].code;
		papi.add_from = 1;
		assert_int_equal(counter_open(COUNTER_PAPI, NULL, getpid(), &c, &err), -1);
		assert_int_equal(errno, cases[i].to_caller);
		papi.add = papi.add_from = 0;
		assert_int_equal(papi.sets, 0);
	}
	assert_true(counter_available(COUNTER_PAPI, NULL, &err));
	assert_int_equal(papi.running, 0);
}

/* PAPI has no code of its own for it. */
static void a_thread_that_has_ended(void **state)
{
	struct errmsg err = {""};
	struct counter *c;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	papi.attach = PAPI_EINVAL;
	assert_int_equal(counter_open(COUNTER_PAPI, NULL, pid, &c, &err), -1);
	assert_int_equal(errno, ESRCH);
}

static void the_library_and_its_component(void **state)
{
	struct errmsg err;

	(void)state;
	papi.started = PAPI_NOT_INITED;
	papi.init = PAPI_VER_CURRENT;
	assert_true(counter_available(COUNTER_PAPI, NULL, &err));
	papi.init = PAPI_VER_CURRENT + 1;
	assert_false(counter_available(COUNTER_PAPI, NULL, &err));
	assert_non_null(strstr(err.text, "another release"));
	papi.init = PAPI_ESYS;
	assert_false(counter_available(COUNTER_PAPI, NULL, &err));
	assert_non_null(strstr(err.text, "does not start"));

	papi.started = PAPI_LOW_LEVEL_INITED;
	papi.counters = 0;
	assert_false(counter_available(COUNTER_PAPI, NULL, &err));
	assert_non_null(strstr(err.text, "passed through"));
	papi.cpu.disabled = PAPI_ECMP;
	strcpy(papi.cpu.disabled_reason, "Unknown processor");
	assert_false(counter_available(COUNTER_PAPI, NULL, &err));
	assert_non_null(strstr(err.text, "Unknown processor"));
	assert_non_null(strstr(err.text, "use perf"));
	strcpy(papi.cpu.disabled_reason, "support disabled by Linux with paranoid=3");
	assert_false(counter_available(COUNTER_PAPI, NULL, &err));
	assert_non_null(strstr(err.text, "kernel.perf_event_paranoid=2"));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, nothing_is_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts),
		TEST(the_event_is_configured),
		TEST(errors_name_the_mend),
		TEST(a_thread_that_has_ended),
		TEST(the_library_and_its_component),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
