/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes one event after the other, and keeps the pace of all jobs that it changes. */
#include "sim/engine.h"

#include <math.h>
#include <stdlib.h>

#include "sim/backfill.h"
#include "sim/events.h"
#include "sim/learn.h"
#include "sim/limits.h"
#include "sim/machine.h"
#include "sim/pace.h"
#include "sim/policy/policy.h"

/* Progress that is missing by less than this has been made, s. */
#define DONE_S 1e-6
#define PROGRESS_EVERY 256
/* A start that is later than planned by more than this has slipped. */
#define LATE_S 60

/* Counts what a running job has done up to now. */
static void advance(struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];
	struct run *r = &s->run[job];
	double span = s->now - r->since_s, lost;
	bool late = job >= s->work->count / 2;

	r->since_s = s->now;
	if (!(span > 0))
		return;
	lost = 1 - r->rate / pace_plain(s, job, NOBODY);
	r->progress_s += span * r->rate;
	if (r->beside > 0) {
		/* The records add nodes up: one without a partner has lost nothing. */
		r->lost_s += span * lost * r->beside;
		r->beside_s += span;
		learn_beside(s, job, span, span * r->beside_d);
	}
	for (int half = 0; half <= (int)late; half++) {
		s->measures.progress_lane_s[half] += span * r->rate * w->nodes * LANES;
		s->measures.lane_s[half] += span * r->nodes * r->lanes;
	}
	if (w->capped && s->policy->shape == SHAPE_LANES) {
		s->measures.capped_s += span;
		s->measures.over_s += r->beside > 0 && lost > s->cap + 0.01 ? span : 0;
	}
}

/* Foretells the end of a running job at its pace. */
static void foretell(struct sim *s, int job)
{
	struct run *r = &s->run[job];
	double left = fmax(s->work->job[job].run_s - r->progress_s, 0);
	double finish = s->now + left / r->rate;

	r->version++;
	events_add(s, finish, EVENT_FINISH, job);
	if (s->work->job[job].limit_s > 0 && finish > r->end_s + DONE_S)
		events_add(s, fmax(r->end_s - LIMITS_EVERY_S, s->now), EVENT_LIMIT, job);
}

/* A job may have another pace since now. */
static void change_pace(struct sim *s, int job)
{
	struct run *r = &s->run[job];
	double rate = r->rate, end = r->end_s;

	advance(s, job);
	limits_move(s, job);
	pace_update(s, job);
	s->progress_rate += (r->rate - rate) * s->work->job[job].nodes;
	for (int i = 0; i < r->nodes; i++)
		machine_account(s, r->node[i]);
	if (r->rate != rate || r->end_s != end)
		foretell(s, job);
}

/* Lets the job and all jobs beside it have their new pace. */
static void change_paces(struct sim *s, int job, const int *node, int nodes)
{
	sim_unmark(s);
	if (s->run[job].state == RUN_RUNNING && sim_mark(s, job))
		change_pace(s, job);
	for (int i = 0; i < nodes; i++) {
		int partner = sim_partner(s, node[i], job);

		if (partner != NOBODY && sim_mark(s, partner))
			change_pace(s, partner);
	}
}

void engine_start(struct sim *s, int job, const int *node, int nodes, int lanes)
{
	const struct work *w = &s->work->job[job];
	struct run *r = &s->run[job];

	machine_dequeue(s, job);
	if (r->promised_s >= 0) {
		s->measures.planned++;
		s->measures.slipped += s->now > r->promised_s + LATE_S;
		s->measures.slip_s += fmax(s->now - r->promised_s, 0);
		r->promised_s = -1;
	}
	if (machine_take(s, job, node, nodes, lanes)) {
		s->out_of_memory = 1;
		return;
	}
	r->state = RUN_RUNNING;
	r->start_s = r->since_s = s->now;
	r->end_s = s->now + (w->limit_s > 0 ? w->limit_s : w->run_s);
	r->progress_s = r->rate = 0;
	r->lost_s = r->beside_s = r->untold_s = 0;
	r->partners = r->met_nodes = 0;
	r->version++;
	if (s->policy->started)
		s->policy->started(s, job);
	sim_unmark(s);
	for (int i = 0; i < nodes; i++) {
		int partner = sim_partner(s, node[i], job);

		if (partner == NOBODY)
			continue;
		/* What has been is counted by who was there. */
		advance(s, partner);
		learn_met(s, job, partner, node[i]);
		learn_met(s, partner, job, node[i]);
		if (sim_mark(s, partner))
			learn_compare(s, job, partner);
	}
	change_paces(s, job, node, nodes);
	if (r->partners && s->settings->turns != TURNS_NO)
		events_add(s, s->now + PACE_TURNS_S, EVENT_TURNS, job);
	if (s->policy->learns == LEARNS)
		events_add(s, s->now + LEARN_EVERY_S, EVENT_LEARN, job);
	if (w->requeue > 0 && !r->requeued)
		events_add(s, s->now + w->requeue * w->run_s, EVENT_REQUEUE, job);
}

static void write_dump(
	const struct sim *s, const struct engine_options *o, int job, const char *how)
{
	const struct work *w = &s->work->job[job];
	const struct run *r = &s->run[job];

	if (!o->dump)
		return;
	fprintf(o->dump, "%s,%ld,%d,%.0f,%.3f,%.3f,%s,%d,", s->policy->name, w->number, r->requeued,
		w->submit_s, r->start_s, s->now, how, r->lanes);
	for (int i = 0; i < r->nodes; i++)
		fprintf(o->dump, "%s%d", i ? " " : "", r->node[i]);
	fprintf(o->dump, ",%s,%.3f,%.3f,%d\n", w->class_name, r->beside_s, r->lost_s, w->capped);
}

/* A running job leaves its nodes. */
static void leave(struct sim *s, int job, const struct engine_options *o, const char *how)
{
	struct run *r = &s->run[job];
	int nodes = r->nodes, *node = malloc(((size_t)nodes + 1) * sizeof(*node));

	advance(s, job);
	write_dump(s, o, job, how);
	learn_run(s, job);
	if (s->policy->leaves)
		s->policy->leaves(s, job);
	if (!node) {
		s->out_of_memory = 1;
		return;
	}
	for (int i = 0; i < nodes; i++) {
		int partner = sim_partner(s, r->node[i], job);

		node[i] = r->node[i];
		if (partner == NOBODY)
			continue;
		advance(s, partner);
		learn_left(s, partner, job);
	}
	s->progress_rate -= r->rate * s->work->job[job].nodes;
	r->state = RUN_DONE;
	machine_release(s, job);
	change_paces(s, job, node, nodes);
	free(node);
}

static void end_run(struct sim *s, int job, const struct engine_options *o, bool at_limit)
{
	const struct work *w = &s->work->job[job];
	struct measures *m = &s->measures;
	double wait = s->run[job].start_s - w->submit_s;

	leave(s, job, o, at_limit ? "limit" : "done");
	learn_time(s, job);
	s->unworked += !at_limit && s->run[job].progress_s < w->run_s * (1 - DONE_S) - DONE_S;
	m->finished++;
	m->timeouts += at_limit && !w->limit_was_in_way;
	m->wait_s += wait;
	m->slowdown += fmax(1, (s->now - w->submit_s) / fmax(w->run_s, 10));
	m->last_end_s = fmax(m->last_end_s, s->now);
}

/* slurmctld looks at a job that would be over its limit soon. */
static void look_at_limit(struct sim *s, int job, const struct engine_options *o)
{
	struct run *r = &s->run[job];
	double before = r->end_s;

	advance(s, job);
	limits_move(s, job);
	if (r->end_s == before && s->now >= before - DONE_S)
		end_run(s, job, o, true);
	else if (r->end_s == before)
		events_add(s, before, EVENT_LIMIT, job);
	else
		foretell(s, job);
}

static void decide_turns(struct sim *s, int job)
{
	struct run *r = &s->run[job];
	bool changed = false;

	for (int i = 0; i < r->nodes; i++)
		changed |= pace_turns(s, r->node[i]);
	if (changed)
		change_paces(s, job, r->node, r->nodes);
}

/* Returns whether lanes have become free, or who may wait has changed. */
static bool happen(struct sim *s, const struct event *e, const struct engine_options *o)
{
	switch (e->kind) {
	case EVENT_FINISH:
		end_run(s, e->job, o, false);
		return true;
	case EVENT_LIMIT:
		look_at_limit(s, e->job, o);
		return true;
	case EVENT_REQUEUE:
		leave(s, e->job, o, "requeue");
		s->run[e->job].requeued = true;
		machine_enqueue(s, e->job);
		return true;
	case EVENT_LEARN:
		advance(s, e->job);
		learn_so_far(s, e->job);
		events_add(s, s->now + LEARN_EVERY_S, EVENT_LEARN, e->job);
		return false;
	case EVENT_TURNS:
		decide_turns(s, e->job);
		return false;
	default:
		return true;
	}
}

/* What all jobs do until then, if some wait. */
static void count_progress(struct sim *s, double until)
{
	if (!s->waiting)
		return;
	s->measures.waited_node_s += (until - s->now) * s->nodes;
	s->measures.waited_progress_s += (until - s->now) * s->progress_rate;
}

/* The next moment at which something happens; false at the end. */
static bool next_moment(struct sim *s, int coming)
{
	double when = INFINITY;

	if (coming < s->work->count)
		when = s->work->job[coming].submit_s;
	if (s->events)
		when = fmin(when, s->event[0].when);
	if (!isfinite(when))
		return false;
	when = fmax(s->now, when);
	count_progress(s, when);
	s->now = when;
	return true;
}

/* Ends before submissions, as when both come at once the lanes are free. */
static void play(struct sim *s, const struct engine_options *o)
{
	int coming = 0, steps = 0;

	while (!s->out_of_memory && next_moment(s, coming)) {
		bool freed = false;
		int first = coming;
		struct event e;

		while (events_next(s, s->now, &e))
			freed |= happen(s, &e, o);
		for (; coming < s->work->count && s->work->job[coming].submit_s <= s->now; coming++)
			machine_enqueue(s, coming);
		if (freed)
			backfill_pass(s);
		else
			for (int job = first; job < coming; job++)
				backfill_new(s, job);
		if (o->progress && !(++steps % PROGRESS_EVERY))
			o->progress(s, o->progress_arg);
	}
}

int engine_run(struct sim *s, const struct engine_options *o, struct errmsg *err)
{
	int rc = machine_new(s, err);

	if (!rc)
		rc = backfill_setup(s, err);
	if (!rc)
		rc = learn_new(s, err);
	if (!rc) {
		s->measures.jobs = s->work->count;
		/* What is known before the first job counts for it. */
		if (s->history && s->policy->plan)
			s->policy->plan(s, NULL, 0);
		play(s, o);
		if (s->out_of_memory)
			rc = errmsg_set(err, "out of memory");
		else if (s->unworked)
			rc = errmsg_set(err,
				"policy %s: %d jobs ended before their work was done: a fault of the "
				"simulator",
				s->policy->name, s->unworked);
		else if (s->measures.finished < s->work->count)
			rc = errmsg_set(err,
				"policy %s: %d of %d jobs never ended: a fault of the "
				"simulator",
				s->policy->name, s->work->count - s->measures.finished,
				s->work->count);
	}
	free(s->event);
	backfill_free(s);
	learn_free(s);
	machine_free(s);
	return rc;
}
