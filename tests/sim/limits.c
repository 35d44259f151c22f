/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks accounting/settle/time_limit.c where a job's limit ends. */
#include "sim/limits.h"

#include <math.h>

#include "accounting/settle/time_limit.h"
#include "sim/learn.h"
#include "sim/pace.h"
#include "sim/policy/policy.h"
#include "sim/world/draw.h"
#include "striping/partners/expected_end.h"

/* Seconds since 1970 at which a simulation begins; any that is far from 0. */
#define BEGIN_S 1000000000
/* Half a 95 % interval, in standard deviations. */
#define SURE 1.96

/* Where slurmctld has the job's limit end by what its nodes have told until now. */
static double measured_end(const struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];
	const struct run *r = &s->run[job];
	/* What has not been counted yet, at the pace of the job. */
	double span = s->now - r->since_s, lost = 1 - r->rate / pace_plain(s, job, NOBODY), error;
	double beside = r->beside_s + (r->beside > 0 ? span : 0);
	struct time_limit t;
	bool bounded;

	if (!(w->limit_s > 0) || s->settings->stripe_timelimit != TIMELIMIT_PROGRESS ||
		!r->partners)
		return r->end_s;
	/* A measured degradation is off by the noise, and its interval is as wide as that. */
	error = s->noise * (draw_normal(s->seed, DRAW_MEASURE, (uint64_t)job, 0) + SURE);
	t = (struct time_limit){
		.now = BEGIN_S + (int64_t)s->now,
		.asked_end = BEGIN_S + (int64_t)ceil(r->start_s + w->limit_s),
		.asked_s = (int64_t)ceil(w->limit_s),
		.end = BEGIN_S + (int64_t)ceil(r->end_s),
		.measured_s = s->now - r->start_s,
		.lost_s = fmax(r->lost_s + span * lost * r->beside + error * beside, 0),
	};
	return (double)(time_limit_end(&t, &bounded) - BEGIN_S);
}

void limits_move(struct sim *s, int job)
{
	s->run[job].end_s = measured_end(s, job);
}

double limits_beside(const struct sim *s, int job, int partner, double end, double until)
{
	if (s->policy->learns == LEARNS_NOTHING ||
		s->settings->stripe_timelimit != TIMELIMIT_PROGRESS ||
		!(s->work->job[job].limit_s > 0))
		return end;
	return (double)expected_end((int64_t)s->now, (int64_t)ceil(end),
		learn_expect(s, job, partner), (int64_t)until, 0);
}

double limits_expected(const struct sim *s, int job)
{
	const struct run *r = &s->run[job];
	double end = fmax(measured_end(s, job), s->now + 1), latest = end;

	if (s->plan_by_limits || r->partners == 0 || s->now - r->met_s >= EXPECTED_FRESH_S)
		return end;
	for (int i = 0; i < r->nodes; i++) {
		int partner = sim_partner(s, r->node[i], job);

		if (partner != NOBODY && (!i || partner != sim_partner(s, r->node[i - 1], job)))
			latest = fmax(latest, limits_beside(s, job, partner, end, 0));
	}
	return latest;
}
