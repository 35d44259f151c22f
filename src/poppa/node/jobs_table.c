/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of co-located jobs: finds, adds and drops jobs, and tells what is known of one. */
#include "poppa/node/jobs_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/units.h"

/* So many times as often as the budget allows, a block may be long: in some of these rounds a long
 * one would tell too little. */
#define LONG_CHANCES 2
/* With credit for so much, as at first and once short blocks will do, the next one is soon: the
 * sooner they come, the more of the bill is right. */
#define LONG_RICH(length) ((length) + (length) / 4)
#define LONG_SOON (2 * NS_PER_S)
#define PASSING (8 * NS_PER_S) /* see together_since() */

struct job *jobs_find(const struct jobs *js, uint32_t job_id, uint32_t restart)
{
	struct job *j = js->first;

	while (j && (j->reg.job_id != job_id || j->reg.restart != restart || j->replaced))
		j = j->next;
	return j;
}

void jobs_add(struct jobs *js, struct job *j)
{
	struct job **tail = &js->first;

	while (*tail)
		tail = &(*tail)->next;
	*tail = j;
}

static void discard(struct jobs *js, struct garbage what)
{
	struct garbage *g = malloc(sizeof(*g));

	js->changed = true;
	if (!g)
		return; /* a leak is better than a use after free */
	*g = what;
	g->next = js->garbage;
	js->garbage = g;
}

void jobs_drop(struct jobs *js, struct job *j)
{
	struct job **at = &js->first;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	/* Nobody looks while there is no job. */
	if (!js->first)
		js->left_by = js->left_was = 0;
	for (int i = 0; i < j->tasks; i++)
		jobs_discard(js, j->task[i].counter, j->task[i].unit, NULL);
	for (int i = 0; i < j->freezers; i++) {
		jobs_discard(js, NULL, j->freezer[i].unit, NULL);
		free(j->freezer[i].path);
	}
	discard(js, (struct garbage){.new_tasks = j->new_tasks, .cpu = j->cpu});
	js->changed = true;
	map_job_free(j->map);
	free(j->task);
	free(j->freezer);
	tally_free(j->tally);
	json_decref(j->shown);
	free(j);
}

void jobs_discard(struct jobs *js, struct counter *counter, struct pause_unit *unit,
	struct new_tasks *new_tasks)
{
	if (counter || unit || new_tasks)
		discard(js, (struct garbage){NULL, counter, unit, new_tasks, NULL});
}

void jobs_empty_garbage(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next)
		j->put_aside = 0;
	while (js->garbage) {
		struct garbage *g = js->garbage;

		js->garbage = g->next;
		counter_close(g->counter);
		pause_close(g->unit);
		new_tasks_close(g->new_tasks);
		job_cpu_close(g->cpu);
		free(g);
	}
}

int jobs_count(const struct jobs *js)
{
	int n = 0;

	for (const struct job *j = js->first; j; j = j->next)
		n++;
	return n;
}

enum counter_backend jobs_wanted_counter(const struct jobs *js)
{
	return js->env.conf->counter_set ? js->env.conf->counter : js->env.settings->counter;
}

enum counter_backend jobs_backend(const struct job *j)
{
	enum counter_backend kind;

	for (int order = 1; (kind = counter_backend_ordered(order)) != COUNTER_NONE; order++)
		for (int i = 0; i < j->tasks; i++)
			if (j->task[i].counter && counter_kind(j->task[i].counter) == kind)
				return kind;
	return COUNTER_NONE;
}

bool jobs_in_plan(const struct job *j)
{
	return j->state == JOB_RUNNING || j->state == JOB_PARTLY_STOPPED;
}

bool jobs_unheld(const struct job *j)
{
	return j->ran_share > JOBS_RAN_WEIGHT;
}

bool jobs_task_stopped(const struct task *t)
{
	return t->state == 'T' || t->state == 't';
}

int jobs_level(const struct jobs *js, const struct job *j)
{
	int level = js->env.settings->adaptive ? pace_level(&j->pace) : 0;

	/* Only one slice of turns in TURNS_PROBE_EVERY has blocks. */
	if (js->turning)
		return 0;
	return level > js->limit.level ? level : js->limit.level;
}

void jobs_record(const struct jobs *js, const struct job *j, bool final, struct ledger_record *r)
{
	tally_record(j->tally, js->env.settings, js->env.cluster->cluster, js->env.cluster->node,
		final, time(NULL), r);
	r->unkept = j->unkept;
	if (js->env.node_type)
		snprintf(r->node_type, sizeof(r->node_type), "%s", js->env.node_type);
}

/* What a job's next long block is to be: what tells its estimator most. */
static int wanted_windows(const struct jobs *js, const struct shutter_plan *p, const struct job *j)
{
	int n = j && js->env.settings->method == ESTIMATE_ROBUST
			? estimator_long_windows(j->tally->robust)
			: 0;

	return n < p->beyond ? n : p->beyond;
}

/*
 * Since when a job counts as together with its co-runners, on CLOCK_REALTIME: the start of the
 * youngest of them all, as the first long blocks beside somebody new tell most. Where co-runners
 * come and go all the time it is PASSING ago, once the job has been beside others for so long: else
 * a user with a stream of short jobs would keep it from long blocks.
 */
static int64_t together_since(const struct jobs *js, const struct job *j)
{
	int64_t beside = j->long_credit.beside_ns;
	int64_t youngest = 0, most = clock_wall() - (beside < PASSING ? beside : PASSING);

	for (const struct job *o = js->first; o; o = o->next)
		if (jobs_in_plan(o) && o->reg.registered > youngest)
			youngest = o->reg.registered;
	return youngest * NS_PER_S < most ? youngest * NS_PER_S : most;
}

void jobs_permit_long(const struct jobs *js, struct shutter_plan *p)
{
	const int64_t whole = shutter_plan_beyond_ns(p, p->beyond);
	const double budget = LONG_CHANCES * js->env.settings->long_budget;
	const struct long_credit *credit[SHUTTER_MAX_JOBS];
	struct job *job[SHUTTER_MAX_JOBS];

	if (!p->beyond || !(budget > 0))
		return;
	for (int i = 0; i < p->jobs; i++) {
		job[i] = jobs_find(js, p->job[i].job_id, p->job[i].restart);
		/* A job that is new begins with some. */
		if (job[i])
			long_credit_add(&job[i]->long_credit, 0, 0, whole);
		credit[i] = job[i] ? &job[i]->long_credit : NULL;
	}
	for (int i = 0; i < p->jobs; i++) {
		int windows = wanted_windows(js, p, job[i]);
		int64_t length = shutter_plan_beyond_ns(p, windows);
		bool may = windows && long_credit_suffices(credit, p->jobs, i, length);
		bool rich = long_credit_suffices(credit, p->jobs, i, LONG_RICH(length));
		int64_t gap = (int64_t)((double)length / budget);

		p->job[i].beyond = windows;
		p->schedule.job[i].together_ns = job[i] ? together_since(js, job[i]) : 0;
		if (rich && gap > LONG_SOON)
			gap = LONG_SOON;
		p->schedule.job[i].long_gap_ns = may ? gap : 0;
	}
}
