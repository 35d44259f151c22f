/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which lanes bring most, with what partners lose by it, and whether that is enough to take them.
 */
#pragma once

#include <stdbool.h>

#include "common/settings.h"
#include "striping/partners/outlook.h"

#define LANE_NOBODY (-1)

/* Nodes with the same partner. */
struct lane_offer {
	int partner;       /* its class's number, or LANE_NOBODY: the nodes are empty */
	int nodes;         /* with a free lane beside it */
	int partner_nodes; /* all that it has: on all of them it waits for the slowest one */
	double now;        /* how fast it is now, as outlook_speed() */
	int id; /* the caller's, for it to know the offer again; of equal ones the least is first */
	struct lane_yield { /* by what lane_yield_order() orders them */
		/* The job would be slower there than beside the others, or it and the partner make
		 * less than the wish says. */
		bool slow;
		long price; /* what a lane there costs, less what it brings, in percent of a lane */
		int misfit;
		int pace;       /* at which the job would go there, in percent of its usual speed */
		double cost;    /* what the partner loses, in lanes at its usual speed */
		double passing; /* so much of that it would lose anyway: it is faster than usual */
		/* How fast the partner is beside this job alone, and then with all that are beside
		 * it; as outlook_speed(). */
		double beside, left;
	} yield;
};

/* A job that looks for lanes. */
struct lane_wish {
	int mine;         /* its class's number */
	int need;         /* nodes */
	bool others_wait; /* for a place, so empty nodes cost something */
	/* It shares only where it and the partner are expected to make at least so much together,
	 * as outlook_worth(), and each of them at least so much, as outlook_speed(). */
	double together, each;
};

/* The same by the settings stripe_gain_min and stripe_victim_max. */
struct lane_wish lane_wish(const struct poppa_settings *s, int mine, int need, bool others_wait);

/* How badly so many nodes fit a job: exactly is best, then more, then as many as possible. */
int lane_misfit(int nodes, int need);

/*
 * Orders the offers for the job: the first ones are to be taken first. All is counted in lanes at
 * usual speeds (outlook_typical()): a job that is fast beside everybody is no better a choice for a
 * good lane than one that is slow beside everybody, as both must run some time. A lane brings the
 * job's speed there, and costs what the partner loses on all its nodes. Where the offer is bigger
 * than the job, the partner will have a second one. An empty node costs something only while others
 * wait for a place: it would be two lanes to them.
 *
 * A job waits for its slowest node, so of all paces at which it could go that one is chosen at
 * which all its nodes together bring most; offers beside which it would be slower come later. So do
 * those where, at this pace, job and partner are expected to make less than the wish says, together
 * or each of them. Of offers that bring as much, those come first that fit best: so big ones stay
 * whole for big jobs.
 *
 * Returns whether the best of them bring enough, where what partners have above their usual speed
 * does not count: if not this job, then another one takes it. false: they are too few, or bring so
 * little that the job had better wait for others, if it may. Takes time count * (log(count) + 256),
 * and no memory.
 */
bool lane_yield_order(
	const struct outlook *o, const struct lane_wish *wish, struct lane_offer *offer, int count);
