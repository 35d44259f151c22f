/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which lanes bring most, with what partners lose by it, and whether that is enough to take them.
 */
#pragma once

#include <stdbool.h>

#include "common/settings.h"
#include "striping/partners/outlook.h"

/* A job that is on a node has so many partners there at most: with 16 lanes. */
#define LANE_PARTNERS_MAX 15

/* A job that is there already. */
struct lane_partner {
	int class_number; /* in the outlook */
	int nodes;        /* all that it has: on all of them it waits for the slowest one */
	double now;       /* how fast it is now, as a share of its usual speed */
};

/* Why an offer comes after all others, whatever it brings. */
enum lane_fault {
	LANE_FITS,
	LANE_SLOWS, /* the job would be slower there than beside the others, for which it would wait
		     */
	LANE_GAINS_LITTLE, /* all make less than struct lane_wish.together */
	LANE_HURTS         /* one of them makes less than struct lane_wish.each */
};

/* Nodes with the same partners. */
struct lane_offer {
	const struct lane_partner *partner; /* the caller's */
	int partners;                       /* 0: the nodes are empty */
	int lanes;                          /* of each node */
	int mine;                           /* the number of the job's class there */
	int nodes;                          /* with a free lane */
	int id; /* the caller's, for it to know the offer again; of equal ones the least is first */
	/* For exploratory_start.h: how long the job would be beside the partners at most, s, 0 = it
	 * does not explore there; out: what is drawn decides there, and the job would be there
	 * because of that. */
	double overlap_s;
	bool tries, explores;
	struct lane_yield { /* by what lane_yield_order() orders them */
		/* The job would be slower there than beside the others, or it and the partners make
		 * less than the wish says. */
		bool slow;
		enum lane_fault fault; /* which of these */
		long price; /* what a lane there costs, less what it brings, in percent of a lane */
		int misfit;
		int pace;     /* at which the job would go there, in steps that fit the offers */
		double speed; /* the same as a share of its usual speed */
		/* What the partners lose, in lanes at their usual speeds; where the wish is fair,
		 * each by the weight of its user. */
		double cost;
		double passing; /* so much of that they would lose anyway: they are faster than
				   usual */
		/* On nodes of as many lanes as it then has jobs, as shares of the speed compact:
		 * the job; all partners together, with what slows them down elsewhere; and the
		 * slowest of them, without. */
		double own, left, least;
		/* What struct lane_wish is compared with at the pace that the job then has: what
		 * all make on average, what the slowest of them makes, and whether that is the job
		 * itself. Without partners they mean nothing. */
		double together, each;
		bool hurts_itself;
	} yield;
};

/* A job that looks for lanes. */
struct lane_wish {
	int need;         /* nodes */
	bool others_wait; /* for a place, so empty nodes cost something */
	bool fair;        /* losses count by outlook_weight() of who has them */
	/* It shares only where it and the partners are expected to make at least so much each on
	 * average, and each of them at least so much, as shares of their speeds compact. */
	double together, each;
	const struct outlook *drawn; /* outlook_drawn(), for the offers that say so; may be NULL */
};

/* The same by the settings stripe_gain_min, stripe_victim_max and stripe_policy. */
struct lane_wish lane_wish(const struct poppa_settings *s, int need, bool others_wait);

/* What lanes can lack at most, as a share of a lane at its usual speed: as much where they are too
 * few, or bring less than the wish says. */
#define LANE_LACK_MOST 0.15

/* What lanes must bring for the job to take them, as a share of a lane at its usual speed. */
#define LANE_ENOUGH 0.98

/* How badly so many nodes fit a job: exactly is best, then more, then as many as possible. */
int lane_misfit(int nodes, int need);

/*
 * Orders the offers for the job: the first ones are to be taken first. All is counted in lanes at
 * usual speeds (outlook_usual()): a job that is fast beside everybody is no better a choice for a
 * good lane than one that is slow beside everybody, as both must run some time. A lane brings the
 * job's speed there, and costs what the partners lose on all their nodes. Where the offer is bigger
 * than the job, the partners will have another one. An empty node costs something only while others
 * wait for a place: it would be several lanes to them.
 *
 * A job waits for its slowest node, so of all paces at which it could go that one is chosen at
 * which all its nodes together bring most; offers beside which it would be slower come later. So do
 * those where, at this pace, job and partners are expected to make less than the wish says, on
 * average or each of them. Of offers that bring as much, those come first that fit best: so big
 * ones stay whole for big jobs.
 *
 * Where the wish is fair, what each job loses of its usual speed, or has above it, counts by the
 * weight of its user. Bounds do not.
 *
 * Lanes of nodes of different shapes are compared by shares of the usual speeds there.
 *
 * Returns 0 where some of them bring enough. Else it returns how much each lane lacks of that, as a
 * share of a lane, at most LANE_LACK_MOST. Then the job had better wait for others, if it may: the
 * longer, the more they lack. What partners have above their usual speeds does not count there: if
 * not this job, then another one takes it. Takes time count * (log(count) + 256) and, for each
 * offer, partners * partners.
 */
double lane_yield_order(
	const struct outlook *o, const struct lane_wish *wish, struct lane_offer *offer, int count);
