/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets the node's jobs take turns, where each of them certainly gains by that. */
#include "poppa/node/jobs_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text_append.h"
#include "common/units.h"
#include "poppa/estimate/blockrate.h"

/* A job that has just started tasks is not held: they find each other, and connect. */
#define STARTING_NS (10 * NS_PER_S)
/* Nor while it waits for its first ones, nor while some of its tasks are stopped or traced. But who
 * starts tasks for ever, or none, or keeps a stopped one, would keep its co-runners' limits from
 * being kept: it has so much time for that, and 1/SPARED_FORGIVEN of its other time. */
#define SPARED_MOST (60 * NS_PER_S)
#define SPARED_FORGIVEN 60
#define LOOKS_APART (5 * NS_PER_S)
/* Nobody is told more often that a job has slices. */
#define TOLD_APART (60 * NS_PER_S)
/* Who has spoilt so many shutters, and more than 1/SHUTTER_RAN_SHARE of them, is not trusted. Some
 * spoil a few by chance; and who has spoilt some where signals stop it is frozen where that helps.
 */
#define MANY_SPOILT 3
/* More takes too long to look at in a slice, and each freezer that is watched takes one of the few
 * inotify instances of root. */
#define MOST_TASKS 256
#define MOST_FREEZERS 16
/* In a slice side by side blocks follow each other as soon as that, ns. */
#define LEAST_PERIOD (25 * NS_PER_MS)
#define BLOCKS_A_SLICE 8
/* So long on end a limit is not kept before slurmctld is told: a co-runner that starts tasks cannot
 * be held for a while. */
#define UNKEPT_NS (12 * NS_PER_S)
/* Of a job's blocks so many may be from beside others, for its estimate to be about these. */
#define OTHER_BLOCKS 0.1

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * UINT64_C(0x100000001b3);
}

/* A number for the set of jobs that share the node; never 0. A job is one of them from its first
 * task to its end: who stops for a moment, or has no task between two steps, would else make all
 * others begin anew. */
static uint64_t group_of(const struct jobs *js)
{
	uint64_t sum = 0;

	for (const struct job *j = js->first; j; j = j->next)
		if (jobs_in_plan(j) || (j->seen && j->newest_ns))
			sum += mix(
				mix(UINT64_C(0xcbf29ce484222325), j->reg.job_id), j->reg.restart);
	return sum ? sum : 1;
}

/* Whether all that runs of the job is frozen: nothing of it is stopped by signals. */
static bool all_frozen(const struct job *j)
{
	for (int i = 0; i < j->tasks; i++)
		if (j->task[i].unit)
			return false;
	return j->freezers > 0 && j->freezers <= MOST_FREEZERS && !j->new_tasks;
}

/* Whether it is stopped as planned, and does not run meanwhile. */
static bool obeys(const struct job *j)
{
	return jobs_in_plan(j) && !j->unwatched && !jobs_unheld(j) && !j->told_ran &&
	       (j->spoilt < MANY_SPOILT || (uint64_t)j->spoilt * SHUTTER_RAN_SHARE <= j->still);
}

static bool just_started(const struct job *j, int64_t now)
{
	return j->state == JOB_WAITING || now - j->newest_ns <= STARTING_NS;
}

static bool delicate(const struct job *j, int64_t now)
{
	return just_started(j, now) || j->state == JOB_PARTLY_STOPPED;
}

static bool spared(const struct job *j, int64_t now)
{
	return delicate(j, now) && j->spared_ns < SPARED_MOST;
}

/* Counts for how long jobs have been spared. */
static void count_spared(struct jobs *js, int64_t now)
{
	for (struct job *j = js->first; j; j = j->next) {
		int64_t passed = j->spared_at ? now - j->spared_at : 0;

		passed = passed < LOOKS_APART ? passed : LOOKS_APART;
		j->spared_at = now;
		j->spared_ns += delicate(j, now) ? passed : -passed / SPARED_FORGIVEN;
		j->spared_ns = j->spared_ns > SPARED_MOST ? SPARED_MOST : j->spared_ns;
		j->spared_ns = j->spared_ns > 0 ? j->spared_ns : 0;
	}
}

/* Whether the job may be held for others. `ask`: also where it would first have to be frozen as a
 * whole, with its launchers. */
static bool holdable(const struct jobs *js, const struct job *j, bool ask, int64_t now)
{
	bool may_freeze =
		ask && js->env.settings->pause == PAUSE_AUTO && hold_way_may_freeze(&j->way);

	return obeys(j) && j->pausable && j->tasks <= MOST_TASKS && !spared(j, now) &&
	       (may_freeze || all_frozen(j));
}

bool jobs_turns_holdable(const struct jobs *js, const struct job *j)
{
	return holdable(js, j, true, clock_now());
}

/* Whether what the job shows can be trusted. */
static bool trusted(const struct job *j)
{
	return obeys(j) && j->state == JOB_RUNNING && !j->uncounted && !j->blinded &&
	       jobs_backend(j) != COUNTER_NONE && !tally_senses(j->tally) &&
	       j->tally->spin_result.verdict < SPIN_UNEVEN;
}

static bool fit(const struct jobs *js, const struct job *j, bool ask, int64_t now)
{
	return holdable(js, j, ask, now) && trusted(j);
}

/* The lower end of the job's degradation, where that is about its present co-runners. */
static double lower_end(const struct jobs *js, const struct job *j, bool *unknown)
{
	struct est_result now;

	tally_result(j->tally, js->env.settings->method, js->env.settings->min_blocks, &now);
	*unknown = isnan(now.lo);
	if ((double)now.blocks * (1 - OTHER_BLOCKS) > (double)j->turns_blocks.count)
		return NAN;
	return now.lo;
}

static void tell(const struct jobs *js)
{
	char names[256] = "";

	for (const struct job *j = js->first; j; j = j->next)
		if (jobs_in_plan(j))
			text_append(
				names, sizeof(names), "%s%u", *names ? ", " : "", j->reg.job_id);
	if (js->turns.on)
		plog_info("jobs %s take turns of %.1f s: side by side each of them makes less "
			  "progress",
			names, (double)js->env.settings->turn_ns / NS_PER_S);
	else if (*names)
		plog_info("jobs %s run side by side again", names);
	else
		plog_info("the jobs that took turns have ended");
}

/* Tells of a job whose limit is kept by slices from now on, or no longer, and of those whose limit
 * cannot be kept; and notes whose is. A job that comes and goes fills no log. */
static void tell_limits(struct jobs *js, int64_t now)
{
	int i = 0;

	for (struct job *j = js->first; j; j = j->next) {
		bool in_plan = jobs_in_plan(j), unkept = in_plan && js->turns.unkept >> i & 1;
		bool is = in_plan && js->turns.slices && js->turns.favoured == i;
		bool late = !j->alone_ns || now - j->alone_ns >= TOLD_APART;

		if (is && !j->told_alone && late) {
			j->told_alone = true;
			j->alone_ns = now;
			plog_info("job %u loses more than its max-degradation of %g %%: it runs "
				  "alone for %d %% of the time",
				j->reg.job_id, 100 * j->reg.max_degradation,
				100 * js->turns.slices / TURNS_CYCLE);
		} else if (!is && j->told_alone) {
			j->told_alone = false;
			plog_info("job %u runs side by side again", j->reg.job_id);
		}
		if (is)
			js->favoured = j->reg.job_id;
		if (unkept && !j->told_unkept)
			plog_warn("job %u loses more than its max-degradation of %g %%, and its "
				  "co-runners cannot be held for it, or not for so long",
				j->reg.job_id, 100 * j->reg.max_degradation);
		j->told_unkept |= unkept;
		i += in_plan;
	}
}

/* Notes whose limit is not kept here, for the records; slurmctld is told at once. */
static void note_unkept(struct jobs *js, int64_t now)
{
	int i = 0;

	for (struct job *j = js->first; j; j = j->next) {
		bool leave = jobs_in_plan(j) && js->turns.leave >> i & 1, was = j->unkept;

		/* What was decided does not come about. */
		leave |= js->turns.slices && !js->turning && j->reg.job_id == js->favoured;
		i += jobs_in_plan(j);
		if (!leave)
			j->leave_ns = 0;
		else if (!j->leave_ns)
			j->leave_ns = now;
		j->unkept = leave && now - j->leave_ns >= UNKEPT_NS;
		/* Any time in the past but 0. */
		if (j->unkept && !was && j->next_interim)
			j->next_interim = 1;
	}
}

/* Whether somebody looks at what the jobs that are here lose. */
static bool wanted(const struct jobs *js)
{
	bool limited = false;

	for (const struct job *j = js->first; j; j = j->next)
		limited |= jobs_in_plan(j) && j->reg.max_degradation > 0;
	return js->env.settings->turns == TURNS_YES || limited;
}

/* A job that has left the plan, or come back, has moved the others' places. Whoever has slices and
 * has left has none until it comes back. */
static void find_favoured(struct jobs *js)
{
	int i = 0;

	if (!js->turns.slices)
		return;
	for (const struct job *j = js->first; j; j = j->next) {
		if (!jobs_in_plan(j))
			continue;
		if (j->reg.job_id == js->favoured && i < SHUTTER_MAX_JOBS) {
			js->turns.favoured = i;
			return;
		}
		i++;
	}
	js->turns.slices = 0;
	js->changed = true;
}

void jobs_turns_look(struct jobs *js)
{
	const struct poppa_settings *s = js->env.settings;
	struct turns_job job[SHUTTER_MAX_JOBS];
	uint64_t group = group_of(js);
	int64_t now = clock_now();
	bool others = false, sure;
	int n = 0;

	if (!wanted(js) && !js->turns.on && !js->turns.slices && !js->turns.leave)
		return;
	count_spared(js, now);
	find_favoured(js);
	for (const struct job *j = js->first; j; j = j->next) {
		bool unknown;

		/* Who is being started does so beside jobs that go on. */
		others |= j->seen && j->state == JOB_WAITING && spared(j, now);
		if (!jobs_in_plan(j) || n == SHUTTER_MAX_JOBS)
			continue;
		job[n].blocks = &j->turns_blocks;
		job[n].fit = fit(js, j, !js->turns.on, now);
		job[n].lo = lower_end(js, j, &unknown);
		job[n].holdable = holdable(js, j, true, now);
		job[n].trusted = trusted(j);
		job[n].limit = j->reg.max_degradation;
		job[n].since = j->reg.registered;
		job[n++].fit &= js->turns.on || !unknown;
	}
	for (int i = 0; i < n; i++) {
		job[i].fit &= js->active && !others;
		job[i].holdable &= js->active && !others && s->turns != TURNS_NO;
	}
	if (turns_look(&js->turns, group, job, n, s->turns == TURNS_YES ? s->turn_ns : 0, now)) {
		tell(js);
		js->changed = true;
	}
	if (turns_limits(&js->turns, job, n, now))
		js->changed = true;
	tell_limits(js, now);
	note_unkept(js, now);
	/* Freezes those as a whole that are not yet, from the next scan on. */
	sure = js->turns.sure_ns || js->turns.on || js->turns.slices;
	for (struct job *j = js->first; sure && j; j = j->next)
		if (obeys(j) && s->pause == PAUSE_AUTO && !all_frozen(j))
			hold_way_freeze(&j->way);
}

void jobs_turns_block(struct jobs *js, struct job *j, const struct est_block *b)
{
	double co, solo;

	if (blockrate(b, &co, &solo))
		turns_add(&j->turns_blocks, group_of(js), 1 - co / solo, clock_now());
}

/* Lets all freezers tell what others do with them. 0, or -1 with errno. */
static int watch_all(struct jobs *js)
{
	int rc = 0;

	shutter_lock(js->env.shutter);
	for (struct job *j = js->first; j; j = j->next)
		for (int i = 0; i < j->freezers && jobs_in_plan(j) && !rc; i++)
			rc = pause_watch(j->freezer[i].unit);
	shutter_unlock(js->env.shutter);
	return rc;
}

void jobs_turns_plan(struct jobs *js, struct shutter_plan *p)
{
	int64_t turn = js->env.settings->turn_ns, period = turn / BLOCKS_A_SLICE;
	int slices = js->turns.slices, alone = -1;

	if ((!js->turns.on && !slices) || js->turns.group != group_of(js))
		return;
	for (int i = 0; i < p->jobs && slices; i++)
		if (p->job[i].job_id == js->favoured)
			alone = i;
	if (slices && alone < 0)
		return;
	for (const struct job *j = js->first; j; j = j->next) {
		bool runs = slices && j->reg.job_id == js->favoured;

		if (jobs_in_plan(j) && !runs && !holdable(js, j, false, clock_now()))
			return;
	}
	if (watch_all(js)) {
		if (!js->told_watch)
			plog_warn("no turns: cannot watch the freezers of the jobs: %s",
				strerror(errno));
		js->told_watch = true;
		return;
	}
	p->turn_ns = turn;
	p->alone_slices = slices;
	p->alone_job = slices ? alone : 0;
	period = period > LEAST_PERIOD ? period : LEAST_PERIOD;
	if (p->schedule.period_ns > period)
		p->schedule.period_ns = period;
	p->beyond = 0;
	for (int i = 0; i < p->jobs; i++) {
		p->job[i].beyond = 0;
		p->schedule.job[i].long_gap_ns = 0;
		p->schedule.job[i].level = 0;
	}
}

void jobs_turns_take(struct jobs *js, const struct shutter_turned *t)
{
	for (int i = 0; i < t->jobs; i++) {
		struct job *j = jobs_find(js, t->job[i].job_id, t->job[i].restart);

		if (j)
			tally_turned(j->tally, t->job[i].held_ns, t->job[i].alone_ns);
	}
	js->slices += t->slices;
	js->slices_disturbed += t->disturbed;
}

void jobs_turns_account(struct jobs *js)
{
	struct shutter_turned t;

	if (!js->turning)
		return;
	shutter_turned(js->env.shutter, &t);
	jobs_turns_take(js, &t);
}
