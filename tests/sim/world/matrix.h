/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The true speeds of programs beside each other, as the simulator knows them. */
#pragma once

#include "common/errmsg.h"

#define MATRIX_MAX 200

struct matrix {
	int count;         /* programs */
	char **name;       /* of each */
	double *speed;     /* [program * count + partner], against running compact */
	double *alone;     /* the same alone on a lane; see below */
	double *typical;   /* the mean of a program's speeds beside others */
	double *inflicted; /* what others lose beside it, on average */
	double most_inflicted;
	/* What a second partner costs a program that waits for its slowest node, on average, as a
	 * share of its usual speed: the slower one of two partners at random. */
	double another;
	int left_out; /* programs that are not beside all the others in the file */
};

/*
 * Reads a CSV file with the columns program, partner and speedup (others are passed over; lines
 * with "#" are comments). What is not there is not made up: the program that lacks the most cells
 * is left out, until none is missing.
 *
 * Such files have no runs alone on a lane (spread). A program is never faster than that beside
 * another one, so the best of its row stands for it; where other partners cost more than none, the
 * truth is above. Returns 0, or -1 with err that names the file, the line and the fix.
 */
int matrix_read(const char *path, struct matrix *m, struct errmsg *err);
void matrix_free(struct matrix *m);

/* What program i loses beside j against alone on a lane, a fraction (thesis 3.1). */
double matrix_degradation(const struct matrix *m, int i, int j);

/* Sets what follows from the speeds, after these were changed. */
void matrix_derive(struct matrix *m);
