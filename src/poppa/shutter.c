/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the shutter in a real-time thread. */
#include "poppa/shutter.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/clock.h"
#include "poppa/proc.h"

#define STACK_SIZE (128 * 1024)
#define SETTLE_MAX                                                                                 \
	(300 * NS_PER_US) /* on a full node a task may take long to get there; it runs no          \
			     more of its own code in the meantime */
#define SETTLE_STEP (25 * NS_PER_US) /* asleep, so that a task on our own core can freeze */
/* A look at a task costs some 10 us: of so many, each is looked at before its resume. */
#define LOOK_ALL 4
/* Of a shutter, a task that is held may run for one part in so many: a signal takes microseconds.
 */
#define RAN_SHARE 16
#define DEADLINE_MARGIN (20 * NS_PER_MS)
#define DEADLINE_MAX (50 * NS_PER_MS)
#define CLOCK_STEP (5 * NS_PER_MS) /* more than clocks drift apart between two blocks */
#define CLOCK_FINE (20 * NS_PER_US)

struct shutter {
	pthread_t thread;
	pthread_mutex_t lock; /* held for the length of a block, not between blocks */
	pthread_cond_t changed;
	clockid_t cpu_clock;
	int notify_fd;
	bool quit, living;
	struct shutter_plan *plan;
	struct held_file *held;
	struct guard *guard;
	uint64_t block;
	struct schedule_slot slot; /* the next one, valid while next_ns is set */
	int64_t next_ns;           /* when it opens, CLOCK_MONOTONIC */
	int64_t clock_ns;          /* wall clock minus CLOCK_MONOTONIC then */
	int64_t ended_ns;          /* the last block, CLOCK_MONOTONIC */
	bool stepped;              /* the slot was chosen anew because the wall clock was set */
	bool pinned;
	cpu_set_t allowed;
};

static const char *const outcome_names[SHUTTER_OUTCOMES] = {"ok", "task-ended", "stopped-by-others",
	"not-frozen", "no-guard", "guard-resumed", "counter-unreadable", "ran-while-held"};

const char *shutter_outcome_name(enum shutter_outcome o)
{
	return outcome_names[o];
}

int64_t shutter_deadline_ns(int64_t shutter_ns)
{
	int64_t d = 4 * shutter_ns + DEADLINE_MARGIN;

	if (d > DEADLINE_MAX)
		d = DEADLINE_MAX;
	/* Settings beyond the usual: a shutter must be able to end. */
	return d < 2 * shutter_ns + DEADLINE_MARGIN ? 2 * shutter_ns + DEADLINE_MARGIN : d;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

struct shutter_plan *shutter_plan_new(int tasks, int units, int windows)
{
	struct shutter_plan *p = calloc(1, sizeof(*p));
	size_t readings = SHUTTER_REGIONS * (size_t)(windows + 1);

	if (!p)
		return NULL;
	p->windows = windows;
	p->task = calloc(tasks + 1, sizeof(*p->task));
	p->unit = calloc(units + 1, sizeof(*p->unit));
	p->when = calloc(readings * SHUTTER_MAX_JOBS, sizeof(*p->when));
	p->sample = calloc(readings * (tasks + 1), sizeof(*p->sample));
	p->tasks = tasks;
	p->units = units;
	if (p->task && p->unit && p->when && p->sample)
		return p;
	shutter_plan_free(p);
	errno = ENOMEM;
	return NULL;
}

void shutter_plan_free(struct shutter_plan *p)
{
	if (!p)
		return;
	free(p->task);
	free(p->unit);
	free(p->when);
	free(p->sample);
	free(p);
}

static int64_t *when_of(const struct shutter_plan *p, int region, int boundary)
{
	return p->when + (size_t)(region * (p->windows + 1) + boundary) * SHUTTER_MAX_JOBS;
}

static struct counter_sample *samples_of(const struct shutter_plan *p, int region, int boundary)
{
	return p->sample + (size_t)(region * (p->windows + 1) + boundary) * (p->tasks + 1);
}

/* Whether a job is stopped in a block of this kind. */
static bool stops(const struct shutter_plan *p, int job)
{
	return p->kind == SHUTTER_ABSENT ? job == p->lone : job != p->lone;
}

/* Whether nobody is read then. */
static bool skipped(const struct shutter_plan *p, int region, int boundary)
{
	return region == SHUTTER_BEFORE && boundary < p->first;
}

/* Sums over some of a job's tasks. */
static int fill(const struct shutter_plan *p, int job, int first_task, int tasks, int region,
	struct est_window *out)
{
	int n = p->boundaries[region] - 1;

	for (int k = 0; k < n && k < EST_MAX_WINDOWS; k++) {
		const struct counter_sample *from = samples_of(p, region, k);
		const struct counter_sample *to = samples_of(p, region, k + 1);
		struct est_window w = {.dur_ns = (double)(when_of(p, region, k + 1)[job] -
							  when_of(p, region, k)[job])};
		bool cycles = true;

		for (int t = first_task; t < first_task + tasks; t++) {
			bool missing = to[t].missing || skipped(p, region, k);

			w.progress += missing ? NAN : (double)(to[t].progress - from[t].progress);
			w.cycles += (double)(to[t].cycles - from[t].cycles);
			/* A sum over some tasks only would be no rate. */
			cycles &= counter_has_cycles(p->task[t].counter);
		}
		if (!cycles)
			w.cycles = 0;
		out[k] = w;
	}
	return n < 0 ? 0 : n < EST_MAX_WINDOWS ? n : EST_MAX_WINDOWS;
}

static void fill_block(
	const struct shutter_plan *p, int job, int first_task, int tasks, struct est_block *out)
{
	memset(out, 0, sizeof(*out));
	out->start_ns = (uint64_t)when_of(p, SHUTTER_BEFORE, 0)[job];
	out->before_n = fill(p, job, first_task, tasks, SHUTTER_BEFORE, out->before);
	out->during_n = fill(p, job, first_task, tasks, SHUTTER_DURING, out->during);
	out->after_n = fill(p, job, first_task, tasks, SHUTTER_AFTER, out->after);
}

void shutter_plan_block_of(const struct shutter_plan *p, int job, struct est_block *out)
{
	fill_block(p, job, p->job[job].first_task, p->job[job].tasks, out);
}

void shutter_plan_task(const struct shutter_plan *p, int task, struct est_block *out)
{
	fill_block(p, p->lone, p->job[p->lone].first_task + task, 1, out);
}

void shutter_plan_block(const struct shutter_plan *p, struct est_block *out)
{
	shutter_plan_block_of(p, p->lone, out);
}

void shutter_plan_log(const struct shutter_plan *p, struct shutterlog_writer *w)
{
	for (int region = 0; region < SHUTTER_REGIONS; region++) {
		for (int k = 0; k + 1 < p->boundaries[region]; k++) {
			const struct counter_sample *from = samples_of(p, region, k);
			const struct counter_sample *to = samples_of(p, region, k + 1);

			for (int i = 0; i < p->jobs; i++) {
				const struct shutter_job *j = &p->job[i];
				int64_t start = when_of(p, region, k)[i];
				int64_t end = when_of(p, region, k + 1)[i];

				if (region == SHUTTER_DURING &&
					(i != p->lone || p->kind != SHUTTER_LONE))
					continue;
				for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
					struct shutter_row row = {.block = p->block,
						.job = j->job_id,
						.task = p->task[t].pid,
						.region = region,
						.k = k,
						.start_ns = start,
						.dur_ns = end - start,
						.progress = to[t].progress - from[t].progress,
						.cycles = to[t].cycles - from[t].cycles};

					if (!to[t].missing)
						shutterlog_append(w, &row);
				}
			}
		}
	}
}

/* --- one block; the lock is held, nothing here allocates or takes another lock --- */

static bool read_job(struct shutter_plan *p, int job, int region, int boundary)
{
	const struct shutter_job *j = &p->job[job];
	struct counter_sample *s = samples_of(p, region, boundary);

	when_of(p, region, boundary)[job] = clock_now();
	if (skipped(p, region, boundary))
		return true;
	for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
		if (!counter_read(p->task[t].counter, &s[t]))
			continue;
		p->outcome = errno == ESRCH ? SHUTTER_GONE : SHUTTER_COUNTER;
		return false;
	}
	return true;
}

/*
 * Reading a task that runs elsewhere interrupts its processor. The block is about those that are
 * not stopped; of the others only their last window before the stop is needed, to tell who is
 * stopped already.
 */
static bool wanted(const struct shutter_plan *p, int job, int region, int boundary)
{
	if (!stops(p, job))
		return true;
	if (region == SHUTTER_DURING)
		return false;
	if (p->whole)
		return true;
	return region == SHUTTER_BEFORE && boundary >= p->windows - 1;
}

static bool read_wanted(struct shutter_plan *p, int region, int boundary)
{
	for (int i = 0; i < p->jobs; i++)
		if (wanted(p, i, region, boundary) && !read_job(p, i, region, boundary))
			return false;
	return true;
}

/* Algorithm 1 for one region: windows + 1 readings, shutter_ns/windows apart. What was late is not
 * caught up with: a window lasts as long as its readings say. */
static bool measure(struct shutter_plan *p, int region)
{
	int64_t length = p->shutter_ns / p->windows, at = clock_now();
	int64_t end = at + p->shutter_ns + p->shutter_ns / 2;
	const struct shutter_job *lone = &p->job[p->lone];

	for (int t = lone->first_task;
		p->kind == SHUTTER_LONE && t < lone->first_task + lone->tasks; t++)
		counter_region(p->task[t].counter, region);
	for (int k = 0; k <= p->windows; k++) {
		int64_t now;

		if (k)
			sleep_until(at);
		if (!read_wanted(p, region, k))
			return false;
		p->boundaries[region] = k + 1;
		now = clock_now();
		if (region == SHUTTER_DURING && now >= end)
			break; /* woken late: rather fewer windows than a longer stop */
		at += length;
		if (at < now + length / 2)
			at = now + length;
	}
	return true;
}

/* Whether a task is stopped that is paused with its cgroup: the freezer knows nothing of signals.
 */
static bool task_stopped(const struct shutter_plan *p, int task)
{
	struct proc_stat st;

	for (int n = 0; n < p->units; n++)
		if (p->unit[n].process && p->unit[n].task == task)
			return false;
	return !proc_stat(p->task[task].pid, &st) && (st.state == 'T' || st.state == 't');
}

/* A co-runner that somebody else has stopped must not be resumed by us, and the lone job was alone
 * already. One that made progress just now was not stopped; looking at the others costs a read of
 * /proc each. */
static bool stopped_by_others(const struct shutter_plan *p)
{
	int last = p->boundaries[SHUTTER_BEFORE] - 1;
	const struct counter_sample *from = samples_of(p, SHUTTER_BEFORE, last - 1);
	const struct counter_sample *to = samples_of(p, SHUTTER_BEFORE, last);

	for (int i = 0; i < p->jobs; i++) {
		const struct shutter_job *j = &p->job[i];

		for (int n = j->first_unit; stops(p, i) && n < j->first_unit + j->units; n++) {
			const struct shutter_unit *u = &p->unit[n];

			if (!u->process)
				continue;
			if (u->task >= 0 && to[u->task].progress != from[u->task].progress)
				continue;
			if (pause_stopped(u->unit))
				return true;
		}
		for (int t = j->first_task; stops(p, i) && t < j->first_task + j->tasks; t++)
			if (to[t].progress == from[t].progress && task_stopped(p, t))
				return true;
	}
	return false;
}

static void resume_others(struct shutter_plan *p, const int *stopped, const int64_t *since)
{
	for (int i = 0; i < p->jobs; i++) {
		const struct shutter_job *j = &p->job[i];
		bool look = true;

		if (stopped[i] && j->newborn)
			newborn_resume(j->newborn);
		for (int n = 0; n < stopped[i]; n++) {
			const struct shutter_unit *u = &p->unit[j->first_unit + n];
			bool foreign = pause_resume(u->unit, look);

			/* Who suspends a job stops all of its processes: of many, one of them
			 * tells, and where it does all are looked at. */
			p->foreign_stop |= foreign;
			if (u->process && stopped[i] > LOOK_ALL)
				look = foreign;
		}
		if (stopped[i])
			p->paused_ns[i] = clock_now() - since[i];
	}
}

/* Whether all that was frozen stands still; waits up to a point in time. */
static bool settled(struct shutter_plan *p, const int *stopped, int64_t until)
{
	for (int i = 0; i < p->jobs; i++) {
		for (int n = 0; n < stopped[i]; n++) {
			const struct shutter_unit *u = &p->unit[p->job[i].first_unit + n];
			int rc = 0;

			while (!u->process && !(rc = pause_settled(u->unit))) {
				if (clock_now() > until)
					return false;
				sleep_until(clock_now() + SETTLE_STEP);
			}
			if (!u->process && rc < 0) {
				p->outcome = SHUTTER_GONE;
				return false;
			}
		}
	}
	return true;
}

/* Notes the processor time of what is held. */
static void note_held(struct shutter_plan *p, const int *stopped)
{
	for (int i = 0; i < p->jobs; i++)
		for (int n = 0; n < stopped[i]; n++) {
			struct shutter_unit *u = &p->unit[p->job[i].first_unit + n];

			u->ran_ns = pause_ran_ns(u->unit);
		}
}

/*
 * Whether something that is held ran for more than a share of the time since: its user may resume
 * what was stopped by a signal. Then the lone job was not alone. It does not matter who did it, nor
 * what the program says of its own progress.
 */
static bool ran_on(struct shutter_plan *p, const int *stopped, int64_t since)
{
	int64_t allowed = (clock_now() - since) / RAN_SHARE;

	for (int i = 0; i < p->jobs; i++)
		for (int n = 0; n < stopped[i]; n++) {
			const struct shutter_unit *u = &p->unit[p->job[i].first_unit + n];

			if (pause_ran_ns(u->unit) - u->ran_ns > allowed) {
				p->ran = i;
				return true;
			}
		}
	return false;
}

/* The region in which one job runs alone. A cgroup that is not frozen at its end, as with a task
 * that waits for a dead file server, spoils the block. */
static bool measure_alone(struct shutter_plan *p, const int *stopped, int64_t since)
{
	int64_t alone;

	settled(p, stopped, since + SETTLE_MAX);
	alone = clock_now();
	note_held(p, stopped);
	if (p->outcome != SHUTTER_OK || !measure(p, SHUTTER_DURING))
		return false;
	if (ran_on(p, stopped, alone)) {
		p->outcome = SHUTTER_RAN;
		return false;
	}
	if (settled(p, stopped, 0))
		return true;
	if (p->outcome == SHUTTER_OK)
		p->outcome = SHUTTER_UNSETTLED;
	return false;
}

/* The guard came first: the stop was over when it fired, whenever we came to notice. */
static void overdue(struct shutter_plan *p, int64_t start, int64_t fired)
{
	p->outcome = SHUTTER_OVERDUE;
	if (fired - start >= p->stop_ns || fired < start)
		return;
	p->stop_ns = fired - start;
	for (int i = 0; i < p->jobs; i++)
		if (p->paused_ns[i] > p->stop_ns)
			p->paused_ns[i] = p->stop_ns;
}

/* Algorithm 2. */
static bool shutter_core(struct shutter *s, struct shutter_plan *p)
{
	int stopped[SHUTTER_MAX_JOBS] = {0};
	int64_t since[SHUTTER_MAX_JOBS] = {0}, start;
	uint32_t fired = s->held->fired;
	bool ok = true;

	if (!guard_alive(s->guard)) {
		p->outcome = SHUTTER_NO_GUARD;
		return false;
	}
	held_open(s->held);
	start = clock_now();
	if (guard_deadline(s->guard, start + shutter_deadline_ns(p->shutter_ns))) {
		p->outcome = SHUTTER_NO_GUARD;
		return false;
	}
	for (int i = 0; i < p->jobs && ok; i++) {
		const struct shutter_job *j = &p->job[i];

		if (!stops(p, i))
			continue;
		since[i] = clock_now();
		for (int n = 0; n < j->units && ok; n++) {
			const struct shutter_unit *u = &p->unit[j->first_unit + n];

			if (!pause_stop(u->unit)) {
				stopped[i]++;
				continue;
			}
			/* A task of many that has ended is stopped enough. */
			if (errno == ESRCH && u->process && u->task < 0) {
				p->changed = true;
				stopped[i]++;
				continue;
			}
			p->outcome = errno == EBUSY ? SHUTTER_STOPPED : SHUTTER_GONE;
			ok = false;
		}
		if (ok && stopped[i] && j->newborn && newborn_stop(j->newborn))
			p->changed = true;
	}
	ok = ok && measure_alone(p, stopped, start);
	resume_others(p, stopped, since);
	guard_deadline(s->guard, 0);
	p->stop_ns = clock_now() - start;
	if (s->held->fired != fired)
		overdue(p, start, (int64_t)s->held->fired_ns);
	else if (ok && p->foreign_stop)
		p->outcome = SHUTTER_STOPPED;
	return p->outcome == SHUTTER_OK;
}

/* The shutter's own time is never taken from a job that is measured: it runs on the others' cores,
 * whose windows do not count in this block. */
static void step_aside(struct shutter *s, const cpu_set_t *cpus)
{
	bool pin = CPU_COUNT(cpus) > 0;

	if (!pin && !s->pinned)
		return;
	if (pin && sched_setaffinity(0, sizeof(cpu_set_t), cpus))
		pin = false;
	if (!pin)
		sched_setaffinity(0, sizeof(cpu_set_t), &s->allowed);
	s->pinned = pin;
}

/* The body of Algorithm 3's loop, without its sleep. */
static void run_block(struct shutter *s, struct shutter_plan *p)
{
	p->outcome = SHUTTER_OK;
	p->block = s->block++;
	p->foreign_stop = false;
	p->changed = false;
	p->stop_ns = 0;
	memset(p->paused_ns, 0, sizeof(p->paused_ns));
	memset(p->boundaries, 0, sizeof(p->boundaries));
	step_aside(
		s, p->kind == SHUTTER_ABSENT ? &p->job[p->lone].here : &p->job[p->lone].elsewhere);
	if (!measure(p, SHUTTER_BEFORE))
		return;
	if (stopped_by_others(p)) {
		p->outcome = SHUTTER_STOPPED;
		return;
	}
	if (p->kind == SHUTTER_SHAM ? measure(p, SHUTTER_DURING) : shutter_core(s, p))
		measure(p, SHUTTER_AFTER);
}

static int64_t wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Looks up the next slot. false: there is none. */
static bool choose_slot(struct shutter *s, const struct shutter_plan *p)
{
	int64_t mono = clock_now(), wall = wall_clock();

	if (!schedule_next(&p->schedule, wall, &s->slot))
		return false;
	s->clock_ns = wall - mono;
	s->next_ns = s->slot.opens_ns - s->clock_ns;
	return true;
}

/*
 * Whether the slot is on now. If not, next_ns says when to come again. A late wake-up is no reason
 * to leave a block out, only a wall clock that was set, and that once a block: whatever the clock
 * does, shutters go on, and never closer together than the schedule would have them.
 */
static bool slot_open(struct shutter *s, const struct shutter_plan *p)
{
	int64_t mono = clock_now(), moved = wall_clock() - mono - s->clock_ns;

	if (mono < s->next_ns)
		return false;
	if ((llabs(moved) > CLOCK_STEP && !s->stepped) ||
		mono < s->ended_ns + schedule_min_gap(&p->schedule) / 2) {
		s->stepped |= llabs(moved) > CLOCK_STEP;
		s->next_ns = 0;
		return false;
	}
	/* The wall clock runs a little slower or faster than the other one. */
	if (!s->stepped && moved < -CLOCK_FINE) {
		s->next_ns -= moved;
		s->clock_ns += moved;
		return false;
	}
	return true;
}

static void *shutter_main(void *arg)
{
	struct shutter *s = arg;
	struct sched_param param = {.sched_priority = SHUTTER_PRIORITY};
	const uint64_t one = 1;

	pthread_setname_np(pthread_self(), "poppad-shutter");
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		plog_warn("no real-time priority: degradations will read too high");
	if (held_live(s->held))
		plog_error("cannot take the lock that the guard watches: %s", strerror(errno));
	pthread_mutex_lock(&s->lock);
	s->living = true;
	pthread_cond_broadcast(&s->changed);
	while (!s->quit) {
		struct shutter_plan *p = s->plan;

		if (!p || p->finished || (!s->next_ns && !choose_slot(s, p))) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		if (!slot_open(s, p)) {
			struct timespec t = {s->next_ns / NS_PER_S, s->next_ns % NS_PER_S};

			if (s->next_ns)
				pthread_cond_timedwait(&s->changed, &s->lock, &t);
			continue;
		}
		p->lone = s->slot.lone;
		p->kind = s->slot.kind;
		p->slot_ns = s->slot.opens_ns;
		run_block(s, p);
		s->ended_ns = clock_now();
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

struct shutter_plan *shutter_publish(struct shutter *s, struct shutter_plan *next)
{
	struct shutter_plan *old;

	pthread_mutex_lock(&s->lock);
	old = s->plan;
	s->plan = next;
	s->next_ns = 0;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return old;
}

void shutter_lock(struct shutter *s)
{
	pthread_mutex_lock(&s->lock);
}

void shutter_unlock(struct shutter *s)
{
	pthread_mutex_unlock(&s->lock);
}

int64_t shutter_idle_ns(struct shutter *s)
{
	int64_t idle = INT64_MAX;

	pthread_mutex_lock(&s->lock);
	/* One that waits to be taken holds up the next. */
	if (s->plan && !s->plan->finished && schedule_exists(&s->plan->schedule))
		idle = s->next_ns ? s->next_ns - clock_now() : 0;
	pthread_mutex_unlock(&s->lock);
	return idle > 0 ? idle : 0;
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
	pthread_mutex_destroy(&s->lock);
	free(s);
	return p;
}
