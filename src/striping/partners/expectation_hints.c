/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks what is known of classes from elsewhere, and makes the covariates of the model of it. */
#include <math.h>

#include "striping/partners/expectation_model.h"

/* What a class does by the cache model is its mean beside so many others, and what these do beside
 * it. */
#define REFERENCES 16
/* The gain of a class counts for less than it is where few runs are behind it: half with so many.
 */
#define Z_RUNS 1.0
/* No number from elsewhere counts for more than that, or for less than the negative of it. */
#define MOST_HINT 3.0

static double in_range(double x)
{
	return fmax(fmin(x, MOST_HINT), -MOST_HINT);
}

static void ask_spread(struct expectation *e, struct node *n)
{
	const struct expectation_hints *h = e->hints;
	struct node *class = n->class < 0 ? NULL : &e->node[n->class];
	double z;
	int runs;

	if (!class || !h->spread(h->spread_arg, n->name, &z, &runs) || !isfinite(z))
		return;
	n->z = in_range(z);
	n->z_runs = runs > 1 ? runs : 1;
	if (class != n) {
		class->below_z += n->z * n->z_runs;
		class->below_runs += n->z_runs;
	}
}

static double trust(const struct node *n)
{
	return n->z_runs / (n->z_runs + Z_RUNS);
}

/* Gains beyond the mean of all classes, and those of variants beyond their classes. */
static void center_spread(struct expectation *e)
{
	double sum = 0;
	int count = 0;

	for (int i = 0; i < e->nodes; i++) {
		struct node *n = &e->node[i];

		/* A class gains as its variants do, where no more is known of it. */
		if (!n->z_runs && n->below_runs) {
			n->z = n->below_z / n->below_runs;
			n->z_runs = n->below_runs;
		}
		if (n->level == LEVEL_CLASS && n->z_runs) {
			sum += n->z;
			count++;
		}
	}
	for (int i = 0; i < e->nodes; i++) {
		struct node *n = &e->node[i];

		if (n->level == LEVEL_CLASS && n->z_runs)
			n->z_lift = trust(n) * (n->z - sum / count);
		else if (n->level == LEVEL_VARIANT && n->z_runs)
			n->z_lift = trust(n) * (n->z - e->node[n->class].z);
	}
}

/* y of two classes by the cache model; false: it cannot say. */
static bool ask_cache(const struct expectation *e, int job, int partner, double *y)
{
	const struct expectation_hints *h = e->hints;
	int one = e->node[job].profile, other = e->node[partner].profile;

	if (one < 0 || other < 0 || !h->cache(h->cache_arg, one, other, y) || !isfinite(*y))
		return false;
	*y = in_range(*y);
	return true;
}

/* Classes that the cache model knows, evenly chosen. Returns how many. */
static int choose_references(const struct expectation *e, int reference[REFERENCES])
{
	int known = 0, seen = 0, count = 0;

	for (int i = 0; i < e->nodes; i++)
		known += e->node[i].profile >= 0;
	for (int i = 0; i < e->nodes && count < REFERENCES; i++)
		if (e->node[i].profile >= 0 &&
			(known <= REFERENCES || seen++ * REFERENCES / known >= count))
			reference[count++] = i;
	return count;
}

/* The mean over all references beside the class (or with as_job, the class beside these), beyond
 * the mean of all. */
static double mean_beside(
	const struct expectation *e, const int *reference, int count, int class, bool as_job)
{
	double sum = 0, y;
	int known = 0;

	for (int i = 0; i < count; i++)
		if (as_job ? ask_cache(e, class, reference[i], &y)
			   : ask_cache(e, reference[i], class, &y)) {
			sum += y;
			known++;
		}
	return known ? sum / known - e->cache_mean : 0;
}

/* What each class suffers and inflicts by the cache model. */
static void ask_profiles(struct expectation *e)
{
	const struct expectation_hints *h = e->hints;
	int reference[REFERENCES], count, known = 0;
	double sum = 0, y;

	for (int i = 0; i < e->nodes; i++)
		if (e->node[i].level == LEVEL_CLASS)
			e->node[i].profile = h->profile(h->cache_arg, e->node[i].name);
	count = choose_references(e, reference);
	for (int i = 0; i < count * count; i++)
		if (ask_cache(e, reference[i / count], reference[i % count], &y)) {
			sum += y;
			known++;
		}
	e->cache_mean = known ? sum / known : 0;
	for (int i = 0; i < e->nodes; i++) {
		struct node *n = &e->node[i];

		if (n->profile < 0)
			continue;
		n->cache_suffered = mean_beside(e, reference, count, i, true);
		n->cache_inflicted = mean_beside(e, reference, count, i, false);
	}
}

double expectation_cache(const struct expectation *e, int job, int partner)
{
	double y;

	if (!e->hints || !e->hints->cache || job < 0 || partner < 0)
		return 0;
	job = e->node[job].class;
	partner = e->node[partner].class;
	if (job < 0 || partner < 0 || !ask_cache(e, job, partner, &y))
		return 0;
	return y - e->cache_mean - e->node[job].cache_suffered - e->node[partner].cache_inflicted;
}

void expectation_ask_hints(struct expectation *e)
{
	const struct expectation_hints *h = e->hints;

	if (h && h->spread) {
		for (int i = 0; i < e->nodes; i++)
			ask_spread(e, &e->node[i]);
		center_spread(e);
	}
	if (!h || !h->profile || !h->cache)
		return;
	ask_profiles(e);
	for (int i = 0; i < e->rows; i++)
		e->seen[i].cache = expectation_cache(e, e->seen[i].job, e->seen[i].partner);
}
