/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits what classes suffer and inflict to the pair history. */
#include "striping/partners/expectation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 24
#define SLOPES 2
/* A degradation nearer to 1 is taken as this: y would have no end. */
#define MOST_D 0.95
/* What one run of a minute or more is off by, and what a run of a minute is off by besides; in y,
 * as variances. */
#define RUN_VARIANCE 4e-4
#define MINUTE_VARIANCE 1e-3
#define MINUTE_S 60.0
/* What is believed of the variances before anything is known: each counts as so many classes, or
 * pairs. Of public matrices y varies by 0.05 to 0.15 from class to class. */
#define PRIOR_COUNT 3.0
#define PRIOR_CLASS 0.01
#define PRIOR_SLOPE 0.01
#define PRIOR_REST 0.003
#define PRIOR_MEAN 0.1
#define LEAST_VARIANCE 1e-6
/* The rows are divided into so many parts, each of which is held out once. */
#define FOLDS 4
/* What is believed of the model's intervals before any row was held out counts as so many. */
#define PRIOR_HELD_OUT 20.0

struct seen {
	int job, partner;
	double y, noise; /* noise: the variance of y by measurement */
	bool held_out;   /* the fit does not see it */
};

struct class
{
	const char *name; /* in names[] */
	double suffered, inflicted;
	double suffered_var, inflicted_var; /* of the truth about the estimate */
	double slope[SLOPES], slope_var[SLOPES], slope_covar;
	int first, count; /* its rows, as the job */
};

struct expectation {
	char *names;
	struct class *class; /* sorted by name */
	int classes;
	struct seen *seen; /* sorted by job, then partner */
	int rows;
	double mean;
	double vary_suffered, vary_inflicted, vary_slope, vary_rest;
	double widen; /* the model is off by so many times the variance that the fit says */
};

/* Collects names and rows. */
struct collect {
	struct expectation *e;
	size_t used; /* of names */
	const char **name;
	int names;
};

static void add_size(const struct pairs_row *row, void *arg)
{
	struct collect *c = arg;

	c->used += strlen(row->job) + strlen(row->partner) + 2;
	c->e->rows++;
}

static void add_names(const struct pairs_row *row, void *arg)
{
	struct collect *c = arg;

	c->name[c->names++] = row->job;
	c->name[c->names++] = row->partner;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_row(const struct pairs_row *row, void *arg)
{
	struct expectation *e = ((struct collect *)arg)->e;
	struct seen *s = &e->seen[e->rows++];
	double runs = row->runs > 1 ? row->runs : 1;

	s->job = expectation_class(e, row->job);
	s->partner = expectation_class(e, row->partner);
	s->y = -log1p(-fmin(row->degradation, MOST_D));
	s->noise = RUN_VARIANCE / runs + MINUTE_VARIANCE * MINUTE_S / row->seconds;
	s->held_out = false;
}

static int collect(struct expectation *e, const struct pairs *p)
{
	struct collect c = {.e = e};
	size_t at = 0;

	pairs_each(p, add_size, &c);
	e->names = malloc(c.used + 1);
	e->seen = malloc(((size_t)e->rows + 1) * sizeof(*e->seen));
	e->class = calloc(2 * (size_t)e->rows + 1, sizeof(*e->class));
	c.name = malloc((2 * (size_t)e->rows + 1) * sizeof(*c.name));
	if (!e->names || !e->seen || !e->class || !c.name) {
		free(c.name);
		return -1;
	}
	pairs_each(p, add_names, &c);
	qsort(c.name, (size_t)c.names, sizeof(*c.name), by_name);
	for (int i = 0; i < c.names; i++) {
		size_t length = strlen(c.name[i]) + 1;

		if (i && !strcmp(c.name[i], c.name[i - 1]))
			continue;
		e->class[e->classes++].name = memcpy(e->names + at, c.name[i], length);
		at += length;
	}
	free(c.name);
	e->rows = 0;
	pairs_each(p, add_row, &c);
	for (int i = e->rows - 1; i >= 0; i--) {
		struct class *k = &e->class[e->seen[i].job];

		k->first = i;
		k->count++;
	}
	return 0;
}

static double interaction(const struct expectation *e, int job, int partner)
{
	const struct class *o = &e->class[partner];

	return e->class[job].slope[0] * o->inflicted / sqrt(e->vary_inflicted) +
	       e->class[job].slope[1] * o->suffered / sqrt(e->vary_suffered);
}

/* How far off interaction() is, as a variance. */
static double interaction_var(const struct expectation *e, int job, int partner)
{
	const struct class *c = &e->class[job], *o = &e->class[partner];
	double f = o->inflicted / sqrt(e->vary_inflicted), g = o->suffered / sqrt(e->vary_suffered);

	return c->slope_var[0] * f * f + 2 * c->slope_covar * f * g + c->slope_var[1] * g * g;
}

static double additive(const struct expectation *e, int job, int partner)
{
	return e->mean + (job < 0 ? 0 : e->class[job].suffered) +
	       (partner < 0 ? 0 : e->class[partner].inflicted);
}

static double modelled(const struct expectation *e, int job, int partner)
{
	return additive(e, job, partner) +
	       (job < 0 || partner < 0 ? 0 : interaction(e, job, partner));
}

/* Sums of what the rows say of something beyond the rest of the model. */
struct sums {
	double weight, value;
};

/* What a row counts, beside what is known of the parts already. */
static double weight(const struct expectation *e, const struct seen *r)
{
	return r->held_out ? 0 : 1 / (e->vary_rest + r->noise);
}

static void fit_mean(struct expectation *e)
{
	struct sums s = {1 / PRIOR_CLASS, PRIOR_MEAN / PRIOR_CLASS};

	for (int i = 0; i < e->rows; i++) {
		const struct seen *r = &e->seen[i];
		/* Rows of a class are off by the same, so many of them tell little more of the mean
		 * than one. */
		double w = 1 / (e->vary_rest + r->noise +
				       (e->vary_suffered + e->vary_inflicted) *
					       (1 + e->class[r->job].count) / 2);

		if (r->held_out)
			continue;
		s.weight += w;
		s.value += w * (r->y - modelled(e, r->job, r->partner) + e->mean);
	}
	e->mean = s.value / s.weight;
}

static void fit_suffered(struct expectation *e)
{
	for (int k = 0; k < e->classes; k++) {
		struct class *c = &e->class[k];
		struct sums s = {1 / e->vary_suffered, 0};

		for (int i = c->first; i < c->first + c->count; i++) {
			const struct seen *r = &e->seen[i];
			double w = weight(e, r);

			s.weight += w;
			s.value += w * (r->y - modelled(e, r->job, r->partner) + c->suffered);
		}
		c->suffered = s.value / s.weight;
		c->suffered_var = 1 / s.weight;
	}
}

static void fit_inflicted(struct expectation *e, struct sums *s)
{
	for (int k = 0; k < e->classes; k++)
		s[k] = (struct sums){1 / e->vary_inflicted, 0};
	for (int i = 0; i < e->rows; i++) {
		const struct seen *r = &e->seen[i];
		double w = weight(e, r);

		s[r->partner].weight += w;
		s[r->partner].value += w * (r->y - modelled(e, r->job, r->partner) +
						   e->class[r->partner].inflicted);
	}
	for (int k = 0; k < e->classes; k++) {
		e->class[k].inflicted = s[k].value / s[k].weight;
		e->class[k].inflicted_var = 1 / s[k].weight;
	}
}

/* Ridge regression of what is left on two numbers of the partner. */
static void fit_slopes(struct expectation *e)
{
	for (int k = 0; k < e->classes; k++) {
		struct class *c = &e->class[k];
		double a = 1 / e->vary_slope, b = 0, d = a, x = 0, z = 0, det;

		for (int i = c->first; i < c->first + c->count; i++) {
			const struct seen *r = &e->seen[i];
			const struct class *o = &e->class[r->partner];
			double w = weight(e, r);
			double f = o->inflicted / sqrt(e->vary_inflicted);
			double g = o->suffered / sqrt(e->vary_suffered);
			double left = r->y - additive(e, r->job, r->partner);

			a += w * f * f;
			b += w * f * g;
			d += w * g * g;
			x += w * f * left;
			z += w * g * left;
		}
		det = a * d - b * b;
		c->slope[0] = (d * x - b * z) / det;
		c->slope[1] = (a * z - b * x) / det;
		c->slope_var[0] = d / det;
		c->slope_var[1] = a / det;
		c->slope_covar = -b / det;
	}
}

static double variance(double prior, double sum, double count)
{
	return fmax((PRIOR_COUNT * prior + sum) / (PRIOR_COUNT + count), LEAST_VARIANCE);
}

/* How much each part varies, by what the parts are now and how uncertain they are. */
static void fit_variances(struct expectation *e)
{
	double suffered = 0, inflicted = 0, slope = 0, rest = 0;
	int rows = 0;

	for (int k = 0; k < e->classes; k++) {
		const struct class *c = &e->class[k];

		suffered += c->suffered * c->suffered + c->suffered_var;
		inflicted += c->inflicted * c->inflicted + c->inflicted_var;
		for (int i = 0; i < SLOPES; i++)
			slope += (c->slope[i] * c->slope[i] + c->slope_var[i]) / SLOPES;
	}
	for (int i = 0; i < e->rows; i++) {
		const struct seen *r = &e->seen[i];
		double left = r->y - modelled(e, r->job, r->partner);
		double share = e->vary_rest / (e->vary_rest + r->noise);

		if (r->held_out)
			continue;
		rows++;
		/* What the parts of a class have fitted of it is missing there. Of a row that may
		 * be mere noise nothing follows: it leaves the rest as it was. */
		rest += share * share *
				(left * left + e->class[r->job].suffered_var +
					e->class[r->partner].inflicted_var +
					interaction_var(e, r->job, r->partner)) +
			(1 - share) * e->vary_rest;
	}
	e->vary_suffered = variance(PRIOR_CLASS, suffered, e->classes);
	e->vary_inflicted = variance(PRIOR_CLASS, inflicted, e->classes);
	e->vary_slope = variance(PRIOR_SLOPE, slope, e->classes);
	e->vary_rest = variance(PRIOR_REST, rest, rows);
}

/* Fits all parts to the rows that are not held out, from nothing. */
static void fit(struct expectation *e, struct sums *scratch)
{
	for (int k = 0; k < e->classes; k++) {
		struct class *c = &e->class[k];

		*c = (struct class){.name = c->name, .first = c->first, .count = c->count};
	}
	e->mean = PRIOR_MEAN;
	e->vary_suffered = e->vary_inflicted = PRIOR_CLASS;
	e->vary_slope = PRIOR_SLOPE;
	e->vary_rest = PRIOR_REST;
	for (int i = 0; i < SWEEPS; i++) {
		fit_mean(e);
		fit_suffered(e);
		fit_inflicted(e, scratch);
		/* The slopes go by the other parts, which must be there first. */
		if (i >= SWEEPS / 4)
			fit_slopes(e);
		fit_variances(e);
	}
}

/* How far off modelled() is by what the fit says, as a variance. */
static double modelled_var(const struct expectation *e, int job, int partner)
{
	return e->vary_rest + (job < 0 ? e->vary_suffered : e->class[job].suffered_var) +
	       (partner < 0 ? e->vary_inflicted : e->class[partner].inflicted_var) +
	       (job < 0 || partner < 0 ? 2 * e->vary_slope : interaction_var(e, job, partner));
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Each part is fitted as if the others were known, so the fit takes itself for better than it is.
 * How much that is, rows that it has not seen show: `widen` makes 90 % of them lie where 90 % are
 * to be. off: scratch for as many numbers as there are rows.
 */
static void compare_held_out(struct expectation *e, struct sums *scratch, double *off)
{
	double times;
	long count = 0;

	for (int fold = 0; fold < FOLDS; fold++) {
		/* Rows are in the order of jobs, so each job has some in each part. */
		for (int i = 0; i < e->rows; i++)
			e->seen[i].held_out = i % FOLDS == fold;
		fit(e, scratch);
		for (int i = fold; i < e->rows; i += FOLDS) {
			const struct seen *r = &e->seen[i];
			double var = modelled_var(e, r->job, r->partner);

			/* Of others one would see the noise, and not the model. */
			if (r->noise < var)
				off[count++] = fabs(r->y - modelled(e, r->job, r->partner)) /
					       sqrt(var + r->noise);
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

struct expectation *expectation_fit(const struct pairs *p)
{
	struct expectation *e = calloc(1, sizeof(*e));
	struct sums *scratch = NULL;
	double *off = NULL;

	if (e && !collect(e, p)) {
		scratch = malloc(((size_t)e->classes + 1) * sizeof(*scratch));
		off = malloc(((size_t)e->rows + 1) * sizeof(*off));
	}
	if (scratch && off) {
		compare_held_out(e, scratch, off);
		fit(e, scratch);
	} else {
		expectation_free(e);
		e = NULL;
	}
	free(scratch);
	free(off);
	return e;
}

void expectation_free(struct expectation *e)
{
	if (!e)
		return;
	free(e->names);
	free(e->class);
	free(e->seen);
	free(e);
}

int expectation_classes(const struct expectation *e)
{
	return e->classes;
}

static int compare_class(const void *name, const void *class)
{
	return strcmp(name, ((const struct class *)class)->name);
}

int expectation_class(const struct expectation *e, const char *name)
{
	const struct class *c =
		bsearch(name, e->class, (size_t)e->classes, sizeof(*e->class), compare_class);

	return c ? (int)(c - e->class) : -1;
}

static const struct seen *find_seen(const struct expectation *e, int job, int partner)
{
	int low, high;

	if (job < 0 || partner < 0)
		return NULL;
	low = e->class[job].first;
	high = low + e->class[job].count;
	while (low < high) {
		int mid = (low + high) / 2;

		if (e->seen[mid].partner < partner)
			low = mid + 1;
		else
			high = mid;
	}
	return low < e->class[job].first + e->class[job].count && e->seen[low].partner == partner
		       ? &e->seen[low]
		       : NULL;
}

struct expected expectation_of(const struct expectation *e, int job, int partner)
{
	const struct seen *own = find_seen(e, job, partner);
	double y = modelled(e, job, partner), var = e->widen * modelled_var(e, job, partner);

	if (own) {
		double share = var / (var + own->noise);

		y += share * (own->y - y);
		var = share * own->noise;
	}
	return (struct expected){-expm1(-y), exp(-y) * sqrt(var)};
}

double expectation_alone(const struct expectation *e, int class_number)
{
	double twin = expectation_of(e, class_number, class_number).degradation;

	return 1 / (1 - fmax(fmin(twin, MOST_D), 0));
}

double expectation_speed(const struct expectation *e, int class_number, int partner)
{
	return (1 - expectation_of(e, class_number, partner).degradation) *
	       expectation_alone(e, class_number);
}
