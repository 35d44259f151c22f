/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs the runs of a pair by their age, and notices when the pair has changed. */
#include "striping/history/pair_evidence.h"

#include <math.h>

#include "striping/history/aged_mean.h"

/* A run that shared for less than this is no evidence: its degradation is mostly noise. */
#define EVIDENCE_S 60.0
/* Of PAIR_EVIDENCE_RUNS that are as old as may be, the weight of two and a half is left
 * (aged_mean.h), and with fewer than these nothing is certain. */
#define RUNS_MIN 3
/* One run measures a degradation no better than this (standard deviation), however well its runs
 * seem to agree. */
#define LEAST_SD 0.02
/* A run that is so many standard deviations off is odd: of 16,000 that scatter normally, one is. */
#define ODD_SD 4.0

/* A segment is at least such a part of what the run has told before: its loss is the difference of
 * two sums, so their errors would be too large beside a shorter one. */
#define SEGMENT_PART 10

static const struct pair_told nothing;

/* The standard deviation of one run, from two or more. */
static double deviation(const struct pair_evidence *e)
{
	return fmax(sqrt(e->variance * e->runs / (e->runs - 1)), LEAST_SD);
}

/* Adds a run to the mean and the variance. */
static void add_run(struct pair_evidence *e, double degradation, long long now)
{
	struct aged_mean m = {e->runs, e->average, e->variance, e->last_run};

	aged_mean_add(&m, degradation, now, PAIR_EVIDENCE_RUNS);
	e->runs = m.runs;
	e->average = m.mean;
	e->variance = m.variance;
	e->last_run = m.last;
}

/*
 * Adds to the mean what is not in it yet. What was told before is taken for what the run says now:
 * of that the mean has no more than all its weight. So without age, and while the mean has room for
 * the whole run, it is as if the run had told nothing before.
 */
static void add_weight(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now)
{
	double left = aged_left(e->last, now), rest = fmax(seconds - told->seconds, 0), kept, sum;

	rest = fmin(rest, PAIR_EVIDENCE_MEMORY_S);
	kept = fmin(e->seconds * left, PAIR_EVIDENCE_MEMORY_S - rest);
	sum = e->degradation * kept + degradation * rest;
	if (told->seconds > 0)
		sum += (degradation - told->lost / told->seconds) * fmin(told->seconds, kept);
	e->degradation = fmax(fmin(sum / (kept + rest), 1), -1);
	e->seconds = kept + rest;
	if (now > e->last)
		e->last = now;
}

static void add(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now)
{
	if (seconds >= EVIDENCE_S)
		add_run(e, degradation, now);
	add_weight(e, degradation, seconds, told, now);
}

/* Whether there are runs enough, and young enough, to tell something by. */
static bool tells(const struct pair_evidence *e, long long now)
{
	return e->runs >= RUNS_MIN && !aged_out(e->last_run, now);
}

static bool is_odd(const struct pair_evidence *e, double degradation, long long now)
{
	return tells(e, now) && fabs(degradation - e->average) > ODD_SD * deviation(e);
}

/* The run that was kept aside stays alone: it weighs as much as another one, and is as far off as
 * one may be. */
static void take_back(struct pair_evidence *e)
{
	double most = ODD_SD * deviation(e), off = e->odd - e->average;
	double seconds = fmax(fmin(e->odd_seconds, e->seconds / e->runs), EVIDENCE_S);

	add(e, e->average + fmin(fmax(off, -most), most), seconds, &nothing, e->odd_last);
	e->odd_seconds = 0;
}

/* Both replace all that was known. */
static void start_again(struct pair_evidence *e, double degradation, double seconds, long long now)
{
	const struct pair_evidence before = *e;

	*e = (struct pair_evidence){.count = before.count};
	add(e, before.odd, before.odd_seconds, &nothing, before.odd_last);
	add(e, degradation, seconds, &nothing, now);
}

void pair_evidence_learn_rest(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now)
{
	/* A short one tells nothing of the others. */
	bool odd = seconds >= EVIDENCE_S && is_odd(e, degradation, now);

	e->count += !(told->seconds > 0);
	if (odd && e->odd_seconds > 0 && (degradation > e->average) == (e->odd > e->average)) {
		start_again(e, degradation, seconds, now);
		return;
	}
	if (seconds >= EVIDENCE_S && e->odd_seconds > 0)
		take_back(e);
	if (odd) {
		e->odd = degradation;
		/* What it has told was not odd, and stays in the mean. */
		e->odd_seconds =
			fmin(fmax(seconds - told->seconds, EVIDENCE_S), PAIR_EVIDENCE_MEMORY_S);
		e->odd_last = now;
	} else {
		add(e, degradation, seconds, told, now);
	}
}

void pair_evidence_learn(struct pair_evidence *e, double degradation, double seconds, long long now)
{
	pair_evidence_learn_rest(e, degradation, seconds, &nothing, now);
}

bool pair_evidence_is_segment(double seconds, double told_seconds)
{
	return seconds - told_seconds >= fmax(EVIDENCE_S, told_seconds / SEGMENT_PART);
}

bool pair_evidence_segment(struct pair_evidence *e, double degradation, double seconds,
	const struct pair_told *told, long long now)
{
	double its;

	if (!pair_evidence_is_segment(seconds, told->seconds))
		return false;
	its = (degradation * seconds - told->lost) / (seconds - told->seconds);
	if (!(its >= -1 && its <= 1) || is_odd(e, its, now))
		return false;
	e->count += !(told->seconds > 0);
	add_weight(e, degradation, seconds, told, now);
	return true;
}

double pair_evidence_trial(
	struct pair_evidence *e, double degradation, double seconds, long long when)
{
	const bool before = when < e->last;

	if (is_odd(e, degradation, before ? e->last : when))
		return 0;
	if (before)
		seconds *= aged_left(when, e->last) * (1 - e->seconds / PAIR_EVIDENCE_MEMORY_S);
	if (!(seconds > 0))
		return 0;
	e->count++;
	add_weight(e, degradation, seconds, &nothing, before ? e->last : when);
	return fmin(seconds, PAIR_EVIDENCE_MEMORY_S);
}

double pair_evidence_seconds(const struct pair_evidence *e, long long now)
{
	return e->seconds * aged_left(e->last, now);
}

/* Student's t of so many runs: a mean is within that many standard errors of the truth, on the one
 * side that counts, with 95 % confidence. */
static double student(int runs)
{
	static const double t[PAIR_EVIDENCE_RUNS + 1] = {0, 0, 6.314, 2.920, 2.353, 2.132, 2.015,
		1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740,
		1.734, 1.729};

	return t[runs];
}

bool pair_evidence_certain(const struct pair_evidence *e, long long now, double *low, double *high)
{
	double margin;

	if (!tells(e, now))
		return false;
	margin = student(e->runs) * deviation(e) / sqrt(e->runs);
	*low = fmax(e->average - margin, 0);
	*high = fmin(fmax(e->average + margin, 0), 1);
	return true;
}

static bool within(double value, double min, double max)
{
	return value >= min && value <= max;
}

bool pair_evidence_valid(const struct pair_evidence *e)
{
	return within(e->degradation, -1, 1) && e->seconds > 0 && e->count && e->runs >= 0 &&
	       e->runs <= PAIR_EVIDENCE_RUNS && within(e->average, -1, 1) &&
	       within(e->variance, 0, 1) &&
	       (e->odd_seconds == 0 ||
		       (e->runs >= RUNS_MIN && within(e->odd, -1, 1) &&
			       within(e->odd_seconds, EVIDENCE_S, PAIR_EVIDENCE_MEMORY_S)));
}
