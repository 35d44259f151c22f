/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holds one half of a program's tasks after the other, and compares what the rest makes. */
#include "trial/self.h"

#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/printable.h"
#include "common/units.h"
#include "trial/busy.h"
#include "trial/stretch.h"

#define SETTLE_NS NS_PER_S
/* So long the program has until its tasks are counted. */
#define COUNTER_WAIT_NS (20 * NS_PER_S)
#define LOOK_NS (100 * NS_PER_MS)
/* Tasks that go on alone make at least half; below this they wait for those that are held. */
#define WAITS 0.45

struct sums {
	double all[2], all_s[2], alone[2], alone_s[2]; /* of each half */
};

struct self {
	struct runner_stage *stage;
	const struct self_options *o;
	uint64_t dice;
	int64_t began_ns, told_ns;
};

static void tell(struct self *s)
{
	int64_t now = clock_now();

	if (now - s->told_ns < NS_PER_S)
		return;
	s->told_ns = now;
	s->o->progress(s->o->arg, s->began_ns + s->o->time_ns - now);
}

/* Whether both halves have a task that is counted. */
static bool is_counted(struct self *s)
{
	const struct runner_state *state = runner_state(s->stage, 0);

	runner_read(s->stage, 0);
	return state->readable && state->half[0].tasks && state->half[1].tasks;
}

static int let_settle(struct self *s, struct errmsg *err)
{
	int64_t end = clock_now() + COUNTER_WAIT_NS;

	if (runner_wait(s->stage, clock_now() + SETTLE_NS, false, err))
		return -1;
	while (!is_counted(s) && clock_now() < end) {
		tell(s);
		if (runner_wait(s->stage, clock_now() + LOOK_NS, false, err))
			return -1;
	}
	return 0;
}

/* One stretch in which a half is held, or none (-1). What went on all the time is added. */
static int stretch(struct self *s, int held, struct sums *sum, struct errmsg *err)
{
	int64_t length = stretch_ns(&s->dice);
	int64_t begin = clock_now(), from_ns;
	struct runner_state from;
	const struct runner_state *now = runner_state(s->stage, 0);
	double seconds;

	if (runner_hold_half(s->stage, 0, held, err) ||
		runner_wait(
			s->stage, begin + (int64_t)(STRETCH_SETTLE * (double)length), false, err))
		return -1;
	runner_read(s->stage, 0);
	from = *now;
	from_ns = clock_now();
	if (runner_wait(s->stage, begin + length, false, err))
		return -1;
	runner_read(s->stage, 0);
	seconds = (double)(clock_now() - from_ns) / 1e9;
	if (now->changes != from.changes || now->runs != from.runs ||
		now->resumed != from.resumed || !now->readable)
		return 0;
	for (int i = 0; i < 2; i++) {
		double made = (double)(now->half[i].progress - from.half[i].progress);

		if (now->half[i].tasks != from.half[i].tasks || i == held)
			continue;
		if (held < 0) {
			sum->all[i] += made;
			sum->all_s[i] += seconds;
		} else {
			sum->alone[i] += made;
			sum->alone_s[i] += seconds;
		}
	}
	tell(s);
	return 0;
}

/* What one half makes alone, relative to all: the mean of both halves. NAN where it is not known.
 */
static double work_of_half(const struct sums *s)
{
	double all = s->all[0] / s->all_s[0] + s->all[1] / s->all_s[1];

	return (s->alone[0] / s->alone_s[0] + s->alone[1] / s->alone_s[1]) / 2 / all;
}

static int one_round(struct self *s, int64_t until, double *work, struct errmsg *err)
{
	static const int order[] = {-1, 0, -1, 1};
	struct sums sum = {.all = {0}};

	for (int i = 0; clock_now() < until || i % 4 || i < 8; i++)
		if (stretch(s, order[i % 4], &sum, err))
			return -1;
	*work = work_of_half(&sum);
	return 0;
}

int self_run(struct runner_stage *stage, const struct self_options *o,
	const struct runner_program *program, struct self_result *result, struct errmsg *err)
{
	struct self s = {.stage = stage, .o = o, .dice = 1, .began_ns = clock_now()};
	struct busy_watch before = busy_watch(&o->pus, stage);
	const struct runner_state *state = runner_state(stage, 0);
	bool waits_unseen = false;
	int rc = runner_start(stage, 0, program, &o->pus, err);

	*result = (struct self_result){.others = NAN};
	if (!rc)
		rc = let_settle(&s, err);
	if (!rc) {
		result->tasks = state->half[0].tasks + state->half[1].tasks;
		waits_unseen = state->mpi || state->mpi_calls;
	}
	if (!rc && is_counted(&s) && !waits_unseen)
		for (int i = 0; !rc && i < o->rounds; i++) {
			int64_t left = s.began_ns + o->time_ns - clock_now();
			double work = NAN;

			rc = one_round(&s, clock_now() + left / (o->rounds - i), &work, err);
			if (!rc && isfinite(work))
				result->work[result->rounds++] = work;
		}
	if (!rc && !result->tasks)
		result->tasks = state->most_tasks == 1 ? 1 : 0;
	if (runner_end(stage, rc ? NULL : err))
		rc = -1;
	result->took_ns = clock_now() - s.began_ns;
	result->others = busy_others(&before, &o->pus, stage);
	if (!rc)
		self_judge(result, program->name, waits_unseen);
	return rc;
}

void self_judge(struct self_result *r, const char *name, bool waits_unseen)
{
	const char *why = "";

	r->half = trial_mean(r->work, r->rounds);
	r->verdict = SELF_UNCERTAIN;
	if (waits_unseen)
		why = "its tasks are of MPI, and what is counted of them goes on while they wait for "
		      "each other: let the program publish its progress, see poppa_heartbeat(3)";
	else if (r->tasks == 1)
		why = "it has one task (process) only, of which no half can be held; threads are not tasks";
	else if (!r->rounds)
		why = "too few of its tasks were counted all the time: let them publish their progress, see "
		      "poppa_heartbeat(3), or give more --time";
	else if (r->others > TRIAL_OTHERS_MOST)
		why = "other processes used the same cores: run it where nothing else does";
	else if (isnan(r->half.lo))
		why = "one round has no interval: give more --rounds";
	else if (r->half.hi < WAITS)
		why = "while half of its tasks is held, the others make less than their share: they wait for "
		      "each other, and so this says nothing";
	else if (r->half.lo > 1)
		r->verdict = SELF_FEWER;
	else if (r->half.hi < 1)
		r->verdict = SELF_ALL;
	else
		why = "the interval has 1 in it: give more --time or --rounds";
	if (r->verdict == SELF_FEWER)
		snprintf(r->why, sizeof(r->why),
			"half of the tasks of %.80s make %.2f times what all make: try fewer", name,
			r->half.mean);
	else if (r->verdict == SELF_ALL)
		snprintf(r->why, sizeof(r->why),
			"half of the tasks of %.80s make %.2f of what all make: keep them all",
			name, r->half.mean);
	else
		snprintf(r->why, sizeof(r->why), "%s", why);
	/* The name may be cut within a character. */
	plain_text(r->why);
}

const char *self_verdict_name(enum self_verdict v)
{
	static const char *const names[] = {
		[SELF_UNCERTAIN] = "uncertain", [SELF_ALL] = "all", [SELF_FEWER] = "fewer"};

	return names[v];
}
