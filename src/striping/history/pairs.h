/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pair history: how much a class of jobs was degraded beside another class. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "striping/history/class_name.h"

/* Name of the history's file in slurmctld's StateSaveLocation. */
#define PAIRS_FILE "poppa_pairs"

struct pairs;

struct imported_loss;
struct job_names;
struct job_ran;
struct miss_cost;
struct miss_costs;
struct miss_run;
struct spread_gain;
struct spread_gains;
struct spread_run;

/* An empty history, or NULL with ENOMEM. */
struct pairs *pairs_new(void);
void pairs_free(struct pairs *p);

/* What of a history's file could be read. */
struct pairs_lines {
	int good, bad; /* comments are neither */
	int first_bad; /* the number of the first bad line, from 1; 0: there is none */
};

/*
 * Reads a history; a missing file is an empty one. A line that cannot be read is passed over and
 * counted in *bad (may be NULL). Returns NULL with err set where the file cannot be read.
 * pairs_read() is the same for who wants to know more of the lines. What follows a zero byte is one
 * bad line. A carriage return at the end of a line is no part of it.
 */
struct pairs *pairs_load(const char *path, int *bad, struct errmsg *err);
struct pairs *pairs_read(const char *path, struct pairs_lines *lines, struct errmsg *err);

/* Replaces the file in one step. Returns 0, or -1 with err set, as with a history to which trials
 * were added: from the file they would be added again. */
int pairs_save(const struct pairs *p, const char *path, struct errmsg *err);

/*
 * Enters one observation: a job of class `job` lost `degradation` (a fraction, thesis 3.1; small
 * negative values are measurement noise and are kept) beside one of class `partner` over `seconds`
 * of common run time, which ended at `now` (unix time). New observations outweigh old ones, which
 * weigh half for each 30 days, and two that both say that the pair has changed replace them
 * (pair_evidence.h). A minute or more is one run of evidence for pairs_certain(). A user has 50
 * classes at most: one more takes the place of the one that was seen longest ago, with all its
 * variants. A class has 12 variants besides itself, with the same rule. The history has
 * 20,000 rows at most: one more takes the place of an old one of the user who has the most. Returns
 * 0, or -1 with EINVAL (an empty or too long class, a value that is no number, above 1 or below -1,
 * seconds not positive) or ENOMEM.
 */
int pairs_learn(struct pairs *p, const char *job, const char *partner, double degradation,
	double seconds, long long now);

/* What a run has shown of one partner until now. The ids are of no use without a segment. */
struct pairs_shared {
	const char *job, *partner;   /* the classes of both */
	double degradation, seconds; /* as for pairs_learn(); of all the time with the partner */
	unsigned int uid;            /* the job's user */
	unsigned int job_id, partner_id;
	long long start; /* of the run, unix time */
};

/*
 * A run tells the history of its partners while it goes on, in segments, and once more when it has
 * its price. pairs_learn_segment() enters what the run has shown of the partner since it last told
 * of these two classes, if that is a segment (pair_evidence.h). Returns 1; 0 where there is nothing
 * to enter, now or as long as the user has too many runs that tell (pair_told.h); -1 as
 * pairs_learn(). pairs_learn_run() enters the whole run as pairs_learn() does, less what it has
 * told of these two classes. pairs_end_run() forgets what the run has told, once all of its
 * partners are entered; returns whether there was something. What it has told of other classes,
 * which were taken for its own or the partner's before, stays. pairs_is_segment(): whether it is
 * worth while to look for the classes of the two.
 */
int pairs_learn_segment(struct pairs *p, const struct pairs_shared *with, long long now);
int pairs_learn_run(struct pairs *p, const struct pairs_shared *with, long long now);
bool pairs_end_run(struct pairs *p, unsigned int job_id, long long start);
bool pairs_is_segment(const struct pairs *p, const struct pairs_shared *with);

/* What jobs of which names have run (job_names.h), a part of the history. pairs_ran() is
 * job_names_ran() for it. */
const struct job_names *pairs_names(const struct pairs *p);
int pairs_ran(struct pairs *p, unsigned int uid, const char *job_name, const struct job_ran *ran,
	long long now);

/* How long plain and co-located runs took (spread_gain.h), a part of the history, too; and the gain
 * from spreading of a class, as spread_gains_of() tells it. */
const struct spread_gains *pairs_spread(const struct pairs *p);
bool pairs_spread_gain(const struct pairs *p, const char *class_name, struct spread_gain *out);

/* The same as a hint of expectation_fit() (struct expectation_hints); arg: the history. */
bool pairs_spread_hint(void *arg, const char *class_name, double *z, int *runs);

/* What a miss costs the classes (miss_cost.h), a part of the history, too; and that of a class, as
 * miss_costs_of() tells it. */
const struct miss_costs *pairs_misses(const struct pairs *p);
bool pairs_miss_cost(const struct pairs *p, const char *class_name, struct miss_cost *out);

/* The same as cache_forecast_new() asks for it; arg: the history. */
bool pairs_miss_hint(void *arg, const char *class_name, double *base_cycles, double *miss_cycles);

/*
 * Observations on their way into the file: it is read with the first of them and written once with
 * all of them. All 0: there are none. One writer at a time: the settlement's worker. A file with
 * lines that cannot be read is kept as PATH.damaged. All return 0, or -1 with err set; what cannot
 * be saved stays to be saved later. pairs_batch_read() reads the file where nothing waits, so that
 * `pairs` has what is known.
 */
struct pairs_batch {
	struct pairs *pairs; /* NULL: nothing waits */
	bool changed;        /* it is not as in the file */
};
int pairs_batch_read(struct pairs_batch *b, const char *path, struct errmsg *err);
int pairs_batch_ran(struct pairs_batch *b, const char *path, unsigned int uid, const char *job_name,
	const struct job_ran *ran, long long now, struct errmsg *err);
/* A run that completed; class_name: of a co-located one, NULL = it was plain. */
int pairs_batch_spread(struct pairs_batch *b, const char *path, const struct spread_run *run,
	const char *class_name, long long now, struct errmsg *err);
/* What a run has told of the cost of a miss. */
int pairs_batch_miss(struct pairs_batch *b, const char *path, const struct miss_run *run,
	long long now, struct errmsg *err);
/* pairs_learn_run(), pairs_learn_segment() and pairs_end_run() for it. */
int pairs_batch_learn(struct pairs_batch *b, const char *path, const struct pairs_shared *with,
	long long now, struct errmsg *err);
int pairs_batch_segment(struct pairs_batch *b, const char *path, const struct pairs_shared *with,
	long long now, struct errmsg *err);
int pairs_batch_end(struct pairs_batch *b, const char *path, unsigned int job_id, long long start,
	struct errmsg *err);
int pairs_batch_save(struct pairs_batch *b, const char *path, struct errmsg *err);
void pairs_batch_forget(struct pairs_batch *b);

/*
 * Adds one loss that a trial has measured (imported_trial.h) to a history that was read, which then
 * is not written any more, and sets the loss's weight. It weighs in the mean of the pair of these
 * two classes as pair_evidence_trial() says. No row goes for it: where there is no room for a new
 * one it does not count. Returns 0, or -1 without memory.
 */
int pairs_add_loss(
	struct pairs *p, const char *job, const char *partner, struct imported_loss *loss);

/* The expected degradation of `job` beside `partner`, and where these variants have not met, that
 * of the classes themselves, unless they are of lanes of whole sockets; false where nothing is
 * known. */
bool pairs_expect(const struct pairs *p, const char *job, const char *partner, double *degradation);

/*
 * What the mean degradation of `job` beside `partner` is not below, and not above, each with 95 %
 * confidence, from 0 to 1.
 * They come from the last 20 runs that shared for a minute or more and from how much these differ,
 * by Student's t. Where that is too little of two variants, the classes themselves count. false
 * with fewer than three such runs, or where the last of them was 90 days
 * before the latest observation in the history: then nothing is certain.
 */
bool pairs_certain(
	const struct pairs *p, const char *job, const char *partner, double *low, double *high);

/* What the history has of a pair. The names are the history's. */
struct pairs_row {
	const char *job, *partner;
	double degradation; /* weighted mean */
	/* Its weight, which halves every 30 days until the latest observation in the history: while
	 * nobody shares nodes, nothing is forgotten. */
	double seconds;
	int runs;             /* of a minute or more, 20 at most; less where most are old */
	int trials;           /* of those that were added, how many count */
	double trial_seconds; /* so much of the weight is theirs: it is no time of jobs */
};

/* Calls fn for each row, in the order of jobs, then partners. */
void pairs_each(const struct pairs *p, void (*fn)(const struct pairs_row *, void *), void *arg);

/* Mean over all known pairs, 0 for an empty history: the guess for an unknown pair. */
double pairs_mean(const struct pairs *p);
