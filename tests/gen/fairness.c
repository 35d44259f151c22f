/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices a population of synthetic jobs. */
#include "gen/fairness.h"

#include <math.h>
#include <string.h>

#include "accounting/record/price.h"
#include "gen/families.h"
#include "gen/gen.h"
#include "poppa/estimate/estimator.h"

/* In the unit of billing; large, so that rounding does not count. */
#define RAW UINT64_C(1000000000)
#define MAX_DEGRADATION 0.4
#define OVERCHARGE 0.005

void fairness_clear(struct fairness scheme[FAIRNESS_SCHEMES])
{
	for (int i = 0; i < FAIRNESS_SCHEMES; i++)
		scheme[i] = (struct fairness){.lowest = INFINITY, .highest = -INFINITY};
}

void fairness_merge(struct fairness *sum, const struct fairness *f)
{
	sum->jobs += f->jobs;
	sum->unknown += f->unknown;
	sum->sum += f->sum;
	sum->distance += f->distance;
	sum->highest = fmax(sum->highest, f->highest);
	sum->lowest = fmin(sum->lowest, f->lowest);
	sum->overcharged += f->overcharged;
}

/* The job's charge at this degradation, or at this upper end of its interval, as a share of its
 * solo price. */
static double relative(const struct price_policy *policy, double d, double upper, double truth)
{
	return (double)price_charge(policy, RAW, d, upper, 0) / ((double)RAW * (1 - truth));
}

static void add(struct fairness *f, double charge, double oracle)
{
	f->jobs++;
	f->sum += charge;
	f->distance += fabs(charge - oracle);
	f->highest = fmax(f->highest, charge);
	f->lowest = fmin(f->lowest, charge);
	f->overcharged += charge > 1 + OVERCHARGE;
}

static void add_estimate(struct fairness *f, const struct price_policy *policy,
	const struct estimator *e, double truth, double oracle)
{
	struct est_result r;

	estimator_result(e, &r);
	f->unknown += isnan(r.degradation);
	add(f, relative(policy, r.degradation, r.hi, truth), oracle);
}

static void add_job(struct fairness *scheme, const struct estimator *robust,
	const struct estimator *thesis, double truth)
{
	const struct price_policy point = {.kind = PRICE_THESIS, .cap = 1};
	const struct price_policy upper = {.kind = PRICE_THESIS, .cap = 1, .upper = true};
	double oracle = relative(&point, truth, NAN, truth);

	add(&scheme[FAIRNESS_PRACTICE], 1 / (1 - truth), oracle);
	add(&scheme[FAIRNESS_ORACLE], oracle, oracle);
	add_estimate(&scheme[FAIRNESS_THESIS], &point, thesis, truth, oracle);
	add_estimate(&scheme[FAIRNESS_ROBUST], &point, robust, truth, oracle);
	add_estimate(&scheme[FAIRNESS_UPPER], &upper, robust, truth, oracle);
}

int fairness_add_run(uint64_t seed, double length_s, struct fairness scheme[FAIRNESS_SCHEMES])
{
	struct estimator *robust[GEN_MAX_JOBS] = {NULL}, *thesis[GEN_MAX_JOBS] = {NULL};
	struct est_block block[GEN_MAX_JOBS];
	struct gen_spec spec;
	struct gen *g;
	int alone, rc;

	gen_family_spec(0, seed, &spec);
	spec.d_max = seed % 3 ? MAX_DEGRADATION : 0;
	spec.length_s = length_s;
	g = gen_new(&spec);
	rc = g ? 0 : -1;
	for (int i = 0; g && i < spec.jobs; i++) {
		robust[i] = estimator_new(ESTIMATE_ROBUST, NULL);
		thesis[i] = estimator_new(ESTIMATE_THESIS, NULL);
		if (!robust[i] || !thesis[i])
			rc = -1;
	}
	while (!rc && gen_next(g, &alone, block)) {
		estimator_add(robust[alone], &block[alone]);
		estimator_add(thesis[alone], &block[alone]);
	}
	for (int i = 0; g && i < spec.jobs; i++) {
		if (!rc)
			add_job(scheme, robust[i], thesis[i], gen_truth(g, i));
		estimator_free(robust[i]);
		estimator_free(thesis[i]);
	}
	gen_free(g);
	return rc;
}
