/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The default estimator: the time average of co-run to solo rates, without one-sided filters. */

/*
 * The value of a block is u = c/s, from the fits of blockfit.h. The estimate is 1 - D = the time
 * average of u. (A ratio of sums would give fast phases more weight.)
 *
 * tau belongs to the job and the machine, and nobody knows it beforehand. So every block is fitted
 * under each tau of a grid, each with a sum of u and a sum of the fit's loss. The result is taken
 * at the tau of least loss, by interpolation between grid points. Both families are computed.
 * BLOCKFIT_ALL is the sharper one, but wrong where the decay has another pace or co-runners wake up
 * slowly; it loses weight where the two differ by more than their errors explain.
 *
 * These fits leave out windows and blocks that do not hold together. That is right where a reading
 * is false or a phase ended. It is wrong where the co-runners themselves switch within
 * milliseconds: then what is left out depends on what the job loses. So all blocks are averaged as
 * they are, too (blockfit_means()): this is noisier but has no such bias, as E[c] is linear in what
 * the co-runners do. It gains weight where the two differ by more than noise explains and blocks
 * were left out that can explain it. It loses weight where the job itself has bursts: there a ratio
 * of means counts them at their rate, a mean of ratios has Jensen's bias, and the blocks that hold
 * together are the better ones.
 *
 * Where most blocks do not hold together, those that do are not the job's usual ones: its counts
 * come in bursts. Then the ratio of mean rates over all blocks (blocksum.h) is the estimate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poppa/estimate/blockfit.h"
#include "poppa/estimate/blocksum.h"
#include "poppa/estimate/estimator_impl.h"
#include "poppa/estimate/estimator_series.h"
#include "poppa/estimate/estimator_state.h"
#include "poppa/estimate/estimator_tau.h"
#include "poppa/estimate/slow_refill.h"
#include "statistics/statistics.h"

#define MIN_SIGMA 0.01 /* relative noise of a window, at least */
#define WILD_RATIO 2.4 /* a first u that is not within this factor of FIRST_RATIO is wild */
#define FIRST_RATIO 0.6
#define SEEN_BINS 80 /* of log(c/s), from SEEN_FIRST on */
#define SEEN_FIRST (-3.0)
#define SEEN_WIDTH 0.05
#define SEEN_ENOUGH 5     /* blocks before the test can tell */
#define SEEN_LATELY 4     /* one near block among the last 4 is enough */
#define LONELY_SIGMAS 6.0 /* blocks within so many sigma of each other are near */
#define LONELY_SHARE 0.01 /* a block is wild if fewer than this share of all are near it */
#define NOISY 3.0         /* a block's own noise counts up to this many times the usual */
#define PHASE_SIGMAS 4.5  /* before and after differ by more: the phase changed in the block */
#define RUNAWAY 2.5       /* u under another hypothesis is within this factor of the best one's */
#define OWN_BURSTS 0.006  /* variance by own bursts at which the whole is trusted by half */
#define VARIOGRAM_SIGMAS 4.0 /* what is less is noise */
#define OWN_DOUBT 2.0        /* error of the estimate by own bursts, per unit of that variance */
/* The standard error that all blocks of a job share: what stopping, waking and reading do to its
 * rate, and what comes back more slowly than any block lasts. Jobs on a quiet machine read so far
 * from the truth however many blocks they had (docs/results/long.md). */
#define SHARED_ERROR 0.004
/*
 * Lent time (struct est_window) is the processor time of the shutter's thread. Its co-runner also
 * loses what the kernel does to let that thread wake up and sleep again: as much once more where a
 * virtual machine has two processors, next to nothing on a node with idle ones. Nobody measures
 * that. So one standard error is how far the estimate would be off if lent time were this many
 * times as long. With windows of some ten microseconds nearly nothing is known then.
 */
#define LENT_TIMES 2.0
#define MOST_LENT 0.9
#define DOUBT 10.0 /* squared distance at which both estimates weigh the same, with USUAL_LOSS */
#define SLOW_SIGMAS 3.0 /* standard errors by which what comes back slowly is certain */
#define MUCH 0.8        /* of the mean square of what the job loses: enough for a long block */
/* The share of blocks left out at which the sums of all are trusted by half. Where co-runners
 * switch, it is 0.3. It is less where the windows alone are rough, too, in so many blocks. */
#define MOST_LOST 0.5
#define MOST_LOST_ROUGH 0.125
#define MANY_ROUGH 0.6
#define LOST_POWER 8
/* Where many blocks are rough and the sums differ by more than their noise, they have this weight
 * at least: half of it with so many blocks, or at this squared distance in standard errors. */
#define ROUGH_TRUST 0.3
#define ROUGH_HALF 0.4
#define ROUGH_DOUBT 1.0
#define USUAL_LOSS 0.03 /* share of blocks that do not hold together, with phases of seconds */

struct robust_state {
	uint64_t blocks, used;
	struct recent sigma, shift, step, noise;

	/* A histogram of log(c/s): it tells a phase that comes again from a wild block. */
	uint64_t seen[SEEN_BINS];
	struct recent log_u;

	struct tau_loss tau;

	/* A block that is like no other so far: wild, or the first of a phase. */
	struct member odd;
	double odd_log_u;
	uint64_t odd_there;

	/* What comes back too slowly, relative to what the fits of each family say. */
	struct slow_refill slow[BLOCKFIT_FAMILIES];
	struct series steady, all; /* of the blocks that hold together, and of all */
	/* Sums of what blockfit_variogram() gave, and of how many blocks. */
	double variogram[BLOCKFIT_LAGS], climb[BLOCKFIT_LAGS], variograms;
	struct blocksum sum; /* of all blocks */
};

struct robust_state *robust_new(const struct slow_prior *prior)
{
	struct robust_state *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	tau_loss_init(&r->tau);
	r->steady.hypotheses = BLOCKFIT_HYPOTHESES;
	r->all.hypotheses = BLOCKFIT_TAUS;
	for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
		slow_refill_init(&r->slow[f], prior);
	return r;
}

const struct slow_prior *robust_prior(const struct robust_state *r)
{
	const struct slow_refill *slow = &r->slow[BLOCKFIT_BEFORE];

	return slow->awaited ? &slow->prior : NULL;
}

/* Of both families, the one that is right also where the decay has another pace. */
uint64_t robust_likelihood(const struct robust_state *r, double likelihood[SLOW_HYPOTHESES])
{
	const struct slow_refill *slow = &r->slow[BLOCKFIT_BEFORE];

	memcpy(likelihood, slow->likelihood, sizeof(slow->likelihood));
	return slow->blocks;
}

static void add_steady(struct robust_state *r, const struct member *m)
{
	r->used++;
	series_add(&r->steady, m, recent_median(&r->noise));
}

static int seen_bin(double log_u)
{
	double bin = floor((log_u - SEEN_FIRST) / SEEN_WIDTH);

	return bin < 0 ? 0 : bin < SEEN_BINS ? (int)bin : SEEN_BINS - 1;
}

/*
 * Whether hardly any block so far was near this one, and none of the last few. Such a block comes
 * from a host that takes the processor away for a whole region, or from several wild windows at
 * once. The first block of a phase is one too, and waits for the next. A phase loses its blocks to
 * this test only if it never lasts longer than one block and has less than LONELY_SHARE of all,
 * which bounds the error. *reach: the distance that counts as near.
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
	bool moved = fabs(shift) > 0.3 + PHASE_SIGMAS * sigma * noise;

	if (isnan(shift))
		return false;
	if (r->shift.count > 8)
		moved = fabs(shift - recent_median(&r->shift)) >
			PHASE_SIGMAS * fmax(sigma * noise, recent_spread(&r->shift));
	recent_add(&r->shift, shift);
	return moved;
}

/* Replaces fits that ran away under a wrong tau: a single block must not spoil the sums of a
 * hypothesis that may be the best one later. */
static void tame(struct fit *fits, int count, const struct fit *best)
{
	for (int h = 0; h < count; h++) {
		double off = fits[h].c / fits[h].s * best->s / best->c;

		if (!(off > 1 / RUNAWAY && off < RUNAWAY))
			fits[h] = *best;
	}
}

/*
 * The relative variance that the job's own bursts of some milliseconds give its solo rate: what the
 * variogram within the solo regions certainly has beyond noise. *noise: the variance by noise,
 * which is new in every window.
 */
static double own_bursts(const struct robust_state *r, double *noise)
{
	double v[BLOCKFIT_LAGS];

	*noise = MIN_SIGMA * MIN_SIGMA;
	if (!(r->variograms > 0))
		return 0;
	/* What climbs in all blocks alike is no burst, but comes back more slowly than the fit has
	 * it. */
	for (int i = 0; i < BLOCKFIT_LAGS; i++)
		v[i] = r->variogram[i] / r->variograms - 0.5 * pow(r->climb[i] / r->variograms, 2);
	*noise = fmax(v[0] - fmax(v[1] - v[0], 0), *noise);
	return fmax(v[2] - *noise - VARIOGRAM_SIGMAS * v[2] / sqrt(r->variograms), 0);
}

/* Whether caches certainly refill slowly, so that they may empty slowly, too. */
static bool goes_slowly(const struct robust_state *r)
{
	const struct slow_share *share = &r->slow[BLOCKFIT_BEFORE].share;

	return share->a > SLOW_SIGMAS * sqrt(share->variance);
}

static void add_slow(
	struct robust_state *r, const struct est_block *b, const struct fit *fits, double sigma)
{
	double noise, own = own_bursts(r, &noise);

	for (int f = 0; f < BLOCKFIT_FAMILIES; f++) {
		int best = tau_loss_least(&r->tau, f);

		slow_refill_add(&r->slow[f], b, &fits[f * BLOCKFIT_TAUS], best, sigma, own);
		slow_refill_weigh(&r->slow[f], best, own);
	}
}

/* Takes a block as it is, whatever happened within it. */
static void add_all(struct robust_state *r, const struct fit_input *p, uint64_t start_ns)
{
	double v[BLOCKFIT_LAGS], climb[BLOCKFIT_LAGS];
	int best = tau_loss_least(&r->tau, BLOCKFIT_ALL);
	struct fit fits[BLOCKFIT_TAUS];
	struct member m;
	double noise;

	own_bursts(r, &noise);
	if (blockfit_means(p, noise, fits))
		return;
	if (blockfit_variogram(p, best, &fits[best], v, climb)) {
		for (int i = 0; i < BLOCKFIT_LAGS; i++) {
			r->variogram[i] += fmin(v[i], 1);
			r->climb[i] += fmax(fmin(climb[i], 1), -1);
		}
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
	bool coherent, wild;
	int best;

	r->blocks++;
	blocksum_add(&r->sum, block);
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
	/* A block that is not used tells of tau too: a wrong tau makes good blocks look odd. */
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
	if (has_moved(r, &p, best, f, sigma) || isnan(log_u))
		return false;
	tame(fits, BLOCKFIT_HYPOTHESES, f);
	if (!wild)
		add_slow(r, block, fits, sigma);
	series_member(fits, BLOCKFIT_HYPOTHESES, block->start_ns, &m);
	if (wild) {
		r->odd = m;
		r->odd_log_u = log_u;
		r->odd_there = 1;
		return false;
	}
	/* An odd block belongs to a phase after all if this one is near it; else it was wild. */
	if (r->odd_there && fabs(log_u - r->odd_log_u) < reach)
		add_steady(r, &r->odd);
	r->odd_there = 0;
	add_steady(r, &m);
	return true;
}

/*
 * What a long block tells grows with the square of what the job loses. So it waits for a phase in
 * which that is not less than the mean of late.
 */
int robust_long_windows(const struct robust_state *r)
{
	int n = r->log_u.count < SERIES_RECENT ? (int)r->log_u.count : SERIES_RECENT;
	double square = 0, last = 0;

	if (!n || r->odd_there)
		return 0;
	for (int i = 0; i < n; i++)
		square += pow(1 - exp(r->log_u.v[i]), 2) / n;
	last = 1 - exp(r->log_u.v[(r->log_u.count - 1) % SERIES_RECENT]);
	return last > 0 && last * last >= MUCH * square
		       ? slow_refill_windows(&r->slow[BLOCKFIT_BEFORE])
		       : 0;
}

/* The estimate of each family: the time average at its best tau (.u). */
struct estimates {
	double u[BLOCKFIT_FAMILIES];
	double variance[BLOCKFIT_FAMILIES], vague[BLOCKFIT_FAMILIES]; /* see tau_loss_mean() */
	double missed; /* variance by what usual blocks miss, in which both families share */
};

/* Closes the series, which must be a copy. */
static void estimate_families(
	const struct robust_state *r, struct series *series, struct estimates *out)
{
	double mean[BLOCKFIT_TAUS], noise[BLOCKFIT_TAUS], slope, gain;

	series_close(series);
	for (int f = 0; f < BLOCKFIT_FAMILIES; f++) {
		/* The series of all blocks has one family. */
		int first = series->hypotheses == BLOCKFIT_TAUS ? 0 : f * BLOCKFIT_TAUS;
		int best = tau_loss_least(&r->tau, f);

		for (int k = 0; k < BLOCKFIT_TAUS; k++) {
			const struct slow_share share = slow_refill_share(&r->slow[f], k);

			mean[k] = series_missed(series, first + k, share.a, &slope, &gain);
			noise[k] = gain * gain * series_variance(series, first + k);
			if (k == best)
				out->missed = slope * slope * share.variance;
		}
		out->u[f] =
			tau_loss_mean(&r->tau, f, mean, noise, &out->variance[f], &out->vague[f]);
	}
}

/* One estimate of two, of which a has this weight. Their difference adds to the variance. */
static double mix(
	double weight, double a, double a_variance, double b, double b_variance, double *variance)
{
	*variance = weight * a_variance + (1 - weight) * b_variance +
		    weight * (1 - weight) * (a - b) * (a - b);
	return weight * a + (1 - weight) * b;
}

/* One estimate of both families, of which BLOCKFIT_ALL has the weight `trust`. */
static double mix_families(const struct estimates *e, double trust, double *variance)
{
	return mix(trust, e->u[BLOCKFIT_ALL], e->variance[BLOCKFIT_ALL] + e->vague[BLOCKFIT_ALL],
		e->u[BLOCKFIT_BEFORE], e->variance[BLOCKFIT_BEFORE] + e->vague[BLOCKFIT_BEFORE],
		variance);
}

/*
 * The weight of the estimate from all blocks as they are, which differs from the sharper one by
 * `off`. It grows where `off` is more than noise, and sooner if many blocks did not hold together.
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

/* The estimate from blocks that hold together, and from all as they are: 1 - D. */
static double estimate_fits(const struct robust_state *r, double *variance)
{
	/* Closed copies: the last block counts in them without waiting for the one after it. */
	struct series steady = r->steady, all = r->all;
	struct estimates e, whole;
	double off, trust, mean, noise;

	estimate_families(r, &steady, &e);
	/* Hausman's comparison: ALL is the sharper one, so the variances subtract. */
	off = e.u[BLOCKFIT_ALL] - e.u[BLOCKFIT_BEFORE];
	off = off * off /
	      fmax(e.variance[BLOCKFIT_BEFORE] - e.variance[BLOCKFIT_ALL],
		      0.1 * e.variance[BLOCKFIT_BEFORE]);
	trust = off >= 0 ? 1 / (1 + off * off / 4) : 1;
	mean = mix_families(&e, trust, variance);
	/* Co-runners that switch and caches that empty slowly look alike in all blocks as they are.
	 */
	if (all.blocks > 0 && !goes_slowly(r)) {
		double u, u_variance;

		estimate_families(r, &all, &whole);
		u = mix_families(&whole, trust, &u_variance);
		trust = trust_in_whole(r, u - mean, u_variance, e.variance[BLOCKFIT_ALL]);
		mean = mix(trust, u, u_variance, mean, *variance, variance);
	}
	*variance += e.missed + pow(OWN_DOUBT * own_bursts(r, &noise) * mean, 2);
	return mean;
}

/* The weight of the sums of all blocks, which differ from the estimate by the fits by `off`. */
static double trust_in_sums(const struct robust_state *r, double off, double variance)
{
	double lost = 1 - (double)r->used / (double)r->blocks;
	double share = blocksum_rough(&r->sum), rough = fmin(share / MANY_ROUGH, 1);
	double half = rough * MOST_LOST_ROUGH + (1 - rough) * MOST_LOST;
	double least = ROUGH_TRUST / (1 + pow(ROUGH_HALF / share, LOST_POWER));
	double z2 = off * off / variance / ROUGH_DOUBT;

	least *= z2 >= 0 ? z2 * z2 / (1 + z2 * z2) : 0;
	return fmax(1 / (1 + pow(half / lost, LOST_POWER)), least);
}

/* The ratio of rates as they were read is c/s = u (1 - lent) + lent. */
static double lent_variance(const struct robust_state *r, double u)
{
	double lent = fmin(blocksum_lent(&r->sum), MOST_LENT / LENT_TIMES);
	double more = LENT_TIMES * lent, read = u * (1 - lent) + lent;

	return pow(u - (read - more) / (1 - more), 2);
}

void robust_result(const struct robust_state *r, struct est_result *out)
{
	double mean = NAN, u, variance, trust;
	double values = (double)r->steady.values + (r->steady.values == 0);

	*out = (struct est_result){r->blocks, r->used, NAN, NAN, NAN, NAN, NAN, false};
	if (r->used)
		mean = estimate_fits(r, &out->variance);
	if (blocksum_result(&r->sum, &u, &variance)) {
		trust = trust_in_sums(r, u - mean, variance);
		if (!r->used || values < 2) {
			mean = u;
			out->variance = variance;
		} else {
			mean = mix(trust, u, variance, mean, out->variance, &out->variance);
		}
		out->bursts = trust > 0.5;
		if (out->bursts) {
			out->used = r->blocks;
			values = r->sum.blocks;
		}
	}
	if (isnan(mean))
		return;
	out->degradation = 1 - mean;
	if (values > 1) {
		double t95 = statistics_t95(fmin(fmax(values - 1, 1), 30)), half;

		out->noise = t95 * sqrt(out->variance);
		out->variance += SHARED_ERROR * SHARED_ERROR + lent_variance(r, mean);
		half = t95 * sqrt(out->variance);
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
	WHOLE(all.blocks), REAL(variogram), REAL(climb), REAL(variograms), REAL(sum)};

json_t *robust_save(const struct robust_state *r)
{
	json_t *json = json_object(), *all = json_object(), *slow = json_array();

	state_save(fields, STATE_COUNT(fields), r, json);
	tau_loss_save(&r->tau, json);
	for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
		json_array_append_new(slow, slow_refill_save(&r->slow[f]));
	json_object_set_new(json, "slow", slow);
	series_save(&r->steady, json);
	state_save(all_fields, STATE_COUNT(all_fields), r, all);
	series_save(&r->all, all);
	json_object_set_new(json, "all", all);
	return json;
}

int robust_load(struct robust_state *r, const json_t *json)
{
	const json_t *all = json_object_get(json, "all"), *slow = json_object_get(json, "slow");

	for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
		if (slow_refill_load(&r->slow[f], json_array_get(slow, (size_t)f)))
			return -1;
	if (state_load(fields, STATE_COUNT(fields), json, r) || tau_loss_load(&r->tau, json) ||
		series_load(&r->steady, json) ||
		state_load(all_fields, STATE_COUNT(all_fields), all, r) ||
		series_load(&r->all, all))
		return -1;
	r->steady.blocks = r->used;
	return r->used <= r->blocks ? 0 : -1;
}
