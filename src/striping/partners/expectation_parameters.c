/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits the parts of the model to the rows of the history. */
#include <math.h>
#include <stdlib.h>

#include "striping/partners/expectation_model.h"

#define SWEEPS 24
/* What is believed of the variances before anything is known: each counts as so many users,
 * classes, variants or pairs. Of public matrices y varies by 0.05 to 0.15 from class to class. */
#define PRIOR_COUNT 3.0
#define PRIOR_USER 0.0025
#define PRIOR_CLASS 0.01
#define PRIOR_VARIANT 0.001
#define PRIOR_SLOPE 0.01
#define PRIOR_REST 0.003
#define PRIOR_EXTRA 0.001
#define PRIOR_MEAN 0.1
#define LEAST_VARIANCE 1e-6
/*
 * What is believed of hints, and the variance of that. By what the thesis has in table 2.3 of pairs
 * of programs that gain much, some or little by spreading, a program suffers 0.8 (sd 0.3) of what
 * it gains more than others, and inflicts nothing of it (sd 0.3): the posterior mean under a flat
 * prior, with z of 0.42, 0.26 and 0.06, and a speed beside another one of
 * exp(z - y). Other machines may differ more. The cache model is believed as it is.
 */
#define PRIOR_SPREAD_SUFFERED 0.8
#define PRIOR_SPREAD_INFLICTED 0.0
#define PRIOR_SPREAD_VARIANCE 0.25
#define PRIOR_CACHE 1.0
#define PRIOR_CACHE_VARIANCE 0.5

/* Sums over what is fitted to be proportional to a covariate: a regression without a constant. */
struct regression {
	double weight, value;
};

/* Sums of squares of what nodes of a level do beyond their parents, with how uncertain these are.
 */
struct moments {
	double sum[LEVELS];
};

/* One of the two things that nodes do: suffer or inflict. */
struct side {
	double *vary; /* by level */
	struct moments moments;
	struct regression cache; /* of the classes' totals on what the cache model says */
};

struct fit {
	struct expectation *e;
	struct side suffered, inflicted;
};

static struct part *part_of(struct node *n, bool suffered)
{
	return suffered ? &n->suffered : &n->inflicted;
}

static struct side *side_of(struct fit *f, bool suffered)
{
	return suffered ? &f->suffered : &f->inflicted;
}

static double interaction(const struct expectation *e, int job, int partner)
{
	int class = e->node[job].class;
	const struct node *c = &e->node[class], *o = &e->node[partner];

	return c->slope[0] * o->inflicted.total * e->unit_inflicted +
	       c->slope[1] * o->suffered.total * e->unit_suffered;
}

/* How far off interaction() is, as a variance. */
static double interaction_var(const struct expectation *e, int job, int partner)
{
	const struct node *c = &e->node[e->node[job].class], *o = &e->node[partner];
	double f = o->inflicted.total * e->unit_inflicted, g = o->suffered.total * e->unit_suffered;

	return c->slope_var[0] * f * f + 2 * c->slope_covar * f * g + c->slope_var[1] * g * g;
}

static double additive(const struct expectation *e, const struct seen *r)
{
	return e->mean + e->node[r->job].suffered.total + e->node[r->partner].inflicted.total +
	       e->by_cache * r->cache;
}

/* What the model leaves of a row. */
static double left_of(const struct expectation *e, const struct seen *r)
{
	return r->y - additive(e, r) - interaction(e, r->job, r->partner);
}

static bool has_class(const struct expectation *e, int node)
{
	return node >= 0 && e->node[node].class >= 0;
}

double expectation_y(const struct expectation *e, int job, int partner)
{
	double y = e->mean;

	if (job >= 0)
		y += e->node[job].suffered.total;
	if (partner >= 0)
		y += e->node[partner].inflicted.total;
	if (has_class(e, job) && has_class(e, partner))
		y += interaction(e, job, partner) +
		     e->by_cache * expectation_cache(e, job, partner);
	return y;
}

/* Of what a node does, or one of which less is known. */
static double part_var(
	const struct expectation *e, const double vary[LEVELS], int node, const struct part *part)
{
	if (node < 0)
		return vary[LEVEL_CLASS] + (e->users ? vary[LEVEL_USER] : 0);
	return part->var + (e->node[node].class < 0 ? vary[LEVEL_CLASS] : 0);
}

double expectation_y_var(const struct expectation *e, int job, int partner)
{
	bool classes = has_class(e, job) && has_class(e, partner);

	return e->vary_rest +
	       part_var(e, e->vary_suffered, job, job < 0 ? NULL : &e->node[job].suffered) +
	       part_var(e, e->vary_inflicted, partner,
		       partner < 0 ? NULL : &e->node[partner].inflicted) +
	       (classes ? interaction_var(e, job, partner) : 2 * e->vary_slope);
}

/*
 * What rows count, beside what is known of the parts already. Rows of one group share the rest of
 * their two classes, so many of them tell little more of the parts than one: together they count as
 * one whose variance is that of the rest and of what is left of their own.
 */
static void weigh_rows(struct expectation *e)
{
	for (int i = 0; i < e->groups; i++) {
		const struct group *g = &e->group[i];
		double all = 0;

		for (int k = g->first; k < g->first + g->count; k++) {
			struct seen *r = &e->seen[k];

			r->extra = r->noise + (r->variants ? e->vary_extra : 0);
			r->weight = r->held_out ? 0 : 1 / r->extra;
			all += r->weight;
		}
		for (int k = g->first; k < g->first + g->count; k++)
			e->seen[k].weight /= 1 + e->vary_rest * all;
	}
}

/* What rows say of each node by themselves. */
static void gather(struct expectation *e, bool suffered)
{
	for (int i = 0; i < e->nodes; i++)
		part_of(&e->node[i], suffered)->weight = part_of(&e->node[i], suffered)->value = 0;
	for (int i = 0; i < e->rows; i++) {
		const struct seen *r = &e->seen[i];
		struct part *p = part_of(&e->node[suffered ? r->job : r->partner], suffered);

		p->weight += r->weight;
		p->value += r->weight * (left_of(e, r) + p->total);
	}
}

static double coefficient(const struct regression *r, double prior, double variance)
{
	return (r->value + prior / variance) / (r->weight + 1 / variance);
}

/* Adds what one class says of a covariate: its total beyond its user's and beyond what all other
 * covariates tell, and how certain it is with all that classes differ by. */
static void add_covariate(struct regression *r, double x, double certain, double beyond, double now)
{
	r->weight += certain * x * x;
	r->value += certain * x * (beyond + now * x);
}

/* What hints now expect of each node beyond its parent. */
static void lift(struct expectation *e, bool suffered)
{
	double by_spread = suffered ? e->by_spread_suffered : e->by_spread_inflicted;

	for (int i = 0; e->hints && i < e->nodes; i++) {
		struct node *n = &e->node[i];

		part_of(n, suffered)->lift =
			by_spread * n->z_lift +
			e->by_cache * (suffered ? n->cache_suffered : n->cache_inflicted);
	}
}

/*
 * How far hints tell the classes' totals apart, by what rows say of these before what was believed
 * of them is mixed in: spread, or the cache model.
 */
static struct regression compare_hints(const struct fit *f, bool suffered, bool spread)
{
	const struct expectation *e = f->e;
	const struct side *s = suffered ? &f->suffered : &f->inflicted;
	double by_spread = suffered ? e->by_spread_suffered : e->by_spread_inflicted;
	struct regression sums = {0, 0};

	for (int i = 0; i < e->nodes; i++) {
		const struct node *n = &e->node[i];
		const struct part *p = suffered ? &n->suffered : &n->inflicted;
		double cache = suffered ? n->cache_suffered : n->cache_inflicted;
		double certain, beyond;

		if (n->level != LEVEL_CLASS || !(p->weight > 0))
			continue;
		certain = p->weight / (1 + s->vary[LEVEL_CLASS] * p->weight);
		beyond = p->value / p->weight - p->lift;
		if (n->parent >= 0)
			beyond -= part_of(&e->node[n->parent], suffered)->total;
		add_covariate(&sums, spread ? n->z_lift : cache, certain, beyond,
			spread ? by_spread : e->by_cache);
	}
	return sums;
}

static void fit_hints(struct fit *f, bool suffered)
{
	struct expectation *e = f->e;
	struct regression sums;

	if (!e->hints)
		return;
	if (e->hints->spread) {
		sums = compare_hints(f, suffered, true);
		*(suffered ? &e->by_spread_suffered : &e->by_spread_inflicted) = coefficient(&sums,
			suffered ? PRIOR_SPREAD_SUFFERED : PRIOR_SPREAD_INFLICTED,
			PRIOR_SPREAD_VARIANCE);
		lift(e, suffered);
	}
	side_of(f, suffered)->cache = compare_hints(f, suffered, false);
}

/* Tells the parents of a level what is known of their children. */
static void tell_parents(struct fit *f, bool suffered, enum level level)
{
	struct expectation *e = f->e;
	double vary = side_of(f, suffered)->vary[level];

	for (int i = 0; i < e->nodes; i++) {
		struct node *n = &e->node[i];
		struct part *p = part_of(n, suffered);
		struct part *up = n->parent < 0 ? NULL : part_of(&e->node[n->parent], suffered);

		if (n->level != level || !up)
			continue;
		p->up_weight = p->weight / (1 + vary * p->weight);
		p->up_value = p->value / (1 + vary * p->weight) - p->up_weight * p->lift;
		up->weight += p->up_weight;
		up->value += p->up_value;
	}
}

/*
 * The mean of all is the parent of what has none. What changes there, all below it have no more
 * beyond it.
 */
static void fit_mean(struct fit *f, bool suffered)
{
	struct expectation *e = f->e;
	double weight = 1 / PRIOR_CLASS, value = (PRIOR_MEAN - e->mean) / PRIOR_CLASS, change;

	for (int i = 0; i < e->nodes; i++) {
		const struct part *p = part_of(&e->node[i], suffered);
		double vary = side_of(f, suffered)->vary[e->node[i].level];

		if (e->node[i].parent >= 0)
			continue;
		weight += p->weight / (1 + vary * p->weight);
		value += (p->value - p->weight * p->lift) / (1 + vary * p->weight);
	}
	change = value / weight;
	e->mean += change;
	for (int i = 0; i < e->nodes; i++) {
		struct part *p = part_of(&e->node[i], suffered);

		p->value -= change * p->weight;
		p->up_value -= change * p->up_weight;
	}
}

/* Finds the totals of a level, whose parents have theirs. */
static void find_totals(struct fit *f, bool suffered, enum level level)
{
	struct expectation *e = f->e;
	struct side *s = side_of(f, suffered);

	for (int i = 0; i < e->nodes; i++) {
		struct node *n = &e->node[i];
		struct part *p = part_of(n, suffered);
		double mean = p->lift, var = 0, all = s->vary[level], share, beyond;

		if (n->level != level)
			continue;
		if (n->parent >= 0) {
			/* The parent by all but this node. */
			const struct part *up = part_of(&e->node[n->parent], suffered);
			double weight = 1 / up->var - p->up_weight;

			mean += (up->total / up->var - p->up_value) / weight;
			var = 1 / weight;
		}
		all += var;
		p->var = 1 / (p->weight + 1 / all);
		p->total = (p->value + mean / all) * p->var;
		/* What it does beyond its parent, and the variance of that. */
		share = s->vary[level] * p->weight / (1 + all * p->weight);
		beyond = p->weight > 0 ? share * (p->value / p->weight - mean) : 0;
		s->moments.sum[level] += beyond * beyond + s->vary[level] * (1 - share);
	}
}

/* What all nodes suffer, or inflict: with the rest of the model as it is, the exact posterior. */
static void fit_side(struct fit *f, bool suffered)
{
	side_of(f, suffered)->moments = (struct moments){{0}};
	gather(f->e, suffered);
	lift(f->e, suffered);
	tell_parents(f, suffered, LEVEL_VARIANT);
	fit_hints(f, suffered);
	tell_parents(f, suffered, LEVEL_CLASS);
	fit_mean(f, suffered);
	for (enum level level = LEVEL_USER; level < LEVELS; level++)
		find_totals(f, suffered, level);
}

/* What the cache model is worth: by how classes differ, and by pairs beyond that. */
static void fit_cache(struct fit *f)
{
	struct expectation *e = f->e;
	struct regression sums = {f->suffered.cache.weight + f->inflicted.cache.weight,
		f->suffered.cache.value + f->inflicted.cache.value};

	if (!e->hints || !e->hints->cache)
		return;
	for (int i = 0; i < e->rows; i++) {
		const struct seen *r = &e->seen[i];

		add_covariate(&sums, r->cache, r->weight, left_of(e, r), e->by_cache);
	}
	e->by_cache = coefficient(&sums, PRIOR_CACHE, PRIOR_CACHE_VARIANCE);
}

/* Ridge regression of what is left on two numbers of the partner. */
static void fit_slopes(struct expectation *e)
{
	for (int k = 0; k < e->nodes; k++) {
		struct node *n = &e->node[k];
		double a = 1 / e->vary_slope, b = 0, d = a, x = 0, z = 0, det;

		if (n->level != LEVEL_CLASS)
			continue;
		for (int i = n->first; i < n->first + n->count; i++) {
			const struct seen *r = &e->seen[i];
			const struct node *o = &e->node[r->partner];
			double w = r->weight, left = r->y - additive(e, r);
			double f = o->inflicted.total * e->unit_inflicted;
			double g = o->suffered.total * e->unit_suffered;

			a += w * f * f;
			b += w * f * g;
			d += w * g * g;
			x += w * f * left;
			z += w * g * left;
		}
		det = a * d - b * b;
		n->slope[0] = (d * x - b * z) / det;
		n->slope[1] = (a * z - b * x) / det;
		n->slope_var[0] = d / det;
		n->slope_var[1] = a / det;
		n->slope_covar = -b / det;
	}
}

static double variance(double prior, double sum, double count)
{
	return fmax((PRIOR_COUNT * prior + sum) / (PRIOR_COUNT + count), LEAST_VARIANCE);
}

static void set_units(struct expectation *e)
{
	double suffered = e->vary_suffered[LEVEL_CLASS], inflicted = e->vary_inflicted[LEVEL_CLASS];

	e->unit_suffered = 1 / sqrt(suffered + (e->users ? e->vary_suffered[LEVEL_USER] : 0));
	e->unit_inflicted = 1 / sqrt(inflicted + (e->users ? e->vary_inflicted[LEVEL_USER] : 0));
}

/* Sums over groups and rows of what is left. */
struct rests {
	double rest, extra;
	int groups, rows; /* rows: of variants */
};

/*
 * Adds what a group tells of both rests. What the parts of a class have fitted of them is missing
 * in what is left. Of a row that may be mere noise nothing follows: it leaves the rests as they
 * were.
 */
static void add_rests(const struct expectation *e, const struct group *g, struct rests *s)
{
	double weight = 0, value = 0, fitted = 0, rest, var, share;

	for (int i = g->first; i < g->first + g->count; i++) {
		const struct seen *r = &e->seen[i];

		if (r->held_out)
			continue;
		weight += 1 / r->extra;
		value += left_of(e, r) / r->extra;
		fitted += (e->node[r->job].suffered.var + e->node[r->partner].inflicted.var +
				  interaction_var(e, r->job, r->partner)) /
			  r->extra;
	}
	if (!(weight > 0))
		return;
	var = 1 / (weight + 1 / e->vary_rest);
	rest = value * var;
	share = weight * var;
	s->rest += rest * rest + share * share * fitted / weight + var;
	s->groups++;
	for (int i = g->first; i < g->first + g->count; i++) {
		const struct seen *r = &e->seen[i];
		double own = e->vary_extra / r->extra, left;

		if (r->held_out || !r->variants)
			continue;
		left = left_of(e, r) - rest;
		s->extra += own * own * (left * left + var) + (1 - own) * e->vary_extra;
		s->rows++;
	}
}

static int count_level(const struct expectation *e, enum level level)
{
	int count = 0;

	for (int i = 0; i < e->nodes; i++)
		count += e->node[i].level == level;
	return count;
}

/* How much each part varies, by what the parts are now and how uncertain they are. */
static void fit_variances(struct fit *f)
{
	static const double prior[LEVELS] = {PRIOR_USER, PRIOR_CLASS, PRIOR_VARIANT};
	struct expectation *e = f->e;
	struct rests rests = {.rest = 0};
	double slope = 0;

	for (int k = 0; k < e->nodes; k++)
		for (int i = 0; e->node[k].level == LEVEL_CLASS && i < SLOPES; i++)
			slope += (e->node[k].slope[i] * e->node[k].slope[i] +
					 e->node[k].slope_var[i]) /
				 SLOPES;
	for (int i = 0; i < e->groups; i++)
		add_rests(e, &e->group[i], &rests);
	for (enum level level = LEVEL_USER; level < LEVELS; level++) {
		int count = count_level(e, level);

		e->vary_suffered[level] =
			variance(prior[level], f->suffered.moments.sum[level], count);
		e->vary_inflicted[level] =
			variance(prior[level], f->inflicted.moments.sum[level], count);
	}
	e->vary_slope = variance(PRIOR_SLOPE, slope, count_level(e, LEVEL_CLASS));
	e->vary_rest = variance(PRIOR_REST, rests.rest, rests.groups);
	e->vary_extra = variance(PRIOR_EXTRA, rests.extra, rests.rows);
	set_units(e);
}

static void forget(struct expectation *e)
{
	const bool spread = e->hints && e->hints->spread, cache = e->hints && e->hints->cache;

	for (int k = 0; k < e->nodes; k++) {
		struct node *n = &e->node[k];

		n->suffered = n->inflicted = (struct part){0};
		for (int i = 0; i < SLOPES; i++)
			n->slope[i] = n->slope_var[i] = 0;
		n->slope_covar = 0;
	}
	e->mean = PRIOR_MEAN;
	e->vary_suffered[LEVEL_USER] = e->vary_inflicted[LEVEL_USER] = PRIOR_USER;
	e->vary_suffered[LEVEL_CLASS] = e->vary_inflicted[LEVEL_CLASS] = PRIOR_CLASS;
	e->vary_suffered[LEVEL_VARIANT] = e->vary_inflicted[LEVEL_VARIANT] = PRIOR_VARIANT;
	e->vary_slope = PRIOR_SLOPE;
	e->vary_rest = PRIOR_REST;
	e->vary_extra = PRIOR_EXTRA;
	e->by_spread_suffered = spread ? PRIOR_SPREAD_SUFFERED : 0;
	e->by_spread_inflicted = spread ? PRIOR_SPREAD_INFLICTED : 0;
	e->by_cache = cache ? PRIOR_CACHE : 0;
	set_units(e);
}

void expectation_fit_parts(struct expectation *e)
{
	struct fit f = {
		.e = e, .suffered.vary = e->vary_suffered, .inflicted.vary = e->vary_inflicted};

	forget(e);
	for (int i = 0; i < SWEEPS; i++) {
		weigh_rows(e);
		fit_side(&f, true);
		fit_side(&f, false);
		fit_cache(&f);
		/* The slopes go by the other parts, which must be there first. */
		if (i >= SWEEPS / 4)
			fit_slopes(e);
		fit_variances(&f);
	}
}
