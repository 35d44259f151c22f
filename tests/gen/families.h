/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of synthetic jobs on which the estimators are judged. */
#pragma once

#include <stdint.h>

#include "gen/gen.h"

enum gen_kind {
	GEN_USUAL,
	GEN_SLOW,  /* a part comes back slowly */
	GEN_STEPS, /* progress is seen in bursts, so one block says next to nothing */
};

struct gen_family {
	const char *name;
	void (*change)(struct gen_spec *spec); /* from the defaults; seed is set */
	enum gen_kind kind;
};

/* How many there are, and each of them. */
int gen_families(void);
const struct gen_family *gen_family(int i);

/* A job of family i: defaults, seed, then what the family changes. Same arguments, same spec. */
void gen_family_spec(int i, uint64_t seed, struct gen_spec *spec);

/* How an estimator did on many jobs. */
struct gen_score {
	int jobs, unknown; /* unknown: no estimate at all; not in what follows */
	double error;      /* sum of |T_predicted/T_true - 1|, T being the run time alone */
	double worst;      /* the largest of them */
	double bias;       /* sum of estimate less truth, of D */
	double width;      /* sum of half intervals, of D */
	int covered;       /* intervals with the truth in them */
	double z2;         /* sum of squared errors in standard errors */
};

/* The block as poppad reads it for the robust estimate, without the boundary that no fit needs. */
void gen_spare(struct est_block *b);

/* Feeds one estimator a job of the spec with this method and adds the outcomes to the score.
 * 0, or -1 when out of memory. */
int gen_judge(const struct gen_spec *spec, enum estimate_method method, struct gen_score *score);

/* The same with a prior of slow refill (NULL: the default), and adds what the job's long blocks
 * tell to a vote (may be NULL). */
int gen_judge_with(const struct gen_spec *spec, enum estimate_method method,
	const struct slow_prior *prior, struct gen_score *score, struct slow_vote *vote);

void gen_add_score(struct gen_score *sum, const struct gen_score *s);
