/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at all pairs of the classes that are about. */
#include "striping/partners/outlook.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/partners/random_bits.h"
#include "striping/partners/user_weight.h"
#include "striping/reuse/group_overlap.h"

/* A class that has a profile and has not run may soon; it is taken to want that much besides. */
#define PROFILE_TIME 3600.0

struct known {
	char name[PAIRS_CLASS_MAX];
	double lane_time;
	double with_parts; /* the same with that of all that belong to it */
	double alone, typical;
	double weight; /* outlook_weight() */
};

struct outlook {
	int classes;         /* and one more, the last: of which nothing is known */
	struct known *class; /* sorted by name */
	double *speed;       /* [one * (classes + 1) + other] */
	float *sd;           /* of the logarithms of these speeds */
	double another;
	struct group_overlap *overlap; /* NULL: none is known */
	/* A draw has all that is above from another outlook, and draws a speed each time that it is
	 * asked for: of 160,000 pairs few ever are. */
	bool drawn;
	uint64_t seed;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->name, ((const struct known *)b)->name);
}

/* Those that want the most first. Where it is the same, "#1000", "1000@lmp" and "1000@lmp+4n" come
 * in this order, so that nobody is before who it belongs to. */
static int by_time(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->with_parts != y->with_parts)
		return (x->with_parts < y->with_parts) - (x->with_parts > y->with_parts);
	return strcmp(x->name, y->name);
}

static void merge(struct outlook *o)
{
	int kept = 0;

	qsort(o->class, (size_t)o->classes, sizeof(*o->class), by_name);
	for (int i = 0; i < o->classes; i++)
		if (kept && !strcmp(o->class[kept - 1].name, o->class[i].name)) {
			o->class[kept - 1].lane_time += o->class[i].lane_time;
			o->class[kept - 1].with_parts += o->class[i].with_parts;
		} else {
			o->class[kept++] = o->class[i];
		}
	o->classes = kept;
}

/* Leaves those that want the most; what the others want is that of the class or user that they
 * belong to, or the last one's. */
static void cut(struct outlook *o)
{
	const int all = o->classes;
	double rest = 0;

	if (all > OUTLOOK_CLASSES) {
		qsort(o->class, (size_t)all, sizeof(*o->class), by_time);
		o->classes = OUTLOOK_CLASSES;
		qsort(o->class, (size_t)o->classes, sizeof(*o->class), by_name);
	}
	for (int i = o->classes; i < all; i++) {
		int at = outlook_class(o, o->class[i].name);

		if (at < o->classes)
			o->class[at].lane_time += o->class[i].lane_time;
		else
			rest += o->class[i].lane_time;
	}
	o->class[o->classes] = (struct known){.lane_time = rest};
}

struct draw {
	double speed, weight;
};

static int by_speed(const void *a, const void *b)
{
	double x = ((const struct draw *)a)->speed, y = ((const struct draw *)b)->speed;

	return (x > y) - (x < y);
}

/* The mean speed beside a partner, and beside the slower one of two of them. draw: room for all
 * classes. */
static void mean_speeds(
	const struct outlook *o, int class, struct draw *draw, double *one, double *two)
{
	int n = o->classes + 1;
	double all = 0, below = 0;

	*one = *two = 0;
	for (int j = 0; j < n; j++) {
		draw[j] = (struct draw){o->speed[class * n + j], o->class[j].lane_time};
		all += draw[j].weight;
	}
	qsort(draw, (size_t)n, sizeof(*draw), by_speed);
	for (int j = 0; j < n; j++) {
		double w = all > 0 ? draw[j].weight / all : 1.0 / n;

		*one += w * draw[j].speed;
		/* This one is the slower one where the other one is the same, or comes later. */
		*two += w * (w + 2 * (1 - below - w)) * draw[j].speed;
		below += w;
	}
}

static int find_usual(struct outlook *o)
{
	int n = o->classes + 1;
	struct draw *draw = malloc((size_t)n * sizeof(*draw));
	double all = 0;

	if (!draw)
		return -1;
	for (int i = 0; i < n; i++) {
		struct known *c = &o->class[i];
		double slower;

		mean_speeds(o, i, draw, &c->typical, &slower);
		o->another += c->lane_time * (1 - slower / c->typical);
		all += c->lane_time;
	}
	o->another = all > 0 ? o->another / all : 0;
	free(draw);
	return 0;
}

/* The numbers of the classes in e; the caller frees them. NULL without memory. */
static int *class_numbers(const struct outlook *o, const struct expectation *e)
{
	int *number = malloc(((size_t)o->classes + 1) * sizeof(*number));

	for (int i = 0; number && i < o->classes; i++)
		number[i] = expectation_class(e, o->class[i].name);
	if (number)
		number[o->classes] = -1;
	return number;
}

static void set_pair(struct outlook *o, int at, double alone, struct expected x)
{
	o->speed[at] = (1 - x.degradation) * alone;
	o->sd[at] = (float)(x.sd / (1 - x.degradation));
}

static int fill(struct outlook *o, const struct expectation *e)
{
	int n = o->classes + 1, *number = class_numbers(o, e);

	o->speed = malloc((size_t)n * (size_t)n * sizeof(*o->speed));
	o->sd = malloc((size_t)n * (size_t)n * sizeof(*o->sd));
	if (!number || !o->speed || !o->sd) {
		free(number);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		o->class[i].alone = expectation_alone(e, number[i]);
		o->class[i].weight = 1;
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			set_pair(o, i * n + j, o->class[i].alone,
				expectation_of(e, number[i], number[j]));
	free(number);
	return find_usual(o);
}

/* Adds a class or variant, and all that it belongs to. */
static void add(struct outlook *o, const struct outlook_demand *d)
{
	struct known *c = &o->class[o->classes];
	bool more = strlen(d->class_name) < sizeof(c->name) && d->lane_time > 0;

	for (const char *name = d->class_name; more; name = c++->name) {
		*c = (struct known){.with_parts = d->lane_time};
		if (name == d->class_name) {
			c->lane_time = d->lane_time;
			strcpy(c->name, name);
		} else if (!class_parent(name, c->name)) {
			break;
		}
		o->classes++;
	}
}

struct outlook *outlook_new(
	const struct expectation *e, const struct outlook_demand *demand, int count)
{
	struct outlook *o = calloc(1, sizeof(*o));

	if (o)
		o->class = malloc((CLASS_LEVELS * (size_t)count + 1) * sizeof(*o->class));
	if (!o || !o->class) {
		outlook_free(o);
		return NULL;
	}
	for (int i = 0; i < count; i++)
		add(o, &demand[i]);
	merge(o);
	cut(o);
	if (fill(o, e)) {
		outlook_free(o);
		return NULL;
	}
	return o;
}

_Static_assert(PROFILE_NAME_MAX == PAIRS_CLASS_MAX, "profiles are of classes");

/* Of a variant it is the class's. */
static int profile_of(const struct cache_forecast *cache, const char *class_name)
{
	char class[PAIRS_CLASS_MAX];

	snprintf(class, sizeof(class), "%.*s", (int)class_base(class_name), class_name);
	return cache_forecast_class(cache, class);
}

void outlook_share_cache(struct outlook *o, const struct cache_forecast *cache)
{
	const int n = o->classes + 1;
	int *profile = malloc((size_t)n * sizeof(*profile));
	double *weight = malloc((size_t)n * sizeof(*weight));

	for (int i = 0; profile && weight && i < n; i++) {
		profile[i] = i < o->classes ? profile_of(cache, o->class[i].name) : -1;
		weight[i] = o->class[i].lane_time;
	}
	group_overlap_free(o->overlap);
	o->overlap = profile && weight ? group_overlap_new(cache, profile, weight, n) : NULL;
	free(profile);
	free(weight);
}

void outlook_weigh_users(struct outlook *o, const struct pairs *p)
{
	struct user_weights *w = user_weights_new(p);

	for (int i = 0; i < o->classes; i++)
		o->class[i].weight = user_weights_of(w, o->class[i].name);
	user_weights_free(w);
}

/* In y of expectation.h: what one run of a minute is off by, 0.037, and a bit more. */
#define LITTLE_SD 0.04

/* Normal, and no further from 0 than the 90 % interval. */
static double draw_normal(uint64_t bits)
{
	double z = random_normal(bits);

	while (fabs(z) > EXPECTED_90) {
		bits = random_mix(bits + 1);
		z = random_normal(bits);
	}
	return z;
}

/* One for each pair, so that what is drawn of one does not depend on what is known of others. */
static double draw_speed(const struct outlook *o, int class_number, int partner)
{
	const int at = class_number * (o->classes + 1) + partner;
	const double mean = o->speed[at], sd = (double)o->sd[at];

	if (!(sd > LITTLE_SD))
		return mean;
	return fmin(mean * exp(-sd * draw_normal(random_mix(random_mix(o->seed) ^ (uint64_t)at))),
		fmax(mean, o->class[class_number].alone));
}

struct outlook *outlook_drawn(const struct outlook *o, uint64_t seed)
{
	struct outlook *drawn = malloc(sizeof(*drawn));

	if (drawn) {
		*drawn = *o;
		drawn->drawn = true;
		drawn->seed = seed;
	}
	return drawn;
}

struct demands {
	struct outlook_demand *of;
	int count, room;
};

static void count_row(const struct pairs_row *row, void *arg)
{
	++*(int *)arg;
	(void)row;
}

/* Rows come class by class. */
static void add_row(const struct pairs_row *row, void *arg)
{
	struct demands *d = arg;
	struct outlook_demand *last = d->count ? &d->of[d->count - 1] : NULL;

	if (last && !strcmp(last->class_name, row->job))
		last->lane_time += row->seconds;
	else if (d->count < d->room)
		d->of[d->count++] = (struct outlook_demand){row->job, row->seconds};
}

struct outlook *outlook_of_history(
	const struct pairs *p, const struct expectation *e, const struct cache_forecast *cache)
{
	struct demands d = {.room = cache_forecast_classes(cache)};
	struct outlook *o = NULL;

	pairs_each(p, count_row, &d.room);
	d.of = malloc(((size_t)d.room + 1) * sizeof(*d.of));
	if (!d.of)
		return NULL;
	pairs_each(p, add_row, &d);
	for (int i = 0; i < cache_forecast_classes(cache); i++)
		d.of[d.count++] =
			(struct outlook_demand){cache_forecast_names(cache)[i], PROFILE_TIME};
	o = outlook_new(e, d.of, d.count);
	free(d.of);
	if (o) {
		outlook_share_cache(o, cache);
		outlook_weigh_users(o, p);
	}
	return o;
}

void outlook_free(struct outlook *o)
{
	if (!o)
		return;
	if (!o->drawn) {
		free(o->class);
		free(o->speed);
		free(o->sd);
		group_overlap_free(o->overlap);
	}
	free(o);
}

static int compare_class(const void *name, const void *class)
{
	return strcmp(name, ((const struct known *)class)->name);
}

int outlook_class(const struct outlook *o, const char *name)
{
	const struct known *c =
		bsearch(name, o->class, (size_t)o->classes, sizeof(*o->class), compare_class);
	char parent[PAIRS_CLASS_MAX];

	if (c)
		return (int)(c - o->class);
	return class_parent(name, parent) ? outlook_class(o, parent) : o->classes;
}

bool outlook_empty(const struct outlook *o)
{
	return !o->classes;
}

double outlook_worth(const struct outlook *o, int one, int other)
{
	return (outlook_speed(o, one, other) + outlook_speed(o, other, one)) / 2;
}

double outlook_speed(const struct outlook *o, int class_number, int partner)
{
	return o->drawn ? draw_speed(o, class_number, partner)
			: o->speed[class_number * (o->classes + 1) + partner];
}

double outlook_alone(const struct outlook *o, int class_number)
{
	return o->class[class_number].alone;
}

double outlook_weight(const struct outlook *o, int class_number)
{
	return o->class[class_number].weight;
}

double outlook_typical(const struct outlook *o, int class_number)
{
	return o->class[class_number].typical;
}

double outlook_among(
	const struct outlook *o, int lanes, int class_number, const int *others, int count)
{
	double alone = outlook_alone(o, class_number), speed = 1;

	for (int i = 0; i < lanes - 1; i++)
		speed *= i < count ? outlook_speed(o, class_number, others[i]) : alone;
	return speed * group_overlap_factor(o->overlap, lanes, class_number, others, count);
}

double outlook_usual(const struct outlook *o, int lanes, int class_number)
{
	return pow(outlook_typical(o, class_number), lanes - 1) *
	       group_overlap_usual(o->overlap, lanes, class_number);
}

double outlook_another(const struct outlook *o)
{
	return o->another;
}
