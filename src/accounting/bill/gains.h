/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pairs of co-located jobs made together, against plain runs of the same work. */
#pragma once

#include "accounting/bill/compact.h"

/* A user's runs of a program, as bills tell of them. */
struct gain_class {
	const char *user, *program;
	bool named; /* the program is the class of --colocate=class:NAME, and no job's name */
	double shared_s;
};

/* What pairs made, weighted by the time that they shared. */
struct gain {
	int pairs;
	double shared_s;
	double stp; /* mean of equation 2.2 of the thesis for two jobs: (S1/M1 + S2/M2) / 2, in the
		       time that they shared; NAN without a pair */
};

/* Of two classes, the first of which is not after the other in the list. */
struct gain_pair {
	int one, other;
	struct gain sure, unsure; /* unsure: of one of the two or both there is a doubt */
};

struct gains {
	struct gain_class *class; /* by user, then program */
	int classes;
	struct gain_pair *pair; /* by one, then other */
	int pairs;
	struct gain all; /* of the sure ones */
	int unsure;      /* pairs */
	/* SEE (equation 2.3) of those of the sure ones of which the energy is known. Both jobs of a
	 * pair have the energy of the same nodes. */
	int see_pairs;
	double see;
};

/*
 * compact: of each of the bills, in their order. Only pairs count of which each has been the only
 * partner of the other, so that what they made is theirs. 0, or -1 without memory and nothing to
 * free. bills must live as long.
 */
int gains_make(const struct bills *bills, const struct compact *compact, struct gains *g);
void gains_free(struct gains *g);
