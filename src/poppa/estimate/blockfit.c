/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Robust fit of one shutter block under each of a grid of refill time constants. */
#include "poppa/estimate/blockfit.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockrate.h"
#include "statistics/statistics.h"

#define TUKEY 5.0 /* windows farther off than this many sigma do not count */
#define FIT_ROUNDS 3
#define MAX_LENT 0.5
#define FAR_ABOVE 1.4 /* a window is wild above this many times the next lower one */
#define MAX_FILL 0.85 /* a window with a larger g says nothing about s */

double blockfit_tau(int i)
{
	double power = 1, square = BLOCKFIT_TAU_STEP;

	/* By squaring: unlike pow(), it gives every machine the same bits. */
	for (int bits = i - 1; bits > 0; bits >>= 1, square *= square)
		if (bits & 1)
			power *= square;
	return i ? BLOCKFIT_TAU_FIRST * power : 0;
}

static double usual_duration(const struct est_block *b)
{
	double v[3 * EST_MAX_WINDOWS];
	int n = 0;

	for (int i = 0; i < b->before_n; i++)
		v[n++] = b->before[i].dur_ns;
	for (int i = 0; i < b->during_n; i++)
		v[n++] = b->during[i].dur_ns;
	for (int i = 0; i < b->after_n; i++)
		v[n++] = b->after[i].dur_ns;
	return statistics_median(v, n);
}

/*
 * Takes the rates of a region's windows, and the share of (s-c) that is still to come or to go in
 * each: start[k] of it at the start of the region. Returns the length of the region, ns.
 */
static double prepare_region(const struct est_window *w, int n, int skip, bool cycles, double usual,
	const double *start, struct fit_region *out)
{
	double left[BLOCKFIT_TAUS], t = 0;

	memcpy(left, start, sizeof(left));
	out->n = 0;
	for (int i = 0; i < n; i++) {
		double rate = blockrate_window(&w[i], cycles), d = w[i].dur_ns;
		struct fit_sample *s = &out->s[out->n];

		if (!(d > 0) || !isfinite(d))
			continue;
		s->rate = rate;
		s->weight = fmin(1, d / usual);
		s->g[0] = 0;
		for (int k = 1; k < BLOCKFIT_TAUS; k++) {
			double x = d / blockfit_tau(k), after = left[k] > 0 ? left[k] * exp(-x) : 0;

			s->g[k] = (left[k] - after) / x;
			left[k] = after;
		}
		/* The time that poppad takes from the co-runners counts as time alone. */
		for (int k = 0; k < BLOCKFIT_TAUS && w[i].lent_ns > 0; k++)
			s->g[k] += (1 - s->g[k]) * fmin(w[i].lent_ns / d, MAX_LENT);
		if (i >= skip && !isnan(rate))
			out->n++;
		t += d;
	}
	return t;
}

int blockfit_skip(int before_n)
{
	return before_n > 2;
}

int blockfit_spared(int after_n)
{
	return after_n >= 4 && after_n % 2 == 0;
}

void blockfit_prepare(const struct est_block *b, struct fit_input *p)
{
	bool cycles = blockrate_has_cycles(b);
	double usual = usual_duration(b), alone, start[BLOCKFIT_TAUS] = {0};

	prepare_region(b->before, b->before_n, blockfit_skip(b->before_n), cycles, usual, start,
		&p->before);
	for (int k = 1; k < BLOCKFIT_TAUS; k++)
		start[k] = 1;
	alone = prepare_region(b->during, b->during_n, 0, cycles, usual, start, &p->during);
	for (int k = 1; k < BLOCKFIT_TAUS; k++)
		start[k] = 1 - exp(-alone / blockfit_tau(k));
	prepare_region(b->after, b->after_n, 0, cycles, usual, start, &p->after);
}

/* Start values, right even if almost half of the windows are wrong. 0, or -1 with too few windows.
 */
static int first_guess(const struct fit_input *p, int k, struct fit *f)
{
	double v[2 * EST_MAX_WINDOWS];
	int n = 0;

	for (int i = 0; i < p->before.n; i++)
		v[n++] = p->before.s[i].rate;
	for (int i = p->after.n / 2; i < p->after.n; i++)
		v[n++] = p->after.s[i].rate;
	f->c = statistics_median(v, n);
	n = 0;
	for (int i = 0; i < p->during.n; i++) {
		const struct fit_sample *s = &p->during.s[i];

		if (s->g[k] < MAX_FILL)
			v[n++] = (s->rate - f->c * s->g[k]) / (1 - s->g[k]);
	}
	f->s = statistics_median(v, n);
	return f->c > 0 && f->s > 0 ? 0 : -1;
}

static void add_window(struct fit_sums *n, double weight, double x, double rate)
{
	n->ss += weight * (1 - x) * (1 - x);
	n->sc += weight * (1 - x) * x;
	n->cc += weight * x * x;
	n->sr += weight * (1 - x) * rate;
	n->cr += weight * x * rate;
	n->rr += weight * rate * rate;
}

/* The determinant of the sums, or 0 where they do not tell s from c or tell too little of one. */
static double solve(const struct fit_sums *n, double *s, double *c)
{
	double det = n->ss * n->cc - n->sc * n->sc, least = 1e-12 * (n->ss + 2 * n->sc + n->cc);

	if (!(det > 1e-9 * n->ss * n->cc) || !(n->ss > least) || !(n->cc > least))
		return 0;
	*s = (n->sr * n->cc - n->cr * n->sc) / det;
	*c = (n->cr * n->ss - n->sr * n->sc) / det;
	return det;
}

static double biweight(double z)
{
	double q = z / TUKEY;

	return fabs(q) < 1 ? (1 - q * q) * (1 - q * q) : 0;
}

/* z^2/2 near 0, constant beyond TUKEY. */
static double biweight_loss(double z)
{
	double q = z / TUKEY, rest = fabs(q) < 1 ? 1 - q * q : 0;

	return TUKEY * TUKEY / 6 * (1 - rest * rest * rest);
}

static double fit_windows(const struct fit_region *region, int k, bool solo, const struct fit *f,
	double sigma, struct fit_sums *sums, double *loss)
{
	double kept = 0, all = 0;

	for (int i = 0; i < region->n; i++) {
		const struct fit_sample *p = &region->s[i];
		double x = solo ? p->g[k] : 1 - p->g[k]; /* share of c */
		double model = f->s * (1 - x) + f->c * x;
		double z = (p->rate - model) / (sigma * model);
		double keep = p->weight * biweight(z);

		*loss += p->weight * biweight_loss(z);
		add_window(sums, keep / (model * model), x, p->rate);
		kept += keep;
		all += p->weight;
	}
	return all > 0 ? kept / all : 0;
}

/* Robust fit under one hypothesis. 0, or -1 with too few windows for a fit. Where no window suits
 * this hypothesis, the first guess stays, with its loss. */
static int fit_block(
	const struct fit_input *p, enum blockfit_family family, int k, double sigma, struct fit *f)
{
	if (first_guess(p, k, f))
		return -1;
	f->vss = f->vcc = sigma * sigma;
	f->vsc = 0;
	for (int round = 0;; round++) {
		struct fit_sums n = {.ss = 0};
		double det, s, c;

		f->loss = 0;
		f->kept_before = fit_windows(&p->before, k, false, f, sigma, &n, &f->loss);
		f->kept_during = fit_windows(&p->during, k, true, f, sigma, &n, &f->loss);
		if (family == BLOCKFIT_ALL || p->before.n == 0)
			fit_windows(&p->after, k, false, f, sigma, &n, &f->loss);
		if (!(det = solve(&n, &s, &c)))
			return 0;
		if (round == FIT_ROUNDS || !(s > 0) || !(c > 0)) {
			f->vss = sigma * sigma * n.cc / det / (f->s * f->s);
			f->vsc = -sigma * sigma * n.sc / det / (f->s * f->c);
			f->vcc = sigma * sigma * n.ss / det / (f->c * f->c);
			return 0;
		}
		f->s = s;
		f->c = c;
	}
}

/* The highest plausible rate: one that is far above all lower ones is a false reading. */
static double highest_plausible(const struct fit_input *p)
{
	const struct fit_region *regions[] = {&p->before, &p->during, &p->after};
	double v[3 * EST_MAX_WINDOWS];
	int n = 0;

	for (int r = 0; r < 3; r++)
		for (int i = 0; i < regions[r]->n; i++)
			v[n++] = regions[r]->s[i].rate;
	statistics_sort(v, n);
	while (n > 1 && v[n - 1] > FAR_ABOVE * v[n - 2])
		n--;
	return n ? v[n - 1] : 0;
}

static void add_means(const struct fit_region *region, int first, int k, bool solo, double most,
	struct fit_sums *sums)
{
	for (int i = first; i < region->n; i++) {
		const struct fit_sample *p = &region->s[i];
		double x = solo ? p->g[k] : 1 - p->g[k]; /* share of c */

		if (p->rate <= most)
			add_window(sums, p->weight, x, p->rate);
	}
}

int blockfit_means(const struct fit_input *p, double window_variance, struct fit *fits)
{
	double most = highest_plausible(p);

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		struct fit_sums n = {.ss = 0};
		struct fit *f = &fits[k];
		double det;

		add_means(&p->before, 0, k, false, most, &n);
		add_means(&p->during, 0, k, true, most, &n);
		/* The decay may have another pace; in the second half it is over. */
		add_means(&p->after, p->after.n / 2, k, false, most, &n);
		det = solve(&n, &f->s, &f->c);
		if (!(det > 0) || !(f->s > 0) || !(f->c > 0))
			return -1;
		/* Noise is proportional to the rate. */
		f->vss = window_variance * n.cc / det;
		f->vcc = window_variance * n.ss / det;
		f->vsc = -window_variance * n.sc / det;
		f->loss = 0;
		f->kept_before = f->kept_during = 1;
	}
	return 0;
}

bool blockfit_variogram(
	const struct fit_input *p, int k, const struct fit *f, double *v, double *climb)
{
	const struct fit_region *r = &p->during;
	double most = highest_plausible(p);

	for (int lag = 1; lag <= BLOCKFIT_LAGS; lag++) {
		int step = lag * r->n / (BLOCKFIT_LAGS + 1), n = 0;
		double sum = 0, up = 0;

		for (int i = step; i < r->n; i++) {
			const struct fit_sample *a = &r->s[i - step], *b = &r->s[i];
			double d = b->rate - a->rate + (f->s - f->c) * (b->g[k] - a->g[k]);

			if (a->rate > most || b->rate > most)
				continue;
			sum += 0.5 * d * d;
			up += d;
			n++;
		}
		if (step == 0 || n == 0)
			return false;
		v[lag - 1] = sum / n / (f->s * f->s);
		climb[lag - 1] = up / n / f->s;
	}
	return true;
}

/* The weight that fit f, made with tau number k, leaves to a window. */
static double keep_window(
	const struct fit_sample *w, bool solo, int k, const struct fit *f, double sigma)
{
	double x = solo ? w->g[k] : 1 - w->g[k], model = f->s * (1 - x) + f->c * x;

	return w->weight * biweight((w->rate - model) / (sigma * model));
}

void blockfit_pool(const struct fit_input *p, int best, const struct fit *f, double sigma,
	struct fit_sums *sums)
{
	const struct fit_region *regions[] = {&p->before, &p->during, &p->after};
	double kept = 0, level = 0;

	for (int r = 0; r < 3; r++) {
		for (int i = 0; i < regions[r]->n; i++) {
			const struct fit_sample *w = &regions[r]->s[i];
			double keep = keep_window(w, r == 1, best, f, sigma);

			kept += keep;
			level += keep * w->rate;
		}
	}
	if (!(level > 0))
		return;
	level /= kept;
	for (int r = 0; r < 3; r++) {
		for (int i = 0; i < regions[r]->n; i++) {
			const struct fit_sample *w = &regions[r]->s[i];
			double weight = keep_window(w, r == 1, best, f, sigma) / (sigma * sigma);

			for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++) {
				double g = w->g[h % BLOCKFIT_TAUS];

				if (r == 2 && h / BLOCKFIT_TAUS == BLOCKFIT_BEFORE && p->before.n)
					continue;
				add_window(&sums[h], weight, r == 1 ? g : 1 - g, w->rate / level);
			}
		}
	}
}

double blockfit_pool_loss(const struct fit_sums *sums)
{
	double s, c;

	return solve(sums, &s, &c) > 0 ? 0.5 * (sums->rr - s * sums->sr - c * sums->cr) : 0;
}

double blockfit_variance(const struct fit *f)
{
	return fmax(f->vss + f->vcc - 2 * f->vsc, 1e-12);
}

double blockfit_sigma(const struct fit_input *p, int k, const struct fit *f)
{
	double v[3 * EST_MAX_WINDOWS];
	int n = 0;
	const struct fit_region *regions[] = {&p->before, &p->during, &p->after};

	for (int r = 0; r < 3; r++) {
		for (int i = 0; i < regions[r]->n; i++) {
			const struct fit_sample *s = &regions[r]->s[i];
			double x = r == 1 ? s->g[k] : 1 - s->g[k];
			double model = f->s * (1 - x) + f->c * x;

			v[n++] = fabs(s->rate / model - 1);
		}
	}
	return n > 2 ? 1.4826 * statistics_median(v, n) * sqrt(n / (n - 2.0)) : NAN;
}

double blockfit_shift(const struct fit_input *p, int k, const struct fit *f, double *noise)
{
	double v[EST_MAX_WINDOWS], before, after;
	int nb = 0, na = 0;

	for (int i = 0; i < p->before.n; i++)
		v[nb++] = p->before.s[i].rate;
	before = statistics_median(v, nb);
	for (int i = 0; i < p->after.n; i++)
		if (p->after.s[i].g[k] < 0.5 || i == p->after.n - 1)
			v[na++] = p->after.s[i].rate - (f->s - f->c) * p->after.s[i].g[k];
	after = statistics_median(v, na);
	if (nb == 0 || na == 0)
		return NAN;
	/* A median is 1.25 times as noisy as a mean. */
	*noise = 1.25 * sqrt(1.0 / nb + 1.0 / na);
	return log(fmax(before, 1e-300) / fmax(after, 1e-300));
}

int blockfit_all(const struct fit_input *p, double sigma, struct fit *fits)
{
	for (int h = 0; h < BLOCKFIT_HYPOTHESES; h++)
		if (fit_block(p, h / BLOCKFIT_TAUS, h % BLOCKFIT_TAUS, sigma, &fits[h]))
			return -1;
	return 0;
}

double blockfit_first_sigma(const struct fit_input *p)
{
	double best = NAN;

	for (int k = 0; k < BLOCKFIT_TAUS; k++) {
		struct fit f;

		if (first_guess(p, k, &f) == 0)
			best = fmin(best, blockfit_sigma(p, k, &f));
	}
	return isnan(best) ? 0.1 : best;
}

bool blockfit_coherent(const struct fit_input *p, const struct fit *fits)
{
	const struct fit *best = &fits[0];

	for (int k = 1; k < BLOCKFIT_TAUS; k++)
		if (fits[k].loss < best->loss)
			best = &fits[k];
	return best->kept_during >= 0.5 && (p->before.n < 2 || best->kept_before >= 0.5);
}
