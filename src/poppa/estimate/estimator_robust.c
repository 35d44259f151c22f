/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The default estimator: time average of co-run to solo rates, free of one-sided filters. */

/*
 * The value of a block is u = c/s, from the fits of blockfit.h, and the estimate is 1 - D = time
 * average of u: progress lost is a time average, a ratio of sums would weight fast phases.
 *
 * tau belongs to the job and the machine and is not known beforehand. So every block is fitted
 * under each tau of a grid, each with a sum of u and a sum of the fit's loss; at the end the tau
 * with the least loss is looked up, between grid points by interpolation. This is done twice over,
 * for both families: BLOCKFIT_ALL is the sharper one, but wrong where the decay has another pace or
 * co-runners are slow to wake up, and is given up as far as the two disagree by more than their
 * errors explain.
 *
 * These fits choose among windows and blocks: what does not hold together is left out. That is
 * right where a reading is false or a phase ended, and wrong where the co-runners themselves switch
 * within milliseconds: then what is left out depends on what the job loses. So all blocks are
 * averaged as they are, too (blockfit_means()), which is noisier and has no such bias: E[c] is
 * linear in what the co-runners do. It is taken instead as far as the two disagree by more than
 * noise explains and blocks were left out that could explain it. Bursts of the job's own are
 * another matter: a ratio of means would count them at their rate, a mean of ratios has Jensen's
 * bias, and the blocks that hold together are the better ones.
 */
#include <math.h>
#include <stdlib.h>

#include "poppa/estimate/blockfit.h"
#include "poppa/estimate/estimator_impl.h"
#include "poppa/estimate/estimator_series.h"
#include "poppa/estimate/estimator_state.h"
#include "poppa/estimate/estimator_tau.h"
#include "poppa/estimate/statistics.h"

#define MIN_SIGMA 0.01 /* relative noise of a window, at least */
#define WILD_RATIO 2.4 /* while nothing is known, u is within this factor of FIRST_RATIO */
#define FIRST_RATIO 0.6
#define SEEN_BINS 80 /* of log(c/s), from SEEN_FIRST on */
#define SEEN_FIRST (-3.0)
#define SEEN_WIDTH 0.05
#define SEEN_ENOUGH 5     /* blocks before the test can tell */
#define SEEN_LATELY 4     /* one of these many near is enough */
#define LONELY_SIGMAS 6.0 /* a block is wild if within this of it */
#define NOISY 3.0         /* a block's own noise counts up to this many times the usual */
#define LONELY_SHARE 0.01 /* fewer than this share of all blocks are */
#define PHASE_SIGMAS 4.5  /* before and after differ by more: the phase changed in the block */
#define RUNAWAY 2.5       /* u under another hypothesis is within this factor of the best one's */
#define OWN_BURSTS 0.006  /* variance by the job's own bursts: blocks are not taken as they are */
#define VARIOGRAM_SIGMAS 4.0 /* what is less is noise */
#define OWN_DOUBT 2.0        /* what they may add to the estimate, in terms of that variance */
#define DOUBT 10.0           /* squared distance of both estimates that is even, with USUAL_LOSS */
#define USUAL_LOSS 0.03      /* share of blocks that hold not together with phases of seconds */

struct robust_state {
	uint64_t blocks, used;
	struct recent sigma, shift, step, noise;

	/* How often which log(c/s) came up: tells a phase that comes round from a wild block. */
	uint64_t seen[SEEN_BINS];
	struct recent log_u;

	struct tau_loss tau;

	/* A block like no other so far: wild, or the first of a phase. The next one tells. */
	struct member odd;
	double odd_log_u;
	uint64_t odd_there;

	/* Of the blocks that hold together, and of all. */
	struct series steady, all;
	/* Sums of what blockfit_variogram() says, of so many blocks. */
	double variogram[BLOCKFIT_LAGS], variograms;
};

struct robust_state *robust_new(void)
{
	struct robust_state *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	tau_loss_init(&r->tau);
	r->steady.hypotheses = BLOCKFIT_HYPOTHESES;
	r->all.hypotheses = BLOCKFIT_TAUS;
	return r;
}

static void add_steady(struct robust_state *r, const struct member *m)
{
	r->used++;
	series_add(&r->steady, m, recent_median(&r->noise));
}

/* The odd block belongs to a phase after all if the next one is near it; else it was wild. */
static void judge_odd(struct robust_state *r, double log_u, double reach)
{
	if (r->odd_there && fabs(log_u - r->odd_log_u) < reach)
		add_steady(r, &r->odd);
	r->odd_there = 0;
}

static int seen_bin(double log_u)
{
	double bin = floor((log_u - SEEN_FIRST) / SEEN_WIDTH);

	return bin < 0 ? 0 : bin < SEEN_BINS ? (int)bin : SEEN_BINS - 1;
}

/*
 * Whether hardly any block so far was near this one, and none of the last few. A host that takes
 * the processor away for a whole region makes such blocks, on either side of the rest, and so do
 * several wild windows at once. The first block of a phase is such a one too and waits for the
 * next. A phase loses its blocks to this test if it is never longer than one and has less than
 * LONELY_SHARE of them, which bounds the error. *reach: what counts as near.
 */
static bool is_wild(struct robust_state *r, double log_u, double noise, double *reach)
{
	uint64_t all = 0, near = 0, n = r->log_u.count;

	*reach = 0;
	if (isnan(log_u))
		return true;
	if (n > 0)
		recent_add(&r->step, (log_u - r->log_u.v[(n - 1) % SERIES_RECENT]) / sqrt(2));
	if (n > SEEN_ENOUGH)
		noise = fmax(fmin(noise, NOISY * sqrt(recent_median(&r->noise))),
			recent_spread(&r->step));
	*reach = LONELY_SIGMAS * noise;
	for (int i = 0; i < SEEN_BINS; i++)
		all += r->seen[i];
	for (int i = seen_bin(log_u - *reach); i <= seen_bin(log_u + *reach); i++)
		near += r->seen[i];
	for (uint64_t i = 1; i <= SEEN_LATELY && i <= n; i++)
		if (fabs(log_u - r->log_u.v[(n - i) % SERIES_RECENT]) < *reach)
			near = all;
	r->seen[seen_bin(log_u)]++;
	recent_add(&r->log_u, log_u);
	if (all < SEEN_ENOUGH)
		return fabs(log_u - log(FIRST_RATIO)) > log(WILD_RATIO);
	return (double)near < fmax(1, LONELY_SHARE * (double)all);
}

/* Whether the job changed its phase within the block; no direction is preferred. */
static bool has_moved(
	struct robust_state *r, const struct fit_input *p, int k, const struct fit *f, double sigma)
{
	double noise = 0, shift = blockfit_shift(p, k, f, &noise);
	bool moved;

	if (isnan(shift))
		return false;
	if (r->shift.count > 8)
		moved = fabs(shift - recent_median(&r->shift)) >
			PHASE_SIGMAS * fmax(sigma * noise, recent_spread(&r->shift));
	else
		moved = fabs(shift) > 0.3 + PHASE_SIGMAS * sigma * noise;
	recent_add(&r->shift, shift);
	return moved;
}

/* A fit under a tau that is off may run away: no single block may spoil the sums of its hypothesis,
 * which may be the best one later. */
static void tame(struct fit *fits, int count, const struct fit *best)
{
	for (int h = 0; h < count; h++) {
		double off = fits[h].c / fits[h].s * best->s / best->c;

		if (!(off > 1 / RUNAWAY && off < RUNAWAY))
			fits[h] = *best;
	}
}

/*
 * Relative variance that the job's own bursts of some milliseconds give its solo rate: what its
 * variogram within the solo regions certainly has beyond noise, which is new in every window.
 * *noise: the latter.
 */
static double own_bursts(const struct robust_state *r, double *noise)
{
	double v[BLOCKFIT_LAGS];

	*noise = MIN_SIGMA * MIN_SIGMA;
	if (!(r->variograms > 0))
		return 0;
	for (int i = 0; i < BLOCKFIT_LAGS; i++)
		v[i] = r->variogram[i] / r->variograms;
	*noise = fmax(v[0] - fmax(v[1] - v[0], 0), *noise);
	return fmax(v[2] - *noise - VARIOGRAM_SIGMAS * v[2] / sqrt(r->variograms), 0);
}

/* Takes a block as it is, whatever happened within it. */
static void add_all(struct robust_state *r, const struct fit_input *p, uint64_t start_ns)
{
	double v[BLOCKFIT_LAGS];
	int best = tau_loss_least(&r->tau, BLOCKFIT_ALL);
	struct fit fits[BLOCKFIT_TAUS];
	struct member m;
	double noise;

	own_bursts(r, &noise);
	if (blockfit_means(p, noise, fits))
		return;
	if (blockfit_variogram(p, best, &fits[best], v)) {
		for (int i = 0; i < BLOCKFIT_LAGS; i++)
			r->variogram[i] += fmin(v[i], 1);
		r->variograms++;
	}
	if (!(fits[best].c / fits[best].s < WILD_RATIO))
		return;
	tame(fits, BLOCKFIT_TAUS, &fits[best]);
	series_member(fits, BLOCKFIT_TAUS, start_ns, &m);
	series_add(&r->all, &m, fits[best].vss);
}

bool robust_add(struct robust_state *r, const struct est_block *block)
{
	struct fit_input p;
	struct fit fits[BLOCKFIT_HYPOTHESES];
	const struct fit *f;
	double sigma, seen, log_u, reach;
	struct member m;
	bool coherent, wild, moved;
	int best;

	r->blocks++;
	blockfit_prepare(block, &p);
	sigma = fmax(
		r->sigma.count ? recent_median(&r->sigma) : blockfit_first_sigma(&p), MIN_SIGMA);
	if (blockfit_all(&p, sigma, fits))
		return false;
	best = tau_loss_least(&r->tau, BLOCKFIT_ALL);
	f = &fits[BLOCKFIT_ALL * BLOCKFIT_TAUS + best];
	seen = blockfit_sigma(&p, best, f);
	if (!isnan(seen))
		recent_add(&r->sigma, fmin(seen, 1));
	/* A block that is not used tells of tau all the same: under a wrong tau, right ones are
	 * odd. */
	recent_add(&r->noise, f->vss);
	coherent = blockfit_coherent(&p, &fits[BLOCKFIT_BEFORE * BLOCKFIT_TAUS]);
	tau_loss_add(&r->tau, &p, sigma, coherent, fits, f, best);
	if (!coherent) {
		add_all(r, &p, block->start_ns);
		return false;
	}
	log_u = log(f->c / f->s);
	wild = is_wild(r, log_u, sqrt(blockfit_variance(f)), &reach);
	if (!wild)
		add_all(r, &p, block->start_ns);
	moved = has_moved(r, &p, best, f, sigma);
	if (moved || isnan(log_u))
		return false;
	if (!wild)
		judge_odd(r, log_u, reach);
	tame(fits, BLOCKFIT_HYPOTHESES, f);
	series_member(fits, BLOCKFIT_HYPOTHESES, block->start_ns, &m);
	if (!wild) {
		add_steady(r, &m);
	} else {
		r->odd = m;
		r->odd_log_u = log_u;
		r->odd_there = 1;
	}
	return !wild;
}

/* Estimate of one family: the time average at its best tau, and as tau_loss_mean() the variance of
 * it and what is vague. */
static double family_mean(const struct robust_state *r, const struct series *series,
	enum blockfit_family family, double *variance, double *vague)
{
	double mean[BLOCKFIT_TAUS], noise[BLOCKFIT_TAUS];

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		/* The blocks as they are have one family. */
		int h = series->hypotheses == BLOCKFIT_TAUS ? k : (int)family * BLOCKFIT_TAUS + k;

		mean[k] = series_mean(series, h);
		noise[k] = series_variance(series, h);
	}
	return tau_loss_mean(&r->tau, family, mean, noise, variance, vague);
}

/* Of two estimates, one with this weight; they differ by more than noise explains. */
static double mix(
	double weight, double a, double a_variance, double b, double b_variance, double *variance)
{
	*variance = weight * a_variance + (1 - weight) * b_variance +
		    weight * (1 - weight) * (a - b) * (a - b);
	return weight * a + (1 - weight) * b;
}

/*
 * How far to trust the estimate from all blocks as they are instead of the sharper one that is off
 * by `off`: as the difference is more than noise, sooner where many blocks did not hold together.
 */
static double trust_in_whole(
	const struct robust_state *r, double off, double variance, double sharper)
{
	double lost = 1 - (double)r->used / (double)r->all.blocks, noise;
	double own = own_bursts(r, &noise) / OWN_BURSTS;
	double even = DOUBT * pow(USUAL_LOSS / fmax(lost, 1e-3), 2);
	double z2 = off * off / fmax(variance - sharper, 0.25 * variance) / even;

	return z2 >= 0 ? z2 * z2 / (1 + z2 * z2) / (1 + own * own) : 0;
}

void robust_result(const struct robust_state *r, struct est_result *out)
{
	/* Closed copies: the last block counts in them without waiting for the one after it. */
	struct series steady = r->steady, all = r->all;
	double u[BLOCKFIT_FAMILIES], var[BLOCKFIT_FAMILIES], vague[BLOCKFIT_FAMILIES];
	double off, trust, half, mean, noise;

	*out = (struct est_result){r->blocks, r->used, NAN, NAN, NAN, NAN};
	if (r->used == 0)
		return;
	series_close(&steady);
	for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
		u[f] = family_mean(r, &steady, f, &var[f], &vague[f]);
	/* Hausman's comparison: ALL is the sharper one, so the variances subtract. */
	off = u[BLOCKFIT_ALL] - u[BLOCKFIT_BEFORE];
	off = off * off /
	      fmax(var[BLOCKFIT_BEFORE] - var[BLOCKFIT_ALL], 0.1 * var[BLOCKFIT_BEFORE]);
	trust = off >= 0 ? 1 / (1 + off * off / 4) : 1;
	mean = mix(trust, u[BLOCKFIT_ALL], var[BLOCKFIT_ALL] + vague[BLOCKFIT_ALL],
		u[BLOCKFIT_BEFORE], var[BLOCKFIT_BEFORE] + vague[BLOCKFIT_BEFORE], &out->variance);
	if (all.blocks > 0) {
		double w[BLOCKFIT_FAMILIES], w_var[BLOCKFIT_FAMILIES], w_vague[BLOCKFIT_FAMILIES];
		double whole, whole_var, variance = out->variance;

		series_close(&all);
		for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
			w[f] = family_mean(r, &all, f, &w_var[f], &w_vague[f]);
		whole = mix(trust, w[BLOCKFIT_ALL], w_var[BLOCKFIT_ALL] + w_vague[BLOCKFIT_ALL],
			w[BLOCKFIT_BEFORE], w_var[BLOCKFIT_BEFORE] + w_vague[BLOCKFIT_BEFORE],
			&whole_var);
		trust = trust_in_whole(r, whole - mean, whole_var, var[BLOCKFIT_ALL]);
		mean = mix(trust, whole, whole_var, mean, variance, &out->variance);
	}
	out->degradation = 1 - mean;
	out->variance += pow(OWN_DOUBT * own_bursts(r, &noise) * mean, 2);
	if (steady.values > 1) {
		half = statistics_t95(fmin((double)steady.values - 1, 30)) * sqrt(out->variance);
		out->lo = out->degradation - half;
		out->hi = out->degradation + half;
	} else {
		out->variance = NAN;
	}
}

#define REAL(name) STATE_REAL(struct robust_state, name)
#define WHOLE(name) STATE_WHOLE(struct robust_state, name)

static const struct state_field fields[] = {WHOLE(blocks), WHOLE(used), REAL(sigma.v),
	WHOLE(sigma.count), REAL(shift.v), WHOLE(shift.count), REAL(step.v), WHOLE(step.count),
	WHOLE(seen), REAL(log_u.v), WHOLE(log_u.count), REAL(noise.v), WHOLE(noise.count),
	REAL(odd), REAL(odd_log_u), WHOLE(odd_there)};

static const struct state_field all_fields[] = {
	WHOLE(all.blocks), REAL(variogram), REAL(variograms)};

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

json_t *robust_save(const struct robust_state *r)
{
	json_t *json = json_object(), *all = json_object();

	state_save(fields, COUNT(fields), r, json);
	tau_loss_save(&r->tau, json);
	series_save(&r->steady, json);
	state_save(all_fields, COUNT(all_fields), r, all);
	series_save(&r->all, all);
	json_object_set_new(json, "all", all);
	return json;
}

int robust_load(struct robust_state *r, const json_t *json)
{
	const json_t *all = json_object_get(json, "all");

	if (state_load(fields, COUNT(fields), json, r) || tau_loss_load(&r->tau, json) ||
		series_load(&r->steady, json) ||
		state_load(all_fields, COUNT(all_fields), all, r) || series_load(&r->all, all))
		return -1;
	r->steady.blocks = r->used;
	return r->used <= r->blocks ? 0 : -1;
}
