/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast classes of jobs that are about go beside each other. */
#pragma once

#include <stdint.h>

#include "striping/partners/expectation.h"
#include "striping/reuse/cache_forecast.h"

/*
 * Made now and then, outside of locks that others wait for, and not changed any more: placement
 * then only looks things up. A node with both lanes taken is worth 1 where its jobs make as much as
 * one after the other on whole nodes.
 */
struct outlook;

/* Jobs of a class: how much time on lanes they want, in any unit. The same class may come again. */
struct outlook_demand {
	const char *class_name;
	double lane_time;
};

/* At most so many variants, classes and users, those that want the most with all that belong to
 * them. Others are as the class or the user that they belong to, or as one of which nothing is
 * known. */
#define OUTLOOK_CLASSES 400

/* e stays the caller's and is not needed afterwards. NULL without memory. outlook_free() takes
 * NULL.
 */
struct outlook *outlook_new(
	const struct expectation *e, const struct outlook_demand *demand, int count);
void outlook_free(struct outlook *o);

/*
 * The same where nobody lists what waits and runs: each class wants as much time on lanes as it has
 * had of late by the history. Classes with a profile are there, too, also where they have never
 * run, and what they do in groups goes by outlook_share_cache(). cache: NULL = there are none.
 * Users have the weights of that history, as by outlook_weigh_users().
 */
struct outlook *outlook_of_history(
	const struct pairs *p, const struct expectation *e, const struct cache_forecast *cache);

/* From now on outlook_among() and outlook_usual() go by what profiles tell of groups, too, by
 * group_overlap_factor(). For who has made the outlook, before others look at it. Without memory
 * they go by pairs alone, as before. */
void outlook_share_cache(struct outlook *o, const struct cache_forecast *cache);

/* From now on outlook_weight() says what users have lost by that history. For who has made the
 * outlook, before others look at it. Without memory all weights stay 1. */
void outlook_weigh_users(struct outlook *o, const struct pairs *p);

/*
 * The same outlook to explore by (exploratory_start.h): of pairs of which little is known it has a
 * draw in place of the mean, of the others it says the same. Little is known where the standard
 * deviation of what is expected is above what one run of a minute leaves: so a pair that was tried
 * is known. Draws are as uncertain as the expectation is (Thompson, Biometrika 25, 1933), but
 * within its 90 % interval, and nobody is drawn to be faster beside somebody than alone. What is
 * usual stays as it is. The same seed draws the same. o must last as long as the draw. NULL without
 * memory.
 */
struct outlook *outlook_drawn(const struct outlook *o, uint64_t seed);

/* Whether there is no class of which something is known: then nothing tells lanes apart. */
bool outlook_empty(const struct outlook *o);

/* The number of a class or variant, for the functions below. Where it was not about it is that of
 * its class or its user, or of those of which nothing is known. */
int outlook_class(const struct outlook *o, const char *name);

/* What two jobs of these classes make together on a node; below 1 they had better run one after the
 * other. */
double outlook_worth(const struct outlook *o, int one, int other);

/* How fast a job of a class is beside another one, and where it has the other lane to itself as
 * well, as a share of its speed compact. On a node with one lane it does half of that. */
double outlook_speed(const struct outlook *o, int class_number, int partner);
double outlook_alone(const struct outlook *o, int class_number);

/*
 * How fast a job of a class is on nodes of so many lanes where `count` others, of these classes,
 * have some of the other lanes, as a share of its speed compact. Each of the other lanes slows it
 * down by a factor of its own, as far as that is known: the history has partners one by one. Where
 * there are profiles, group_overlap_factor() corrects the product. With two lanes it is
 * outlook_speed() or outlook_alone().
 */
double outlook_among(
	const struct outlook *o, int lanes, int class_number, const int *others, int count);

/* How much losses of the class's user count under stripe_policy=fair: user_weights_of(); 1 where
 * nothing is known. All classes of a user have the same. */
double outlook_weight(const struct outlook *o, int class_number);

/* How fast a job of a class usually is: the mean over the partners that it may get, each by how
 * much time on lanes its class wants. */
double outlook_typical(const struct outlook *o, int class_number);

/* The same on nodes of so many lanes, all of which are taken. */
double outlook_usual(const struct outlook *o, int lanes, int class_number);

/* What it costs a job that waits for its slowest node to have two partners in place of one, on
 * average, as a share of its usual speed. */
double outlook_another(const struct outlook *o);
