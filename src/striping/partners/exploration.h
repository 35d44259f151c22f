/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much lane time may go to exploratory starts (exploratory_start.h). Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* So many jobs that started to explore run at once at most. */
#define EXPLORATION_MOST 256

/* What is saved fades by the factor e in so much time, s: what lanes earn in a day is the most that
 * is ever saved, so a quiet week is followed by no storm of exploratory starts, and one that would
 * take more than that is never made. */
#define EXPLORATION_FADES_S 86400.0

/* What a running job that started to explore was charged: the lanes whose jobs may be slowed down
 * by it, and for how long, s. */
struct exploration_charge {
	uint32_t job_id;
	int64_t start; /* seconds of any clock, the same for all calls */
	double lanes, seconds;
};

/*
 * An account in lane-seconds: lanes that co-located jobs have earn a share of their time, and an
 * exploratory start is charged at once, for as long as the job can be there. Nobody but the owner
 * of the lanes changes it; a job that ends early gets back what it has not used, so a user who asks
 * for much time delays exploratory starts and makes none more. All zero is an account with nothing
 * in it. Small enough for each call to go over the running jobs. No lock: the caller holds one.
 */
struct exploration {
	double saved;
	int count;
	struct exploration_charge running[EXPLORATION_MOST];
};

/* So many lanes had jobs for so many seconds, of which this share (a fraction) may go to
 * exploratory starts. A time of 0 or less earns nothing. */
void exploration_earn(struct exploration *x, double share, double lanes, double seconds);

/* Whether a job may explore for so many lane-seconds. So short ones come first: what costs more
 * than has been saved waits until it has been. */
bool exploration_may(const struct exploration *x, double charge);

/* A job starts to explore. Starting twice is one start, the latter. */
void exploration_spend(
	struct exploration *x, uint32_t job_id, double lanes, double seconds, int64_t now);

/* A job ends; nothing where it did not start to explore. */
void exploration_end(struct exploration *x, uint32_t job_id, int64_t now);
