/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the results of a finished block for each job. */
#include "poppa/node/jobs_impl.h"

#include <math.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/estimate/blockrate.h"
#include "poppa/hold/proc.h"

/* A job that spoils so many shutters by running while it is held, and not only one of
 * SHUTTER_RAN_SHARE, does not do so by chance. */
#define MANY_RAN 3
/* Of so many tasks of a job poppad asks the kernel what they waited for. */
#define ASKED_TASKS 16

/* The job with this number in a plan; NULL where it is no longer in the table. */
static struct job *job_of(const struct jobs *js, const struct shutter_plan *p, int i)
{
	return jobs_find(js, p->job[i].job_id, p->job[i].restart);
}

/* Whether somebody stopped job j during the block: a region has no progress, and a task of the job
 * whose progress is counted is stopped now. */
static bool was_stopped(
	const struct job *j, const struct shutter_plan *p, const struct est_block *b)
{
	double before = 0, during = 0, after = 0;

	for (int k = p->first; k < b->before_n; k++)
		before += b->before[k].progress;
	for (int k = 0; k < b->during_n; k++)
		during += b->during[k].progress;
	for (int k = 0; k < b->after_n; k++)
		after += b->after[k].progress;
	if (before > 0 && during > 0 && after > 0)
		return false;
	for (int i = 0; j && i < j->tasks; i++) {
		struct proc_stat st;

		/* Of those that are not counted there may be thousands. */
		if (j->task[i].counter && !proc_stat(j->task[i].pid, &st) &&
			(st.state == 'T' || st.state == 't'))
			return true;
	}
	return false;
}

/* Whether the job's tasks wait for a processor for more than a third of the time in which they want
 * one: then the program is not to blame where it makes no progress. */
static bool lacks_processors(const struct job *j)
{
	uint64_t ran = 0, waited = 0;

	for (int i = 0; i < j->tasks && i < ASKED_TASKS; i++) {
		uint64_t r, w;

		if (!proc_waited(j->task[i].pid, &r, &w)) {
			ran += r;
			waited += w;
		}
	}
	return waited > ran / 2;
}

static void take_pace(struct jobs *js, struct job *j, const struct est_block *b)
{
	uint64_t enough = 2 * (uint64_t)js->env.settings->min_blocks;
	struct est_result now;

	tally_result(j->tally, js->env.settings->method, js->env.settings->min_blocks, &now);
	if (pace_add(&j->pace, b, now.noise, now.used, enough))
		plog_debug("job %u: another phase", j->reg.job_id);
}

/* Takes what the co-runners cost each task, to find tasks that wait for others in a loop: their
 * waiting counts as progress. */
static void take_tasks_apart(struct job *j, const struct shutter_plan *p)
{
	int n = p->job[p->lone].tasks;
	uint64_t id[SPIN_MAX_TASKS];
	double log_ratio[SPIN_MAX_TASKS];
	const struct spin_result *r = &j->tally->spin_result;

	if (j->tally->backend == COUNTER_HEARTBEAT || n < 2)
		return;
	if (n > SPIN_MAX_TASKS)
		n = SPIN_MAX_TASKS;
	for (int i = 0; i < n; i++) {
		struct est_block b;
		double co, solo;

		shutter_plan_task(p, i, &b);
		id[i] = (uint64_t)p->task[p->job[p->lone].first_task + i].pid;
		log_ratio[i] = blockrate(&b, &co, &solo) ? log(solo / co) : NAN;
	}
	tally_tasks(j->tally, n, id, log_ratio);
	if (r->verdict < SPIN_UNEVEN || j->told_spin)
		return;
	j->told_spin = true;
	plog_info("job %u: its co-runners cost its tasks from %.0f %% to %.0f %%: if some wait for "
		  "others in a loop, its degradation reads too low; poppa-heartbeat-mpi(7) fixes "
		  "that",
		j->reg.job_id, 100 * r->least, 100 * r->most);
}

static void take_misses(struct job *j, const struct shutter_plan *p)
{
	struct miss_window w[SHUTTER_MISS_WINDOWS];

	tally_misses(j->tally, w, shutter_plan_misses(p, w));
}

/* Takes what its only co-runner costs a job: it is in a block of the one as if the other one was
 * absent. */
static void take_single(
	struct jobs *js, struct job *lone, const struct shutter_plan *p, const struct est_block *b)
{
	const struct job *other = p->jobs == 2 ? job_of(js, p, !p->lone) : NULL;

	if (other)
		attribution_block(&lone->tally->attribution, other->reg.job_id, b);
}

/* Takes what the absent job costs each of the others. */
static void take_absence(struct jobs *js, const struct shutter_plan *p)
{
	for (int i = 0; i < p->jobs; i++) {
		struct job *j = job_of(js, p, i);
		struct est_block b;

		if (i == p->lone || !j || !p->job[i].tasks)
			continue;
		shutter_plan_block_of(p, i, &b);
		attribution_block(&j->tally->attribution, p->job[p->lone].job_id, &b);
	}
	js->absences++;
}

static void take_ran(struct job *j)
{
	if (++j->ran < MANY_RAN || j->ran * SHUTTER_RAN_SHARE <= j->still || j->told_ran)
		return;
	j->told_ran = true;
	plog_warn("job %u of uid %u runs while shutters hold it stopped, and so spoils them: its "
		  "user resumes or hides what it runs, or its tasks are long in the kernel; "
		  "poppa_pause=auto freezes cgroups where the host can",
		j->reg.job_id, (unsigned)j->reg.uid);
}

/*
 * Sees which jobs ran that were to stand still: then the block is of no use. The kernel tells a
 * running task's time as of its last tick only, so in a short shutter it may seem that one has not
 * run that has. Who runs in one shutter also does in others: the mean over them shows it.
 */
static void take_stillness(struct jobs *js, struct shutter_plan *p)
{
	if ((p->outcome != SHUTTER_OK && p->outcome != SHUTTER_RAN) || !p->still_ns)
		return;
	for (int i = 0; i < p->jobs + p->watched; i++) {
		struct job *j = job_of(js, p, i);

		if (!j || !shutter_plan_stops(p, i))
			continue;
		j->still++;
		j->ran_share +=
			JOBS_RAN_WEIGHT *
			(fmin((double)p->ran_ns[i] / (double)p->still_ns, 1) - j->ran_share);
		if (!shutter_plan_ran(p, i) && !jobs_unheld(j))
			continue;
		take_ran(j);
		p->outcome = SHUTTER_RAN;
		p->by = p->by < 0 ? i : p->by;
	}
}

/* Tells a job which co-runner kept its block from being of use, and each co-runner whether it did
 * so, which decides how it is stopped from now on. Who makes a shutter late is one of these. */
static void take_spoilt(struct jobs *js, struct job *lone, const struct shutter_plan *p)
{
	bool meddled = p->outcome == SHUTTER_RAN || p->outcome == SHUTTER_STOPPED ||
		       p->outcome == SHUTTER_OVERDUE;
	bool spoilt = meddled || p->outcome == SHUTTER_NOT_FROZEN;

	for (int i = 0; i < p->jobs + p->watched && (spoilt || p->outcome == SHUTTER_OK); i++) {
		struct job *j = shutter_plan_stops(p, i) ? job_of(js, p, i) : NULL;
		/* Of some that ran each is told: who ran most must not hide the others. */
		bool its = p->by == i || (p->outcome == SHUTTER_RAN && shutter_plan_ran(p, i));

		if (!j)
			continue;
		j->spoilt += meddled && its;
		if (p->kind != SHUTTER_SHAM)
			hold_way_shutter(&j->way, p->job[i].whole, spoilt && its);
	}
	if (lone && p->kind == SHUTTER_LONE && p->outcome != SHUTTER_OK && p->by >= 0)
		tally_spoilt(lone->tally, p->job[p->by].job_id);
}

/* Takes off a job's credit what a long block held it beyond a usual one. */
static void take_long(struct jobs *js, struct job *j, const struct shutter_plan *p, int64_t held)
{
	int64_t beyond = held - p->shutter_ns;

	if (!p->long_windows || beyond <= 0)
		return;
	js->long_ns += beyond;
	if (j)
		long_credit_take(&j->long_credit, beyond);
}

/* Logs the block of a job, and before its first one what its estimator believed at the start, so
 * that poppa estimate gives what poppad gave. */
static void log_block(
	const struct shutter_plan *p, const struct job *lone, struct shutterlog_writer *w)
{
	const struct slow_prior *prior = lone ? estimator_prior(lone->tally->robust) : NULL;

	if (prior)
		shutterlog_prior(w, lone->reg.job_id, prior);
	shutter_plan_log(p, w);
}

void jobs_take_block(struct jobs *js, struct shutter_plan *p)
{
	struct job *lone = job_of(js, p, p->lone);
	struct est_block b;

	/* A block's place is on the time side by side: see tally_block(). */
	jobs_turns_account(js);
	take_stillness(js, p);
	for (int i = 0; i < p->jobs; i++) {
		struct job *j = job_of(js, p, i);

		/* Who ran was not stopped, and pays for the time. */
		if (j && p->paused_ns[i] && !shutter_plan_ran(p, i))
			tally_paused(j->tally, p->paused_ns[i]);
		js->paused_ns += p->paused_ns[i];
		take_long(js, j, p, p->paused_ns[i]);
	}
	js->long_blocks += p->long_windows > 0;
	if (p->stop_ns > js->longest_stop_ns)
		js->longest_stop_ns = p->stop_ns;
	if (p->outcome == SHUTTER_OK && p->kind != SHUTTER_ABSENT) {
		shutter_plan_block(p, &b);
		if (was_stopped(lone, p, &b))
			p->outcome = SHUTTER_STOPPED;
	}
	js->blocks++;
	js->outcome[p->outcome]++;
	take_spoilt(js, lone, p);
	if (p->outcome == SHUTTER_OVERDUE)
		plog_warn("the guard resumed what a shutter of %.1f ms held: block dropped",
			(double)p->stop_ns / NS_PER_MS);
	if (p->outcome == SHUTTER_OK && p->kind == SHUTTER_SHAM) {
		if (lone)
			tally_sham(lone->tally, &b);
		js->shams++;
	} else if (p->outcome == SHUTTER_OK && p->kind == SHUTTER_ABSENT) {
		take_absence(js, p);
	} else if (p->outcome == SHUTTER_OK) {
		if (lone) {
			if (!tally_block(lone->tally, &b) && lacks_processors(lone))
				lone->tally->starved++;
			take_tasks_apart(lone, p);
			take_misses(lone, p);
			take_single(js, lone, p, &b);
			take_pace(js, lone, &b);
			jobs_turns_block(js, lone, &b);
			p->schedule.job[p->lone].level = jobs_level(js, lone);
		}
		for (int r = 0; r < SHUTTERLOG_REGIONS; r++)
			js->windows += shutter_plan_windows(p, r);
		if (*js->env.log && p->whole)
			log_block(p, lone, *js->env.log);
	}
}

bool jobs_take_finished(struct jobs *js, enum shutter_outcome *outcome, bool *changed)
{
	struct shutter_plan *p = shutter_take(js->env.shutter);

	if (!p)
		return false;
	jobs_take_block(js, p);
	jobs_permit_long(js, p);
	*outcome = p->outcome;
	*changed = p->changed;
	shutter_done(js->env.shutter);
	return true;
}
