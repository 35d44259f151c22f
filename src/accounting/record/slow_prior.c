/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what jobs tell of slow refill, user by user, and checks priors that come from outside. */
#include "accounting/record/slow_prior.h"

#include <math.h>

#define SUM_ERROR 1e-6
/* The least weight of a learned prior: enough above SLOW_PRIOR_LEAST that no rounding matters, and
 * so little that a few long blocks overrule it. */
#define LEAST_LEARNED 0.006
/* For so many jobs of a user the default stands. */
#define DEFAULT_JOBS 0.5

const struct slow_prior slow_prior_default = {
	{[SLOW_NONE] = 0.4, [SLOW_NARROW] = 0.55, [SLOW_WIDE] = 0.05}};

static const char *const names[SLOW_HYPOTHESES] = {"none", "narrow", "wide"};

/* Whether all are finite, at least `least`, and sum to 1. */
static bool is_share(const double w[SLOW_HYPOTHESES], double least)
{
	double sum = 0;

	for (int i = 0; i < SLOW_HYPOTHESES; i++) {
		if (!(w[i] >= least))
			return false;
		sum += w[i];
	}
	return fabs(sum - 1) <= SUM_ERROR;
}

bool slow_prior_valid(const struct slow_prior *p)
{
	return is_share(p->weight, SLOW_PRIOR_LEAST);
}

bool slow_likelihood_valid(const double likelihood[SLOW_HYPOTHESES])
{
	return is_share(likelihood, 0);
}

double slow_prior_distance(const struct slow_prior *a, const struct slow_prior *b)
{
	double most = 0;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		most = fmax(most, fabs(a->weight[i] - b->weight[i]));
	return most;
}

json_t *slow_prior_to_json(const struct slow_prior *p)
{
	json_t *json = json_object();

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		if (json_object_set_new(json, names[i], json_real(p->weight[i]))) {
			json_decref(json);
			return NULL;
		}
	return json;
}

int slow_prior_from_json(const json_t *json, struct slow_prior *p)
{
	struct slow_prior next;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		next.weight[i] = json_number_value(json_object_get(json, names[i]));
	if (!slow_prior_valid(&next))
		return -1;
	*p = next;
	return 0;
}

void slow_vote_init(struct slow_vote *v)
{
	*v = (struct slow_vote){.weights = slow_prior_default};
}

/* How much likelihoods tell: 0 where they are alike, 1 where only one of them is left. It is their
 * distance from alike. */
static double tells(const double likelihood[SLOW_HYPOTHESES])
{
	const double alike = 1.0 / SLOW_HYPOTHESES;
	double above = 0;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		above += fmax(likelihood[i] - alike, 0);
	return above / (1 - alike);
}

/*
 * One step of EM for the weights of a mixture, online: the weights move towards how likely each
 * hypothesis is of this job by the weights so far. The step is that of a running mean, in which the
 * default stands for half a job.
 */
void slow_vote_add(struct slow_vote *v, const double likelihood[SLOW_HYPOTHESES])
{
	double told = tells(likelihood), sum = 0, step;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		sum += v->weights.weight[i] * likelihood[i];
	v->told = fmin(v->told + told, SLOW_VOTE_JOBS);
	step = told / (v->told + DEFAULT_JOBS);
	for (int i = 0; sum > 0 && i < SLOW_HYPOTHESES; i++) {
		double *w = &v->weights.weight[i];

		*w += step * (*w * likelihood[i] / sum - *w);
	}
}

void slow_prior_of_votes(const struct slow_vote *v, int n, struct slow_prior *p)
{
	double votes = SLOW_DEFAULT_VOTES, sum = 0;

	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		p->weight[i] = SLOW_DEFAULT_VOTES * slow_prior_default.weight[i];
	for (int u = 0; u < n; u++) {
		double counts = fmin(v[u].told, 1);

		votes += counts;
		for (int i = 0; i < SLOW_HYPOTHESES; i++)
			p->weight[i] += counts * v[u].weights.weight[i];
	}
	for (int i = 0; i < SLOW_HYPOTHESES; i++) {
		p->weight[i] = fmax(p->weight[i] / votes, LEAST_LEARNED);
		sum += p->weight[i];
	}
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		p->weight[i] /= sum;
}
