/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much lane time may go to trials: placements by which the history learns. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many trials at most run at once. */
#define EXPLORATION_MOST 256

/* What is saved fades by the factor e in so much time, s: what lanes earn in a day is the most that
 * is ever saved, so a quiet week is followed by no storm of trials, and a trial that would take
 * more than that is never made. */
#define EXPLORATION_FADES_S 86400.0

/* A trial that runs: the lanes whose jobs may be slowed down by it, and for how long it was
 * charged, s. */
struct exploration_trial {
	uint32_t job_id;
	int64_t start; /* seconds of any clock, the same for all calls */
	double lanes, seconds;
};

/*
 * An account in lane-seconds: lanes that co-located jobs have earn a share of their time, and a
 * trial is charged when it starts, for as long as it can last. Nobody but the owner of the lanes
 * changes it; a job that ends early gets back what it has not used, so a user who asks for much
 * time delays trials and makes none more. All zero is an account with nothing in it. Small enough
 * for each call to go over the running trials. No lock: the caller holds one.
 */
struct exploration {
	double saved;
	int count;
	struct exploration_trial running[EXPLORATION_MOST];
};

/* So many lanes had jobs for so many seconds, of which this share (a fraction) may go to trials. A
 * time of 0 or less earns nothing. */
void exploration_earn(struct exploration *x, double share, double lanes, double seconds);

/* Whether a trial of so many lane-seconds may start. So short ones come first: what costs more than
 * has been saved waits until it has been. */
bool exploration_may(const struct exploration *x, double charge);

/* A trial starts. Starting twice is one trial, the latter. */
void exploration_spend(
	struct exploration *x, uint32_t job_id, double lanes, double seconds, int64_t now);

/* A job ends; nothing where it is no trial. */
void exploration_end(struct exploration *x, uint32_t job_id, int64_t now);
