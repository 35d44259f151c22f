/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks accounting/settle/time_limit.c where a job's limit ends. */
#include "sim/limits.h"

#include <math.h>

#include "accounting/settle/time_limit.h"
#include "sim/world/draw.h"

/* Seconds since 1970 at which a simulation begins; any that is far from 0. */
#define BEGIN_S 1000000000
/* Half a 95 % interval, in standard deviations. */
#define SURE 1.96

void limits_move(struct sim *s, int job)
{
	const struct work *w = &s->work->job[job];
	struct run *r = &s->run[job];
	double told = s->now - r->start_s, error;
	struct time_limit t;
	bool bounded;

	if (!(w->limit_s > 0) || s->settings->stripe_timelimit != TIMELIMIT_PROGRESS ||
		!r->partners)
		return;
	/* A measured degradation is off by the noise, and its interval is as wide as that. */
	error = s->noise * (draw_normal(s->seed, DRAW_MEASURE, (uint64_t)job, 0) + SURE);
	t = (struct time_limit){
		.now = BEGIN_S + (int64_t)s->now,
		.asked_end = BEGIN_S + (int64_t)ceil(r->start_s + w->limit_s),
		.asked_s = (int64_t)ceil(w->limit_s),
		.end = BEGIN_S + (int64_t)ceil(r->end_s),
		.measured_s = told,
		.lost_s = fmax(r->lost_s + error * r->beside_s, 0),
	};
	r->end_s = (double)(time_limit_end(&t, &bounded) - BEGIN_S);
}

double limits_expected(const struct sim *s, int job)
{
	return fmax(s->run[job].end_s, s->now + 1);
}
