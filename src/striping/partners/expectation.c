/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits the model of what classes lose side by side to the pair history, and asks it. */
#include "striping/partners/expectation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "striping/partners/expectation_model.h"

/* The rows are divided into so many parts, each of which is held out once. */
#define FOLDS 4
/* What is believed of the model's intervals before any row was held out counts as so many. */
#define PRIOR_HELD_OUT 20.0
/* How far off what a class gains by spreading is, as variances of its logarithm: by a run of it
 * each, and where it is told by the bound that it loses beside itself. */
#define SPREAD_RUN_VARIANCE 0.01
#define SPREAD_BOUND_VARIANCE 0.01

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What the model says of two nodes, in y. */
struct said {
	double y, var; /* by the fit alone */
	double shared; /* of the variance, so much is the same for other variants of the two */
};

/* The part of a node's variance that is the same for other variants of its class. */
static double shared_var(const struct expectation *e, int node, bool suffered)
{
	const struct node *n = &e->node[node], *c = &e->node[n->class];

	return suffered ? fmin(n->suffered.var, c->suffered.var)
			: fmin(n->inflicted.var, c->inflicted.var);
}

/* A number as the callers have it: a node, or any variant of it that is not known. */
struct kind {
	int node;
	bool unknown_variant;
};

static struct kind kind_of(const struct expectation *e, int number)
{
	return number < e->nodes ? (struct kind){number, false}
				 : (struct kind){number - e->nodes, true};
}

static bool is_class(const struct expectation *e, const struct kind *k)
{
	return k->node >= 0 && e->node[k->node].class >= 0;
}

static bool is_variant(const struct expectation *e, const struct kind *k)
{
	return k->unknown_variant || (k->node >= 0 && e->node[k->node].level == LEVEL_VARIANT);
}

static struct said ask(
	const struct expectation *e, const struct kind *job, const struct kind *partner)
{
	struct said s = {.y = expectation_y(e, job->node, partner->node),
		.var = expectation_y_var(e, job->node, partner->node)};

	s.shared = s.var;
	if (is_class(e, job))
		s.shared += shared_var(e, job->node, true) - e->node[job->node].suffered.var;
	if (is_class(e, partner))
		s.shared +=
			shared_var(e, partner->node, false) - e->node[partner->node].inflicted.var;
	if (job->unknown_variant)
		s.var += e->vary_suffered[LEVEL_VARIANT];
	if (partner->unknown_variant)
		s.var += e->vary_inflicted[LEVEL_VARIANT];
	if (is_variant(e, job) || is_variant(e, partner))
		s.var += e->vary_extra;
	return s;
}

static struct said ask_row(const struct expectation *e, const struct seen *r)
{
	const struct kind job = {r->job, false}, partner = {r->partner, false};

	return ask(e, &job, &partner);
}

/*
 * Each part is fitted as if the others were known, so the fit takes itself for better than it is.
 * How much that is, rows that it has not seen show: `widen` makes 90 % of them lie where 90 % are
 * to be. off: scratch for as many numbers as there are rows.
 */
static void compare_held_out(struct expectation *e, double *off)
{
	double times;
	long count = 0;

	for (int fold = 0; fold < FOLDS; fold++) {
		/* Rows are in the order of jobs, so each job has some in each part. */
		for (int i = 0; i < e->rows; i++)
			e->seen[i].held_out = i % FOLDS == fold;
		expectation_fit_parts(e);
		for (int i = fold; i < e->rows; i += FOLDS) {
			const struct seen *r = &e->seen[i];
			struct said s = ask_row(e, r);

			/* Of others one would see the noise, and not the model. */
			if (r->noise < s.var)
				off[count++] = fabs(r->y - s.y) / sqrt(s.var + r->noise);
		}
	}
	for (int i = 0; i < e->rows; i++)
		e->seen[i].held_out = false;
	e->widen = 1;
	if (!count)
		return;
	qsort(off, (size_t)count, sizeof(*off), by_size);
	times = off[count * 9 / 10] / EXPECTED_90;
	e->widen =
		(PRIOR_HELD_OUT + (double)count * times * times) / (PRIOR_HELD_OUT + (double)count);
}

/* What a row tells of others of its group: how far off they all are from the model. */
static void own_word(
	const struct expectation *e, const struct seen *r, double *weight, double *value)
{
	*weight = 1 / (r->noise + (r->variants ? e->widen * e->vary_extra : 0));
	*value = *weight * (r->y - ask_row(e, r).y);
}

static void sum_groups(struct expectation *e)
{
	for (int i = 0; i < e->rows; i++) {
		struct group *g = &e->group[e->seen[i].group];
		double weight, value;

		own_word(e, &e->seen[i], &weight, &value);
		g->weight += weight;
		g->value += value;
	}
}

struct expectation *expectation_fit(const struct pairs *p, const struct expectation_hints *hints)
{
	struct expectation *e = calloc(1, sizeof(*e));
	double *off = NULL;

	if (e) {
		e->hints = hints;
		if (!expectation_table(e, p))
			off = malloc(((size_t)e->rows + 1) * sizeof(*off));
	}
	if (!off) {
		expectation_free(e);
		return NULL;
	}
	expectation_ask_hints(e);
	compare_held_out(e, off);
	expectation_fit_parts(e);
	sum_groups(e);
	free(off);
	return e;
}

void expectation_free(struct expectation *e)
{
	if (!e)
		return;
	free(e->names);
	free(e->node);
	free(e->seen);
	free(e->group);
	free(e);
}

int expectation_classes(const struct expectation *e)
{
	return e->nodes;
}

const char *expectation_name(const struct expectation *e, int class_number)
{
	return e->node[class_number].name;
}

int expectation_class(const struct expectation *e, const char *name)
{
	char parent[PAIRS_CLASS_MAX], next[PAIRS_CLASS_MAX];
	int found = expectation_node(e, name);
	bool variant = name[class_base(name)];

	if (found >= 0)
		return found;
	while (class_parent(name, next)) {
		strcpy(parent, next);
		name = parent;
		found = expectation_node(e, name);
		if (found >= 0)
			return variant && e->node[found].level == LEVEL_CLASS ? found + e->nodes
									      : found;
	}
	return -1;
}

/* The group of two classes; NULL: they have not met. */
static const struct group *find_group(const struct expectation *e, int class, int partner)
{
	int low = e->node[class].first_group, end = low + e->node[class].groups, high = end;

	while (low < high) {
		int mid = low + (high - low) / 2;

		if (e->group[mid].partner < partner)
			low = mid + 1;
		else
			high = mid;
	}
	return low < end && e->group[low].partner == partner ? &e->group[low] : NULL;
}

/* The row of two nodes in their group; NULL: these variants have not met. */
static const struct seen *find_seen(
	const struct expectation *e, const struct group *g, int job, int partner)
{
	int low = g->first, end = low + g->count, high = end;

	while (low < high) {
		int mid = low + (high - low) / 2;
		const struct seen *r = &e->seen[mid];

		if (r->job < job || (r->job == job && r->partner < partner))
			low = mid + 1;
		else
			high = mid;
	}
	return low < end && e->seen[low].job == job && e->seen[low].partner == partner
		       ? &e->seen[low]
		       : NULL;
}

/* Mixes something measured into an expectation. */
static void mix(double *y, double *var, double measured, double noise)
{
	double share = *var / (*var + noise);

	*y += share * (measured - *y);
	*var = share * noise;
}

/* The same of what both classes, with all their variants, have shown side by side. */
static void mix_group(const struct expectation *e, const struct kind *job,
	const struct kind *partner, double *y, double *var, double shared)
{
	const struct group *g =
		find_group(e, e->node[job->node].class, e->node[partner->node].class);
	const struct seen *own = NULL;
	double weight, value, own_weight = 0, own_value = 0, alone;

	if (!g)
		return;
	if (!job->unknown_variant && !partner->unknown_variant)
		own = find_seen(e, g, job->node, partner->node);
	if (own)
		own_word(e, own, &own_weight, &own_value);
	weight = g->weight - own_weight;
	value = g->value - own_value;
	/* Of sums over one row that row leaves no more than what is lost by rounding. */
	if (g->count > (own != NULL) && weight > 0) {
		double common = *y, common_var = shared;

		mix(&common, &common_var, *y + value / weight, 1 / weight);
		alone = *var - shared;
		*y = common;
		*var = common_var + alone;
	}
	if (own)
		mix(y, var, own->y, own->noise);
}

struct expected expectation_of(const struct expectation *e, int class_number, int partner)
{
	const struct kind one = kind_of(e, class_number), other = kind_of(e, partner);
	struct said s = ask(e, &one, &other);
	double y = s.y, var = e->widen * s.var;

	if (is_class(e, &one) && is_class(e, &other))
		mix_group(e, &one, &other, &y, &var, e->widen * s.shared);
	return (struct expected){-expm1(-y), exp(-y) * sqrt(var)};
}

double expectation_alone(const struct expectation *e, int class_number)
{
	const struct kind k = kind_of(e, class_number);
	struct expected twin = expectation_of(e, class_number, class_number);
	double left = 1 - fmax(fmin(twin.degradation, MOST_D), 0), gain = -log(left);
	double sd = twin.sd / left, var = sd * sd + SPREAD_BOUND_VARIANCE;
	const struct node *n = k.node < 0 ? NULL : &e->node[k.node];

	if (n && !n->z_runs && n->level == LEVEL_VARIANT)
		n = &e->node[n->class];
	if (n && n->z_runs)
		mix(&gain, &var, n->z, SPREAD_RUN_VARIANCE / n->z_runs);
	return exp(gain);
}

double expectation_speed(const struct expectation *e, int class_number, int partner)
{
	return (1 - expectation_of(e, class_number, partner).degradation) *
	       expectation_alone(e, class_number);
}
