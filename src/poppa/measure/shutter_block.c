/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs one block: measures all jobs, stops all but one, measures that one, resumes. */
#include "poppa/measure/shutter_block.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/units.h"
#include "common/clock.h"
#include "poppa/hold/proc.h"

/* How long to wait until all is frozen. On a full node a task may freeze late, but it runs no more
 * of its own code until then. */
#define FREEZE_MAX (300 * NS_PER_US)
#define FREEZE_STEP (25 * NS_PER_US) /* asleep, so that a task on our own core can freeze */
#define LOOK_ALL 4 /* of up to so many units, each is looked at before its resume (10 us) */
#define DEADLINE_MARGIN (20 * NS_PER_MS)
/* Of a usual block: 50 ms at most, less the time that the guard needs. */
#define DEADLINE_MAX (45 * NS_PER_MS)
#define LEAST_MARGIN (15 * NS_PER_MS)

int64_t shutter_deadline_ns(int64_t shutter_ns)
{
	int64_t usual = 4 * shutter_ns + DEADLINE_MARGIN, least = 2 * shutter_ns + LEAST_MARGIN;

	if (usual > DEADLINE_MAX)
		usual = DEADLINE_MAX;
	/* A very long shutter must be able to end, too. */
	return usual < least ? least : usual;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = clock_spec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Notes that a co-runner's task has ended. Its job goes on with the others, so the block does, too:
 * else whoever has short processes would decide which blocks count. */
static void note_end(struct shutter_plan *p, struct shutter_task *t)
{
	t->ended = true;
	p->changed = true;
}

static bool read_job(struct shutter_plan *p, int job, int region, int boundary)
{
	const struct shutter_job *j = &p->job[job];
	struct counter_sample *s = shutter_plan_samples(p, region, boundary);
	/* What is only looked at, before it is stopped, may end. */
	bool measured = p->whole || !shutter_plan_stops(p, job);

	shutter_plan_when(p, region, boundary)[job] = clock_now();
	if (shutter_plan_skips(p, region, boundary))
		return true;
	for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
		if (p->task[t].ended || !counter_read(p->task[t].counter, &s[t]))
			continue;
		if (errno == ESRCH && !measured) {
			note_end(p, &p->task[t]);
			continue;
		}
		p->outcome = errno == ESRCH ? SHUTTER_GONE : SHUTTER_COUNTER;
		p->by = job == p->lone ? -1 : job;
		return false;
	}
	return true;
}

/* Whether a job that is about to be stopped is read in the last window before the stop: where a
 * reading costs almost nothing, it tells which of its tasks are running. */
static bool read_anyway(const struct shutter_plan *p, int job)
{
	const struct shutter_job *j = &p->job[job];

	return j->tasks && !counter_interrupts(p->task[j->first_task].counter);
}

/* Whether a job is read at this boundary. To read a running task may interrupt its processor, so
 * only jobs that the block measures are read. */
static bool wanted(const struct shutter_plan *p, int job, int region, int boundary)
{
	if (!shutter_plan_stops(p, job))
		return true;
	if (shutter_plan_holds(region))
		return false;
	return p->whole ||
	       (region == SHUTTER_BEFORE && boundary >= p->windows - 1 && read_anyway(p, job));
}

static bool read_wanted(struct shutter_plan *p, int region, int boundary)
{
	*shutter_plan_own(p, region, boundary) = clock_own();
	for (int i = 0; i < p->jobs; i++)
		if (wanted(p, i, region, boundary) && !read_job(p, i, region, boundary))
			return false;
	return true;
}

/*
 * What is held while one job runs alone. shutter_core() stops one unit after the other and counts
 * them here; resume_others() resumes exactly those. A crash in between leaves them armed in the
 * list (hold/held.h), and the guard resumes them. What the guard has resumed first is not resumed
 * again.
 */
struct hold {
	int stopped[SHUTTER_MAX_JOBS];   /* how many units of each job, from its first */
	int64_t since[SHUTTER_MAX_JOBS]; /* CLOCK_MONOTONIC */
	int64_t took[SHUTTER_MAX_JOBS];  /* of this thread, to stop and to resume it, ns */
	int unstopped;    /* the job of which not everything could be stopped; or -1 */
	int64_t noted_ns; /* when note_held() was last called; 0 = not yet */
};

/* What tells whether a job stands still that is to; NULL for any other. */
static struct job_cpu *cpu_of(const struct shutter_plan *p, int job)
{
	return shutter_plan_stops(p, job) ? p->job[job].cpu : NULL;
}

/*
 * Notes the processor time of what is to stand still: right after the stop, and again a window
 * later if there is one. The kernel tells the time of a running task only as of its last tick and
 * adds the rest when the task stands still, and a signal takes a while to stop it.
 */
static void note_held(struct shutter_plan *p, struct hold *h)
{
	h->noted_ns = clock_now();
	for (int i = 0; i < p->jobs + p->watched; i++)
		if (cpu_of(p, i))
			job_cpu_note(p->job[i].cpu);
}

/* A recording is played region by region. */
static void tell_counters(const struct shutter_plan *p, int region)
{
	const struct shutter_job *lone = &p->job[p->lone];

	for (int t = lone->first_task;
		p->kind == SHUTTER_LONE && t < lone->first_task + lone->tasks; t++)
		counter_region(p->task[t].counter, region);
}

/* Algorithm 1 for one region: windows + 1 readings, shutter_ns/windows apart. A late reading does
 * not make the next window shorter. h: NULL where nothing is held. */
static bool measure(struct shutter_plan *p, int region, struct hold *h)
{
	int64_t length = p->shutter_ns / p->windows, at = clock_now();
	int64_t end = at + p->shutter_ns + p->shutter_ns / 2;

	tell_counters(p, region);
	for (int k = 0; k <= p->windows; k++) {
		int64_t now;

		if (shutter_plan_spares(p, region, k)) {
			at += length;
			continue;
		}
		if (k)
			sleep_until(at);
		if (!read_wanted(p, region, k))
			return false;
		p->boundaries[region] = k + 1;
		now = clock_now();
		if (region == SHUTTER_DURING && now >= end)
			break; /* woken late: fewer windows are better than a longer stop */
		if (h && k < 2 && k < p->windows)
			note_held(p, h);
		at += length;
		if (at < now + length / 2)
			at = now + length;
	}
	return true;
}

/*
 * What follows the region "during" of a long block: readings at growing distances. A late one makes
 * its window longer and the next one shorter; when it is very late, the stop ends with it.
 */
static bool measure_beyond(struct shutter_plan *p)
{
	int last = p->boundaries[SHUTTER_DURING] - 1;
	int64_t at = shutter_plan_when(p, SHUTTER_DURING, last)[p->lone];
	int64_t end = at + shutter_plan_beyond_ns(p, p->long_windows) + p->shutter_ns / 2;

	tell_counters(p, SHUTTER_BEYOND);
	p->boundaries[SHUTTER_BEYOND] = 1;
	for (int k = 1; k <= p->long_windows; k++) {
		at += (int64_t)est_beyond_ns(k - 1, (double)p->shutter_ns);
		sleep_until(at);
		if (!read_wanted(p, SHUTTER_BEYOND, k))
			return false;
		p->boundaries[SHUTTER_BEYOND] = k + 1;
		if (clock_now() >= end)
			break;
	}
	return true;
}

/* Whether a job goes on of which all tasks have ended that are counted: it may consist of short
 * ones, and who has such must not decide which blocks count. */
static bool witness_lives(const struct shutter_job *j)
{
	struct proc_stat st;

	return j->witness && !proc_stat(j->witness, &st) && st.starttime == j->witness_since &&
	       !strchr("ZXTt", st.state);
}

/*
 * Looks, before anything is stopped, whether a co-runner has ended or is stopped by somebody else.
 * In both cases the lone job was alone before the shutter began. Of a co-runner of which only some
 * tasks are stopped, these are left alone: we must not resume them. One of which only some tasks
 * have ended goes on. A task that made progress in the last window is running. Of each other task
 * the state is read: a freezer does not show signals, and processor time is known only as of the
 * last tick.
 */
static enum shutter_outcome look_at_others(struct shutter_plan *p)
{
	int last = p->boundaries[SHUTTER_BEFORE] - 1;
	const struct counter_sample *from = shutter_plan_samples(p, SHUTTER_BEFORE, last - 1);
	const struct counter_sample *to = shutter_plan_samples(p, SHUTTER_BEFORE, last);

	for (int i = 0; i < p->jobs; i++) {
		const struct shutter_job *j = &p->job[i];
		bool read = read_anyway(p, i), stopped = false, running = false, ended = false;

		if (!shutter_plan_stops(p, i))
			continue;
		p->by = i;
		for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
			char state;

			p->task[t].stopped = false;
			if (p->task[t].ended) {
				ended = true;
				continue;
			}
			if (read && to[t].progress != from[t].progress) {
				running = true;
				continue;
			}
			state = counter_task_state(p->task[t].counter);
			if (!state || state == 'Z' || state == 'X') {
				/* A log has a row of each task, also after the stop. */
				if (p->whole)
					return SHUTTER_GONE;
				note_end(p, &p->task[t]);
				ended = true;
				continue;
			}
			if (state == PROC_UNKNOWN)
				return SHUTTER_COUNTER;
			p->task[t].stopped = state == 'T' || state == 't';
			stopped |= p->task[t].stopped;
			running |= !p->task[t].stopped;
		}
		for (int n = j->first_unit; n < j->first_unit + j->units; n++) {
			struct shutter_unit *u = &p->unit[n];

			if (!u->process)
				continue;
			u->stopped =
				u->task >= 0 ? p->task[u->task].stopped : pause_stopped(u->unit);
			stopped |= u->stopped;
			running |= !u->stopped && (u->task < 0 || !p->task[u->task].ended);
		}
		if (running || (ended && !stopped && witness_lives(j)))
			continue;
		if (stopped || ended)
			return stopped ? SHUTTER_STOPPED : SHUTTER_GONE;
	}
	p->by = -1;
	return SHUTTER_OK;
}

static void resume_others(struct shutter_plan *p, struct hold *h)
{
	for (int i = 0; i < p->jobs; i++) {
		const struct shutter_job *j = &p->job[i];
		int64_t began = clock_own();
		bool look = true;

		if (h->stopped[i] && j->new_tasks)
			new_tasks_resume(j->new_tasks);
		for (int n = 0; n < h->stopped[i]; n++) {
			const struct shutter_unit *u = &p->unit[j->first_unit + n];
			bool foreign = pause_resume(u->unit, look);

			/* A user who suspends a job stops all of its processes. So of many only the
			 * first is looked at, and the next if somebody has stopped that one. */
			p->foreign_stop |= foreign;
			if (foreign && p->outcome == SHUTTER_OK)
				p->by = i;
			if (u->process && h->stopped[i] > LOOK_ALL)
				look = foreign;
		}
		if (h->stopped[i])
			p->paused_ns[i] = clock_now() - h->since[i];
		/* What had the signal before the others may be a decoy, and the work ran on. */
		if (h->unstopped == i)
			p->paused_ns[i] = 0;
		h->took[i] += clock_own() - began;
	}
}

/* The job that took most of this thread's time to stop and to resume, where all of them took more
 * than a whole shutter: it has made the block late. -1: nobody. poppad had no processor, or waited
 * for a lock of the kernel's, which anybody may have held. */
static int slowest(const struct shutter_plan *p, const struct hold *h)
{
	int64_t sum = 0;
	int most = 0;

	for (int i = 0; i < p->jobs; i++) {
		sum += h->took[i];
		if (h->took[i] > h->took[most])
			most = i;
	}
	return sum > p->shutter_ns ? most : -1;
}

/*
 * Whether everything that was frozen stands still; waits for it until that moment. Without a wait
 * (until is 0), the processor time decides where it is known, see ran_on(): a task that waits for a
 * dead file server cannot freeze, but runs no more than a frozen one.
 */
static bool all_stand_still(struct shutter_plan *p, const struct hold *h, int64_t until)
{
	for (int i = 0; i < p->jobs; i++) {
		for (int n = 0; n < h->stopped[i]; n++) {
			const struct shutter_unit *u = &p->unit[p->job[i].first_unit + n];
			int rc = 0;

			p->by = i;
			while (!u->process && !(rc = pause_stands_still(u->unit))) {
				if (!until && cpu_of(p, i) && job_cpu_total_ns(cpu_of(p, i)) >= 0)
					break;
				if (clock_now() > until)
					return false;
				sleep_until(clock_now() + FREEZE_STEP);
			}
			if (!u->process && rc < 0) {
				p->outcome = SHUTTER_GONE;
				return false;
			}
		}
	}
	p->by = -1;
	return true;
}

/* Whether all jobs of this job's owner are to stand still. */
static bool owner_stands_still(const struct shutter_plan *p, int job)
{
	for (int i = 0; i < p->jobs + p->watched; i++)
		if (!shutter_plan_stops(p, i) && p->job[i].owner == p->job[job].owner)
			return false;
	return true;
}

/*
 * Whether a job ran since note_held() that was to stand still: a user may resume what was stopped
 * by a signal, or hide what they run, and then the lone job was not alone. The processor time of
 * all of the job's cgroups shows it, whatever the program is called and publishes.
 */
static bool ran_on(struct shutter_plan *p, const struct hold *h)
{
	int64_t most = 0;

	p->by = -1;
	if (!h->noted_ns)
		return false;
	p->still_ns = clock_now() - h->noted_ns;
	for (int i = 0; i < p->jobs + p->watched; i++) {
		const struct job_cpu *cpu = cpu_of(p, i);
		int64_t all = 0, own = cpu ? job_cpu_ran_ns(cpu, &all) : 0;

		p->ran_ns[i] = owner_stands_still(p, i) ? all : own;
		/* What has left a job counts for all of its owner's: of these, the one whose own
		 * time grew comes first. */
		if (shutter_plan_ran(p, i) &&
			(p->by < 0 || own > most ||
				(own == most && p->ran_ns[i] > p->ran_ns[p->by]))) {
			p->by = i;
			most = own;
		}
	}
	return p->by >= 0;
}

/* The region in which one job runs alone. A cgroup that may not have stood still spoils the block.
 */
static bool measure_alone(struct shutter_plan *p, struct hold *h, int64_t start)
{
	all_stand_still(p, h, start + FREEZE_MAX);
	if (p->outcome != SHUTTER_OK || !measure(p, SHUTTER_DURING, h))
		return false;
	if (p->long_windows && !measure_beyond(p))
		return false;
	if (ran_on(p, h))
		p->outcome = SHUTTER_RAN;
	else if (!all_stand_still(p, h, 0) && p->outcome == SHUTTER_OK)
		p->outcome = SHUTTER_NOT_FROZEN;
	return p->outcome == SHUTTER_OK;
}

/* The guard resumed what was held when it fired, however late this thread notices. */
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
static bool shutter_core(struct held_file *held, struct guard *guard, struct shutter_plan *p)
{
	const int64_t deadline =
		shutter_deadline_ns(p->shutter_ns) + shutter_plan_beyond_ns(p, p->long_windows);
	struct hold h = {.unstopped = -1};
	uint32_t fired = held->fired;
	int64_t start;
	bool ok = true;

	if (!guard_alive(guard)) {
		p->outcome = SHUTTER_NO_GUARD;
		return false;
	}
	held_open(held);
	start = clock_now();
	if (guard_deadline(guard, start + deadline)) {
		p->outcome = SHUTTER_NO_GUARD;
		return false;
	}
	for (int i = 0; i < p->jobs && ok; i++) {
		const struct shutter_job *j = &p->job[i];
		int64_t began = clock_own();

		if (!shutter_plan_stops(p, i))
			continue;
		h.since[i] = clock_now();
		for (int n = 0; n < j->units && ok; n++) {
			const struct shutter_unit *u = &p->unit[j->first_unit + n];

			if (u->stopped || !pause_stop(u->unit)) {
				h.stopped[i]++;
				continue;
			}
			/* A process that has ended counts as stopped. */
			if (errno == ESRCH && u->process) {
				p->changed = true;
				h.stopped[i]++;
				continue;
			}
			p->by = i;
			h.unstopped = i;
			p->outcome = errno == EBUSY   ? SHUTTER_STOPPED
				     : errno == ETIME ? SHUTTER_OVERDUE
						      : SHUTTER_GONE;
			ok = false;
		}
		if (ok && h.stopped[i] && j->new_tasks && new_tasks_stop(j->new_tasks))
			p->changed = true;
		h.took[i] = clock_own() - began;
	}
	ok = ok && measure_alone(p, &h, start);
	resume_others(p, &h);
	guard_deadline(guard, 0);
	p->stop_ns = clock_now() - start;
	if (held->fired != fired)
		overdue(p, start, (int64_t)held->fired_ns);
	else if (ok && p->foreign_stop)
		p->outcome = SHUTTER_STOPPED;
	if (p->outcome == SHUTTER_OVERDUE)
		p->by = slowest(p, &h);
	return p->outcome == SHUTTER_OK;
}

void shutter_block(struct held_file *held, struct guard *guard, struct shutter_plan *p)
{
	bool ok;

	p->outcome = SHUTTER_OK;
	p->foreign_stop = false;
	p->changed = false;
	p->stop_ns = 0;
	p->by = -1;
	p->still_ns = 0;
	memset(p->ran_ns, 0, sizeof(p->ran_ns));
	memset(p->paused_ns, 0, sizeof(p->paused_ns));
	memset(p->boundaries, 0, sizeof(p->boundaries));
	for (int t = 0; t < p->tasks; t++)
		p->task[t].ended = false;
	if (!measure(p, SHUTTER_BEFORE, NULL))
		return;
	p->outcome = look_at_others(p);
	if (p->outcome != SHUTTER_OK)
		return;
	if (p->kind == SHUTTER_SHAM)
		ok = measure(p, SHUTTER_DURING, NULL) && (!p->long_windows || measure_beyond(p));
	else
		ok = shutter_core(held, guard, p);
	/* After a long block caches empty slowly: what would be read is not as before it. */
	if (ok && !p->long_windows)
		measure(p, SHUTTER_AFTER, NULL);
}
