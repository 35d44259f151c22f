/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a simulation shows of a policy. */
#pragma once

#include <stdbool.h>

/* Sums. Lane-seconds count each lane that a job keeps from others, so a job that is compact has
 * two on each of its nodes, and one that is spread twice as many. */
struct measures {
	int jobs, finished;
	double first_submit_s, last_end_s;
	double wait_s;
	/* Jobs for which a start was planned, those that started over a minute after it, and by how
	 * much all of them did. */
	int planned, slipped;
	double slip_s;
	double slowdown; /* bounded: at least 10 s of run time, compact */
	int timeouts;    /* jobs that ended at their limit and did not in the trace */
	/* Of all jobs, and of those submitted in the second half. */
	double progress_lane_s[2], lane_s[2];
	/* While jobs waited: the machine's node-seconds, and the progress in compact ones. */
	double waited_node_s, waited_progress_s;
	double shared_node_s, below_node_s;
	int explored; /* jobs that started to explore (striping/partners/exploratory_start.h) */
	double capped_s, over_s; /* of jobs with a limit for their degradation */
	/* Expectations: relative errors of run time of pairs that the history did not know, with
	 * five partners or more of each class known; and 90 % intervals. */
	double unseen_error;
	long unseen;
	long intervals, covered;
};

/* The same as figures; NAN = the policy has none. Shares are fractions. */
struct figures {
	double makespan_s, mean_wait_s, bounded_slowdown;
	double stp;      /* progress of all jobs by what it would be compact on the same lanes */
	double stp_late; /* the same of the second half of the jobs */
	double share_of_gain;
	double throughput; /* while jobs wait: progress by what all nodes would do compact */
	double below_break_even, timeouts_added, capped_over, pairs_mae, pairs_cover90;
	double explored;
	double slipped, slip_s; /* of the jobs for which a start was planned */
};

struct figures measures_figures(const struct measures *m, bool has_pairs);

/* (policy - random) / (optimal - random) of stp_late; NAN where there is nothing to gain. */
double measures_share_of_gain(double policy, double random, double optimal);
