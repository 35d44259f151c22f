/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps account of the jobs' time, and of what shutters cost them. */
#include "poppa/node/jobs_impl.h"

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

/* Whether nobody can be measured beside the job: it runs while it is to stand still, or, where no
 * shutter sees that, it works without a task that poppad could stop. */
static bool blinds(const struct job *j, bool shutters)
{
	return j->seen &&
	       (shutters ? jobs_unheld(j) || j->unwatched || (jobs_in_plan(j) && !j->pausable)
			 : j->worked);
}

/* Whether a job of the same user took part in shutters. */
static bool owner_was_in_plan(const struct jobs *js, const struct job *j)
{
	for (const struct job *o = js->first; o; o = o->next)
		if (o->was_in_plan && o->reg.uid == j->reg.uid)
			return true;
	return false;
}

/*
 * Whether the job worked since its time was last brought up to date, and had no task that takes
 * part in shutters. Only afterwards can that be told: a job whose shown tasks are stopped may begin
 * to work at any moment.
 */
static void look_at_work(const struct jobs *js, struct job *j, int64_t now)
{
	int64_t used = j->cpu ? job_cpu_total_ns(j->cpu) : -1, passed = now - j->work_at;
	int64_t of_user = j->cpu ? job_cpu_user_ns(j->cpu) : -1, grown = used - j->work_ns;

	/* What a user has moved out of the job is in this. */
	if (of_user >= 0 && j->work_user_ns >= 0 && !owner_was_in_plan(js, j))
		grown = of_user - j->work_user_ns;
	if (used < 0)
		j->worked = j->busy;
	else if (passed > 0)
		j->worked = j->work_at && (double)grown > JOBS_BUSY * (double)passed;
	j->worked &= j->seen && !j->was_in_plan;
	j->work_ns = used;
	j->work_user_ns = of_user;
	j->work_at = used < 0 ? 0 : now;
}

/* Corrects what the time of a job that was alone in the plan counts as, where another job worked
 * meanwhile, be it one that has ended. */
static void correct_alone(const struct jobs *js, struct job *j)
{
	if (!j->was_alone)
		return;
	j->blinded = js->left_by ? js->left_by : js->left_was;
	for (const struct job *o = js->first; o; o = o->next)
		if (o != j && o->worked)
			j->blinded = o->reg.job_id;
	j->tally->mode = j->blinded ? TALLY_UNMEASURED : TALLY_SOLO;
}

/* *by: the job that keeps this one's time from being measured; 0 = none. */
static enum tally_mode mode_of(
	const struct jobs *js, const struct job *j, int running, int64_t now, uint32_t *by)
{
	bool others = js->left_by != 0;

	*by = jobs_in_plan(j) || unseen(j) ? js->left_by : 0;
	for (const struct job *o = js->first; o; o = o->next) {
		if (o == j)
			continue;
		others |= jobs_in_plan(o) || unseen(o);
		if (jobs_in_plan(j) && blinds(o, running >= 2))
			*by = o->reg.job_id;
	}
	if (unseen(j))
		return others ? TALLY_UNMEASURED : TALLY_SOLO;
	if (!jobs_in_plan(j))
		return TALLY_ABSENT;
	if (*by)
		return TALLY_UNMEASURED;
	if (running < 2)
		return TALLY_SOLO;
	return js->blind || lost_counter(j, now) ? TALLY_UNMEASURED : TALLY_CO;
}

void jobs_account(struct jobs *js)
{
	int64_t now;
	int running = 0, were = 0;

	jobs_turns_account(js);
	now = clock_now();
	for (struct job *j = js->first; j; j = j->next) {
		running += jobs_in_plan(j);
		were += j->was_in_plan;
		look_at_work(js, j, now);
	}
	for (struct job *j = js->first; j; j = j->next) {
		int64_t co = j->tally->mode_ns[TALLY_CO];
		int64_t beside = j->was_in_plan && !j->was_alone ? now - j->tally->last_ns : 0;

		correct_alone(js, j);
		if (j->blinded)
			tally_blinded(j->tally, j->blinded);
		if (!j->counted_ns || jobs_backend(j) != COUNTER_NONE)
			j->counted_ns = now;
		tally_advance(j->tally, now, mode_of(js, j, running, now, &j->blinded));
		co = j->tally->mode_ns[TALLY_CO] - co;
		js->co_ns += co;
		/* Also of time that is not measured: who stops publishing would keep all others
		 * from long blocks. */
		if (js->long_length_ns)
			long_credit_add(&j->long_credit, beside, js->env.settings->long_budget,
				js->long_length_ns);
		for (const struct job *o = js->first; o; o = o->next)
			if (o != j && o->was_in_plan)
				attribution_together(
					&j->tally->attribution, o->reg.job_id, co, were == 2);
		for (const struct job *o = js->first; o && jobs_in_plan(j); o = o->next)
			if (o != j && jobs_in_plan(o))
				tally_partner(j->tally, o->reg.job_id);
	}
	for (struct job *j = js->first; j; j = j->next) {
		j->was_in_plan = jobs_in_plan(j);
		j->was_alone = j->was_in_plan && running < 2;
	}
	js->left_was = js->left_by;
}

void jobs_look_at_cost(struct jobs *js)
{
	struct overhead_spent spent = {.now_ns = clock_now(),
		.held_ns = js->paused_ns - js->long_ns,
		.co_ns = js->co_ns,
		.cores = (int)sysconf(_SC_NPROCESSORS_ONLN)};

	/* Looking for tasks has a limit of its own (jobs_scan.c). It is no cost of shutters: a job
	 * of many processes would make those of its co-runners rare. */
	spent.cpu_ns = clock_own() - js->scans_ns + shutter_cpu_ns(js->env.shutter);
	if (overhead_limit_look(&js->limit, &spent, js->env.settings->overhead_max))
		js->changed = true;
}
