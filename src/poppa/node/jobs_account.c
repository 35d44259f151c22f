/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps account of the jobs' time, and of what shutters cost them. */
#include "poppa/node/jobs_impl.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/units.h"
#include "common/clock.h"

#define LOST_NS (5 * NS_PER_S)

/* Whether the job may do something that poppad does not see: it is being started, or it is only a
 * shell, whose programs come and go between two scans. */
static bool unseen(const struct job *j)
{
	return j->seen && j->state == JOB_WAITING;
}

/* Whether the job has lost its counter, for example because its program no longer publishes a
 * heartbeat. LOST_NS leave the next program of a job the time to bring one. */
static bool lost_counter(const struct job *j, int64_t now)
{
	return j->tally->backend != COUNTER_NONE && now - j->counted_ns > LOST_NS;
}

static enum tally_mode mode_of(const struct jobs *js, const struct job *j, int running, int64_t now)
{
	bool others = false, busy = false;

	for (const struct job *o = js->first; o; o = o->next) {
		if (o == j)
			continue;
		others |= jobs_in_plan(o) || unseen(o);
		busy |= unseen(o) && o->busy;
	}
	if (unseen(j))
		return others ? TALLY_UNMEASURED : TALLY_SOLO;
	if (!jobs_in_plan(j))
		return TALLY_ABSENT;
	if (running < 2)
		return busy ? TALLY_UNMEASURED : TALLY_SOLO;
	return js->blind || lost_counter(j, now) ? TALLY_UNMEASURED : TALLY_CO;
}

void jobs_account(struct jobs *js)
{
	int64_t now = clock_now();
	int running = 0;

	for (const struct job *j = js->first; j; j = j->next)
		running += jobs_in_plan(j);
	for (struct job *j = js->first; j; j = j->next) {
		int64_t co = j->tally->mode_ns[TALLY_CO];

		if (!j->counted_ns || jobs_backend(j) != COUNTER_NONE)
			j->counted_ns = now;
		tally_advance(j->tally, now, mode_of(js, j, running, now));
		co = j->tally->mode_ns[TALLY_CO] - co;
		js->co_ns += co;
		for (const struct job *o = js->first; o; o = o->next)
			if (o != j && o->was_in_plan)
				attribution_together(&j->tally->attribution, o->reg.job_id, co);
		for (const struct job *o = js->first; o && jobs_in_plan(j); o = o->next)
			if (o != j && jobs_in_plan(o))
				tally_partner(j->tally, o->reg.job_id);
	}
	for (struct job *j = js->first; j; j = j->next)
		j->was_in_plan = jobs_in_plan(j);
}

void jobs_look_at_cost(struct jobs *js)
{
	struct budget_spent spent = {.now_ns = clock_now(),
		.held_ns = js->paused_ns,
		.co_ns = js->co_ns,
		.cores = (int)sysconf(_SC_NPROCESSORS_ONLN)};
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	spent.cpu_ns = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
	if (budget_look(&js->budget, &spent, js->env.settings->overhead_max))
		js->changed = true;
}
