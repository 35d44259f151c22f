/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trial has measured, and what follows from it: losses, the node's work, the verdict. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trial/runner.h"

#define TRIAL_PROGRAMS_MAX 8
#define TRIAL_ROUNDS_MAX 100
#define TRIAL_OTHERS_MOST 0.1

/* By what a program's work is counted. */
enum trial_unit {
	TRIAL_UNIT_NONE,    /* by nothing: why is in note */
	TRIAL_UNIT_RUNS,    /* complete runs */
	TRIAL_UNIT_COUNTER, /* its counter: the program's own beats, or one thread's instructions */
};

/* A mean over rounds with its 95 % interval; NAN where nothing is known. One round has no interval,
 * lo and hi are then NAN. */
struct trial_figure {
	double mean, lo, hi;
};

struct trial_program {
	struct runner_program run;
	enum trial_unit unit;
	enum counter_backend backend; /* that shows its loss, or COUNTER_NONE */
	bool mpi_calls;
	double run_s;                /* of a complete compact run; NAN where none has ended */
	char note[256];              /* why something is not known of it, as a sentence; or "" */
	double *compact;             /* rate in each round: units a second, NAN = not known */
	double *alone[RUNNER_SLOTS]; /* the same alone, in each place of a pair */
};

/* One round of two programs together. */
struct trial_pair_round {
	double rate[RUNNER_SLOTS]; /* units a second, together; NAN = not known */
	double loss[RUNNER_SLOTS]; /* by the counter, in turns; NAN = not known */
};

enum trial_verdict { TRIAL_UNCERTAIN, TRIAL_COLOCATE, TRIAL_DO_NOT };

struct trial_pair {
	int program[RUNNER_SLOTS];
	struct trial_pair_round *round;
	/* Of trial_judge(): */
	struct trial_figure loss[RUNNER_SLOTS]; /* degradation against being alone on the lane */
	/* The work of the node with both together against one after the other, compact (system
	 * throughput, STP): the sum of rate together over rate compact. */
	struct trial_figure stp;
	enum trial_verdict verdict;
	char why[512];
};

struct trial {
	int programs, pairs, rounds; /* rounds: those that are complete */
	struct trial_program *program;
	struct trial_pair *pair; /* all pairs: 0-1, 0-2, ... 1-2, ... */
	int64_t took_ns;
	/* The part of the PUs' time that processes of others used meanwhile; NAN = not known. Above
	 * TRIAL_OTHERS_MOST nothing is certain. */
	double others;
	/* Of trial_judge(); with two programs those of their pair: */
	struct trial_figure stp; /* of the best pairing against one after the other */
	enum trial_verdict verdict;
	char why[512];
	/* The pairing that does most work: for each program its partner, or itself where it is best
	 * run compact. */
	int partner[TRIAL_PROGRAMS_MAX];
};

/* A trial of so many programs (2 to TRIAL_PROGRAMS_MAX) with room for so many rounds, in which
 * nothing is measured yet. NULL where memory is short. */
struct trial *trial_new(int programs, int rounds);
void trial_free(struct trial *t);

/* The mean of v[0..n) without those that are NAN, with Student's 95 % interval of a mean. */
struct trial_figure trial_mean(const double *v, int n);

/* Works out the figures and the verdicts from the rounds. */
void trial_judge(struct trial *t);

/* STP of one round of a pair; NAN where a rate is not known. */
double trial_round_stp(const struct trial *t, const struct trial_pair *p, int round);

/* The loss of one of the pair's programs in one round: by its counter, else by runs alone. */
double trial_round_loss(const struct trial *t, const struct trial_pair *p, int which, int round);

const char *trial_verdict_name(enum trial_verdict v);
