/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits the slow part of what comes back to the windows of long blocks. */
#include "poppa/estimate/slow_refill.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockrate.h"
#include "poppa/estimate/estimator_state.h"
#include "poppa/estimate/statistics.h"

#define KERNEL 4.0         /* blocks count as alike within so many variances of their difference */
#define KERNEL_SPREAD 0.89 /* of the variance of noise, so much is left under the kernel */
#define HIDDEN 0.1         /* by so much of a block's own variance phases may differ unseen */
#define MAD 1.4826         /* of a normal distribution: standard deviation over median distance */
#define SHORT_NOISE 3.0    /* variances of noise that are no sign of short phases */
#define MIN_NOISE 4e-6     /* relative variance of a window, at least */
#define ROUNDS 4           /* of weighing long blocks by how well they fit */
#define FAR 3.0            /* standard errors at which a window or a block counts a quarter */
#define MAX_SHARE 6.0      /* of a: six sevenths come back slowly */
#define AGAIN 32           /* usual blocks after which long ones are weighed again */
#define SELDOM 256         /* likewise, where they are all compared with enough */
#define SMOOTH 50.0        /* blocks of which the steps count for the rate of phases */
#define MOVED 3.0          /* standard errors by which another s is another phase */
#define LEAST_GAP 1e7      /* between blocks, ns */
#define MOST_MOVES 0.9     /* share of steps that may be to another phase */
#define LEAST_WINDOWS 4    /* of a long block: fewer tell too little of the pace */
#define LEAST_SEEN 0.05    /* what the usual part misses, at least: less is no slow part */
#define NOT_READ (-1.0)
#define SHAPES 15

/* How the slow part comes back: its rate climbs with a time constant, or evenly in so long. */
static const struct shape {
	double ns;
	bool linear;
} shapes[SHAPES] = {{2.5e6, false}, {5e6, false}, {10e6, false}, {20e6, false}, {40e6, false},
	{80e6, false}, {160e6, false}, {250e6, false}, {10e6, true}, {20e6, true}, {40e6, true},
	{70e6, true}, {110e6, true}, {150e6, true}, {200e6, true}};

/*
 * What a is where something comes back slowly: its standard deviation, under each hypothesis of the
 * prior but the first, which is that nothing does. Few jobs have nearly all of what they lose in
 * the last-level cache, but on processors where it is big there are some (docs/results/refill.md):
 * without the wide slab, the interval of these would leave out the truth until there are many long
 * blocks.
 */
#define SLABS (SLOW_HYPOTHESES - 1)
#define HYPOTHESIS(slab) (SLOW_NARROW + (slab))
static const double deviations[SLABS] = {0.4, 1.5};

/* The mean over a window, from..to after the stop, of the share that is still missing. */
static double missing(const struct shape *h, double from, double to)
{
	double t = h->ns;

	if (!h->linear)
		return (exp(-from / t) - exp(-to / t)) * t / (to - from);
	from = fmin(from, t);
	to = fmax(fmin(to, t), from);
	return to > from ? 1 - (from + to) / (2 * t) : 0;
}

/*
 * Adds a usual block to those that a long one is compared with, as far as both are alike: by a
 * kernel on s and c, since c alone does not tell phases apart that lose differently. Its centre is
 * the mean so far, so the noise of the long block's own s hardly counts. With bursts of the job's
 * own, blocks within a burst and outside are alike: a long block shows their mean.
 */
static void compare_with(struct slow_block *l, const struct slow_recent *o, int best, double bursts)
{
	double ds = log(o->s[best] / l->s[best]), dc = log(o->c[best] / l->c[best]);
	double apart =
		ds * ds / (o->vss + l->vss + 2 * bursts) + dc * dc / (o->vcc + l->vcc + 2 * bursts);
	double w = exp(-0.5 / KERNEL * apart), step;

	if (!(w > 1e-6))
		return;
	l->weight += w;
	l->weight2 += w * w;
	step = w / l->weight;
	l->spread += w * ds * ds;
	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		l->s[k] += step * (o->s[k] - l->s[k]);
		l->c[k] += step * (o->c[k] - l->c[k]);
	}
}

/*
 * The s and the c of the usual part of a long block: its own, and the mean of the blocks that are
 * alike, which may still be of several phases. Each counts as much as it tells: the mean little
 * where those blocks differ by more than noise. Returns the relative variance of s.
 */
static double usual_part(const struct slow_block *l, int k, double *s, double *c)
{
	double seen = l->spread / l->weight / KERNEL_SPREAD;
	double phases = fmax(seen - l->vss, HIDDEN * l->vss), own = phases / (phases + l->vss);

	*s = own * l->own_s[k] + (1 - own) * l->s[k];
	*c = own * l->own_c[k] + (1 - own) * l->c[k];
	return own * l->vss + fmax(seen, l->vss) * l->weight2 / (l->weight * l->weight);
}

static void add_long(struct slow_refill *r, const struct est_block *b,
	const struct slow_recent *own, int best, double sigma, double bursts)
{
	struct slow_block *l = &r->block[r->blocks % SLOW_BLOCKS];
	int known = r->recents < SLOW_RECENT ? (int)r->recents : SLOW_RECENT;
	int n = b->beyond_n < SLOW_WINDOWS ? b->beyond_n : SLOW_WINDOWS;
	bool cycles = blockrate_has_cycles(b);
	double end = 0, beyond = 0;

	for (int i = 0; i < b->during_n; i++)
		end += b->during[i].dur_ns;
	for (int i = 0; i < n; i++)
		beyond += b->beyond[i].dur_ns;
	if (!(end > 0) || !isfinite(end + beyond))
		return;
	memset(l, 0, sizeof(*l));
	memcpy(l->own_s, own->s, sizeof(l->own_s));
	memcpy(l->own_c, own->c, sizeof(l->own_c));
	memcpy(l->s, own->s, sizeof(l->s));
	memcpy(l->c, own->c, sizeof(l->c));
	l->vss = own->vss;
	l->vcc = own->vcc;
	compare_with(l, own, best, bursts);
	for (int i = 0; i < known; i++)
		if (&r->recent[i] != own)
			compare_with(l, &r->recent[i], best, bursts);
	l->noise = sigma * sigma;
	l->usual_ns = end / b->during_n;
	l->windows = n;
	l->end[0] = end;
	for (int i = 0; i < SLOW_WINDOWS; i++) {
		if (i < n)
			end += b->beyond[i].dur_ns;
		l->end[i + 1] = end;
		l->rate[i] = i < n ? blockrate_window(&b->beyond[i], cycles) : NAN;
		if (isnan(l->rate[i]))
			l->rate[i] = NOT_READ;
	}
	r->blocks++;
}

/*
 * The relative variance of s by phases that are so short that most blocks are of another one than
 * the block before: then a long block shows the mean of several, as with bursts.
 */
static double short_phases(const struct slow_refill *r, int best)
{
	int n = r->recents < SLOW_RECENT ? (int)r->recents : SLOW_RECENT;
	double step[SLOW_RECENT], noise[SLOW_RECENT], spread;

	for (int i = 1; i < n; i++) {
		const struct slow_recent *a = &r->recent[(r->recents - (uint64_t)i) % SLOW_RECENT];
		const struct slow_recent *b =
			&r->recent[(r->recents - (uint64_t)i - 1) % SLOW_RECENT];

		step[i - 1] = fabs(log(a->s[best] / b->s[best]));
		noise[i - 1] = a->vss + b->vss;
	}
	if (n < SLOW_RECENT / 2)
		return 0;
	spread = MAD * statistics_median(step, n - 1);
	return fmax(0.5 * (spread * spread - SHORT_NOISE * statistics_median(noise, n - 1)), 0);
}

/* Notes how often the phase changes, by two blocks that follow one another. */
static void step_from(struct slow_refill *r, const struct slow_recent *last,
	const struct slow_recent *own, int best, double bursts)
{
	double d = log(own->s[best] / last->s[best]), share = 1 / fmin((double)r->recents, SMOOTH);
	bool moved = d * d > MOVED * MOVED * (own->vss + last->vss + 2 * bursts);

	r->moves += share * (moved - r->moves);
	r->gap += share * (fmax(own->time - last->time, 0) - r->gap);
}

void slow_refill_add(struct slow_refill *r, const struct est_block *b, const struct fit *fits,
	int best, double sigma, double bursts)
{
	struct slow_recent *own = &r->recent[r->recents % SLOW_RECENT];
	int blocks = r->blocks < SLOW_BLOCKS ? (int)r->blocks : SLOW_BLOCKS;

	for (int k = 0; k < BLOCKFIT_TAUS; k++)
		if (!(fits[k].s > 0) || !(fits[k].c > 0))
			return;
	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		own->s[k] = fits[k].s;
		own->c[k] = fits[k].c;
	}
	own->vss = fmax(fits[best].vss, MIN_NOISE);
	own->vcc = fmax(fits[best].vcc, MIN_NOISE);
	own->time = (double)b->start_ns;
	if (r->recents)
		step_from(r, &r->recent[(r->recents - 1) % SLOW_RECENT], own, best, bursts);
	r->recents++;
	r->unsteady += (short_phases(r, best) - r->unsteady) / fmin((double)r->recents, SMOOTH);
	bursts += r->unsteady;
	for (int i = 0; i < blocks; i++)
		if (r->block[i].weight < SLOW_ENOUGH)
			compare_with(&r->block[i], own, best, bursts);
	if (b->beyond_n > 0)
		add_long(r, b, own, best, sigma, bursts);
}

/* The windows of one long block under one shape: y = a x, with noise of relative variance 1/w in
 * each and of `shared` in all alike, by the s that they are compared with. */
struct windows {
	int n;
	double x[SLOW_WINDOWS], y[SLOW_WINDOWS], w[SLOW_WINDOWS], shared;
	double ends[SLOW_WINDOWS + 1]; /* minus log of how likely the phase is to end in each */
};

/* How often the job changes to a phase of another s, per ns: at least once in SMOOTH blocks. */
static double phase_rate(const struct slow_refill *r)
{
	return -log1p(-fmin(r->moves + 1 / SMOOTH, MOST_MOVES)) / fmax(r->gap, LEAST_GAP);
}

/*
 * The share of the slow part that the fit of the usual part misses, under tau number k: that is a
 * linear fit of the rates during the stop, so it is the mean of what is missing there beyond what
 * the tau has for it, with the weights of that fit.
 */
static double seen_missing(const struct slow_block *l, const struct shape *h, int k)
{
	const struct shape usual = {blockfit_tau(k), false};
	double sum = 0, squares = 0;

	for (int i = 0; i < EST_MAX_WINDOWS && (i + 0.5) * l->usual_ns < l->end[0]; i++) {
		double from = i * l->usual_ns, to = from + l->usual_ns;
		double g = k ? missing(&usual, from, to) : 0;

		sum += (1 - g) * (missing(h, from, to) - g);
		squares += (1 - g) * (1 - g);
	}
	return fmax(sum / squares, LEAST_SEEN);
}

static double window_variance(const struct slow_block *l, double ns)
{
	return fmax(l->noise * fmin(l->usual_ns / ns, 1), MIN_NOISE);
}

/* x: what a window shows of a under this shape, relative to s; y: what it shows. scale: how much
 * larger the noise is than each block by itself says. */
static void find_windows(const struct slow_refill *r, const struct slow_block *l,
	const struct shape *h, int k, double scale, struct windows *out)
{
	double seen = seen_missing(l, h, k), rate = phase_rate(r), s, c;

	out->n = 0;
	out->shared = scale * (usual_part(l, k, &s, &c) + r->bursts);
	for (int i = 0; i < (int)l->windows; i++) {
		double from = l->end[i], to = l->end[i + 1];

		if (l->rate[i] == NOT_READ || !(to > from))
			continue;
		out->x[out->n] = (1 - c / s) * (seen - missing(h, from, to)) / seen;
		out->y[out->n] = l->rate[i] / s - 1;
		out->ends[out->n] = rate * (from - l->end[0]) - log(-expm1(-rate * (to - from)));
		out->ends[out->n + 1] = rate * (to - l->end[0]);
		out->w[out->n++] = 1 / (scale * window_variance(l, to - from));
	}
}

/* The weight of what is off by z standard errors, and half of its squared residual: nothing has a
 * loss of more than FAR^2/2 (Geman and McClure). */
static double keep(double z2)
{
	double k = 1 / (1 + z2 * (1 / (FAR * FAR)));

	return k * k;
}

static double bounded(double z2)
{
	return 0.5 * z2 / (1 + z2 * (1 / (FAR * FAR)));
}

/* Sums of a fit of a. */
struct sums {
	double xx, xy, loss;
};

/* The medians of the first 1, 2, ... n errors: median[1] to median[n]. */
static void medians(const double *e, int n, double *median)
{
	double sorted[SLOW_WINDOWS];

	for (int i = 0; i < n; i++) {
		int at = i, all = i + 1;

		for (; at > 0 && sorted[at - 1] > e[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = e[i];
		median[all] =
			all % 2 ? sorted[all / 2] : 0.5 * (sorted[all / 2 - 1] + sorted[all / 2]);
	}
}

/*
 * The loss of the first n windows of a long block, of which a guess of a leaves the errors e[], and
 * their weights. A window that does not fit counts less, as it is wild; so does the level of all
 * windows (*off, which begins at their median), as the block may be of another phase than the
 * blocks that it is compared with: then only what its windows show relative to one another is left.
 */
static double weigh_windows(
	const struct windows *b, int n, const double *e, double *weight, double *off)
{
	double loss;

	for (int round = 0; round < 3; round++) {
		double sum = 0, total = 1 / b->shared;

		for (int i = 0; i < n; i++) {
			double z = e[i] - *off;

			weight[i] = keep(z * z * b->w[i]) * b->w[i];
			sum += weight[i] * e[i];
			total += weight[i];
		}
		*off = sum / total;
	}
	loss = bounded(*off * *off / b->shared);
	for (int i = 0; i < n; i++)
		loss += bounded((e[i] - *off) * (e[i] - *off) * b->w[i]);
	return loss;
}

/*
 * Adds a long block to the sums, under a guess of a. Where its phase ended within it, what follows
 * tells nothing, so it is left out if that explains the block better.
 */
static void add_windows(const struct windows *b, double a, struct sums *n)
{
	double e[SLOW_WINDOWS], weight[SLOW_WINDOWS], median[SLOW_WINDOWS + 1];
	double off, loss, one, x1 = 0, y1 = 0;
	int last = b->n;

	if (b->n < 1)
		return;
	for (int i = 0; i < b->n; i++)
		e[i] = b->y[i] - a * b->x[i];
	medians(e, b->n, median);
	off = median[last];
	loss = weigh_windows(b, last, e, weight, &off) + b->ends[last];
	for (int end = b->n - 1; end > 0 && loss > b->ends[end]; end--) {
		/* What is left out would have some loss by noise. */
		double without = b->ends[end] + 0.5 * (b->n - end), other;

		if (without >= loss)
			continue;
		off = median[end];
		other = weigh_windows(b, end, e, weight, &off) + without;
		if (other >= loss)
			continue;
		loss = other;
		last = end;
	}
	off = median[last];
	weigh_windows(b, last, e, weight, &off);
	one = keep(off * off / b->shared) / b->shared;
	for (int i = 0; i < last; i++) {
		n->xx += weight[i] * b->x[i] * b->x[i];
		n->xy += weight[i] * b->x[i] * b->y[i];
		one += weight[i];
		x1 += weight[i] * b->x[i];
		y1 += weight[i] * b->y[i];
	}
	n->loss += loss;
	n->xx -= x1 * x1 / one;
	n->xy -= x1 * y1 / one;
}

static struct sums sum_blocks(const struct windows *b, int blocks, double a)
{
	struct sums n = {.loss = 0};

	for (int i = 0; i < blocks; i++)
		add_windows(&b[i], a, &n);
	return n;
}

/* The fit of all long blocks under one shape and slab, or, without a shape, under a = 0. */
struct shape_fit {
	double a, variance;
	double loss;
	int windows;
};

/* start: where to begin; below 0: try some. */
static struct shape_fit fit_shape(const struct slow_refill *r, int blocks, const struct shape *h,
	double deviation, int k, double scale, double start)
{
	static const double tries[] = {0, 0.03, 0.07, 0.15, 0.3, 0.6, 1.2};
	struct windows b[SLOW_BLOCKS];
	struct shape_fit f = {.a = fmax(start, 0)};
	double ridge = 1 / (deviation * deviation);
	struct sums n;

	for (int i = 0; i < blocks; i++) {
		find_windows(r, &r->block[i], h ? h : &shapes[0], k, scale, &b[i]);
		f.windows += b[i].n;
	}
	n = sum_blocks(b, blocks, f.a);
	for (size_t i = 1; h && start < 0 && i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct sums other = sum_blocks(b, blocks, tries[i]);

		if (other.loss >= n.loss)
			continue;
		n = other;
		f.a = tries[i];
	}
	for (int round = 0; h && round < ROUNDS; round++) {
		f.a = fmin(fmax(n.xy / (n.xx + ridge), 0), MAX_SHARE);
		n = sum_blocks(b, blocks, f.a);
	}
	f.variance = 1 / (n.xx + ridge);
	f.loss = n.loss;
	return f;
}

/* How well a shape and a slab explain the blocks, for all a above 0. */
static double evidence(const struct shape_fit *f, double deviation, double least)
{
	double z = f->a / deviation;

	return sqrt(f->variance) / deviation * erfc(-f->a / sqrt(2 * f->variance)) *
	       exp(least - f->loss - 0.5 * z * z);
}

/* All hypotheses of one job. */
struct all_fits {
	struct shape_fit none, of[SHAPES][SLABS];
	double least; /* loss */
};

/* again: each begins where it ended before, under another scale. */
static void fit_all(const struct slow_refill *r, int blocks, int k, double scale, bool again,
	struct all_fits *fit)
{
	fit->none = fit_shape(r, blocks, NULL, deviations[0], k, scale, 0);
	fit->least = fit->none.loss;
	for (int h = 0; h < SHAPES; h++)
		for (int i = 0; i < SLABS; i++) {
			struct shape_fit *f = &fit->of[h][i];

			*f = fit_shape(
				r, blocks, &shapes[h], deviations[i], k, scale, again ? f->a : -1);
			fit->least = fmin(fit->least, f->loss);
		}
}

/* How many long blocks are compared with enough usual ones. */
static uint64_t complete(const struct slow_refill *r, int blocks)
{
	uint64_t n = 0;

	for (int i = 0; i < blocks; i++)
		n += r->block[i].weight >= SLOW_ENOUGH;
	return n;
}

/* What one block like l, with so many windows, tells of a under a shape: 1 / variance of a, in
 * units of the squared loss. */
static double told(const struct slow_block *l, const struct shape *h, int k, double bursts, int n)
{
	double seen = seen_missing(l, h, k), to = l->end[0], s, c;
	double xx = 0, x1 = 0, one = 1 / (usual_part(l, k, &s, &c) + bursts);

	for (int i = 0; i < n; i++) {
		double from = to, w, x;

		to += est_beyond_ns(i, l->end[0]);
		w = 1 / window_variance(l, to - from);
		x = (seen - missing(h, from, to)) / seen;
		xx += w * x * x;
		x1 += w * x;
		one += w;
	}
	return xx - x1 * x1 / one;
}

/* The number of windows that tells most of a in the time that they take. likely[]: the shapes. */
static int best_windows(const struct slow_refill *r, const double *likely, int k)
{
	const struct slow_block *l = &r->block[(r->blocks - 1) % SLOW_BLOCKS];
	double most = 0, end = l->end[0];
	int best = EST_BEYOND;

	for (int n = 1; n <= EST_BEYOND; n++) {
		double tells = 0;

		end += est_beyond_ns(n - 1, l->end[0]);
		for (int h = 0; h < SHAPES; h++)
			tells += likely[h] * told(l, &shapes[h], k, r->bursts, n);
		if (n < LEAST_WINDOWS || tells / end <= most)
			continue;
		most = tells / end;
		best = n;
	}
	return best;
}

void slow_refill_init(struct slow_refill *r, const struct slow_prior *prior)
{
	memset(r, 0, sizeof(*r));
	r->prior = prior ? *prior : slow_prior_default;
	r->awaited = prior != NULL;
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		r->likelihood[i] = 1.0 / SLOW_HYPOTHESES;
}

void slow_refill_weigh(struct slow_refill *r, int best, double bursts)
{
	int blocks = r->blocks < SLOW_BLOCKS ? (int)r->blocks : SLOW_BLOCKS;
	struct all_fits fit;
	double likely[SHAPES] = {0}, all[SLOW_HYPOTHESES] = {0}, scale, sum, mean = 0, square = 0;

	if (!blocks ||
		(r->weighed == r->blocks && r->weighed_tau == (uint64_t)best &&
			r->weighed_complete == complete(r, blocks) &&
			r->recents % (complete(r, blocks) < (uint64_t)blocks ? AGAIN : SELDOM)))
		return;
	r->weighed_complete = complete(r, blocks);
	r->bursts = bursts + r->unsteady;
	r->weighed = r->blocks;
	r->weighed_tau = (uint64_t)best;
	fit_all(r, blocks, best, 1, false, &fit);
	scale = fmax(2 * fit.least / fmax(fit.none.windows, 1), 1);
	fit_all(r, blocks, best, scale, true, &fit);
	all[SLOW_NONE] = exp(fit.least - fit.none.loss);
	sum = r->prior.weight[SLOW_NONE] * all[SLOW_NONE];
	for (int h = 0; h < SHAPES; h++)
		for (int i = 0; i < SLABS; i++) {
			const struct shape_fit *f = &fit.of[h][i];
			double told = evidence(f, deviations[i], fit.least) / SHAPES;
			double weight = r->prior.weight[HYPOTHESIS(i)] * told;

			all[HYPOTHESIS(i)] += told;
			likely[h] += weight;
			sum += weight;
			mean += weight * f->a;
			square += weight * (f->a * f->a + f->variance);
		}
	r->share.a = mean / sum;
	r->share.variance = fmax(square / sum - r->share.a * r->share.a, 0);
	sum = all[SLOW_NONE] + all[SLOW_NARROW] + all[SLOW_WIDE];
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		r->likelihood[i] = all[i] / sum;
	r->windows = best_windows(r, likely, best);
}

struct slow_share slow_refill_share(const struct slow_refill *r)
{
	struct slow_share share = r->share;

	if (r->blocks || !r->awaited)
		return share;
	for (int i = 0; i < SLABS; i++)
		share.variance += r->prior.weight[HYPOTHESIS(i)] * deviations[i] * deviations[i];
	return share;
}

int slow_refill_windows(const struct slow_refill *r)
{
	return r->windows > 0 ? (int)r->windows : EST_BEYOND;
}

#define REAL(name) STATE_REAL(struct slow_refill, name)
#define WHOLE(name) STATE_WHOLE(struct slow_refill, name)

static const struct state_field fields[] = {REAL(prior), WHOLE(awaited), REAL(recent),
	WHOLE(recents), WHOLE(blocks), WHOLE(weighed), WHOLE(weighed_tau), WHOLE(weighed_complete),
	REAL(share), REAL(likelihood), REAL(bursts), REAL(windows), REAL(moves), REAL(gap),
	REAL(unsteady)};

/* Of the long blocks, only those that there are: most runs have a few. */
static struct state_field blocks_field(const struct slow_refill *r)
{
	struct state_field field = REAL(block);

	if (r->blocks < SLOW_BLOCKS)
		field.count = (int)r->blocks * (field.count / SLOW_BLOCKS);
	return field;
}

json_t *slow_refill_save(const struct slow_refill *r)
{
	const struct state_field blocks = blocks_field(r);
	json_t *json = json_object();

	state_save(fields, STATE_COUNT(fields), r, json);
	state_save(&blocks, 1, r, json);
	return json;
}

int slow_refill_load(struct slow_refill *r, const json_t *json)
{
	struct state_field blocks;

	if (state_load(fields, STATE_COUNT(fields), json, r) || !slow_prior_valid(&r->prior))
		return -1;
	blocks = blocks_field(r);
	return state_load(&blocks, 1, json, r);
}
