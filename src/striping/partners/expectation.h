/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two classes of jobs are expected to lose side by side, also where they have never met. */
#pragma once

#include "striping/partners/pairs.h"

/*
 * The model, of y = -log(1 - D) of a class beside another one:
 *   y = mean + suffered(class) + inflicted(partner)
 *       + slopes(class) * (what the partner inflicts, and what it suffers) + rest,
 * where each part is normal with mean 0. How much each part varies is estimated from the history
 * with all the rest (empirical Bayes), so a class of which little is known is near the mean. An
 * additive model predicts pairs that nobody has seen twice as well as the mean of all pairs does
 * (docs/partners.md); the slopes and the rest are what distinguishes one pairing of the same
 * classes from another.
 * How far off it is, pairs show that a fit has not seen, so the model is fitted five times.
 *
 * It does not change after the fit, so threads that only read need no lock.
 */
struct expectation;

/* The degradation of one class beside another: its mean, and how far the truth is from that
 * (standard deviation). */
struct expected {
	double degradation, sd;
};

/*
 * Fits the model to all rows of a history. Takes a quarter of a second for 20,000 rows, the most
 * that there are: not to be called under locks that others wait for, nor where the history is as it
 * was. NULL without memory. expectation_free() takes NULL.
 */
struct expectation *expectation_fit(const struct pairs *p);
void expectation_free(struct expectation *e);

/* 90 % of the values of a normal variable are no further from its mean than so many sd. */
#define EXPECTED_90 1.645

/* How many classes the history has, and the number of one of them; -1: it is not among these. */
int expectation_classes(const struct expectation *e);
int expectation_class(const struct expectation *e, const char *name);

/* Of two such numbers; -1 is a class of which nothing is known. What the history itself has of the
 * pair counts by its evidence. */
struct expected expectation_of(const struct expectation *e, int class_number, int partner);

/*
 * How fast a class is beside another one (-1: unknown), and alone on a lane, as a share of its
 * speed on whole nodes alone (compact). The history knows lanes only. Two jobs of one class on the
 * two lanes of a node are as fast as compact, as they share the node as the processes of one job
 * do; so a class alone on a lane is faster than that by what it loses beside itself (an upper
 * bound, as a job may also lose by its messages being on more nodes).
 */
double expectation_speed(const struct expectation *e, int class_number, int partner);
double expectation_alone(const struct expectation *e, int class_number);
