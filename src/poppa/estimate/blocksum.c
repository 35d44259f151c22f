/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the rates of blocks, whatever they look like. */
#include "poppa/estimate/blocksum.h"

#include <math.h>

#include "common/units.h"
#include "poppa/estimate/blockfit.h"
#include "poppa/estimate/blockrate.h"

/* A block after a gap longer than this many usual ones counts as after so many: of blocks that say
 * next to nothing, none must count for many. */
#define MOST_GAPS 2
/* Windows alone of this relative variance are rough. */
#define ROUGH 0.04
#define DOUBTED 4.0       /* what phases make counts by half at this squared distance from none */
#define HIGHER_ORDERS 0.5 /* standard error of what they make, beside the second one */

struct part {
	double progress, length, lent, ns;
};

/* Adds products with the block before. */
static void add_lag(struct blocksum *b, double weight, double c, double s)
{
	double solo = s * b->last_solo, co = 0.5 * (c * b->last_solo + s * b->last_co);

	if (b->blocks > 2) {
		b->lag_weight += weight;
		b->lag_solo += weight * solo;
		b->lag_co += weight * co;
		b->lag_solo2 += weight * weight * solo * solo;
		b->lag_co2 += weight * weight * co * co;
		b->lag_cross += weight * weight * solo * co;
	}
	b->last_co = c;
	b->last_solo = s;
}

/*
 * E[C/S] = C/S (1 + var(S)/S^2 - cov(C,S)/(CS)) to second order, of rates that change from phase to
 * phase. Returns the sum in brackets without the 1, as far as it is more than noise; adds what
 * stays unknown of it, and what higher orders may make of it, to *unknown, squared.
 */
static double of_phases(const struct blocksum *b, double *unknown)
{
	double co = b->co / b->weight, solo = b->solo / b->weight;
	double x = 1 / (solo * solo * b->lag_weight), y = 1 / (co * solo * b->lag_weight);
	double by = x * b->lag_solo - y * b->lag_co;
	double error2 = x * x * b->lag_solo2 - 2 * x * y * b->lag_cross + y * y * b->lag_co2;
	double z2 = by * by / error2 / DOUBTED, share = z2 > 0 ? z2 * z2 / (1 + z2 * z2) : 0;

	*unknown += share * error2 + (1 - share) * fmin(by * by, error2) +
		    pow(HIGHER_ORDERS * share * by, 2);
	return share * by;
}

/* Adds the windows from the first on. */
static void add_windows(struct part *p, const struct est_window *w, int first, int n, bool cycles)
{
	for (int i = first; i < n; i++) {
		if (isnan(blockrate_window(&w[i], cycles)))
			continue;
		p->progress += w[i].progress;
		p->length += cycles ? w[i].cycles : w[i].dur_ns;
		p->lent += w[i].lent_ns;
		p->ns += w[i].dur_ns;
	}
}

/* Compares the windows alone with each other, but for the first, in which caches refill. */
static void judge(struct blocksum *b, const struct est_block *block, bool cycles)
{
	double sum = 0, squares = 0, mean;
	int n = 0;

	for (int i = 1; i < block->during_n; i++) {
		double rate = blockrate_window(&block->during[i], cycles);

		if (isnan(rate))
			continue;
		sum += rate;
		squares += rate * rate;
		n++;
	}
	if (n < 2)
		return;
	mean = sum / n;
	b->judged++;
	b->rough += !(squares / n - mean * mean <= ROUGH * mean * mean * (n - 1) / n) || !(sum > 0);
}

double blocksum_rough(const struct blocksum *b)
{
	double share = b->rough / b->judged;

	return b->judged > 0 ? fmax(share - sqrt(share * (1 - share) / b->judged), 0) : 0;
}

void blocksum_add(struct blocksum *b, const struct est_block *block)
{
	bool cycles = blockrate_has_cycles(block);
	struct part co = {.ns = 0}, solo = {.ns = 0};
	double weight = (double)block->start_ns - b->last_ns, c, s;

	/* Caches refill and empty in the first windows. */
	add_windows(&co, block->before, blockfit_skip(block->before_n), block->before_n, cycles);
	add_windows(&co, block->after, block->after_n > 1, block->after_n, cycles);
	add_windows(&solo, block->during, block->during_n > 1, block->during_n, cycles);
	if (!(co.length > 0) || !(solo.length > 0))
		return;
	if (b->blocks > 1)
		weight = fmin(weight, MOST_GAPS * b->weight / (b->blocks - 1));
	b->last_ns = (double)block->start_ns;
	/* Nobody knows what time the first one stands for. */
	if (!b->blocks++)
		return;
	weight = fmax(weight, 0);
	judge(b, block, cycles);
	c = co.progress / co.length;
	s = solo.progress / solo.length;
	add_lag(b, weight, c, s);
	b->weight += weight;
	b->co += weight * c;
	b->solo += weight * s;
	b->lent += weight * co.lent / co.ns;
	b->co2 += weight * weight * c * c;
	b->solo2 += weight * weight * s * s;
	b->cross += weight * weight * c * s;
}

double blocksum_lent(const struct blocksum *b)
{
	return b->weight > 0 ? fmin(fmax(b->lent / b->weight, 0), 1) : 0;
}

bool blocksum_result(const struct blocksum *b, double *u, double *variance)
{
	double lent = b->lent / b->weight, ratio = b->co / b->solo, unknown = 0, by;

	if (b->blocks < BLOCKSUM_LEAST || !(b->co > 0) || !(b->solo > 0) || !(lent < 0.5))
		return false;
	by = of_phases(b, &unknown);
	*variance =
		(b->co2 - 2 * ratio * b->cross + ratio * ratio * b->solo2) / (b->solo * b->solo) +
		ratio * ratio * unknown;
	*variance /= (1 - lent) * (1 - lent);
	/* In the time that is lent it ran alone. */
	*u = (ratio * (1 + by) - lent) / (1 - lent);
	return true;
}
