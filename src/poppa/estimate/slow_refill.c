/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits the slow part of what comes back to the windows of long blocks. */
#include "poppa/estimate/slow_refill.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockrate.h"
#include "poppa/estimate/estimator_state.h"
#include "statistics/statistics.h"

#define KERNEL 4.0         /* blocks count as alike within so many variances of their difference */
#define KERNEL_SPREAD 0.89 /* of the variance of noise, so much is left under the kernel */
#define HIDDEN 0.1         /* by so much of a block's own variance phases may differ unseen */
#define MAD 1.4826         /* of a normal distribution: standard deviation over median distance */
#define SHORT_ENOUGH 0.3   /* share of steps to another phase, where phases may be short */
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
#define ALIKE 1.5        /* windows are of the same length up to this factor */
#define ENOUGH_WINDOWS 4 /* of which the drift is taken, at least */
#define MOST_DRIFT 0.04  /* relative variance */
#define NEAR_MOST 3.0    /* grid points of tau over which a share is carried on */
#define SHAPES 35

/* How the slow part comes back: its rate climbs with a time constant, or evenly in so long. */
#define CLIMBS 22
#define CLIMBS_PRIOR (8.0 / 15) /* that it is one of those with a time constant */
static const struct shape {
	double ns;
	bool linear;
} shapes[SHAPES] = {{2e6, false}, {2.5e6, false}, {3.2e6, false}, {4e6, false}, {5e6, false},
	{6.3e6, false}, {8e6, false}, {10e6, false}, {12.5e6, false}, {16e6, false}, {20e6, false},
	{25e6, false}, {32e6, false}, {40e6, false}, {50e6, false}, {63e6, false}, {80e6, false},
	{100e6, false}, {125e6, false}, {160e6, false}, {200e6, false}, {250e6, false}, {5e6, true},
	{7e6, true}, {10e6, true}, {14e6, true}, {20e6, true}, {28e6, true}, {40e6, true},
	{55e6, true}, {75e6, true}, {100e6, true}, {130e6, true}, {160e6, true}, {200e6, true}};

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
 * the block before: then a long block shows the mean of several, as with bursts. By noise it is
 * also below 0, so that its mean has no bias.
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
	return 0.5 * (spread * spread - statistics_median(noise, n - 1));
}

/* What counts of that: what is more than noise, where steps to another phase are frequent. Else
 * chance would widen the kernel, and phases that are alike would be mixed. */
static double unsteady(const struct slow_refill *r)
{
	const struct slow_recent *own = &r->recent[(r->recents + SLOW_RECENT - 1) % SLOW_RECENT];

	return r->unsteady > own->vss && r->moves > SHORT_ENOUGH ? r->unsteady : 0;
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
	bursts += unsteady(r);
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

/* By noise that is new at every moment, so that a longer window has less of it. */
static double white_variance(const struct slow_block *l, double ns)
{
	return fmax(l->noise * fmin(l->usual_ns / ns, 1), MIN_NOISE);
}

static double window_variance(const struct slow_refill *r, const struct slow_block *l, double ns)
{
	return white_variance(l, ns) + r->drift;
}

/*
 * The relative variance of windows that does not shrink with their length: other tenants of the
 * machine come and go within tens of milliseconds. It is taken from three windows of the same
 * length that follow one another, so what comes back slowly hardly counts, and by the median, so a
 * change of phase does not.
 */
static double find_drift(const struct slow_refill *r, int blocks)
{
	double squares[SLOW_BLOCKS * SLOW_WINDOWS], white = 0;
	int n = 0;

	for (int i = 0; i < blocks; i++) {
		const struct slow_block *l = &r->block[i];

		for (int k = 0; k + 2 < (int)l->windows; k++) {
			double ns = l->end[k + 1] - l->end[k],
			       third = l->end[k + 3] - l->end[k + 2];
			const double *rate = &l->rate[k];
			double d;

			if (rate[0] == NOT_READ || rate[1] == NOT_READ || rate[2] == NOT_READ ||
				!(rate[1] > 0) || third > ALIKE * ns)
				continue;
			d = (rate[0] - 2 * rate[1] + rate[2]) / rate[1];
			squares[n++] = d * d / 6;
			white += white_variance(l, ns);
		}
	}
	if (n < ENOUGH_WINDOWS)
		return 0;
	return fmin(fmax(MAD * MAD * statistics_median(squares, n) - white / n, 0), MOST_DRIFT);
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
		out->w[out->n++] = 1 / (scale * window_variance(r, l, to - from));
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

/*
 * The fit of all long blocks under one shape, or, without a shape, under a = 0: near a, the loss is
 * loss + slope (x - a) + curve/2 (x - a)^2.
 */
struct shape_fit {
	double a, loss, slope, curve;
	int windows;
};

static struct shape_fit fit_shape(const struct slow_refill *r, int blocks, const struct shape *h,
	int k, double scale, const double *tries, int count, int rounds)
{
	struct windows b[SLOW_BLOCKS];
	double ridge = 1 / (deviations[SLABS - 1] * deviations[SLABS - 1]);
	struct shape_fit f = {.a = tries[0]};
	struct sums n;

	for (int i = 0; i < blocks; i++) {
		find_windows(r, &r->block[i], h ? h : &shapes[0], k, scale, &b[i]);
		f.windows += b[i].n;
	}
	n = sum_blocks(b, blocks, f.a);
	for (int i = 1; i < count; i++) {
		struct sums other = sum_blocks(b, blocks, tries[i]);

		if (other.loss >= n.loss)
			continue;
		n = other;
		f.a = tries[i];
	}
	for (int round = 0; h && round < rounds; round++) {
		f.a = fmin(fmax(n.xy / (n.xx + ridge), 0), MAX_SHARE);
		n = sum_blocks(b, blocks, f.a);
	}
	f.loss = n.loss;
	f.curve = n.xx;
	f.slope = n.xx * f.a - n.xy;
	return f;
}

/* What a shape and a slab say of a, which is above 0: how likely they are, and a's moments. */
struct slab_fit {
	double evidence, a, square;
};

static struct slab_fit fit_slab(const struct shape_fit *f, double deviation, double least)
{
	double ridge = 1 / (deviation * deviation), curve = f->curve + ridge;
	double mode = (f->curve * f->a - f->slope) / curve, sd = 1 / sqrt(curve);
	double at = fmax(mode, 0), off = at - f->a, z = mode / sd, tail;
	double loss = f->loss + f->slope * off + 0.5 * f->curve * off * off + 0.5 * ridge * at * at;
	struct slab_fit s;

	if (z < -6)
		z = -6;
	tail = 0.5 * erfc(-z / sqrt(2));
	s.evidence = 2 * sd / deviation * tail * exp(least - loss + (mode < 0 ? 0.5 * z * z : 0));
	s.a = at;
	s.square = at * at + sd * sd;
	return s;
}

/* All hypotheses of one job. */
struct all_fits {
	struct shape_fit none, of[SHAPES];
	double least; /* loss */
};

/* from: each shape begins where it ended there, under another scale or tau; NULL: where its
 * neighbour ended, or anywhere. */
static void fit_all(const struct slow_refill *r, int blocks, int k, double scale,
	const struct all_fits *from, int rounds, struct all_fits *fit)
{
	static const double tries[] = {0, 0.03, 0.07, 0.15, 0.3, 0.6, 1.2, 2.4, 5};
	double last = 0;

	fit->none = fit_shape(r, blocks, NULL, k, scale, tries, 1, 0);
	fit->least = fit->none.loss;
	for (int h = 0; h < SHAPES; h++) {
		const double next[] = {from ? from->of[h].a : last, 0, 2 * last, 0.5 * last};

		if (from)
			fit->of[h] = fit_shape(r, blocks, &shapes[h], k, scale, next, 1, rounds);
		else if (h % 6 == 0 || h == CLIMBS)
			fit->of[h] = fit_shape(r, blocks, &shapes[h], k, scale, tries, 9, rounds);
		else
			fit->of[h] = fit_shape(r, blocks, &shapes[h], k, scale, next, 4, rounds);
		last = fit->of[h].a;
		fit->least = fmin(fit->least, fit->of[h].loss);
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
static double told(const struct slow_refill *r, const struct slow_block *l, const struct shape *h,
	int k, int n)
{
	double seen = seen_missing(l, h, k), to = l->end[0], s, c;
	double xx = 0, x1 = 0, one = 1 / (usual_part(l, k, &s, &c) + r->bursts);

	for (int i = 0; i < n; i++) {
		double from = to, w, x;

		to += est_beyond_ns(i, l->end[0]);
		w = 1 / window_variance(r, l, to - from);
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
			tells += likely[h] * told(r, l, &shapes[h], k, n);
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

/* Sums over all hypotheses. */
static void sum_up(const struct slow_refill *r, const struct all_fits *fit,
	double all[SLOW_HYPOTHESES], double likely[SHAPES], struct slow_share *share)
{
	double sum, mean = 0, square = 0;

	memset(all, 0, sizeof(double) * SLOW_HYPOTHESES);
	all[SLOW_NONE] = exp(fit->least - fit->none.loss);
	sum = r->prior.weight[SLOW_NONE] * all[SLOW_NONE];
	for (int h = 0; h < SHAPES; h++) {
		double paces =
			h < CLIMBS ? CLIMBS_PRIOR / CLIMBS : (1 - CLIMBS_PRIOR) / (SHAPES - CLIMBS);

		likely[h] = 0;
		for (int i = 0; i < SLABS; i++) {
			struct slab_fit s = fit_slab(&fit->of[h], deviations[i], fit->least);
			double told = s.evidence * paces;
			double weight = r->prior.weight[HYPOTHESIS(i)] * told;

			all[HYPOTHESIS(i)] += told;
			likely[h] += weight;
			sum += weight;
			mean += weight * s.a;
			square += weight * s.square;
		}
	}
	share->a = mean / sum;
	share->variance = fmax(square / sum - share->a * share->a, 0);
}

void slow_refill_weigh(struct slow_refill *r, int best, double bursts)
{
	int blocks = r->blocks < SLOW_BLOCKS ? (int)r->blocks : SLOW_BLOCKS;
	struct all_fits fit, next;
	double likely[SHAPES] = {0}, all[SLOW_HYPOTHESES] = {0}, scale, sum;

	if (!blocks ||
		(r->weighed == r->blocks && r->weighed_tau == (uint64_t)best &&
			r->weighed_complete == complete(r, blocks) &&
			r->recents % (complete(r, blocks) < (uint64_t)blocks ? AGAIN : SELDOM)))
		return;
	r->weighed_complete = complete(r, blocks);
	r->bursts = bursts + unsteady(r);
	r->drift = find_drift(r, blocks);
	r->weighed = r->blocks;
	r->weighed_tau = (uint64_t)best;
	fit_all(r, blocks, best, 1, NULL, 2, &fit);
	scale = fmax(2 * fit.least / fmax(fit.none.windows, 1), 1);
	fit_all(r, blocks, best, scale, &fit, ROUNDS, &next);
	fit = next;
	for (int side = 0; side < 2; side++) {
		int k = best + (side ? 1 : -1);

		r->near[side] = r->share;
		if (k < 0 || k >= BLOCKFIT_TAUS) {
			r->near[side].a = -1;
			continue;
		}
		fit_all(r, blocks, k, scale, &fit, 2, &next);
		sum_up(r, &next, all, likely, &r->near[side]);
	}
	sum_up(r, &fit, all, likely, &r->share);
	for (int side = 0; side < 2; side++)
		if (r->near[side].a < 0)
			r->near[side] = r->share;
	sum = all[SLOW_NONE] + all[SLOW_NARROW] + all[SLOW_WIDE];
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		r->likelihood[i] = all[i] / sum;
	r->windows = best_windows(r, likely, best);
}

struct slow_share slow_refill_share(const struct slow_refill *r, int k)
{
	struct slow_share share = r->share;
	double off = fmax(fmin((double)k - (double)r->weighed_tau, NEAR_MOST), -NEAR_MOST);

	if (r->blocks) {
		share.a = fmax(share.a + fabs(off) * (r->near[off > 0].a - share.a), 0);
		return share;
	}
	if (!r->awaited)
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
	REAL(unsteady), REAL(near), REAL(drift)};

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
