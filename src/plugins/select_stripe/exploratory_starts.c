/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the account of exploratory starts in step with slurmctld. */
#include "plugins/select_stripe/exploratory_starts.h"

#include "common/clock.h"
#include "common/units.h"
#include "plugins/select_stripe/ends.h"
#include "plugins/select_stripe/stripe.h"
#include "plugins/select_stripe/tracker.h"

static struct exploration account;
static int64_t earned_ns; /* lanes have earned until then; 0 = they never have */
static struct {
	/* NULL: none. A task of an array gets its id between the two calls, and keeps its record;
	 * so this is compared, and never looked into. */
	const job_record_t *job_ptr;
	struct exploratory_start start;
} placed;

/* The wall clock may be set, and time would be earned by that. */
static int64_t now_s(void)
{
	return clock_now() / NS_PER_S;
}

const struct exploration *exploratory_starts_account(void)
{
	const struct occupancy *map = tracker_map();
	int64_t now = clock_now();

	if (map && earned_ns)
		exploration_earn(&account, tracker_settings()->stripe_explore,
			(double)occupancy_colocated_places(map),
			(double)(now - earned_ns) / (double)NS_PER_S);
	earned_ns = now;
	return &account;
}

void exploratory_starts_placed(const job_record_t *job_ptr, const struct exploratory_start *start)
{
	placed.job_ptr = start->lanes > 0 ? job_ptr : NULL;
	placed.start = *start;
}

void exploratory_starts_started(const job_record_t *job_ptr)
{
	const struct exploratory_start *start = &placed.start;

	if (placed.job_ptr != job_ptr)
		return;
	placed.job_ptr = NULL;
	info(STRIPE
		"%pJ starts to explore: little is known of its partners; it may take %.0f lane seconds "
		"of the %.0f that were saved",
		job_ptr, start->lanes * start->seconds, account.saved);
	exploration_spend(&account, job_ptr->job_id, start->lanes, start->seconds, now_s());
}

void exploratory_starts_ended(uint32_t job_id)
{
	exploration_end(&account, job_id, now_s());
}

/* How long a running job has left by its limit, s; INFINITY: it has none, or it is over it, as
 * while it is suspended. */
static double left_s(const struct ask *ask, const struct occupancy_job *job)
{
	const job_record_t *job_ptr = find_job_record(job->id);

	if (!job_ptr)
		return 0;
	return job_ptr->end_time > ask->now ? (double)(job_ptr->end_time - ask->now) : INFINITY;
}

double exploratory_starts_overlap_s(const struct ask *ask, const struct candidate *c)
{
	double limit = (double)ends_limit_s(ask->job_ptr), most = limit > 0 ? limit : INFINITY;
	double longest = 0;

	for (int i = 0; i < 64; i++) {
		const struct occupancy_job *job;
		const struct partner *p;

		if (!(c->partners >> i & 1))
			continue;
		job = occupancy_at(tracker_map(), c->node, i, NULL);
		p = tracker_partner(job);
		if (!p || p->request->max_degradation > 0)
			return 0;
		longest = fmax(longest, left_s(ask, job));
	}
	most = fmin(most, longest);
	return isfinite(most) ? most : 0;
}
