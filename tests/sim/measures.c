/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes figures of sums. */
#include "sim/measures.h"

#include <math.h>

/* NAN for nothing divided by nothing. */
static double ratio(double sum, double of)
{
	return of > 0 ? sum / of : NAN;
}

struct figures measures_figures(const struct measures *m, bool has_pairs)
{
	struct figures f = {
		.makespan_s = m->last_end_s - m->first_submit_s,
		.mean_wait_s = ratio(m->wait_s, m->finished),
		.bounded_slowdown = ratio(m->slowdown, m->finished),
		.stp = ratio(m->progress_lane_s[0], m->lane_s[0]),
		.stp_late = ratio(m->progress_lane_s[1], m->lane_s[1]),
		.share_of_gain = NAN,
		.throughput = ratio(m->waited_progress_s, m->waited_node_s),
		.slipped = ratio(m->slipped, m->planned),
		.slip_s = ratio(m->slip_s, m->planned),
		.below_break_even = NAN,
		.timeouts_added = ratio(m->timeouts, m->jobs),
		.explored = NAN,
		.capped_over = NAN,
		.pairs_mae = NAN,
		.pairs_cover90 = NAN,
	};

	if (!has_pairs)
		return f;
	f.below_break_even = ratio(m->below_node_s, m->shared_node_s);
	f.explored = ratio(m->explored, m->jobs);
	f.capped_over = ratio(m->over_s, m->capped_s);
	f.pairs_mae = ratio(m->unseen_error, (double)m->unseen);
	f.pairs_cover90 = ratio((double)m->covered, (double)m->intervals);
	return f;
}

double measures_share_of_gain(double policy, double random, double optimal)
{
	double gain = optimal - random;

	return fabs(gain) > 1e-9 ? (policy - random) / gain : NAN;
}
