/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/measure/shutter_slice.c, and of what shutter.c does with slices: real
 * processes take turns, counters are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/proc.h"
#include "poppa/measure/shutter.h"
#include "poppa/measure/shutter_slice.h"
#include "poppa/measure/turns.h"
#include "unit/poppa/measure/shutter_fixture.h"
#include "unit/poppa/waiting_process.h"

#define JOBS 2
#define TURN (100 * NS_PER_MS)

static pid_t child[JOBS];

int __wrap_counter_read(struct counter *c, struct counter_sample *out);
bool __wrap_counter_has_cycles(const struct counter *c);
char __wrap_counter_task_state(const struct counter *c);
bool __wrap_counter_interrupts(const struct counter *c);
void __wrap_counter_region(struct counter *c, int region);

int __wrap_counter_read(struct counter *c, struct counter_sample *out)
{
	(void)c;
	out->progress = (uint64_t)clock_now();
	out->cycles = 0;
	return 0;
}

bool __wrap_counter_has_cycles(const struct counter *c)
{
	(void)c;
	return false;
}

char __wrap_counter_task_state(const struct counter *c)
{
	(void)c;
	return 'S';
}

bool __wrap_counter_interrupts(const struct counter *c)
{
	(void)c;
	return false;
}

void __wrap_counter_region(struct counter *c, int region)
{
	(void)c;
	(void)region;
}

/* The processes take this signal. */
static void go_on(int number)
{
	(void)number;
}

static int setup(void **state)
{
	(void)state;
	signal(SIGUSR1, go_on);
	for (int i = 0; i < JOBS; i++)
		child[i] = waiting_process();
	return shutter_setup();
}

static int teardown(void **state)
{
	(void)state;
	return shutter_teardown(child, JOBS);
}

static struct shutter_plan *plan(void)
{
	struct shutter_plan *p = shutter_new_plan(child, JOBS, 0);

	p->schedule.period_ns = 25 * NS_PER_MS;
	p->turn_ns = TURN;
	return p;
}

static void put_away(struct shutter_plan *p)
{
	for (int i = 0; i < JOBS; i++)
		pause_close(p->unit[i].unit);
	shutter_plan_free(p);
}

static bool stopped(int i)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(child[i], &st), 0);
	return st.state == 'T';
}

static void nobody_stopped(void)
{
	for (int i = 0; i < JOBS; i++)
		for (int ms = 0; stopped(i); ms++) {
			assert_true(ms < 1000);
			usleep(1000);
		}
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
}

static void add(struct shutter_turned *sum, const struct shutter_turned *t)
{
	for (int i = 0; i < JOBS; i++) {
		sum->job[i].held_ns += t->job[i].held_ns;
		sum->job[i].alone_ns += t->job[i].alone_ns;
	}
	sum->slices += t->slices;
	sum->disturbed += t->disturbed;
}

/* As the clock says, one is held, and then the other; in one slice of TURNS_PROBE_EVERY nobody is,
 * and only there are blocks. What is counted is what was seen. */
static void one_after_the_other(void **state)
{
	struct shutter_plan *p = plan();
	struct schedule schedule = p->schedule;
	struct shutter_turned sum = {.jobs = 0}, now;
	int right = 0, looks = 0, blocks = 0;
	int64_t began = clock_now(), time;

	(void)state;
	shutter_publish(shutter, p);
	while (clock_now() - began < (TURNS_PROBE_EVERY + 1) * TURN) {
		struct turns_slice before, after;
		bool held_now[JOBS];

		turns_slice(&schedule, TURN, clock_wall(), &before);
		for (int i = 0; i < JOBS; i++)
			held_now[i] = stopped(i);
		turns_slice(&schedule, TURN, clock_wall(), &after);
		if (before.begins_ns == after.begins_ns) {
			looks++;
			for (int i = 0; i < JOBS; i++)
				right += held_now[i] == (after.runs >= 0 && after.runs != i);
		}
		if (shutter_take(shutter)) {
			struct turns_slice of;

			turns_slice(&schedule, TURN, p->slot_ns, &of);
			assert_int_equal(of.runs, -1);
			assert_true(p->slot_ns > of.begins_ns + TURN / 10);
			assert_int_equal(p->outcome, SHUTTER_OK);
			blocks++;
			shutter_done(shutter);
		}
		shutter_turned(shutter, &now);
		add(&sum, &now);
		usleep(3000);
	}
	assert_ptr_equal(shutter_publish(shutter, NULL), p);
	time = clock_now() - began;
	add(&sum, &p->turned);
	nobody_stopped();
	print_message("# %d of %d looks as planned, %d blocks, held %.3f s and %.3f s of %.3f s\n",
		right, 2 * looks, blocks, 1e-9 * (double)sum.job[0].held_ns,
		1e-9 * (double)sum.job[1].held_ns, 1e-9 * (double)time);
	assert_true(right > 2 * looks * 0.85);
	assert_true(blocks >= 1);
	assert_true(sum.slices >= TURNS_PROBE_EVERY - 2 && sum.slices <= TURNS_PROBE_EVERY + 2);
	assert_int_equal(sum.disturbed, 0);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(p->turned.job[i].job_id, 10 + i);
		assert_true(llabs(sum.job[i].held_ns - sum.job[1 - i].alone_ns) < 50 * NS_PER_MS);
		assert_true(sum.job[i].held_ns > time / 3 && sum.job[i].held_ns < time * 2 / 3);
	}
	put_away(p);
}

/* Waits until somebody is held; returns who is not. */
static int until_held(void)
{
	for (int ms = 0; ms < 5000; ms++) {
		for (int i = 0; i < JOBS; i++)
			if (stopped(i))
				return 1 - i;
		usleep(1000);
	}
	fail();
	return 0;
}

/* Who needs that nothing is held need not wait for the end of a slice, which then goes on. */
static void a_slice_gives_way(void **state)
{
	struct shutter_plan *p = plan();

	(void)state;
	p->turn_ns = NS_PER_S;
	shutter_publish(shutter, p);
	for (int n = 0; n < 20; n++) {
		int64_t began;

		until_held();
		began = clock_now();
		shutter_lock(shutter);
		assert_true(clock_now() - began < p->turn_ns * 9 / 10);
		nobody_stopped();
		shutter_unlock(shutter);
		/* What only blocks use does not end it. */
		until_held();
		shutter_lock_reading(shutter);
		shutter_unlock(shutter);
		shutter_idle_ns(shutter);
	}
	until_held();
	assert_ptr_equal(shutter_publish(shutter, NULL), p);
	nobody_stopped();
	assert_true(p->turned.slices >= 20);
	put_away(p);
}

/* Whoever is signalled is resumed at once, and nobody is held for a while. */
static void signals_end_it(void **state)
{
	struct shutter_plan *p = plan();
	struct shutter_turned now;
	int runs;

	(void)state;
	p->turn_ns = NS_PER_S;
	shutter_publish(shutter, p);
	runs = until_held();
	/* Somebody suspends it: it stays as it is. */
	assert_int_equal(kill(child[1 - runs], SIGTSTP), 0);
	shutter_turned(shutter, &now);
	for (int ms = 0; !now.disturbed; ms++) {
		assert_true(ms < 900);
		usleep(1000);
		shutter_turned(shutter, &now);
	}
	usleep(50000);
	assert_true(stopped(1 - runs));
	assert_false(stopped(runs));
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	kill(child[1 - runs], SIGCONT);
	for (int i = 0; i < 40; i++) {
		usleep(50000);
		assert_int_equal(held_release(held, NULL, false, NULL), 0);
	}
	assert_ptr_equal(shutter_publish(shutter, NULL), p);
	nobody_stopped();
	put_away(p);
}

/* The deadline is that of the slice, and what the guard has resumed stays so. */
static void the_guard_follows(void **state)
{
	struct shutter_plan *p = plan();
	struct shutter_slice s;
	int64_t end = clock_now() + NS_PER_S, before, rest;
	struct itimerspec left;

	(void)state;
	assert_true(slice_begin(held, &guard, p, 1, end, &(struct slice_signals){0}, &s));
	assert_int_equal(s.stopped[0], 1);
	assert_int_equal(s.stopped[1], 0);
	before = clock_now();
	assert_int_equal(timerfd_gettime(guard.timerfd, &left), 0);
	rest = left.it_value.tv_sec * NS_PER_S + left.it_value.tv_nsec;
	assert_true(rest > 0 && rest <= end + SLICE_MARGIN_NS - before);
	assert_true(rest >= end - clock_now());
	assert_true(slice_look(held, p, &s));
	usleep(20000);
	/* As the guard does. */
	held->passed++;
	assert_int_equal(held_release(held, NULL, false, NULL), 1);
	held->fired_ns = (uint64_t)clock_now();
	held->fired++;
	usleep(20000);
	assert_false(slice_look(held, p, &s));
	slice_end(held, &guard, p, &s);
	assert_true(p->turned.job[0].held_ns >= 20 * NS_PER_MS);
	/* A job is alone once the other one has been stopped, which takes a moment. */
	assert_true(p->turned.job[1].alone_ns >= 20 * NS_PER_MS);
	assert_true(p->turned.job[1].alone_ns <= p->turned.job[0].held_ns);
	assert_true(p->turned.job[0].held_ns <= (int64_t)held->fired_ns - (end - NS_PER_S));
	assert_int_equal(timerfd_gettime(guard.timerfd, &left), 0);
	assert_true(!left.it_value.tv_sec && !left.it_value.tv_nsec);
	nobody_stopped();
	put_away(p);
}

static void no_slice_without_a_guard(void **state)
{
	struct shutter_plan *p = plan();
	struct shutter_slice s;

	(void)state;
	kill(guard.pid, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)guard.pid, &(siginfo_t){0}, WSTOPPED | WNOWAIT), 0);
	assert_false(slice_begin(
		held, &guard, p, 1, clock_now() + NS_PER_S, &(struct slice_signals){0}, &s));
	nobody_stopped();
	kill(guard.pid, SIGCONT);
	assert_int_equal(waitid(P_PID, (id_t)guard.pid, &(siginfo_t){0}, WCONTINUED), 0);
	put_away(p);
}

/* A job that is signalled for ever: a few of these end a slice, and then only one now and then. Its
 * co-runner's signals count all the same. */
static void signals_for_ever(void **state)
{
	struct slice_signals signals = {0};
	int ended[JOBS] = {0, 0};

	(void)state;
	for (int64_t now = NS_PER_S; now < 3600 * NS_PER_S; now += 500 * NS_PER_MS)
		if (slice_signals_count(&signals, 10, 0, now)) {
			slice_signals_add(&signals, 10, 0, now);
			ended[0]++;
			assert_true(ended[0] <= SIGNALS_AT_ONCE ||
				    now > (ended[0] - SIGNALS_AT_ONCE) * SIGNALS_EVERY_NS);
		}
	assert_int_equal(ended[0], SIGNALS_AT_ONCE + 3600 * NS_PER_S / SIGNALS_EVERY_NS - 1);
	/* Its next run has its own; and so has another job. */
	assert_true(slice_signals_count(&signals, 10, 1, 3600 * NS_PER_S));
	assert_true(slice_signals_count(&signals, 11, 0, 3600 * NS_PER_S));
	/* What is quiet for long has them all again. */
	for (int n = 0; n < SIGNALS_AT_ONCE; n++) {
		assert_true(slice_signals_count(&signals, 10, 0, 20000 * NS_PER_S));
		slice_signals_add(&signals, 10, 0, 20000 * NS_PER_S);
	}
	assert_false(slice_signals_count(&signals, 10, 0, 20000 * NS_PER_S));
	/* Jobs that come and go take no room from it. */
	for (uint32_t id = 100; id < 100 + 2 * SHUTTER_MAX_JOBS; id++)
		slice_signals_add(&signals, id, 0, 20000 * NS_PER_S);
	assert_false(slice_signals_count(&signals, 10, 0, 20000 * NS_PER_S));
}

/* The same with a real one: its slices end at first, and later it is held in spite of them; the
 * signal is there when it goes on. */
static void a_signalled_job_is_held(void **state)
{
	struct shutter_plan *p = plan();
	struct slice_signals signals = {0};
	struct shutter_slice s;

	(void)state;
	for (int n = 0; n <= SIGNALS_AT_ONCE; n++) {
		assert_true(slice_begin(held, &guard, p, 1, clock_now() + NS_PER_S, &signals, &s));
		for (int ms = 0; !stopped(0); ms++) {
			assert_true(ms < 1000);
			usleep(1000);
		}
		assert_int_equal(kill(child[0], SIGUSR1), 0);
		assert_true(proc_signalled(child[0]));
		assert_int_equal(slice_look(held, p, &s), n == SIGNALS_AT_ONCE);
		assert_int_equal(slice_end(held, &guard, p, &s), n == SIGNALS_AT_ONCE);
		for (int ms = 0; proc_signalled(child[0]); ms++) {
			assert_true(ms < 1000);
			usleep(1000);
		}
	}
	assert_int_equal(p->turned.disturbed, SIGNALS_AT_ONCE);
	nobody_stopped();
	put_away(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(a_slice_gives_way),
		cmocka_unit_test(the_guard_follows),
		cmocka_unit_test(no_slice_without_a_guard),
		cmocka_unit_test(signals_for_ever),
		cmocka_unit_test(a_signalled_job_is_held),
		cmocka_unit_test(signals_end_it),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
