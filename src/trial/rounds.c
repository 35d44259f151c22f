/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a trial, in an order in which drift of the machine cancels. */
#include "trial/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/printable.h"
#include "common/units.h"
#include "trial/busy.h"
#include "trial/stretch.h"

#define PHASE_LEAST_NS (400 * NS_PER_MS)
/* The first phase of a program also finds out whether it has a counter. */
#define PROBE_LEAST_NS (2 * NS_PER_S)
/* Until then after its start a program is not measured by its counter: it is setting up. */
#define SETTLE_NS NS_PER_S
/* So long it may take longer until it has its counter, as where MPI starts slowly. */
#define COUNTER_WAIT_NS (20 * NS_PER_S)
#define COUNTER_LOOK_NS (50 * NS_PER_MS)
/* Runs that are shorter than this are over too soon for turns. */
#define TURNS_RUN_S 3
/* So many times as long as compact a run may take beside another before it is given up. */
#define SLOWEST 25
/* A task that begins is counted so much later at most, and what it did until then is not seen. */
#define UNSEEN_S 0.1
#define UNSEEN_MOST 0.05
#define PROGRESS_NS NS_PER_S

struct step {
	enum trial_phase phase;
	int what;  /* a program, or a pair */
	int place; /* of a program that is alone */
};

struct rounds {
	struct runner_stage *stage;
	const struct trial_options *o;
	struct trial *t;
	int64_t began_ns;
	struct step *step; /* of one round */
	int steps, round, done;
	int64_t phase_ns;
	uint64_t dice;
};

/* --- time --- */

static int64_t left(const struct rounds *r)
{
	int64_t rest = r->o->time_ns - (clock_now() - r->began_ns);
	int64_t steps = (int64_t)(r->o->rounds - r->round) * r->steps - r->done;

	return rest > steps * PHASE_LEAST_NS ? rest : steps * PHASE_LEAST_NS;
}

static void set_phase(struct rounds *r)
{
	int64_t steps = (int64_t)(r->o->rounds - r->round) * r->steps - r->done;

	r->phase_ns = left(r) / (steps > 0 ? steps : 1);
	if (r->phase_ns < PHASE_LEAST_NS)
		r->phase_ns = PHASE_LEAST_NS;
}

static void tell(struct rounds *r, const struct step *s)
{
	const struct trial_program *a, *b = NULL;

	if (s->phase == TRIAL_TOGETHER || s->phase == TRIAL_TURNS) {
		a = &r->t->program[r->t->pair[s->what].program[0]];
		b = &r->t->program[r->t->pair[s->what].program[1]];
	} else {
		a = &r->t->program[s->what];
	}
	r->o->progress(
		r->o->arg, s->phase, a->run.name, b ? b->run.name : NULL, r->round + 1, left(r));
}

/* Waits and tells of it. */
static int wait_until(
	struct rounds *r, const struct step *s, int64_t until, bool end, struct errmsg *err)
{
	int before = runner_state(r->stage, 0)->runs + runner_state(r->stage, 1)->runs, now;

	do {
		int64_t next = clock_now() + PROGRESS_NS;

		tell(r, s);
		if (runner_wait(r->stage, next < until ? next : until, end, err))
			return -1;
		now = runner_state(r->stage, 0)->runs + runner_state(r->stage, 1)->runs;
	} while (clock_now() < until && !(end && now > before));
	return 0;
}

/* --- rates --- */

/* A program in a slot while it is measured. */
struct window {
	int slot;
	struct trial_program *program;
	int64_t from_ns;
	uint64_t from;
	int changes;
	bool readable;
	bool by_counter; /* its loss is read from its counter, whatever its unit is */
};

static void window_begin(struct rounds *r, struct window *w)
{
	runner_read(r->stage, w->slot);
	w->from = runner_state(r->stage, w->slot)->progress;
	w->readable = runner_state(r->stage, w->slot)->readable;
	w->changes = runner_state(r->stage, w->slot)->changes;
	w->from_ns = clock_now();
}

/* Progress a second by the counter since window_begin(); NAN where too much of it was not seen. */
static double counter_rate(struct rounds *r, const struct window *w)
{
	const struct runner_state *state = runner_state(r->stage, w->slot);
	double s;

	runner_read(r->stage, w->slot);
	s = (double)(clock_now() - w->from_ns) / 1e9;
	if (!w->readable || !state->readable || s <= 0 ||
		(state->changes - w->changes) * UNSEEN_S > UNSEEN_MOST * s)
		return NAN;
	return (double)(state->progress - w->from) / s;
}

/* Complete runs a second; the run that has not ended is left out (thesis 2.3, figure 2.2). */
static double run_rate(const struct runner_state *state)
{
	if (!state->runs)
		return NAN;
	return (double)state->runs / ((double)(state->last_end_ns - state->started_ns) / 1e9);
}

static double rate(struct rounds *r, const struct window *w)
{
	switch (w->program->unit) {
	case TRIAL_UNIT_RUNS:
		return run_rate(runner_state(r->stage, w->slot));
	case TRIAL_UNIT_COUNTER:
		return counter_rate(r, w);
	default:
		return NAN;
	}
}

static int64_t settle(const struct rounds *r)
{
	return r->phase_ns / 4 < SETTLE_NS ? r->phase_ns / 4 : SETTLE_NS;
}

/* Whether all programs that are measured by a counter have one now. */
static bool all_counted(struct rounds *r, const struct window *w, int n)
{
	bool counted = true;

	for (int i = 0; i < n; i++)
		if (w[i].program->unit == TRIAL_UNIT_COUNTER || w[i].by_counter) {
			runner_read(r->stage, w[i].slot);
			counted &= runner_state(r->stage, w[i].slot)->readable;
		}
	return counted;
}

/* Waits until the programs have set up. */
static int let_settle(struct rounds *r, const struct step *s, const struct window *w, int n,
	int64_t start, struct errmsg *err)
{
	if (wait_until(r, s, start + settle(r), false, err))
		return -1;
	while (!all_counted(r, w, n) && clock_now() < start + COUNTER_WAIT_NS)
		if (wait_until(r, s, clock_now() + COUNTER_LOOK_NS, false, err))
			return -1;
	return 0;
}

/* Runs what has been started for a phase: for its time, and until each program that is counted by
 * runs has made one, if that does not take for ever. rates[slot] is what each has done. */
static int measure(struct rounds *r, const struct step *s, struct window *w, int n, double *rates,
	struct errmsg *err)
{
	int64_t start = clock_now(), limit = start + r->phase_ns, end;
	bool waiting = true;

	for (int i = 0; i < n; i++)
		if (w[i].program->unit == TRIAL_UNIT_RUNS) {
			int64_t most = (int64_t)(w[i].program->run_s * SLOWEST * 1e9);

			limit = start + most > limit ? start + most : limit;
		}
	if (let_settle(r, s, w, n, start, err))
		return -1;
	for (int i = 0; i < n; i++)
		window_begin(r, &w[i]);
	/* Where it took longer to set up, the part that counts is as long as ever. */
	end = clock_now() + r->phase_ns - settle(r);
	if (wait_until(r, s, end > start + r->phase_ns ? end : start + r->phase_ns, false, err))
		return -1;
	while (waiting) {
		waiting = false;
		for (int i = 0; i < n; i++)
			waiting |= w[i].program->unit == TRIAL_UNIT_RUNS &&
				   !runner_state(r->stage, w[i].slot)->runs;
		waiting &= clock_now() < limit;
		if (waiting && wait_until(r, s, limit, true, err))
			return -1;
	}
	for (int i = 0; i < n; i++)
		rates[i] = rate(r, &w[i]);
	return 0;
}

/* --- phases --- */

/* Whether its counter shows what it loses in turns. */
static bool loses_by_counter(const struct trial_program *p)
{
	return p->backend != COUNTER_NONE && !(p->run_s < TURNS_RUN_S);
}

static void note(struct trial_program *p, const struct rounds *r)
{
	double s = (double)r->phase_ns / 1e9;

	if (p->unit == TRIAL_UNIT_NONE && p->backend == COUNTER_NONE)
		snprintf(p->note, sizeof(p->note),
			"no run of %.80s has ended within %.1f s, and it has no counter: give more "
			"--time, or let it publish its progress, see poppa_heartbeat(3)",
			p->run.name, s);
	else if (p->unit == TRIAL_UNIT_NONE)
		snprintf(p->note, sizeof(p->note),
			"no run of %.80s has ended within %.1f s, and %s are no unit of work: give "
			"more --time",
			p->run.name, s,
			p->mpi_calls ? "its calls of MPI"
				     : "instructions of several threads, which may wait for each "
				       "other,");
	/* The name may be cut within a character. */
	plain_text(p->note);
}

/* After the first compact phase: by what the program is counted. */
static void choose_unit(struct rounds *r, struct trial_program *p)
{
	const struct runner_state *state = runner_state(r->stage, 0);

	runner_read(r->stage, 0);
	if (state->backend != COUNTER_NONE && state->progress > 0) {
		p->backend = state->backend;
		p->mpi_calls = state->mpi_calls;
		p->run.backend = state->backend;
	} else if (!state->runs && !p->run.preload) {
		/* The next time it may have a counter. */
		p->run.preload = true;
	}
	if (state->runs) {
		p->unit = TRIAL_UNIT_RUNS;
		p->run_s = 1 / run_rate(state);
	} else if (p->backend != COUNTER_NONE && !p->mpi_calls &&
		   (p->backend != COUNTER_PERF ||
			   (state->most_tasks == 1 && state->most_threads == 1))) {
		p->unit = TRIAL_UNIT_COUNTER;
	}
}

static int run_compact(struct rounds *r, const struct step *s, bool probe, struct errmsg *err)
{
	struct trial_program *p = &r->t->program[s->what];
	struct window w = {.slot = 0, .program = p};
	double result = NAN;
	int rc = runner_start(r->stage, 0, &p->run, &r->o->both, err);

	if (!rc)
		rc = measure(r, s, &w, 1, &result, err);
	if (!rc && probe) {
		choose_unit(r, p);
		result = rate(r, &w);
	}
	p->compact[r->round] = result;
	return runner_end(r->stage, rc ? NULL : err) || rc ? -1 : 0;
}

/* The first compact phase; again, with a counter of MPI calls, where nothing else counts. */
static int probe(struct rounds *r, const struct step *s, struct errmsg *err)
{
	struct trial_program *p = &r->t->program[s->what];

	if (run_compact(r, s, true, err))
		return -1;
	if (p->unit == TRIAL_UNIT_NONE && p->backend == COUNTER_NONE && p->run.preload) {
		/* A program that bears no preloaded library is measured without it. */
		if (run_compact(r, s, true, err) && runner_stopped(r->stage))
			return -1;
		p->run.preload = p->backend != COUNTER_NONE;
	}
	note(p, r);
	return 0;
}

static int run_alone(struct rounds *r, const struct step *s, struct errmsg *err)
{
	struct trial_program *p = &r->t->program[s->what];
	struct window w = {.slot = s->place, .program = p};
	int rc = runner_start(r->stage, s->place, &p->run, &r->o->lane[s->place], err);

	if (!rc)
		rc = measure(r, s, &w, 1, &p->alone[s->place][r->round], err);
	return runner_end(r->stage, rc ? NULL : err) || rc ? -1 : 0;
}

static int start_pair(struct rounds *r, const struct trial_pair *p, struct errmsg *err)
{
	for (int i = 0; i < RUNNER_SLOTS; i++)
		if (runner_start(
			    r->stage, i, &r->t->program[p->program[i]].run, &r->o->lane[i], err))
			return -1;
	return 0;
}

static int run_together(struct rounds *r, const struct step *s, struct errmsg *err)
{
	struct trial_pair *p = &r->t->pair[s->what];
	struct window w[RUNNER_SLOTS];
	int rc = start_pair(r, p, err);

	for (int i = 0; i < RUNNER_SLOTS; i++)
		w[i] = (struct window){.slot = i, .program = &r->t->program[p->program[i]]};
	if (!rc)
		rc = measure(r, s, w, RUNNER_SLOTS, p->round[r->round].rate, err);
	return runner_end(r->stage, rc ? NULL : err) || rc ? -1 : 0;
}

/* --- turns --- */

struct turns_sum {
	double both, both_s, alone, alone_s;
};

static int resumed(const struct rounds *r)
{
	return runner_state(r->stage, 0)->resumed + runner_state(r->stage, 1)->resumed;
}

/* One stretch in which `held` is stopped (-1: nobody). What runs in it is added to its sums, if it
 * ran all the time. */
static int one_stretch(
	struct rounds *r, const struct step *s, int held, struct turns_sum *sum, struct errmsg *err)
{
	int64_t length = stretch_ns(&r->dice), now = clock_now();
	struct window w[RUNNER_SLOTS];
	int runs[RUNNER_SLOTS], resumed_before;

	for (int i = 0; i < RUNNER_SLOTS; i++)
		if (runner_hold(r->stage, i, i == held, err))
			return -1;
	if (runner_wait(r->stage, now + (int64_t)(STRETCH_SETTLE * (double)length), false, err))
		return -1;
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		w[i] = (struct window){.slot = i};
		window_begin(r, &w[i]);
		runs[i] = runner_state(r->stage, i)->runs;
	}
	resumed_before = resumed(r);
	if (runner_wait(r->stage, now + length, false, err))
		return -1;
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		double of = i == held ? NAN : counter_rate(r, &w[i]);
		double seconds = (double)(clock_now() - w[i].from_ns) / 1e9;

		if (isnan(of) || runner_state(r->stage, i)->runs != runs[i] ||
			resumed(r) != resumed_before)
			continue;
		if (held < 0) {
			sum[i].both += of * seconds;
			sum[i].both_s += seconds;
		} else {
			sum[i].alone += of * seconds;
			sum[i].alone_s += seconds;
		}
	}
	if (s)
		tell(r, s);
	return 0;
}

static int run_turns(struct rounds *r, const struct step *s, struct errmsg *err)
{
	static const int order[] = {-1, 1, -1, 0};
	struct trial_pair *p = &r->t->pair[s->what];
	struct turns_sum sum[RUNNER_SLOTS] = {{0}};
	struct window w[RUNNER_SLOTS];
	int64_t start = clock_now();
	int rc = start_pair(r, p, err);

	for (int i = 0; i < RUNNER_SLOTS; i++) {
		w[i] = (struct window){.slot = i, .program = &r->t->program[p->program[i]]};
		w[i].by_counter = loses_by_counter(w[i].program);
	}
	if (!rc)
		rc = let_settle(r, s, w, RUNNER_SLOTS, start, err);
	for (int i = 0; !rc && (clock_now() < start + r->phase_ns || i % 4 || i < 8); i++)
		rc = one_stretch(r, i % 4 ? NULL : s, order[i % 4], sum, err);
	for (int i = 0; i < RUNNER_SLOTS; i++)
		if (loses_by_counter(&r->t->program[p->program[i]]) && sum[i].both_s > 0 &&
			sum[i].alone > 0)
			p->round[r->round].loss[i] =
				1 - sum[i].both / sum[i].both_s / (sum[i].alone / sum[i].alone_s);
	return runner_end(r->stage, rc ? NULL : err) || rc ? -1 : 0;
}

/* --- rounds --- */

static void add_step(struct rounds *r, enum trial_phase phase, int what, int place)
{
	r->step[r->steps++] = (struct step){phase, what, place};
}

/* Whether a program is in the first or the second place of some pair. */
static bool has_place(const struct trial *t, int program, int place)
{
	return place ? program > 0 : program < t->programs - 1;
}

/* What a round consists of, once it is known how programs are counted. */
static void plan(struct rounds *r)
{
	const struct trial *t = r->t;

	r->steps = 0;
	for (int i = 0; i < t->programs; i++)
		add_step(r, TRIAL_COMPACT, i, 0);
	for (int i = 0; i < t->pairs; i++) {
		const struct trial_program *a = &t->program[t->pair[i].program[0]];
		const struct trial_program *b = &t->program[t->pair[i].program[1]];

		add_step(r, TRIAL_TOGETHER, i, 0);
		if (loses_by_counter(a) || loses_by_counter(b))
			add_step(r, TRIAL_TURNS, i, 0);
	}
	for (int i = 0; i < t->programs; i++)
		for (int place = 0; place < RUNNER_SLOTS; place++)
			if (!loses_by_counter(&t->program[i]) && has_place(t, i, place) &&
				t->program[i].unit == TRIAL_UNIT_RUNS)
				add_step(r, TRIAL_ALONE, i, place);
}

static int run_step(struct rounds *r, const struct step *s, struct errmsg *err)
{
	set_phase(r);
	switch (s->phase) {
	case TRIAL_COMPACT:
		return run_compact(r, s, false, err);
	case TRIAL_TOGETHER:
		return run_together(r, s, err);
	case TRIAL_TURNS:
		return run_turns(r, s, err);
	default:
		return run_alone(r, s, err);
	}
}

/* The first round begins with all programs compact, which tells how they are counted. */
static int first_round(struct rounds *r, struct errmsg *err)
{
	plan(r);
	r->steps += r->t->pairs; /* turns or alone: about so many are to come */
	for (int i = 0; i < r->t->programs; i++) {
		set_phase(r);
		if (r->phase_ns < PROBE_LEAST_NS)
			r->phase_ns = PROBE_LEAST_NS;
		if (probe(r, &r->step[i], err))
			return -1;
		r->done++;
	}
	plan(r);
	for (; r->done < r->steps; r->done++)
		if (run_step(r, &r->step[r->done], err))
			return -1;
	return 0;
}

static int all_rounds(struct rounds *r, struct errmsg *err)
{
	if (first_round(r, err))
		return -1;
	r->t->rounds = 1;
	for (r->round = 1; r->round < r->o->rounds; r->round++) {
		for (r->done = 0; r->done < r->steps; r->done++) {
			int next = r->round % 2 ? r->steps - 1 - r->done : r->done;

			if (run_step(r, &r->step[next], err))
				return -1;
		}
		r->t->rounds = r->round + 1;
	}
	return 0;
}

int trial_rounds(struct runner_stage *stage, const struct trial_options *o, struct trial *t,
	struct errmsg *err)
{
	struct rounds r = {.stage = stage, .o = o, .t = t, .began_ns = clock_now(), .dice = 1};
	struct busy_watch before = busy_watch(&o->both, stage);
	int rc;

	r.step = calloc((size_t)(3 * t->programs + 2 * t->pairs), sizeof(*r.step));
	if (!r.step)
		return errmsg_set(err, "out of memory");
	rc = all_rounds(&r, err);
	t->took_ns = clock_now() - r.began_ns;
	t->others = busy_others(&before, &o->both, stage);
	free(r.step);
	return rc;
}
