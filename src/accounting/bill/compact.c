/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the plain runs of a job's work, and compares the job with them. */
#include "accounting/bill/compact.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/bill/spread.h"

/* Of the plain runs that started nearest to a job, so many count, and so many are looked at: a
 * program changes over the years, and a report of many jobs must not take time by their square. */
#define RUNS 50
#define LOOKED_AT 500
/* Runs whose quartiles are further apart than this share of their median are not taken to do the
 * same work. */
#define APART 0.25
/* A lane has at most half of a node's CPUs. A plain run that has this many times as many on a node
 * had more than a lane: it filled its nodes, but perhaps for the last one. */
#define DENSER 1.5
/* Above this degradation what a job does alone on its lane is not to be told from what it does. */
#define MAX_DEGRADATION 0.99
/* A job that was beside others for this share of its time was so all the time. */
#define ALWAYS 0.98
/* A job that has fewer than two and a half times as many nodes as plain runs has half of each. */
#define TWO_LANES 2.5

struct plain_runs {
	const struct bill **run; /* by cluster, user, name without digits, CPUs, and start */
	int count;
};

/* How a plain run may differ from the job. Where there are none of a kind, the next kind counts. */
enum { SAME_NAME = 1, SAME_PARTITION = 2, DENSE = 4 };
static const unsigned kinds[] = {SAME_NAME | SAME_PARTITION | DENSE, SAME_PARTITION | DENSE, DENSE,
	SAME_NAME | SAME_PARTITION, SAME_PARTITION, 0};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static const struct {
	const char *name, *why;
} doubts[COMPACT_DOUBTS] = {
	[COMPACT_NONE] = {"", ""},
	[COMPACT_APART] = {"apart", "they differ too much to have done the same work"},
	[COMPACT_ONE_RUN] = {"one-run", "one run does not show how much they differ"},
	[COMPACT_PARTITION] = {"partition", "they ran in another partition"},
	[COMPACT_PART] = {"part-of-nodes", "they left CPUs of their nodes idle or to other jobs"},
	[COMPACT_NO_RUN] = {"no-run", "no run of that name completed without --colocate"},
	[COMPACT_OTHER_CPUS] = {"other-cpus", "its runs without --colocate had other numbers of "
					      "CPUs"},
	[COMPACT_NOT_DONE] = {"not-completed", "it did not complete in one size"},
};

const char *compact_doubt_name(enum compact_doubt doubt)
{
	return doubts[doubt].name;
}

const char *compact_doubt_why(enum compact_doubt doubt)
{
	return doubts[doubt].why;
}

bool compact_known(const struct compact *c)
{
	return c->doubt < COMPACT_NO_RUN;
}

bool compact_sure(const struct compact *c)
{
	return c->doubt == COMPACT_NONE;
}

/* As strcmp() does, with each run of digits as one character. */
static int compare_without_digits(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a == *b) {
			a++;
			b++;
		} else {
			break;
		}
	}
	/* All digits are alike, or the order would depend on which ones they are. */
	return (isdigit((unsigned char)*a) ? '0' : (unsigned char)*a) -
	       (isdigit((unsigned char)*b) ? '0' : (unsigned char)*b);
}

bool compact_alike(const char *a, const char *b)
{
	return !compare_without_digits(a, b);
}

static int compare_work(const struct bill *x, const struct bill *y)
{
	int rc = strcmp(x->cluster, y->cluster);

	rc = rc ? rc : strcmp(x->user, y->user);
	return rc ? rc : compare_without_digits(x->name, y->name);
}

static int compare_size(const struct bill *x, const struct bill *y)
{
	int rc = compare_work(x, y);

	return rc ? rc : (x->cpus > y->cpus) - (x->cpus < y->cpus);
}

static int compare_runs(const void *a, const void *b)
{
	const struct bill *x = *(const struct bill *const *)a, *y = *(const struct bill *const *)b;
	int rc = compare_size(x, y);

	if (!rc)
		rc = (x->start > y->start) - (x->start < y->start);
	return rc ? rc : (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static bool has_completed(const struct bill *b)
{
	return !strcmp(b->state, "COMPLETED") && !b->earlier_size && !b->facts->size_count &&
	       b->elapsed_s > 0;
}

struct plain_runs *plain_runs_find(const struct bills *bills)
{
	struct plain_runs *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->run = calloc((size_t)bills->count + 1, sizeof(*r->run));
	if (!r->run) {
		free(r);
		return NULL;
	}
	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i];

		if (b->status == BILL_PLAIN && has_completed(b))
			r->run[r->count++] = b;
	}
	qsort(r->run, (size_t)r->count, sizeof(*r->run), compare_runs);
	return r;
}

void plain_runs_free(struct plain_runs *r)
{
	if (r)
		free(r->run);
	free(r);
}

/* The first plain run that does not come before the job by that order. */
static int place_of(const struct plain_runs *r, const struct bill *b,
	int (*compare)(const struct bill *, const struct bill *), bool by_start)
{
	int low = 0, high = r->count;

	while (low < high) {
		int middle = low + (high - low) / 2, rc = compare(r->run[middle], b);

		if (rc < 0 || (!rc && by_start && r->run[middle]->start < b->start))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static unsigned kind_of(const struct bill *run, const struct bill *b)
{
	unsigned kind = strcmp(run->name, b->name) ? 0 : SAME_NAME;

	if (!strcmp(run->partition, b->partition))
		kind |= SAME_PARTITION;
	if (run->nodes && b->nodes &&
		(double)run->cpus / run->nodes >= DENSER * (double)b->cpus / b->nodes)
		kind |= DENSE;
	return kind;
}

/* Plain runs of as many CPUs, the nearest ones first. */
struct near {
	const struct bill *run[LOOKED_AT];
	unsigned kind[LOOKED_AT];
	int count;
};

/* Looks to both sides of `at`, the nearer one first. */
static void find_near(const struct plain_runs *r, const struct bill *b, int at, struct near *near)
{
	int before = at - 1, after = at;

	for (near->count = 0; near->count < LOOKED_AT; near->count++) {
		bool left = before >= 0 && !compare_size(r->run[before], b);
		bool right = after < r->count && !compare_size(r->run[after], b);
		const struct bill *run;

		if (!left && !right)
			return;
		if (left && right)
			left = b->start - r->run[before]->start <= r->run[after]->start - b->start;
		run = r->run[left ? before-- : after++];
		near->run[near->count] = run;
		near->kind[near->count] = kind_of(run, b);
	}
}

static int count_of_kind(const struct near *near, unsigned kind)
{
	int n = 0;

	for (int i = 0; i < near->count; i++)
		n += (near->kind[i] & kind) == kind;
	return n;
}

/* Of the first kind of which there are two, or else of the first one of which there is any. But one
 * run that filled its nodes tells more than many that did not. */
static unsigned best_kind(const struct near *near)
{
	int best = -1;

	for (int i = 0; i < KINDS; i++) {
		int n = count_of_kind(near, kinds[i]);

		if (best >= 0 && (kinds[best] & ~kinds[i] & DENSE))
			break;
		if (n > 1)
			return kinds[i];
		if (n && best < 0)
			best = i;
	}
	return best < 0 ? 0 : kinds[best];
}

/* Leaves the nearest of that kind. */
static void keep_kind(struct near *near, unsigned kind)
{
	int kept = 0;

	for (int i = 0; i < near->count && kept < RUNS; i++)
		if ((near->kind[i] & kind) == kind)
			near->run[kept++] = near->run[i];
	near->count = kept;
}

static bool elsewhere(const struct near *near, const struct bill *b)
{
	for (int i = 0; i < near->count; i++)
		if (strcmp(near->run[i]->partition, b->partition))
			return true;
	return false;
}

static double mean_power(const struct near *near)
{
	double sum = 0;
	int known = 0;

	for (int i = 0; i < near->count; i++) {
		if (isnan(near->run[i]->energy_j))
			continue;
		sum += near->run[i]->energy_j / (double)near->run[i]->elapsed_s;
		known++;
	}
	return known ? sum / known : NAN;
}

static void compare_with(
	struct compact *c, const struct near *near, const struct bill *b, unsigned kind)
{
	double v[RUNS], node_s[RUNS];
	struct spread s;

	for (int i = 0; i < near->count; i++) {
		v[i] = (double)near->run[i]->elapsed_s;
		node_s[i] = v[i] * near->run[i]->nodes;
	}
	s = spread_of(v, near->count);
	c->runs = near->count;
	c->run_s = s.at[2];
	c->node_s = spread_of(node_s, near->count).at[2];
	c->power_w = mean_power(near);
	if (near->count > 1)
		c->apart = (near->count < 4 ? s.at[4] - s.at[0] : s.at[3] - s.at[1]) / c->run_s;
	/* Both have as many CPUs, so that their times are to each other as their CPU seconds. */
	c->progress = c->run_s / (double)b->elapsed_s;
	c->doubt = c->apart > APART     ? COMPACT_APART
		   : near->count == 1   ? COMPACT_ONE_RUN
		   : elsewhere(near, b) ? COMPACT_PARTITION
		   : !(kind & DENSE)    ? COMPACT_PART
					: COMPACT_NONE;
}

struct compact compact_of(const struct plain_runs *r, const struct bill *b)
{
	struct compact c = {
		.run_s = NAN, .node_s = NAN, .apart = NAN, .power_w = NAN, .progress = NAN};
	struct near near;
	unsigned kind;
	int at;

	near.count = 0;
	c.doubt = COMPACT_NOT_DONE;
	if (b->status == BILL_PLAIN || !has_completed(b))
		return c;
	c.doubt = COMPACT_NO_RUN;
	at = place_of(r, b, compare_work, false);
	if (at == r->count || compare_work(r->run[at], b))
		return c;
	c.doubt = COMPACT_OTHER_CPUS;
	if (b->cpus)
		find_near(r, b, place_of(r, b, compare_size, true), &near);
	if (!near.count)
		return c;
	kind = best_kind(&near);
	keep_kind(&near, kind);
	compare_with(&c, &near, b, kind);
	return c;
}

double compact_beside(const struct compact *c, const struct bill *b)
{
	const struct settlement *f = b->facts;

	if (!compact_known(c) || b->status != BILL_PRICED)
		return NAN;
	if (f->co >= ALWAYS)
		return c->progress;
	if (!(f->co > 0) || isnan(f->co_degradation) || f->degradation > MAX_DEGRADATION)
		return NAN;
	return c->progress * (1 - f->co_degradation) / (1 - f->degradation);
}

double compact_saved_node_s(const struct compact *c, const struct bill *b)
{
	double node_s = (double)b->elapsed_s * b->nodes;

	if (!compact_sure(c) || b->status != BILL_PRICED ||
		b->nodes * c->run_s > TWO_LANES * c->node_s)
		return NAN;
	return c->node_s - node_s * (1 - b->facts->co / 2);
}

double compact_stp(const struct compact *one, const struct bill *b, const struct compact *other,
	const struct bill *partner)
{
	return (compact_beside(one, b) + compact_beside(other, partner)) / 2;
}
