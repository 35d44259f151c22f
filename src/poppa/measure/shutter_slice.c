/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops all jobs but one for their turn, watches them meanwhile, and resumes them. */
#include "poppa/measure/shutter_slice.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "poppa/hold/proc.h"

/* Signals are looked for at every so many looks, and at so many tasks of a job at most. */
#define SIGNALS_EVERY 5
#define SIGNALLED_TASKS 4

/* The entry of a job; where it has none -1, or with `room` the one that is needed least. */
static int entry_of(const struct slice_signals *h, uint32_t job_id, uint32_t restart, bool room)
{
	int least = 0;

	for (int i = 0; i < SHUTTER_MAX_JOBS; i++) {
		if (h->job[i].job_id == job_id && h->job[i].restart == restart)
			return i;
		if (h->job[i].paid_ns < h->job[least].paid_ns)
			least = i;
	}
	return room ? least : -1;
}

bool slice_signals_count(
	const struct slice_signals *h, uint32_t job_id, uint32_t restart, int64_t now_ns)
{
	int i = entry_of(h, job_id, restart, false);

	return i < 0 || h->job[i].paid_ns - now_ns <= (SIGNALS_AT_ONCE - 1) * SIGNALS_EVERY_NS;
}

void slice_signals_add(struct slice_signals *h, uint32_t job_id, uint32_t restart, int64_t now_ns)
{
	int i = entry_of(h, job_id, restart, true);
	bool known = h->job[i].job_id == job_id && h->job[i].restart == restart;
	int64_t from = known && h->job[i].paid_ns > now_ns ? h->job[i].paid_ns : now_ns;

	h->job[i].job_id = job_id;
	h->job[i].restart = restart;
	h->job[i].paid_ns = from + SIGNALS_EVERY_NS;
}

/* Stops one unit, unless somebody else has stopped it. A process that has ended counts as stopped.
 */
static bool stop(const struct shutter_unit *u)
{
	if (u->process && pause_stopped(u->unit))
		return false;
	return !pause_stop(u->unit) || (errno == ESRCH && u->process);
}

/* A crash in between leaves the units armed in the list (hold/held.h), and the guard resumes them.
 */
bool slice_begin(struct held_file *held, struct guard *guard, struct shutter_plan *p, int runs,
	int64_t ends_ns, struct slice_signals *signals, struct shutter_slice *s)
{
	int64_t now = clock_now();
	bool ok = true;

	*s = (struct shutter_slice){.runs = runs, .fired = held->fired, .signals = signals};
	p->turned.jobs = p->jobs;
	for (int i = 0; i < p->jobs; i++) {
		p->turned.job[i].job_id = p->job[i].job_id;
		p->turned.job[i].restart = p->job[i].restart;
		s->heeds[i] =
			slice_signals_count(signals, p->job[i].job_id, p->job[i].restart, now);
	}
	if (!guard_alive(guard))
		return false;
	held_open(held);
	if (guard_deadline(guard, ends_ns + SLICE_MARGIN_NS))
		return false;
	for (int i = 0; i < p->jobs && ok; i++) {
		const struct shutter_job *j = &p->job[i];

		s->counted[i] = clock_now();
		for (int n = 0; i != runs && n < j->units && ok; n++) {
			ok = stop(&p->unit[j->first_unit + n]);
			s->stopped[i] += ok;
		}
	}
	if (ok)
		p->turned.slices++;
	else
		slice_end(held, guard, p, s);
	p->turned.disturbed += !ok && !s->disturbed;
	return ok;
}

static bool meddled(struct shutter_plan *p, struct shutter_slice *s)
{
	for (int i = 0; i < p->jobs; i++)
		for (int n = 0; n < s->stopped[i]; n++)
			if (pause_meddled(p->unit[p->job[i].first_unit + n].unit))
				return true;
	return false;
}

/* Whether a task of a job that is held has been signalled. */
static bool job_signalled(const struct shutter_plan *p, const struct shutter_job *j)
{
	for (int t = 0; t < j->tasks && t < SIGNALLED_TASKS; t++)
		if (proc_signalled(p->task[j->first_task + t].pid))
			return true;
	return false;
}

/* Whether a job that is held has been signalled, and that counts. Each job's is counted once in a
 * slice. */
static bool signalled(const struct shutter_plan *p, struct shutter_slice *s)
{
	bool any = false;

	for (int i = 0; i < p->jobs; i++) {
		const struct shutter_job *j = &p->job[i];

		if (!s->stopped[i] || !s->heeds[i] || !job_signalled(p, j))
			continue;
		slice_signals_add(s->signals, j->job_id, j->restart, clock_now());
		s->heeds[i] = false;
		any = true;
	}
	return any;
}

bool slice_look(struct held_file *held, struct shutter_plan *p, struct shutter_slice *s)
{
	bool look = s->looks++ % SIGNALS_EVERY == 0;

	s->disturbed |= meddled(p, s) || (look && signalled(p, s));
	return held->fired == s->fired && !s->disturbed;
}

void slice_count(const struct held_file *held, struct shutter_plan *p, struct shutter_slice *s)
{
	int64_t now = clock_now();

	/* The guard may have resumed them before this thread notices. */
	if (held->fired != s->fired && (int64_t)held->fired_ns < now)
		now = (int64_t)held->fired_ns;
	for (int i = 0; i < p->jobs; i++) {
		int64_t passed = now - s->counted[i];

		if (!s->counted[i] || passed <= 0)
			continue;
		if (i == s->runs)
			p->turned.job[i].alone_ns += passed;
		else if (s->stopped[i])
			p->turned.job[i].held_ns += passed;
		s->counted[i] = now;
	}
}

bool slice_end(struct held_file *held, struct guard *guard, struct shutter_plan *p,
	struct shutter_slice *s)
{
	s->disturbed |= signalled(p, s);
	for (int i = 0; i < p->jobs; i++)
		for (int n = 0; n < s->stopped[i]; n++)
			s->disturbed |= pause_resume(p->unit[p->job[i].first_unit + n].unit, true);
	guard_deadline(guard, 0);
	slice_count(held, p, s);
	p->turned.disturbed += s->disturbed;
	return !s->disturbed;
}
