/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two classes of jobs are expected to lose side by side, also where they have never met. */
#pragma once

#include "striping/history/pairs.h"

/*
 * The model, of y = -log(1 - D) of a class beside another one:
 *   y = mean + suffered(class) + inflicted(partner)
 *       + slopes(class) * (what the partner inflicts, and what it suffers)
 *       + rest(class, partner) + rest of the two variants.
 * What is suffered, or inflicted, goes from the general to the specific: what all classes of the
 * user do, what the class does beyond that, and what the variant of the class (class_name.h) does
 * beyond the class. Each part is normal with mean 0. How much each varies is estimated from the
 * history with all the rest (empirical Bayes), so a class of which little is known is near its
 * user's mean, and a variant near its class. An additive model predicts pairs that nobody has seen
 * twice as well as the mean of all pairs does (docs/partners.md); the slopes, which all variants of
 * a class share, and the rests are what distinguishes one pairing of the same classes from another.
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
 * What is known of classes from elsewhere. Each member may be NULL. A hint moves expectations by as
 * much as the history has shown such hints to be right; with little history, by as much as is
 * believed of them. All of it must last until expectation_free(), and must not change: the
 * functions are called by the fit and, `cache`, by all that ask for expectations, from any thread.
 * A call for each row of the history must not take long.
 */
struct expectation_hints {
	/* Classes that are to have a number though the history may not know them. */
	const char *const *name;
	int names;
	/*
	 * What a class, or a variant of one, gains by spreading. z: out, log(time compact / time
	 * alone on lanes), so 0 is no gain; runs: out, by how many runs of both kinds (the fewer
	 * ones, 1 at least). false: that is not known. Spreading helps whoever needs what jobs on a
	 * node share, and so suffers by others.
	 */
	bool (*spread)(void *arg, const char *class_name, double *z, int *runs);
	void *spread_arg;
	/* The number by which a model of caches knows a class, 0 at least; -1: it does not. It is
	 * asked for classes without the suffix of variants. */
	int (*profile)(void *arg, const char *class_name);
	/* What that model expects of y of the class with one such number beside another one. false:
	 * it cannot say. */
	bool (*cache)(void *arg, int profile, int partner, double *y);
	void *cache_arg; /* of both */
};

/*
 * Fits the model to all rows of a history; hints may be NULL. Takes a quarter of a second for
 * 20,000 rows, the most that there are: not to be called under locks that others wait for, nor
 * where the history is as it was. NULL without memory. expectation_free() takes NULL.
 */
struct expectation *expectation_fit(const struct pairs *p, const struct expectation_hints *hints);
void expectation_free(struct expectation *e);

/* 90 % of the values of a normal variable are no further from its mean than so many sd. */
#define EXPECTED_90 1.645

/* How many classes, variants of them and users the model knows: their numbers are below this, in
 * the order of their names, and the name of one of them. */
int expectation_classes(const struct expectation *e);
const char *expectation_name(const struct expectation *e, int class_number);

/* A number for the functions below. Where the model does not know a variant, it is a number that
 * stands for any other variant of the class; where it does not know the class, that of its user;
 * -1: of that nothing is known, either. */
int expectation_class(const struct expectation *e, const char *name);

/* Of two such numbers. What the history itself has of the pair, or of other variants of the two,
 * counts by its evidence. */
struct expected expectation_of(const struct expectation *e, int class_number, int partner);

/*
 * How fast a class is beside another one, and alone on a lane, as a share of its speed on whole
 * nodes alone (compact). The history knows lanes only. Two jobs of one class on the two lanes of a
 * node are as fast as compact, as they share the node as the processes of one job do; so a class
 * alone on a lane is faster than that by what it loses beside itself (an upper bound, as a job may
 * also lose by its messages being on more nodes). Where hints have what it gains by spreading, that
 * takes the place of the bound, the more so the more runs there are.
 */
double expectation_speed(const struct expectation *e, int class_number, int partner);
double expectation_alone(const struct expectation *e, int class_number);
