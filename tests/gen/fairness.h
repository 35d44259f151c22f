/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices a population of synthetic jobs, to hold the charges against an oracle's. */
#pragma once

#include <stdint.h>

/* How jobs are charged; all but the first by policy thesis. */
enum fairness_scheme {
	FAIRNESS_PRACTICE, /* raw: what Slurm charges by itself */
	FAIRNESS_ORACLE,   /* the true degradation */
	FAIRNESS_THESIS,   /* algorithm 4's estimate */
	FAIRNESS_ROBUST,   /* ours */
	FAIRNESS_UPPER,    /* the end of our interval that favours the user */
	FAIRNESS_SCHEMES
};

/*
 * Charges as shares of the solo price, raw * (1 - true D), as in figure 3.12 of the thesis; sums
 * over the jobs.
 */
struct fairness {
	int jobs, unknown; /* unknown: no estimate, so the full price; counted in what follows */
	double sum;
	double distance; /* sum of the distances from the oracle's charge */
	double highest, lowest;
	int overcharged; /* more than the solo price by over half a percent */
};

/*
 * Adds a run of 2 or 4 jobs to the population: their rates, phases, noise and caches are anything
 * that shutters are built for (family 0); a third of the runs has no contention, the others
 * degradations of phases up to 0.4, as in the thesis' figure 3.11. Same seed, same jobs. 0, or -1
 * when out of memory.
 */
int fairness_add_run(uint64_t seed, double length_s, struct fairness scheme[FAIRNESS_SCHEMES]);

/* An empty population. */
void fairness_clear(struct fairness scheme[FAIRNESS_SCHEMES]);

/* Adds another population's jobs under the same scheme. */
void fairness_merge(struct fairness *sum, const struct fairness *f);
