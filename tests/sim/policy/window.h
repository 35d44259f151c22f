/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The waiting jobs and the open places that a matching is about. */
#pragma once

#include "sim/sim.h"

/* So many jobs at most. */
#define WINDOW_MOST 64
/* So many of them at most can have a place beside the same partner in one pass. */
#define WINDOW_SLOTS 3

struct window {
	int jobs, job[WINDOW_MOST], need[WINDOW_MOST];
	int places;          /* WINDOW_SLOTS for each partner */
	int *partner, *open; /* of each place: beside whom, NOBODY = nobody; open lanes beside it */
	double *worth[2];    /* [job * places + place], room for the caller's matrices */
	int out[WINDOW_MOST];
};

/* Finds the first waiting jobs that have enough open lanes. 0, or -1 without memory. window_free()
 * in any case. */
int window_find(const struct sim *s, const int *job, int count, struct window *w);
void window_free(struct window *w);

/* Whether all of a job of the window fits into a place. */
bool window_fits(const struct window *w, int row, int place);

/* Gives each job the place in w->out. One that fits into some place and has none is to be asked
 * later; one that fits into none has whatever is best. */
void window_give(struct sim *s, const struct window *w);
