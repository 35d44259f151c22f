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
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "poppa/blockfit.h"
#include "poppa/estimator_impl.h"

/* What is believed of tau without data: around 0.3 ms, within a factor of 2 or 3. */
#define TAU_PRIOR 300e3
#define TAU_PRIOR_SPREAD 0.8

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
#define GROUP_NOISE 0.01  /* squared relative noise of s that a ratio may have */
#define RUNAWAY 2.5       /* u under another hypothesis is within this factor of the best one's */
#define LOSS_CAP 2.0      /* of one block against a time constant, in units of log likelihood */
#define CLEAR_SIGNAL 4.0  /* squared distance of s and c, in terms of its variance */
#define MAX_GROUP 32      /* blocks whose ratio is taken together, at most */
#define MIN_GROUPS 8      /* as long as there are fewer, groups grow no larger */
#define GAP_CAP 24.0      /* a gap stands for at most this many usual ones */
#define BATCHES 16        /* for the jackknife */
#define RECENT 31

/* The last few of something, for a running median. */
struct recent {
	double v[RECENT];
	uint64_t count; /* ever added */
};

/* What is kept of a block that waits. All doubles. */
struct member {
	double s[BLOCKFIT_HYPOTHESES], c[BLOCKFIT_HYPOTHESES];
	double bias[BLOCKFIT_HYPOTHESES], noise[BLOCKFIT_HYPOTHESES];
	double time;
};

struct robust_state {
	uint64_t blocks, used;
	struct recent sigma, shift, step, gap, noise;

	/* How often which log(c/s) came up: tells a phase that comes round from a wild block. */
	uint64_t seen[SEEN_BINS];
	struct recent log_u;

	/* Loss of each hypothesis in batches of blocks: when all are full, pairs are merged. */
	double loss[BATCHES][BLOCKFIT_HYPOTHESES];
	uint64_t batch_blocks[BATCHES];
	uint64_t batch_size;

	/*
	 * Blocks whose ratio is taken together, because a single one is too noisy to divide by:
	 * their sums.
	 */
	struct member group;
	double group_n;

	/* A block like no other so far: wild, or the first of a phase. The next one tells. */
	struct member odd;
	double odd_log_u;
	uint64_t odd_there;

	/*
	 * Time average of u, and its semi-variogram at lags 1 and 2: what tells noise, which is new
	 * in every value, from a job that changes.
	 */
	uint64_t values;
	double last_u[BLOCKFIT_HYPOTHESES], older_u[BLOCKFIT_HYPOTHESES], last_time, last_gap;
	double sum_weight, sum_weight2, sum_u[BLOCKFIT_HYPOTHESES];
	double diff1[BLOCKFIT_HYPOTHESES], diff2[BLOCKFIT_HYPOTHESES];
	double sum_gap2, change[BLOCKFIT_HYPOTHESES]; /* change: of gap^2 (u - last u)^2 */
	double model_noise[BLOCKFIT_HYPOTHESES];      /* sum of what the fits expect for u */
};

struct robust_state *robust_new(void)
{
	struct robust_state *r = calloc(1, sizeof(*r));

	if (r)
		r->batch_size = 1;
	return r;
}

static void recent_add(struct recent *r, double v)
{
	r->v[r->count++ % RECENT] = v;
}

static double recent_median(const struct recent *r)
{
	double v[RECENT];
	int n = r->count < RECENT ? (int)r->count : RECENT;

	memcpy(v, r->v, sizeof(v));
	return blockfit_median(v, n);
}

/* Robust standard deviation around the median. */
static double recent_spread(const struct recent *r)
{
	double v[RECENT], m = recent_median(r);
	int n = r->count < RECENT ? (int)r->count : RECENT;

	for (int i = 0; i < n; i++)
		v[i] = fabs(r->v[i] - m);
	return 1.4826 * blockfit_median(v, n);
}

/* Loss of tau by itself: what is believed without data. */
static double prior_loss(int k)
{
	double tau = k ? blockfit_tau(k) : BLOCKFIT_TAU_FIRST / BLOCKFIT_TAU_STEP;
	double d = log(tau / TAU_PRIOR) / TAU_PRIOR_SPREAD;

	return 0.5 * d * d;
}

/* Grid point of least loss, batch `without` left out (-1: none). */
static int least_loss(
	const struct robust_state *r, enum blockfit_family family, int without, double *loss)
{
	int best = 0;

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		loss[k] = prior_loss(k);
		for (int b = 0; b < BATCHES; b++)
			if (b != without)
				loss[k] += r->loss[b][family * BLOCKFIT_TAUS + k];
		if (loss[k] < loss[best])
			best = k;
	}
	return best;
}

/* Position of the minimum on the grid, between points by a parabola in log tau. */
static double best_position(const struct robust_state *r, enum blockfit_family family, int without)
{
	double loss[BLOCKFIT_TAUS], left, right, curve;
	int best = least_loss(r, family, without, loss);

	/* Point 0 is no time constant at all and has no place on the logarithmic scale. */
	if (best < 2 || best == BLOCKFIT_TAUS - 1)
		return best;
	left = loss[best - 1] - loss[best];
	right = loss[best + 1] - loss[best];
	curve = left + right;
	return curve > 0 ? best + 0.5 * (left - right) / curve : best;
}

/* Value at a position of the grid, quadratic between the points. */
static double value_at(const double *v, double position)
{
	int mid = (int)lround(position);
	double d;

	if (mid < 2)
		mid = position < 1 ? 0 : 2;
	if (mid == 0)
		return v[0] + position * (v[1] - v[0]);
	if (mid > BLOCKFIT_TAUS - 2)
		mid = BLOCKFIT_TAUS - 2;
	d = position - mid;
	return v[mid] + 0.5 * d * (v[mid + 1] - v[mid - 1]) +
	       0.5 * d * d * (v[mid + 1] - 2 * v[mid] + v[mid - 1]);
}

/*
 * Counts a block's loss under each hypothesis. A block in which s and c hardly differ knows nothing
 * of tau, yet its noise would speak, so it counts the less the less they differ for their noise.
 */
static void add_loss(struct robust_state *r, const struct fit *fits, const struct fit *best)
{
	double apart = (best->s - best->c) / best->c;
	double signal = apart * apart / blockfit_variance(best);
	double weight = signal > CLEAR_SIGNAL ? 1 - CLEAR_SIGNAL / signal : 0;
	int batch = 0;

	while (batch < BATCHES && r->batch_blocks[batch] == r->batch_size)
		batch++;
	if (batch == BATCHES) {
		for (int b = 0; b < BATCHES / 2; b++) {
			for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++)
				r->loss[b][h] = r->loss[2 * b][h] + r->loss[2 * b + 1][h];
			r->batch_blocks[b] = 2 * r->batch_size;
		}
		batch = BATCHES / 2;
		memset(r->loss[batch], 0, sizeof(r->loss[0]) * (BATCHES / 2));
		memset(&r->batch_blocks[batch], 0, sizeof(r->batch_blocks[0]) * (BATCHES / 2));
		r->batch_size *= 2;
	}
	r->batch_blocks[batch]++;
	for (int family = 0; family < BLOCKFIT_FAMILIES; family++) {
		const struct fit *f = &fits[family * BLOCKFIT_TAUS];
		double least = INFINITY;

		for (int k = 0; k < BLOCKFIT_TAUS; k++)
			least = fmin(least, f[k].loss);
		/* No block may say more than so much: some were not measured under this model. */
		for (int k = 0; k < BLOCKFIT_TAUS; k++)
			r->loss[batch][family * BLOCKFIT_TAUS + k] +=
				weight * LOSS_CAP * (1 - exp((least - f[k].loss) / LOSS_CAP));
	}
}

/* The last value's share of the time average, once it is known how long it stands for. */
static void weigh_last(struct robust_state *r, double gap_after)
{
	double w = r->values > 1 ? 0.5 * (r->last_gap + gap_after) : gap_after;

	r->sum_weight += w;
	r->sum_weight2 += w * w;
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++)
		r->sum_u[h] += w * r->last_u[h];
}

static void add_value(struct robust_state *r, const double *u, double time)
{
	double gap = time - r->last_time, usual;

	if (r->values) {
		if (!(gap > 0))
			gap = r->gap.count ? recent_median(&r->gap) : 1;
		recent_add(&r->gap, gap);
		usual = recent_median(&r->gap);
		gap = fmin(gap, GAP_CAP * usual);
		weigh_last(r, gap);
		for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
			double d1 = u[h] - r->last_u[h], d2 = u[h] - r->older_u[h];

			r->diff1[h] += 0.5 * d1 * d1;
			r->change[h] += gap * gap * d1 * d1;
			if (r->values > 1)
				r->diff2[h] += 0.5 * d2 * d2;
		}
		r->sum_gap2 += gap * gap;
		r->last_gap = gap;
	}
	r->values++;
	r->last_time = time;
	memcpy(r->older_u, r->last_u, sizeof(r->older_u));
	memcpy(r->last_u, u, sizeof(r->last_u));
}

/* Takes a block; gives a value when enough of them are together. */
static void add_group(struct robust_state *r, const struct member *m)
{
	double u[BLOCKFIT_HYPOTHESES], want;

	r->used++;
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
		r->group.s[h] += m->s[h];
		r->group.c[h] += m->c[h];
		r->group.bias[h] += m->bias[h];
		r->group.noise[h] += m->noise[h];
	}
	r->group_n++;
	r->group.time += m->time;
	want = fmin(ceil(recent_median(&r->noise) / GROUP_NOISE), MAX_GROUP);
	/* A few blocks had better be a few noisy values than one that has no interval. */
	want = fmin(want, 1 + floor((double)r->used / MIN_GROUPS));
	if (r->group_n < want)
		return;
	/*
	 * E[c/s] is c/s * (1 + var(s)/s^2 - cov(s,c)/(s c)) to second order. A correction too large
	 * for that still must not turn a rate's sign.
	 */
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
		double n2 = r->group_n * r->group_n, bias = r->group.bias[h] / n2;

		u[h] = r->group.c[h] / r->group.s[h] * (bias > 0 ? 1 / (1 + bias) : 1 - bias);
		r->model_noise[h] += u[h] * u[h] * r->group.noise[h] / n2;
	}
	add_value(r, u, r->group.time / r->group_n);
	memset(&r->group, 0, sizeof(r->group));
	r->group_n = 0;
}

static void make_member(const struct fit *fits, uint64_t start_ns, struct member *m)
{
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
		m->s[h] = fits[h].s;
		m->c[h] = fits[h].c;
		m->bias[h] = fits[h].vss - fits[h].vsc;
		m->noise[h] = blockfit_variance(&fits[h]);
	}
	m->time = (double)start_ns;
}

/* The odd block belongs to a phase after all if the next one is near it; else it was wild. */
static void judge_odd(struct robust_state *r, double log_u, double reach)
{
	if (r->odd_there && fabs(log_u - r->odd_log_u) < reach)
		add_group(r, &r->odd);
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
		recent_add(&r->step, (log_u - r->log_u.v[(n - 1) % RECENT]) / sqrt(2));
	if (n > SEEN_ENOUGH)
		noise = fmax(fmin(noise, NOISY * sqrt(recent_median(&r->noise))),
			recent_spread(&r->step));
	*reach = LONELY_SIGMAS * noise;
	for (int i = 0; i < SEEN_BINS; i++)
		all += r->seen[i];
	for (int i = seen_bin(log_u - *reach); i <= seen_bin(log_u + *reach); i++)
		near += r->seen[i];
	for (uint64_t i = 1; i <= SEEN_LATELY && i <= n; i++)
		if (fabs(log_u - r->log_u.v[(n - i) % RECENT]) < *reach)
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
static void tame(struct fit *fits, const struct fit *best)
{
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
		double off = fits[h].c / fits[h].s * best->s / best->c;

		if (!(off > 1 / RUNAWAY && off < RUNAWAY))
			fits[h] = *best;
	}
}

bool robust_add(struct robust_state *r, const struct est_block *block)
{
	struct fit_input p;
	struct fit fits[BLOCKFIT_HYPOTHESES];
	const struct fit *f;
	double sigma, seen, loss[BLOCKFIT_TAUS], log_u, reach;
	struct member m;
	bool wild, moved;
	int best;

	r->blocks++;
	blockfit_prepare(block, &p);
	sigma = fmax(
		r->sigma.count ? recent_median(&r->sigma) : blockfit_first_sigma(&p), MIN_SIGMA);
	if (blockfit_all(&p, sigma, fits))
		return false;
	best = least_loss(r, BLOCKFIT_ALL, -1, loss);
	f = &fits[BLOCKFIT_ALL * BLOCKFIT_TAUS + best];
	seen = blockfit_sigma(&p, best, f);
	if (!isnan(seen))
		recent_add(&r->sigma, fmin(seen, 1));
	/* A block that is not used tells of tau all the same: under a wrong tau, right ones are
	 * odd. */
	recent_add(&r->noise, f->vss);
	add_loss(r, fits, f);
	if (!blockfit_coherent(&p, &fits[BLOCKFIT_BEFORE * BLOCKFIT_TAUS]))
		return false;
	log_u = log(f->c / f->s);
	wild = is_wild(r, log_u, sqrt(blockfit_variance(f)), &reach);
	moved = has_moved(r, &p, best, f, sigma);
	if (moved || isnan(log_u))
		return false;
	if (!wild)
		judge_odd(r, log_u, reach);
	tame(fits, f);
	make_member(fits, block->start_ns, &m);
	if (!wild) {
		add_group(r, &m);
	} else {
		r->odd = m;
		r->odd_log_u = log_u;
		r->odd_there = 1;
	}
	return !wild;
}

/*
 * Variance of the time average. What is new in every value is the variogram's extrapolation to lag
 * 0 and counts in full. What grows with the lag is the job's own change: between two values that
 * are a gap apart the average takes the middle for the time of the change, which is off by
 * gap/sqrt(12); of a random walk the same share stays unknown (systematic sampling under a linear
 * variogram, Matheron).
 */
static double mean_variance(const struct robust_state *r, int h)
{
	double n = (double)r->values;
	double lag1 = r->diff1[h] / fmax(n - 1, 1), lag2 = r->diff2[h] / fmax(n - 2, 1);
	double fresh = lag1, change = 0;

	if (n >= 8)
		fresh = fmin(lag1, fmax(2 * lag1 - lag2, r->model_noise[h] / n));
	if (fresh < lag1)
		change = fmax(0, r->change[h] - 2 * fresh * r->sum_gap2) / 12;
	return (fresh * r->sum_weight2 + change) / (r->sum_weight * r->sum_weight);
}

/*
 * What is not known of tau, in terms of the mean: its scatter over the grid, each point as likely
 * as its loss says. This is what counts where a small degradation tells little of tau and the
 * estimate rests on what is believed beforehand, which the jackknife cannot see.
 */
static double tau_scatter(
	const struct robust_state *r, enum blockfit_family family, const double *mean, double value)
{
	double loss[BLOCKFIT_TAUS], weight, sum = 0, scatter = 0;
	int best = least_loss(r, family, -1, loss);

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		weight = exp(loss[best] - loss[k]);
		sum += weight;
		scatter += weight * (mean[k] - value) * (mean[k] - value);
	}
	return scatter / sum;
}

/* Estimate of one family: the time average at its best tau, and the variance of it; *vague is what
 * tau_scatter() has beyond that. */
static double family_mean(
	const struct robust_state *r, enum blockfit_family family, double *variance, double *vague)
{
	double mean[BLOCKFIT_TAUS], noise[BLOCKFIT_TAUS];
	double position = best_position(r, family, -1), value, tau_var = 0;
	int batches = 0;

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		int h = family * BLOCKFIT_TAUS + k;

		mean[k] = r->sum_u[h] / r->sum_weight;
		noise[k] = mean_variance(r, h);
	}
	value = value_at(mean, position);
	*variance = noise[(int)lround(position)];
	/* Jackknife over batches for the error of tau, which moves all blocks together. */
	for (int b = 0; b < BATCHES; b++) {
		double d;

		if (r->batch_blocks[b] == 0)
			continue;
		d = value_at(mean, best_position(r, family, b)) - value;
		tau_var += d * d;
		batches++;
	}
	if (batches > 1)
		tau_var *= (batches - 1.0) / batches;
	*variance += tau_var;
	*vague = fmax(tau_scatter(r, family, mean, value) - tau_var, 0);
	return value;
}

void robust_result(const struct robust_state *r, struct est_result *out)
{
	struct robust_state *end;
	double u[BLOCKFIT_FAMILIES], var[BLOCKFIT_FAMILIES], vague[BLOCKFIT_FAMILIES];
	double gap, off, trust, half;

	*out = (struct est_result){r->blocks, r->used, NAN, NAN, NAN, NAN};
	if (r->used == 0 || !(end = malloc(sizeof(*end))))
		return;
	/* What is still waiting for its successor counts in a copy. */
	*end = *r;
	if (end->values == 0) {
		double first[BLOCKFIT_HYPOTHESES];

		for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++)
			first[h] = end->group.c[h] / end->group.s[h];
		add_value(end, first, end->group.time / end->group_n);
	}
	gap = end->values > 1 ? end->last_gap : 1;
	weigh_last(end, gap);
	for (int f = 0; f < BLOCKFIT_FAMILIES; f++)
		u[f] = family_mean(end, f, &var[f], &vague[f]);
	/* Hausman's comparison: ALL is the sharper one, so the variances subtract. */
	off = u[BLOCKFIT_ALL] - u[BLOCKFIT_BEFORE];
	off = off * off /
	      fmax(var[BLOCKFIT_BEFORE] - var[BLOCKFIT_ALL], 0.1 * var[BLOCKFIT_BEFORE]);
	trust = off >= 0 ? 1 / (1 + off * off / 4) : 1;
	out->degradation = 1 - (trust * u[BLOCKFIT_ALL] + (1 - trust) * u[BLOCKFIT_BEFORE]);
	if (end->values > 1) {
		double d = u[BLOCKFIT_ALL] - u[BLOCKFIT_BEFORE];

		out->variance = trust * var[BLOCKFIT_ALL] + (1 - trust) * var[BLOCKFIT_BEFORE] +
				trust * (1 - trust) * d * d + trust * vague[BLOCKFIT_ALL] +
				(1 - trust) * vague[BLOCKFIT_BEFORE];
		half = est_t95(fmin((double)end->values - 1, 30)) * sqrt(out->variance);
		out->lo = out->degradation - half;
		out->hi = out->degradation + half;
	}
	free(end);
}

/* The parts of the state, for saving and loading alike. */
struct field {
	const char *name;
	size_t offset;
	int count;
	bool real; /* double, else uint64_t */
};

#define REAL(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct robust_state, name),                                        \
			(int)(sizeof(((struct robust_state *)0)->name) / sizeof(double)), true     \
	}
#define WHOLE(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct robust_state, name),                                        \
			(int)(sizeof(((struct robust_state *)0)->name) / sizeof(uint64_t)), false  \
	}

static const struct field fields[] = {WHOLE(blocks), WHOLE(used), REAL(sigma.v), WHOLE(sigma.count),
	REAL(shift.v), WHOLE(shift.count), REAL(step.v), WHOLE(step.count), WHOLE(seen),
	REAL(log_u.v), WHOLE(log_u.count), REAL(gap.v), WHOLE(gap.count), REAL(noise.v),
	WHOLE(noise.count), REAL(loss), WHOLE(batch_blocks), WHOLE(batch_size), REAL(group),
	REAL(group_n), REAL(odd), REAL(odd_log_u), WHOLE(odd_there), WHOLE(values), REAL(last_u),
	REAL(older_u), REAL(last_time), REAL(last_gap), REAL(sum_weight), REAL(sum_weight2),
	REAL(sum_u), REAL(diff1), REAL(diff2), REAL(sum_gap2), REAL(change), REAL(model_noise)};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

json_t *robust_save(const struct robust_state *r)
{
	json_t *json = json_object();

	for (size_t i = 0; json && i < FIELD_COUNT; i++) {
		const struct field *f = &fields[i];
		const void *at = (const char *)r + f->offset;

		json_object_set_new(json, f->name,
			f->real ? est_save_doubles(at, f->count) : est_save_counts(at, f->count));
	}
	return json;
}

int robust_load(struct robust_state *r, const json_t *json)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *f = &fields[i];
		void *at = (char *)r + f->offset;

		if (f->real ? est_load_doubles(json, f->name, at, f->count)
			    : est_load_counts(json, f->name, at, f->count))
			return -1;
	}
	for (int b = 0; b < BATCHES; b++)
		if (r->batch_blocks[b] > r->batch_size)
			return -1;
	return r->batch_size > 0 && r->used <= r->blocks ? 0 : -1;
}
