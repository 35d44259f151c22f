/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs blocks in a real-time thread when their time has come, and hands plans over to it. */
#include "poppa/measure/shutter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/hold/realtime.h"
#include "poppa/measure/shutter_block.h"
#include "poppa/measure/shutter_slice.h"
#include "poppa/measure/turns.h"

#define STACK_SIZE (128 * 1024)
#define CLOCK_STEP (5 * NS_PER_MS) /* more than clocks drift apart between two blocks */
#define CLOCK_FINE (20 * NS_PER_US)
/* After a long block caches empty as slowly as they have filled: for so many times its length there
 * is no block. */
#define LONG_REST 3
/* So long after a slice of turns there is no block: those that were held wake up, and caches fill.
 */
#define TURN_REST (20 * NS_PER_MS)
/* What a block may be late by and still end before the next slice. */
#define BLOCK_LATE (5 * NS_PER_MS)
/* What is left of a slice is not worth a hold where it is less. */
#define LEAST_SLICE (10 * NS_PER_MS)
/* After somebody has signalled or frozen a job, or a slice has failed, nobody is held for so long:
 * Slurm suspends a job two seconds after it has sent it a signal, and a program may write a
 * checkpoint then. */
#define TURN_QUIET (10 * NS_PER_S)

/*
 * Two threads. The main thread publishes plans and takes finished blocks; the shutter's thread
 * waits for the slots of the plan and runs the blocks. It is the stopping thread of hold/held.h.
 *  - The shutter's thread holds `lock` for the whole block, so whoever gets the lock knows that
 *    nothing is held stopped. By priority inheritance, a main thread that holds it runs at the
 *    shutter's priority while the shutter's thread waits.
 *  - The plan is the shutter's while plan->finished is unset, else the main thread's, but for
 *    what a slice of turns uses: jobs, units and `turned`.
 *  - In a slice of turns the shutter's thread sleeps without `lock`, and `slicing` is set. Whoever
 *    needs that nothing is held adds to `wanted`: the thread ends the slice, and begins none while
 *    somebody wants that.
 */
struct shutter {
	pthread_t thread;
	pthread_mutex_t lock; /* held for the length of a block, not between blocks */
	pthread_cond_t changed, slice_over;
	bool slicing;
	int wanted; /* how many wait for the end of the slice */
	struct shutter_slice slice;
	struct slice_signals signals;    /* the shutter's thread's */
	int64_t quiet_ns;                /* until then nobody is held for a turn */
	int64_t beside_from, beside_end; /* when there may be blocks, where jobs take turns */
	clockid_t cpu_clock;
	int notify_fd;
	bool quit, living;
	struct shutter_plan *plan;
	struct held_file *held;
	struct guard *guard;
	uint64_t block;
	struct schedule_slot slot; /* the next one, valid while next_ns is set */
	int64_t next_ns;           /* when it opens, CLOCK_MONOTONIC */
	int64_t clock_ns;          /* wall clock minus CLOCK_MONOTONIC when it was chosen */
	int64_t ended_ns;          /* when the last block ended, CLOCK_MONOTONIC */
	int64_t rest_ns;           /* so long after that there is no block */
	bool stepped;              /* the slot was chosen anew because the wall clock was set */
	bool pinned;
	cpu_set_t allowed;
};

/* Keeps this thread off the processors of the job that is measured: it moves to idle processors, or
 * to those of the other jobs, whose windows do not count in this block. */
static void step_aside(struct shutter *s, struct shutter_plan *p)
{
	const struct shutter_job *lone = &p->job[p->lone];
	const cpu_set_t *cpus = p->kind == SHUTTER_ABSENT ? &lone->here : &lone->elsewhere;
	bool pin = CPU_COUNT(cpus) > 0;

	p->displaced = 0;
	if (!pin && !s->pinned)
		return;
	if (pin && sched_setaffinity(0, sizeof(cpu_set_t), cpus))
		pin = false;
	if (!pin)
		sched_setaffinity(0, sizeof(cpu_set_t), &s->allowed);
	s->pinned = pin;
	if (pin && lone->displaces)
		p->displaced = CPU_COUNT(cpus);
}

/* Chooses the next slot of the plan. false: there is none. */
static bool choose_slot(struct shutter *s, const struct shutter_plan *p)
{
	int64_t mono = clock_now(), wall = clock_wall();
	int64_t rest = s->ended_ns + s->rest_ns - mono;

	if (p->turn_ns && s->beside_from - mono > rest)
		rest = s->beside_from - mono;
	if (!schedule_next(&p->schedule, wall + (rest > 0 ? rest : 0), &s->slot))
		return false;
	s->clock_ns = wall - mono;
	s->next_ns = s->slot.opens_ns - s->clock_ns;
	return true;
}

/*
 * Whether the slot is open now. If not, next_ns says when to ask again, or is 0 where a slot must
 * be chosen anew. A late wake-up is no reason for that. A wall clock that was set is one, but once
 * a block only: whatever the clock does, shutters go on, and never too close together.
 */
static bool slot_open(struct shutter *s, const struct shutter_plan *p)
{
	int64_t mono = clock_now(), moved = clock_wall() - mono - s->clock_ns;
	bool was_set = llabs(moved) > CLOCK_STEP;

	if (mono < s->next_ns)
		return false;
	if ((was_set && !s->stepped) || mono < s->ended_ns + schedule_min_gap(&p->schedule) / 2) {
		s->stepped |= was_set;
		s->next_ns = 0;
		return false;
	}
	/* The wall clock runs a little slower than CLOCK_MONOTONIC: the slot opens later. */
	if (!s->stepped && moved < -CLOCK_FINE) {
		s->next_ns -= moved;
		s->clock_ns += moved;
		return false;
	}
	return true;
}

/* Sleeps until something has changed, or that moment has come; 0 = it never comes. */
static void sleep_until(struct shutter *s, int64_t ns)
{
	struct timespec t = clock_spec(ns);

	if (ns)
		pthread_cond_timedwait(&s->changed, &s->lock, &t);
	else
		pthread_cond_wait(&s->changed, &s->lock);
}

/*
 * Holds all jobs but one for what is left of the present slice, where it is some job's. False where
 * it is side by side: then beside_from and beside_end tell when there may be blocks. A wall clock
 * that is set moves the next slice, and never makes this one longer.
 */
static bool hold_for_turn(struct shutter *s, struct shutter_plan *p)
{
	int64_t mono = clock_now(), wall = clock_wall(), end;
	struct turns_slice now;

	if (p->alone_slices)
		turns_slice_alone(
			&p->schedule, p->turn_ns, p->alone_job, p->alone_slices, wall, &now);
	else
		turns_slice(&p->schedule, p->turn_ns, wall, &now);
	end = mono + now.ends_ns - wall;
	s->beside_from = mono + now.begins_ns - wall + TURN_REST;
	s->beside_end = end;
	if (now.runs < 0 || mono < s->quiet_ns || end - mono < LEAST_SLICE)
		return false;
	s->slicing = slice_begin(s->held, s->guard, p, now.runs, end, &s->signals, &s->slice);
	if (!s->slicing) {
		s->quiet_ns = mono + TURN_QUIET;
		return true;
	}
	while (!s->wanted && !s->quit && (mono = clock_now()) < end) {
		if (!slice_look(s->held, p, &s->slice))
			break;
		sleep_until(s, end - mono < SLICE_LOOK_NS ? end : mono + SLICE_LOOK_NS);
	}
	if (!slice_end(s->held, s->guard, p, &s->slice) || s->held->fired != s->slice.fired)
		s->quiet_ns = clock_now() + TURN_QUIET;
	s->slicing = false;
	s->next_ns = 0;
	pthread_cond_broadcast(&s->slice_over);
	return true;
}

/* Where jobs take turns: whether the next slot's block ends within the slice side by side. */
static bool slot_fits(const struct shutter *s, const struct shutter_plan *p)
{
	return s->next_ns >= s->beside_from &&
	       s->next_ns + p->schedule.block_ns + BLOCK_LATE <= s->beside_end;
}

static void *shutter_main(void *arg)
{
	struct shutter *s = arg;
	const uint64_t one = 1;

	pthread_setname_np(pthread_self(), "poppad-shutter");
	if (!realtime_begin(SHUTTER_PRIORITY))
		plog_warn("no real-time priority: %s: degradations will read too high",
			strerror(errno));
	if (held_live(s->held))
		plog_error("cannot take the lock that the guard watches: %s", strerror(errno));
	pthread_mutex_lock(&s->lock);
	s->living = true;
	pthread_cond_broadcast(&s->changed);
	while (!s->quit) {
		struct shutter_plan *p = s->plan;

		if (!p || s->wanted) {
			sleep_until(s, 0);
			continue;
		}
		if (p->turn_ns && hold_for_turn(s, p))
			continue;
		if (p->finished || (!s->next_ns && !choose_slot(s, p))) {
			sleep_until(s, p->turn_ns ? s->beside_end : 0);
			continue;
		}
		if (p->turn_ns && !slot_fits(s, p)) {
			s->next_ns = 0;
			sleep_until(s, s->beside_end);
			continue;
		}
		if (!slot_open(s, p)) {
			if (s->next_ns)
				sleep_until(s, s->next_ns);
			continue;
		}
		p->lone = s->slot.lone;
		p->kind = s->slot.kind;
		p->long_windows = s->slot.is_long ? p->job[p->lone].beyond : 0;
		p->slot_ns = s->slot.opens_ns;
		p->block = s->block++;
		step_aside(s, p);
		shutter_block(s->held, s->guard, p);
		s->ended_ns = clock_now();
		s->rest_ns = LONG_REST * shutter_plan_beyond_ns(p, p->long_windows);
		s->next_ns = 0;
		s->stepped = false;
		p->finished = true;
		if (write(s->notify_fd, &one, sizeof(one)) < 0)
			plog_error("cannot wake the main thread: %s", strerror(errno));
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->held->alive);
	return NULL;
}

struct shutter *shutter_start(
	struct held_file *held, struct guard *guard, int *notify_fd, struct errmsg *err)
{
	struct shutter *s = calloc(1, sizeof(*s));
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	pthread_attr_t ta;
	int rc;

	if (!s) {
		errmsg_set(err, "out of memory");
		return NULL;
	}
	s->held = held;
	s->guard = guard;
	sched_getaffinity(0, sizeof(s->allowed), &s->allowed);
	s->notify_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&s->lock, &ma);
	pthread_mutexattr_destroy(&ma);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &ca);
	pthread_cond_init(&s->slice_over, &ca);
	pthread_condattr_destroy(&ca);
	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	rc = s->notify_fd < 0 ? errno : pthread_create(&s->thread, &ta, shutter_main, s);
	pthread_attr_destroy(&ta);
	if (rc) {
		errmsg_set(err, "cannot start the shutter thread: %s", strerror(rc));
		if (s->notify_fd >= 0)
			close(s->notify_fd);
		free(s);
		return NULL;
	}
	/* A guard started from here on finds the lock taken. */
	pthread_mutex_lock(&s->lock);
	while (!s->living)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	pthread_getcpuclockid(s->thread, &s->cpu_clock);
	*notify_fd = s->notify_fd;
	return s;
}

void shutter_lock(struct shutter *s)
{
	pthread_mutex_lock(&s->lock);
	s->wanted++;
	if (s->slicing)
		pthread_cond_signal(&s->changed);
	while (s->slicing)
		pthread_cond_wait(&s->slice_over, &s->lock);
	s->wanted--;
}

void shutter_unlock(struct shutter *s)
{
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void shutter_lock_reading(struct shutter *s)
{
	pthread_mutex_lock(&s->lock);
}

struct shutter_plan *shutter_publish(struct shutter *s, struct shutter_plan *next)
{
	struct shutter_plan *old;

	shutter_lock(s);
	old = s->plan;
	s->plan = next;
	s->next_ns = 0;
	shutter_unlock(s);
	return old;
}

void shutter_turned(struct shutter *s, struct shutter_turned *out)
{
	*out = (struct shutter_turned){.jobs = 0};
	pthread_mutex_lock(&s->lock);
	if (s->slicing)
		slice_count(s->held, s->plan, &s->slice);
	if (s->plan) {
		struct shutter_turned *now = &s->plan->turned;

		*out = *now;
		for (int i = 0; i < now->jobs; i++)
			now->job[i].held_ns = now->job[i].alone_ns = 0;
		now->slices = now->disturbed = 0;
	}
	pthread_mutex_unlock(&s->lock);
}

/* With the lock. */
static int64_t idle_ns(const struct shutter *s)
{
	int64_t idle = INT64_MAX;

	/* A finished block that nobody has taken holds up the next. */
	if (s->plan && !s->plan->finished && schedule_exists(&s->plan->schedule))
		idle = s->next_ns ? s->next_ns - clock_now() : 0;
	return idle > 0 ? idle : 0;
}

int64_t shutter_idle_ns(struct shutter *s)
{
	int64_t idle;

	pthread_mutex_lock(&s->lock);
	idle = idle_ns(s);
	pthread_mutex_unlock(&s->lock);
	return idle;
}

/* With the lock: whether a slice, or the block after one that is not taken yet, may come within ns.
 */
static bool soon(const struct shutter *s, int64_t ns)
{
	const struct shutter_plan *p = s->plan;

	return p && (p->finished || (p->turn_ns && s->beside_end - clock_now() < ns));
}

bool shutter_lock_quiet(struct shutter *s, int64_t ns)
{
	if (pthread_mutex_trylock(&s->lock))
		return false;
	if (!s->slicing && idle_ns(s) >= ns && !soon(s, ns))
		return true;
	pthread_mutex_unlock(&s->lock);
	return false;
}

struct shutter_plan *shutter_take(struct shutter *s)
{
	struct shutter_plan *p;
	uint64_t n;

	while (read(s->notify_fd, &n, sizeof(n)) > 0)
		;
	pthread_mutex_lock(&s->lock);
	p = s->plan && s->plan->finished ? s->plan : NULL;
	pthread_mutex_unlock(&s->lock);
	return p;
}

void shutter_done(struct shutter *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->plan)
		s->plan->finished = false;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

int64_t shutter_cpu_ns(const struct shutter *s)
{
	struct timespec t = {0};

	clock_gettime(s->cpu_clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct shutter_plan *shutter_stop(struct shutter *s)
{
	struct shutter_plan *p;

	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	p = s->plan;
	close(s->notify_fd);
	pthread_cond_destroy(&s->changed);
	pthread_cond_destroy(&s->slice_over);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return p;
}
