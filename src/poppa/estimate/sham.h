/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sham shutters, in which nobody is stopped: what a job shows that reacts to being measured. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "poppa/estimate/estimator.h"

/*
 * In a sham the rates before, during and after are the same but for noise. A job that is faster in
 * the middle of it feels that it is being measured. What it gains thereby is in its real blocks as
 * well: the mean over its shams is taken off its degradation where it is more than noise, and where
 * it is certain the job is told to be shutter-sensing.
 */
struct sham {
	uint64_t blocks;
	double mean; /* of log(solo/co) */
	double m2;   /* sum of squared deviations */
};

/* Takes a sham block; one without rates is passed over. */
void sham_add(struct sham *s, const struct est_block *b);

/* What the shams read as degradation, and its standard error; NAN with less than 2 of them. */
double sham_degradation(const struct sham *s, double *error);

/* What to take off a degradation: 0 while it may be noise. */
double sham_excess(const struct sham *s);

/* Whether the job certainly reacts: over one point of degradation where there is none. */
bool sham_caught(const struct sham *s);

/* For a checkpoint. Load returns 0, or -1 for a state that is none. */
json_t *sham_save(const struct sham *s);
int sham_load(struct sham *s, const json_t *state);
