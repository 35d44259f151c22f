/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a lane is worth to each class of jobs that is about, and what the lane beside it costs. */
#pragma once

#include "striping/partners/expectation.h"

/*
 * Made now and then from what waits and runs, outside of locks that others wait for, and not
 * changed any more: placement then only looks things up. Worth and prices are per node, in compact
 * node-time: a node with both lanes taken makes 1 where its jobs make as much as one after the
 * other on whole nodes.
 */
struct outlook;

/* Jobs of a class: how much time on lanes they want, in any unit. The same class may come again. */
struct outlook_demand {
	const char *class_name;
	double lane_time;
};

/* At most so many classes, those that want the most. Others are as a class of which nothing is
 * known. */
#define OUTLOOK_CLASSES 256

/* e stays the caller's and is not needed afterwards. last: an earlier outlook, whose prices are
 * where the solver starts; NULL = none. NULL without memory. outlook_free() takes NULL. */
struct outlook *outlook_solve(const struct expectation *e, const struct outlook_demand *demand,
	int count, const struct outlook *last);
void outlook_free(struct outlook *o);

/* The same where nobody lists what waits and runs: each class wants as much time on lanes as it has
 * had of late by the history. */
struct outlook *outlook_of_history(
	const struct pairs *p, const struct expectation *e, const struct outlook *last);

/* The number of a class, for the functions below; of a class that was not about, the number of
 * those of which nothing is known. */
int outlook_class(const struct outlook *o, const char *name);

/* Whether it is the number of a class that was about, and so has a price of its own. */
bool outlook_knows(const struct outlook *o, int class_number);

/* What two jobs of these classes make together on a node; below 1 they had better run one after the
 * other. */
double outlook_worth(const struct outlook *o, int one, int other);

/* How fast a job of a class is beside another one, and where it has the other lane to itself as
 * well, as a share of its speed compact. On a node with one lane it does half of that. */
double outlook_speed(const struct outlook *o, int class_number, int partner);
double outlook_alone(const struct outlook *o, int class_number);

/* How fast a job of a class usually is: the mean over the partners that it may get, each by how
 * much time on lanes its class wants. */
double outlook_typical(const struct outlook *o, int class_number);

/* What it costs a job that waits for its slowest node to have two partners in place of one, on
 * average, as a share of its usual speed. */
double outlook_another(const struct outlook *o);

/* What is left of that to a job that comes beside another one, after what the lane beside that
 * could bring with somebody else; and what a job can expect to be left with where it waits, or is
 * alone until somebody comes. lane_prices.h has the theory. */
double outlook_left(const struct outlook *o, int class_number, int partner);
double outlook_asks(const struct outlook *o, int class_number);
