/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs that all policies are given: those of a trace, each a program of the matrix. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "sim/world/controls.h"
#include "sim/world/matrix.h"
#include "sim/world/trace.h"

struct work {
	long number; /* in the trace */
	double submit_s;
	double run_s;           /* compact */
	double limit_s;         /* 0 = none */
	bool limit_was_in_way;  /* it ran into its limit in the trace already */
	int nodes;              /* compact; on lanes it needs twice as many */
	int row;                /* of the matrix */
	const char *class_name; /* in the pair history: user and program of the trace, and size */
	int class_id;           /* without the size */
	int variant;            /* its number in variant_name */
	bool capped;            /* has a limit for its degradation */
	double requeue;         /* after this share of its run it is requeued, once; 0 = never */
};

struct workload {
	struct work *job; /* by time of submission */
	int count;
	int classes;
	char **variant_name; /* each class_name of the jobs once, owned */
	int variants;
};

struct workload_options {
	uint64_t seed;
	int nodes;      /* of the machine */
	double load;    /* times between submissions are divided by this */
	double capped;  /* share of the jobs */
	double requeue; /* share of the jobs */
	struct controls controls;
};

/*
 * Makes the jobs. A processor of the trace is a node; where the trace's machine has more of them
 * than `nodes`, jobs are smaller in proportion. The class is user and executable number; where the
 * trace knows neither, the seed gives each job one of 64 classes. Which program of the matrix a
 * class is, the seed says. Returns 0, or -1 with err.
 */
int workload_make(const struct trace *t, const struct matrix *m, const struct workload_options *o,
	struct workload *w, struct errmsg *err);
void workload_free(struct workload *w);

/* No policy has a shorter makespan, s: some job cannot end earlier if it starts at once and goes as
 * fast as its program ever does by the matrix. The noise of runs is not in it. */
double workload_least_makespan_s(const struct workload *w, const struct matrix *m);
