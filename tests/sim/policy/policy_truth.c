/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies that know the true matrix: what choosing can bring. They go by the progress of a job on
 * all its lanes, as a share of what its program usually makes: a job that runs well beside
 * everybody is no better a choice for that, as it must run some time anyway.
 */
#include "sim/policy/policy.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "sim/policy/assign.h"
#include "sim/pace.h"
#include "sim/policy/window.h"

/*
 * What a lane is worth, as a share of a job's usual speed: a job that brings less had better wait
 * and leave it to another one, PATIENCE_S at most. A lane without a partner costs EMPTY_PRICE more,
 * as jobs of one size side by side leave whole nodes to others. These four were chosen by trying a
 * few values on the development data (docs/simulator.md); no waiting time is weighed.
 */
#define LANE_PRICE 0.9
#define MATCH_PRICE 0.5
#define EMPTY_PRICE 0.1
#define PATIENCE_S (6 * 3600.0)
/* For so long others may be given places before a job, s. */
#define PASSED_OVER_S 600.0
/* More than any matching is worth: a job that was passed over for too long has a place first. */
#define OVERDUE 1e9

static double typical(const struct sim *s, int job)
{
	return s->matrix->typical[s->work->job[job].row];
}

static bool within_cap(const struct sim *s, int job, int partner)
{
	const struct work *w = &s->work->job[job];

	return !w->capped ||
	       matrix_degradation(s->matrix, w->row, s->work->job[partner].row) <= s->cap;
}

bool policy_truth_accepts(const struct sim *s, int job, int partner)
{
	return within_cap(s, job, partner) && within_cap(s, partner, job);
}

static double own_speed(const struct sim *s, int job, int partner)
{
	return pace_plain(s, job, partner) / typical(s, job);
}

/* What the partner loses on all its lanes when the job comes beside it. */
static double cost_to(const struct sim *s, int job, int partner, bool leaves)
{
	double now, then, more = leaves ? s->matrix->another : 0;

	if (partner == NOBODY)
		return 0;
	now = s->run[partner].plain;
	then = fmin(now, pace_plain(s, partner, job));
	return s->run[partner].nodes * ((now - then) / typical(s, partner) + more);
}

/* Groups that the job may have, with what they are to it. */
struct side {
	struct group group;
	double speed, cost;
	int misfit;
};

/* How badly so many lanes fit a job: exactly is best, then a group that is bigger, then a smaller
 * one that is as big as possible. */
static int misfit(int lanes, int need)
{
	return lanes >= need ? lanes - need : INT_MAX - lanes;
}

static int by_rank(const void *a, const void *b)
{
	const struct side *x = a, *y = b;

	if (x->group.rank != y->group.rank)
		return x->group.rank < y->group.rank ? -1 : 1;
	if (x->misfit != y->misfit)
		return x->misfit < y->misfit ? -1 : 1;
	return (x->group.first > y->group.first) - (x->group.first < y->group.first);
}

/* What the job brings with groups beside which it is at least so fast, the cheapest first. */
static double worth_at(const struct side *side, int sides, double pace, int need, double another)
{
	double cost = 0, slowest = INFINITY;
	int left = need;

	for (int i = 0; i < sides && left > 0; i++) {
		if (side[i].speed < pace)
			continue;
		cost += side[i].cost + (left < need ? another * need : 0);
		left -= side[i].group.count;
		slowest = fmin(slowest, side[i].speed);
	}
	return left > 0 ? -INFINITY : need * slowest - cost;
}

/* Orders the offers for the greatest worth, which it returns. */
static double order_best(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct group *group = malloc((size_t)count * sizeof(*group));
	struct side *side = malloc((size_t)count * sizeof(*side));
	struct offer *scratch = malloc((size_t)count * sizeof(*scratch));
	double best = -INFINITY, pace = 0;

	if (!group || !side || !scratch) {
		s->out_of_memory = 1;
	} else {
		int groups = policy_group(o, count, group);

		for (int g = 0; g < groups; g++) {
			side[g] = (struct side){group[g], own_speed(s, job, group[g].partner),
				cost_to(s, job, group[g].partner, group[g].count > need), 0};
			if (group[g].partner == NOBODY)
				side[g].cost = EMPTY_PRICE * fmin(group[g].count, need);
			side[g].misfit = misfit(group[g].count, need);
			side[g].group.rank = round(
				100 * (side[g].cost / fmin(group[g].count, need) - side[g].speed));
		}
		qsort(side, (size_t)groups, sizeof(*side), by_rank);
		for (int g = 0; g < groups; g++) {
			double worth =
				worth_at(side, groups, side[g].speed, need, s->matrix->another);

			if (worth > best) {
				best = worth;
				pace = side[g].speed;
			}
		}
		for (int g = 0; g < groups; g++) {
			group[g] = side[g].group;
			group[g].rank = side[g].speed < pace ? INFINITY : g;
		}
		policy_order(o, count, group, groups, scratch);
	}
	free(group);
	free(side);
	free(scratch);
	return best;
}

/* A job that brings less than its lanes are worth waits for better. */
struct choice policy_oracle(struct sim *s, int job, struct offer *o, int count, int need)
{
	double worth = order_best(s, job, o, count, need);
	double patient = s->work->job[job].submit_s + PATIENCE_S;

	if (worth <= LANE_PRICE * need && s->now < patient)
		return (struct choice){.wait_s = patient};
	return (struct choice){.count = count};
}

void policy_optimal_plan(struct sim *s, const int *job, int count)
{
	struct window w;

	if (window_find(s, job, count, &w))
		s->out_of_memory = 1;
	for (int i = 0; i < w.jobs && !s->out_of_memory; i++) {
		const struct run *r = &s->run[w.job[i]];
		bool overdue = r->passed_over_s >= 0 && s->now - r->passed_over_s >= PASSED_OVER_S;

		for (int j = 0; j < w.places; j++) {
			double worth = w.need[i] * own_speed(s, w.job[i], w.partner[j]) -
				       cost_to(s, w.job[i], w.partner[j], w.open[j] > w.need[i]);

			worth -= MATCH_PRICE * w.need[i];
			if (!window_fits(&w, i, j) ||
				(w.partner[j] != NOBODY &&
					!policy_truth_accepts(s, w.job[i], w.partner[j])))
				worth = 0;
			else if (overdue)
				worth += OVERDUE;
			w.worth[0][i * w.places + j] = worth;
		}
	}
	if (!s->out_of_memory && w.jobs) {
		if (assign_best(w.jobs, w.places, w.worth[0], w.out))
			s->out_of_memory = 1;
		else
			window_give(s, &w);
	}
	window_free(&w);
}

struct choice policy_optimal(struct sim *s, int job, struct offer *o, int count, int need)
{
	struct run *r = &s->run[job];
	int place = r->place, mine = 0;

	r->place = PLACE_ANY;
	if (place == PLACE_LATER)
		return (struct choice){.later = true};
	for (int i = 0; i < count && place != PLACE_ANY; i++)
		if (o[i].partner == place) {
			struct offer first = o[i];

			o[i] = o[mine];
			o[mine++] = first;
		}
	if (mine >= need)
		return (struct choice){.count = mine};
	return policy_oracle(s, job, o, count, need);
}

double policy_best_pairing(const struct matrix *m)
{
	size_t n = (size_t)m->count;
	double *worth = malloc((n * n + 1) * sizeof(*worth)), sum = 0;
	int *out = malloc((n + 1) * sizeof(*out));
	int rc = -1;

	for (size_t i = 0; worth && i < n; i++)
		for (size_t j = 0; j < n; j++)
			worth[i * n + j] = (m->speed[i * n + j] + m->speed[j * n + i]) / 2;
	if (worth && out)
		rc = assign_best(m->count, m->count, worth, out);
	for (size_t i = 0; !rc && i < n; i++)
		sum += out[i] < 0 ? 0 : worth[i * n + (size_t)out[i]];
	free(worth);
	free(out);
	return rc ? NAN : sum / (double)n;
}
