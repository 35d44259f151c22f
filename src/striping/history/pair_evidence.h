/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pair history knows of one pair of classes, and how that ages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many runs are remembered as evidence; later ones outweigh earlier ones. */
#define PAIR_EVIDENCE_RUNS 20
/* The most seconds of observation that a pair's mean weighs: after ten hours new ones outweigh it.
 */
#define PAIR_EVIDENCE_MEMORY_S 36000.0
/* What a run of a minute is off by, besides what runs differ by: a variance of -log(1 - D). Of a
 * longer run it is less in proportion. */
#define PAIR_MINUTE_VARIANCE 1e-3
#define PAIR_MINUTE_S 60.0

/* All 0: nothing is known. Times are unix time, degradations as in pairs_learn(). */
struct pair_evidence {
	double degradation; /* weighted mean of all observations but an odd one */
	double seconds;     /* its weight as of `last` */
	uint64_t count;     /* observations ever */
	long long last;     /* the latest observation */
	long long last_run; /* the latest of a minute or more */
	/* The runs of a minute or more: how many count, and their mean and variance. 0 of them for
	 * what was learned before there was evidence. */
	int runs;
	double average, variance;
	/* A run that was unlike the others, kept aside until the next one tells; odd_seconds is 0
	 * without one. */
	double odd, odd_seconds;
	long long odd_last;
};

/*
 * Adds an observation: the degradation over `seconds` (> 0) of common run time. What is older
 * weighs half for each 30 days. A run of a minute or more that is 4 standard deviations off three
 * or more others is kept aside. If the next one is so, too, and on the same side, both replace all
 * that was known; else the first one counts as 4 standard deviations off, and moves the mean
 * little.
 */
void pair_evidence_learn(
	struct pair_evidence *e, double degradation, double seconds, long long now);

/* What a run has told of a pair before it has its price: a part of the mean's weight is its. */
struct pair_told {
	double seconds; /* of common run time; 0 = it has told nothing */
	double lost;    /* of these, seconds */
};

/*
 * The same for a run that gets its price and has told a part of it before: the run, whole, is one
 * run of evidence, and adds to the mean what is not in it yet.
 */
void pair_evidence_learn_rest(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now);

/*
 * Adds what a run that goes on has shown since it last told: a segment. All of it until now is the
 * degradation over `seconds` of common run time. The segment weighs in the mean, and is no run of
 * evidence: one long job is not many independent ones. Returns false, and changes nothing, where
 * the segment is too short, where it is odd (a run is kept aside for that once it has its price),
 * or where its loss is impossible by itself, because all that was told before was not precise
 * enough.
 */
bool pair_evidence_segment(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now);

/*
 * Adds a measurement that is no job's: the degradation, as certain as that of a run of `seconds`,
 * at `when`. It weighs in the mean and is no run of evidence, so it makes nothing certain. What was
 * measured before jobs ran weighs the less, the more the jobs have shown since. Returns its weight
 * as of `last`, seconds; 0, and changes nothing, where it is odd: then what jobs show counts.
 */
double pair_evidence_trial(
	struct pair_evidence *e, double degradation, double seconds, long long when);

/* Whether a run that has told so much before may have a segment to tell of. */
bool pair_evidence_is_segment(double seconds, double told_seconds);

/* The weight of the mean at `now`, seconds. Above 0, however old it is. */
double pair_evidence_seconds(const struct pair_evidence *e, long long now);

/* As pairs_certain(), at `now`. */
bool pair_evidence_certain(const struct pair_evidence *e, long long now, double *low, double *high);

/* Whether the values can be those of a pair, for what comes from a file. */
bool pair_evidence_valid(const struct pair_evidence *e);
