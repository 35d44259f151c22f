/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the shutter's plan for the jobs that run now. */
#include "poppa/node/jobs_impl.h"

#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/estimate/blockfit.h"

static void plan_job(
	const struct jobs *js, struct shutter_plan *p, const struct job *j, const cpu_set_t *busy)
{
	struct schedule_job *turns = &p->schedule.job[p->schedule.jobs++];
	struct shutter_job *out = &p->job[p->jobs++];
	enum counter_backend backend = jobs_backend(j);
	const struct schedule_seed told = {{j->reg.seed[0], j->reg.seed[1]}};
	cpu_set_t all;

	out->job_id = j->reg.job_id;
	out->restart = j->reg.restart;
	out->owner = j->reg.uid;
	out->first_task = p->tasks;
	out->first_unit = p->units;
	out->new_tasks = j->new_tasks;
	out->cpu = j->cpu;
	for (int i = 0; i < j->freezers; i++)
		p->unit[p->units++] = (struct shutter_unit){.unit = j->freezer[i].unit, .task = -1};
	for (int i = 0; i < j->tasks; i++) {
		const struct task *t = &j->task[i];
		bool counted =
			t->counter && counter_kind(t->counter) == backend && !jobs_task_stopped(t);

		if (t->unit)
			p->unit[p->units++] = (struct shutter_unit){
				.unit = t->unit, .task = counted ? p->tasks : -1, .process = true};
		if (counted)
			p->task[p->tasks++] =
				(struct shutter_task){.counter = t->counter, .pid = t->pid};
		if (!counted && !t->unit && !out->witness) {
			out->witness = t->pid;
			out->witness_since = t->starttime;
		}
	}
	/* A recording has all windows, so none is spared. */
	if (backend == COUNTER_REPLAY)
		p->spared = 0;
	out->tasks = p->tasks - out->first_task;
	out->units = p->units - out->first_unit;
	out->whole = j->held_whole;
	turns->measured = out->tasks > 0;
	turns->level = jobs_level(js, j);
	turns->seed = schedule_seed(j->reg.seeded ? &told : &js->secret, out->job_id, out->restart);
	/* Idle processors are best; where there are none, those of the other jobs. */
	if (sched_getaffinity(getpid(), sizeof(all), &all))
		return;
	CPU_AND(&out->elsewhere, &all, busy);
	CPU_XOR(&out->elsewhere, &all, &out->elsewhere);
	out->here = out->elsewhere;
	if (!CPU_COUNT(&out->elsewhere)) {
		/* What a recording plays was never displaced. */
		out->displaces = backend != COUNTER_REPLAY;
		CPU_AND(&out->here, &all, &j->cpus);
		CPU_XOR(&out->elsewhere, &all, &out->here);
	}
}

/* How many windows a long block has beyond; 0 = there is to be none. */
static int beyond_windows(const struct poppa_settings *s)
{
	return shutter_plan_beyond(
		s->shutter_ns, s->long_ns == LONG_AUTO ? LONG_AUTO_NS : s->long_ns);
}

/* Makes the plan; NULL where there can be no shutter. Sets *blind where the reason is not that jobs
 * have no co-runner: shutters are off or impossible. */
static struct shutter_plan *make_plan(const struct jobs *js, bool *blind)
{
	int jobs = 0, tasks = 0, units = 0;
	struct shutter_plan *p;
	cpu_set_t busy;

	*blind = false;
	CPU_ZERO(&busy);
	for (const struct job *j = js->first; j; j = j->next) {
		*blind |= j->seen && j->unwatched;
		if (!jobs_in_plan(j))
			continue;
		jobs++;
		units += j->freezers;
		for (int i = 0; i < j->tasks; i++) {
			tasks += j->task[i].counter != NULL;
			units += j->task[i].unit != NULL;
		}
		CPU_OR(&busy, &busy, &j->cpus);
		/* Beside a job that cannot be stopped nobody runs alone. */
		*blind |= !j->pausable;
	}
	/* What works and has no unit runs in all windows. */
	*blind |= js->left_by || !js->allowed || !js->env.settings->period_ns ||
		  jobs > SHUTTER_MAX_JOBS;
	if (jobs < 2 || *blind)
		return NULL;
	p = shutter_plan_new(
		tasks, units, js->env.settings->windows, beyond_windows(js->env.settings));
	if (!p) {
		*blind = true;
		return NULL;
	}
	p->schedule.period_ns = overhead_limit_period(jobs, js->env.settings->shutter_ns,
		js->env.settings->period_ns, js->env.settings->overhead_max);
	p->schedule.block_ns = SHUTTER_REGIONS * js->env.settings->shutter_ns;
	p->schedule.spread = SCHEDULE_SPREAD;
	p->schedule.sham_every = SCHEDULE_SHAM_EVERY;
	p->schedule.absent_every = SCHEDULE_ABSENT_EVERY;
	p->shutter_ns = js->env.settings->shutter_ns;
	p->whole = *js->env.log != NULL;
	/* A reading interrupts its task, so those that the estimate does not use are left out. */
	if (!p->whole && js->env.settings->method == ESTIMATE_ROBUST) {
		p->first = blockfit_skip(p->windows);
		p->spared = blockfit_spared(p->windows);
	}
	p->units = 0;
	p->tasks = 0;
	for (const struct job *j = js->first; j; j = j->next)
		if (jobs_in_plan(j))
			plan_job(js, p, j, &busy);
	for (const struct job *j = js->first; j; j = j->next)
		if (j->seen && !jobs_in_plan(j) && p->jobs + p->watched < SHUTTER_MAX_JOBS)
			p->job[p->jobs + p->watched++] =
				(struct shutter_job){.job_id = j->reg.job_id,
					.restart = j->reg.restart,
					.owner = j->reg.uid,
					.cpu = j->cpu};
	jobs_permit_long(js, p);
	return p;
}

/* Logs when the period becomes longer than its setting, and when it is as set again. */
static void tell_period(struct jobs *js)
{
	int64_t slot = (js->schedule.period_ns + js->schedule.block_ns) << js->limit.level;
	int64_t set = js->env.settings->period_ns, now = slot - js->schedule.block_ns;
	bool lengthened = now > set;

	if (lengthened == js->lengthened)
		return;
	js->lengthened = lengthened;
	if (lengthened)
		plog_info("the period is %.0f ms for now instead of %.0f ms: more shutters would "
			  "cost more than poppa_overhead_max=%.6g%%",
			(double)now / NS_PER_MS, (double)set / NS_PER_MS,
			100 * js->env.settings->overhead_max);
	else
		plog_info("the period is %.0f ms again", (double)now / NS_PER_MS);
}

void jobs_update(struct jobs *js)
{
	struct shutter_plan *next, *old;

	if (js->changed) {
		next = make_plan(js, &js->blind);
		js->active = next != NULL;
		if (next) {
			jobs_turns_plan(js, next);
			js->schedule = next->schedule;
			js->long_length_ns = shutter_plan_beyond_ns(next, next->beyond);
			tell_period(js);
		}
		old = shutter_publish(js->env.shutter, next);
		js->turning = next && next->turn_ns;
		if (old)
			jobs_turns_take(js, &old->turned);
		if (old && old->finished)
			jobs_take_block(js, old);
		shutter_plan_free(old);
		jobs_empty_garbage(js);
		js->changed = false;
	}
	jobs_account(js);
}
