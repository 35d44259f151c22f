/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sham blocks, in which nothing is stopped: they show a job that reacts to being measured. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "poppa/estimate/estimator.h"

/*
 * In a sham the rates before, during and after differ by noise only. A job that is faster in the
 * "during" region notices that it is measured, and gains as much in its real blocks. So the mean
 * over its shams is taken off its degradation where it is more than noise; where it is certain, the
 * job is reported as shutter-sensing.
 */
struct sham {
	uint64_t blocks;
	double mean; /* of log(solo/co) */
	double m2;   /* sum of squared deviations */
};

/* Takes a sham block; ignores one without rates. */
void sham_add(struct sham *s, const struct est_block *b);

/* Takes the part of a long sham beyond its region "during" as sham_add() takes that; for a struct
 * of its own. */
void sham_add_beyond(struct sham *s, const struct est_block *b);

/* The degradation that the shams show, and its standard error; both NAN with fewer than 2 shams. */
double sham_degradation(const struct sham *s, double *error);

/* What to take off the job's degradation; 0 while it may be noise. */
double sham_excess(const struct sham *s);

/* Whether the job certainly reacts: over one point of degradation where there is none. */
bool sham_caught(const struct sham *s);

/* For a checkpoint. Load returns 0, or -1 for a state that is not valid. */
json_t *sham_save(const struct sham *s);
int sham_load(struct sham *s, const json_t *state);
