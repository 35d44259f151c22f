/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "poppa trial" has measured of classes beside each other, as an administrator imported it. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "striping/history/class_name.h"

/*
 * Name of the file in slurmctld's StateSaveLocation. It is not part of the pair history, which
 * slurmctld alone writes. Nothing of it gets into that: whoever reads the history adds the trials
 * to what they have read (pairs_add_trials()), so none can count twice, whatever dies when.
 */
#define TRIALS_FILE "poppa_trials"
/* So many losses of all trials. */
#define TRIALS_MAX 256
/* Room for what names a trial: 16 digits. */
#define TRIAL_ID_MAX 17
/* The most seconds of common run time that one counts as. Beyond that, what one run is off by and
 * the next one is not (expectation_table.c) is more than what the interval tells. */
#define TRIAL_MOST_S 600.0

/* What one class loses beside another one, by a trial. */
struct imported_loss {
	char trial[TRIAL_ID_MAX];
	char job[PAIRS_CLASS_MAX], partner[PAIRS_CLASS_MAX]; /* as they were named */
	double degradation, low, high;                       /* low and high: 95 % */
	long long imported;                                  /* unix time */
	/* As how many seconds it counts; pairs_add_trials() sets it, and it is not in the file. 0:
	 * it does not. */
	double weight;
};

struct imported_trials;

/* None, or NULL without memory. imported_trials_free() takes NULL. */
struct imported_trials *imported_trials_new(void);
void imported_trials_free(struct imported_trials *t);

/*
 * Reads a file; a missing one has none. A line that cannot be read, or is one too many, is passed
 * over and counted in *bad (may be NULL). NULL with err where the file cannot be read, is no
 * regular file, is a link, or may be another's work: it must belong to root, to the caller or to
 * the owner of its folder, and nobody else may write it.
 */
struct imported_trials *imported_trials_load(const char *path, int *bad, struct errmsg *err);

/* Replaces the file in one step, on the disk, too. Returns 0, or -1 with err. */
int imported_trials_save(const struct imported_trials *t, const char *path, struct errmsg *err);

/* Adds a loss. Returns 0, or -1 with err: a class is no name, a number is out of range, or there
 * are too many. */
int imported_trials_add(
	struct imported_trials *t, const struct imported_loss *loss, struct errmsg *err);

/* Takes a trial away. Returns how many losses that were. */
int imported_trials_forget(struct imported_trials *t, const char *trial);

/* How many losses there are, and each of them, in the order of their import; NULL behind the last.
 */
int imported_trials_count(const struct imported_trials *t);
struct imported_loss *imported_trials_get(const struct imported_trials *t, int i);

/* As how many seconds of common run time the loss counts by itself, above 0: those in which a
 * run's degradation would be as uncertain, TRIAL_MOST_S at most. */
double imported_loss_seconds(const struct imported_loss *loss);
