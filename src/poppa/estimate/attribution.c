/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares out the degradation of a job among its co-runners. */
#include "poppa/estimate/attribution.h"

#include <math.h>

#include "poppa/estimate/blockrate.h"

#define FIRST_SPREAD 0.15 /* of x, while there are no data */
#define MIN_BLOCKS 5      /* blocks of a pair before its cost counts as known */
#define MIN_KNOWN 0.95    /* least share of the time together whose co-runners' cost is known */
#define MIN_SIGNAL 2.0    /* standard errors by which the sum of the costs must exceed 0 */
#define SMALL 0.03        /* a loss up to this one counts as hardly any */
#define Z95 1.96

static struct attribution_pair *find(struct attribution *a, uint32_t job_id)
{
	for (int i = 0; i < a->count; i++)
		if (a->pair[i].job_id == job_id)
			return &a->pair[i];
	return NULL;
}

void attribution_together(struct attribution *a, uint32_t job_id, int64_t ns, bool single)
{
	struct attribution_pair *p = find(a, job_id);

	if (ns <= 0)
		return;
	if (!p) {
		if (a->count == RECORD_MAX_PARTNERS) {
			a->untold_ns += (double)ns;
			return;
		}
		p = &a->pair[a->count++];
		*p = (struct attribution_pair){.job_id = job_id, .cost.spread = FIRST_SPREAD};
	}
	p->together_ns += (double)ns;
	p->single_ns += single ? (double)ns : 0;
}

bool attribution_block(struct attribution *a, uint32_t absent, const struct est_block *block)
{
	struct attribution_pair *p = find(a, absent);
	double with, without;

	/* No fit for the windows in which the caches still change: they make all costs of a job
	 * smaller by about the same factor, and only the ratios of the costs matter. */
	if (!p || !blockrate(block, &with, &without) || !block->after_n)
		return false;
	clipmean_add(&p->cost, log(without / with));
	return true;
}

static bool known(const struct attribution_pair *p)
{
	return p->cost.count >= MIN_BLOCKS;
}

/* What the job lost to the co-runner, and how that grows with the cost. */
static double lost_ns(const struct attribution_pair *p, double *slope)
{
	double cost = fmax(p->cost.mean, 0), among_ns = p->together_ns - p->single_ns;

	*slope = exp(-cost) * p->single_ns + among_ns;
	return -expm1(-cost) * p->single_ns + cost * among_ns;
}

/* All together took hardly anything: who took what of that does not matter. */
static int share_hardly_any(const struct attribution *a, double seen_ns, double degradation,
	double variance, struct attribution_share *share)
{
	int n = 0;

	for (int i = 0; i < a->count; i++) {
		const struct attribution_pair *p = &a->pair[i];

		if (known(p))
			share[n++] = (struct attribution_share){.job_id = p->job_id,
				.degradation = degradation * p->together_ns / seen_ns,
				.hi = degradation + Z95 * sqrt(variance),
				.together_ns = p->together_ns};
	}
	return n;
}

int attribution_shares(const struct attribution *a, double degradation, double variance,
	struct attribution_share *share)
{
	double weight[RECORD_MAX_PARTNERS] = {0}, var[RECORD_MAX_PARTNERS] = {0};
	double all = a->untold_ns, seen = 0, sum = 0, sum_var = 0;
	int n = 0;

	if (a->count < 2 || !isfinite(degradation) || !isfinite(variance))
		return 0;
	for (int i = 0; i < a->count; i++) {
		const struct attribution_pair *p = &a->pair[i];
		double slope;

		all += p->together_ns;
		if (!known(p))
			continue;
		seen += p->together_ns;
		weight[i] = lost_ns(p, &slope);
		var[i] = clipmean_variance(&p->cost) * slope * slope;
		sum += weight[i];
		sum_var += var[i];
	}
	if (seen < MIN_KNOWN * all)
		return 0;
	degradation = fmax(degradation, 0);
	if (!(sum > MIN_SIGNAL * sqrt(sum_var)))
		return degradation <= SMALL && sqrt(sum_var) <= SMALL * seen
			       ? share_hardly_any(a, seen, degradation, variance, share)
			       : 0;
	for (int i = 0; i < a->count; i++) {
		double w = weight[i] / sum, rest = 1 - w, w_var, half;

		if (!known(&a->pair[i]))
			continue;
		/* To first order: by the co-runner's own cost, and by the others' in the sum. */
		w_var = (rest * rest * var[i] + w * w * (sum_var - var[i])) / (sum * sum);
		half = Z95 * sqrt(w * w * variance + degradation * degradation * w_var);
		share[n].job_id = a->pair[i].job_id;
		share[n].together_ns = a->pair[i].together_ns;
		share[n].degradation = w * degradation;
		share[n].lo = fmax(share[n].degradation - half, 0);
		share[n].hi = share[n].degradation + half;
		n++;
	}
	return n;
}

json_t *attribution_save(const struct attribution *a)
{
	json_t *pairs = json_array();

	for (int i = 0; pairs && i < a->count; i++) {
		const struct attribution_pair *p = &a->pair[i];

		json_array_append_new(pairs,
			json_pack("{s:I, s:f, s:f, s:I, s:f, s:f, s:f}", "job",
				(json_int_t)p->job_id, "together_ns", p->together_ns, "single_ns",
				p->single_ns, "blocks", (json_int_t)p->cost.count, "mean",
				p->cost.mean, "m2", p->cost.m2, "spread", p->cost.spread));
	}
	return json_pack("{s:o, s:f}", "pairs", pairs, "untold_ns", a->untold_ns);
}

int attribution_load(const json_t *state, struct attribution *a)
{
	const json_t *pairs = json_object_get(state, "pairs"), *item;
	struct attribution next = {
		.untold_ns = json_number_value(json_object_get(state, "untold_ns"))};
	size_t i;

	if (!json_is_array(pairs) || json_array_size(pairs) > RECORD_MAX_PARTNERS)
		return -1;
	json_array_foreach(pairs, i, item)
	{
		struct attribution_pair *p = &next.pair[next.count++];
		json_int_t job, blocks;

		if (json_unpack((json_t *)item, "{s:I, s:F, s?F, s:I, s:F, s:F, s:F}", "job", &job,
			    "together_ns", &p->together_ns, "single_ns", &p->single_ns, "blocks",
			    &blocks, "mean", &p->cost.mean, "m2", &p->cost.m2, "spread",
			    &p->cost.spread) ||
			job < 1 || job > UINT32_MAX || blocks < 0 || !(p->cost.spread > 0) ||
			!(p->single_ns >= 0 && p->single_ns <= p->together_ns))
			return -1;
		p->job_id = (uint32_t)job;
		p->cost.count = (uint64_t)blocks;
	}
	*a = next;
	return 0;
}
