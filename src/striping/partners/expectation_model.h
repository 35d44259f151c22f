/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the model of expectation.h, for the files that make and read it. */
#pragma once

#include <stdbool.h>

#include "striping/partners/expectation.h"

#define SLOPES 2
/* A degradation nearer to 1 is taken as this: y would have no end. */
#define MOST_D 0.95

/* From the general to the specific. */
enum level { LEVEL_USER, LEVEL_CLASS, LEVEL_VARIANT, LEVELS };

/* What a node suffers, or inflicts, beyond the mean of all. */
struct part {
	double total; /* with all that its parents do */
	double var;   /* of the truth about that */
	double lift;  /* what hints expect of it beyond its parent */
	/* While it is fitted, what rows say of the total: those of the node and of all below it;
	 * and what of that reaches the parent. Precisions, and values times precisions. */
	double weight, value, up_weight, up_value;
};

/* A user, a class or a variant of a class. */
struct node {
	const char *name; /* in names[] */
	enum level level;
	int parent; /* -1: none */
	int class;  /* the node itself, or the class of the variant; -1: a user */
	int rows;   /* of it and all below it, as the job */
	struct part suffered, inflicted;
	/* Of a class: */
	double slope[SLOPES], slope_var[SLOPES], slope_covar;
	int first, count;        /* its rows as the job, in seen[] */
	int first_group, groups; /* the same rows, in group[] */
	/* Hints: */
	double z;       /* what it gains by spreading, by itself */
	double z_lift;  /* the same beyond what the parts above it tell; 0 where that is unknown */
	int z_runs;     /* behind it; 0: it is not known */
	double below_z; /* the sum over its variants, each as often as it has runs */
	int below_runs;
	int profile;                            /* -1: none */
	double cache_suffered, cache_inflicted; /* beyond the mean of all, by the model of caches */
};

struct seen {
	int job, partner;     /* nodes, no users */
	double y, noise;      /* noise: the variance of y by measurement */
	double cache;         /* what the cache model says beyond both classes; 0: nothing */
	double weight, extra; /* while it is fitted: what it counts; variance within its group */
	int group;
	bool variants; /* of the two, one at least is a variant */
	bool held_out; /* the fit does not see it */
};

/* The rows of two classes, with all their variants. */
struct group {
	int partner; /* its class; that of the job is the one that has the group */
	int first, count;
	/* What its rows say beyond the model: sums over them. */
	double weight, value;
};

struct expectation {
	char *names;
	struct node *node; /* sorted by name */
	int nodes;
	struct seen *seen; /* sorted by the class of the job, that of the partner, job, partner */
	int rows;
	struct group *group;
	int groups;
	double mean;
	double vary_suffered[LEVELS], vary_inflicted[LEVELS], vary_slope;
	double vary_rest, vary_extra;         /* of two classes, and of two variants beyond that */
	double unit_suffered, unit_inflicted; /* 1 / how much classes differ, for the slopes */
	bool users;                           /* there are nodes of users */
	double widen; /* the model is off by so many times the variance that the fit says */

	const struct expectation_hints *hints; /* NULL: none */
	double cache_mean;
	/* What y changes by with z, as the job and as the partner, and with the cache model's y. */
	double by_spread_suffered, by_spread_inflicted, by_cache;
};

/* expectation_table.c: fills in names, nodes, rows and groups. 0, or -1 without memory. */
int expectation_table(struct expectation *e, const struct pairs *p);

/* The node with that name, -1: none. */
int expectation_node(const struct expectation *e, const char *name);

/* expectation_hints.c: asks the hints about all nodes and rows. */
void expectation_ask_hints(struct expectation *e);

/* What the cache model says of y beyond what both classes do on average; 0 = nothing. Nodes. */
double expectation_cache(const struct expectation *e, int job, int partner);

/* expectation_parameters.c: fits all parts to the rows that are not held out, from nothing. */
void expectation_fit_parts(struct expectation *e);

/* y of two nodes, -1: of that nothing is known; and the variance of the truth about it, by what the
 * fit says. */
double expectation_y(const struct expectation *e, int job, int partner);
double expectation_y_var(const struct expectation *e, int job, int partner);
