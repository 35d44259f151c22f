/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/map/thread_counter.c with a made-up PMU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "poppa/counter/counter_backend.h"
#include "poppa/map/thread_counter.h"

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size);
int __wrap_ioctl(int fd, unsigned long request, int arg);

/* The made-up PMU: what it has counted, by group. */
static uint64_t value[2][4];
static uint64_t enabled; /* ns, of both */
/* Whether each group counts now. */
static bool counts[2];
static int events[2], opened, refuse_at, leader[2];

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	int fd;

	assert_true(pid == 42 && cpu == -1 && !flags);
	assert_true(attr->exclude_kernel && attr->exclude_hv);
	assert_int_equal(attr->disabled, group_fd < 0);
	if (++opened == refuse_at) {
		errno = EMFILE;
		return -1;
	}
	fd = dup(0);
	if (group_fd < 0)
		leader[leader[0] >= 0] = fd;
	events[leader[1] >= 0]++;
	return fd;
}

ssize_t __wrap_counter_sys_read(int fd, void *buf, size_t size)
{
	uint64_t *out = buf;
	int g = fd == leader[1];

	assert_true(fd == leader[g] && !counts[g]);
	out[0] = (uint64_t)events[g];
	out[1] = out[2] = enabled;
	assert_true(size >= (3 + out[0]) * sizeof(*out));
	memcpy(out + 3, value[g], out[0] * sizeof(*out));
	return (ssize_t)((3 + out[0]) * sizeof(*out));
}

int __wrap_ioctl(int fd, unsigned long request, int arg)
{
	assert_int_equal(arg, 0);
	assert_true(fd == leader[0] || fd == leader[1]);
	assert_true(request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE);
	counts[fd == leader[1]] = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

static int reset(void **state)
{
	(void)state;
	memset(value, 0, sizeof(value));
	events[0] = events[1] = opened = refuse_at = 0;
	leader[0] = leader[1] = -1;
	counts[0] = counts[1] = false;
	return 0;
}

static void parse(const char *text, struct thread_events *e)
{
	struct errmsg err = {""};

	if (thread_events_parse(text, e, &err)) {
		print_message("%s: %s\n", text, err.text);
		skip(); /* without libpfm4 */
	}
}

#define FIVE                                                                                       \
	"inter=perf::CACHE-MISSES,intra=perf::CACHE-REFERENCES,local=perf::NODE-LOADS,"            \
	"remote=perf::NODE-LOAD-MISSES,stalls=perf::STALLED-CYCLES-BACKEND"

static void groups_are_scaled_by_their_own_cycles(void **state)
{
	struct thread_events e;
	struct thread_counter c;
	struct mapper_sample s = {.task = 1};

	(void)state;
	parse(FIVE, &e);
	assert_int_equal(thread_counter_open(&e, 42, &c, NULL), 0);
	assert_int_equal(opened, 8);
	assert_true(!counts[0] && !counts[1]);
	thread_counter_start(&c);
	assert_true(counts[0] && counts[1]);
	/* cycles, instructions, inter, stalls; and cycles, intra, local, remote in half the time */
	memcpy(value, (uint64_t[2][4]){{1000, 900, 10, 400}, {500, 7, 20, 30}}, sizeof(value));
	assert_int_equal(thread_counter_stop(&e, &c, &s), 1);
	assert_true(s.cycles == 1000 && s.instructions == 900 && s.inter == 10 && s.stalls == 400);
	assert_true(s.intra == 14 && s.local == 40 && s.remote == 60);
	/* The next reading has what came since. */
	s = (struct mapper_sample){.task = 1};
	memcpy(value, (uint64_t[2][4]){{3000, 2900, 11, 500}, {2500, 8, 20, 40}}, sizeof(value));
	assert_int_equal(thread_counter_stop(&e, &c, &s), 1);
	assert_true(s.cycles == 2000 && s.instructions == 2000 && s.inter == 1 && s.intra == 1 &&
		    s.remote == 10 && !s.local);
	/* One group had no turn: that is not nothing. */
	value[0][0] += 100;
	enabled += 20;
	assert_int_equal(thread_counter_stop(&e, &c, &s), 0);
	/* The thread did not run: that is nothing. */
	s = (struct mapper_sample){.task = 1};
	assert_int_equal(thread_counter_stop(&e, &c, &s), 1);
	assert_true(!s.cycles && !s.inter);
	thread_counter_close(&c);
	assert_int_equal(c.fd[0], -1);
}

static void some_events_are_enough(void **state)
{
	struct thread_events e;
	struct thread_counter c;
	struct mapper_sample s = {.task = 1};

	(void)state;
	parse("remote=perf::CACHE-REFERENCES,inter=perf::CACHE-MISSES", &e);
	assert_int_equal(thread_counter_open(&e, 42, &c, NULL), 0);
	assert_int_equal(opened, 5);
	memcpy(value, (uint64_t[2][4]){{10, 20, 3}, {10, 4}}, sizeof(value));
	assert_int_equal(thread_counter_stop(&e, &c, &s), 1);
	assert_true(s.instructions == 20 && s.inter == 3 && s.remote == 4 && !s.stalls && !s.intra);
	thread_counter_close(&c);
}

static void what_cannot_be_opened_leaves_nothing(void **state)
{
	struct errmsg err = {""};
	struct thread_events e;
	struct thread_counter c;

	(void)state;
	parse(FIVE, &e);
	refuse_at = 6;
	assert_int_equal(thread_counter_open(&e, 42, &c, &err), -1);
	assert_int_equal(errno, EMFILE);
	assert_non_null(strstr(err.text, "LimitNOFILE"));
	for (int i = 0; i <= THREAD_EVENTS; i++)
		assert_int_equal(c.fd[i], -1);
}

static void wrong_events(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "inter=EVENT is missing"},
		{"stalls=perf::CACHE-MISSES", "inter=EVENT is missing"},
		{"inter", "inter: give it the name"},
		{"inter=", "inter: give it the name"},
		{"inter=perf::CACHE-MISSES,inter=perf::CACHE-MISSES", "given twice"},
		{"between=perf::CACHE-MISSES", "between"},
		{"inter=perf::NO-SUCH-EVENT", "perf::NO-SUCH-EVENT"},
	};
	struct thread_events e;

	(void)state;
	parse(FIVE, &e);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct errmsg err = {""};

		assert_int_equal(thread_events_parse(rows[i].text, &e, &err), -1);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(groups_are_scaled_by_their_own_cycles, reset),
		cmocka_unit_test_setup(some_events_are_enough, reset),
		cmocka_unit_test_setup(what_cannot_be_opened_leaves_nothing, reset),
		cmocka_unit_test_setup(wrong_events, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
