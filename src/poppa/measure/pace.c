/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses a job's level from its interval and from what its last blocks were like. */
#include "poppa/measure/pace.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockrate.h"
#include "statistics/statistics.h"

#define BAND_ENOUGH 6   /* blocks that make a band */
#define BAND_SIGMAS 4.0 /* half of the band's width, in standard deviations */
#define BAND_LEAST 0.08 /* half of the band's width, at least */
#define DOUBT 2         /* blocks of alert after one block outside of the band */
#define ALERT 8         /* blocks of alert after a second one */
#define ALERT_LEVELS 2  /* the level is so much lower in an alert */
#define STAY 4          /* blocks at a level before a higher one */
#define SLACK 1.5       /* an interval wider by this factor leads to a lower level */

/* The interval's half width must be below these for the levels 1, 2 and 3. From the last one on
 * more blocks hardly help: all blocks share an error that is as big (estimator_robust.c). */
static const double tight[PACE_MAX_LEVEL] = {0.02, 0.01, 0.007};

static bool leaves(const double *recent, int count, double x)
{
	double v[PACE_RECENT], middle, spread;

	memcpy(v, recent, (size_t)count * sizeof(*v));
	middle = statistics_median(v, count);
	for (int i = 0; i < count; i++)
		v[i] = fabs(recent[i] - middle);
	spread = 1.4826 * statistics_median(v, count);
	return fabs(x - middle) > fmax(BAND_LEAST, BAND_SIGMAS * spread);
}

static bool phase_changed(struct pace *p, double rate, double ratio)
{
	if (p->alert)
		p->alert--;
	if (p->count >= BAND_ENOUGH &&
		(leaves(p->rate, p->count, rate) || leaves(p->ratio, p->count, ratio))) {
		p->outside++;
		if (p->outside == 1) {
			if (p->alert < DOUBT)
				p->alert = DOUBT;
			return false;
		}
		/* The blocks that follow make a new band. */
		p->outside = p->count = p->next = 0;
		p->alert = ALERT;
		return true;
	}
	p->outside = 0;
	p->rate[p->next] = rate;
	p->ratio[p->next] = ratio;
	p->next = (p->next + 1) % PACE_RECENT;
	if (p->count < PACE_RECENT)
		p->count++;
	return false;
}

bool pace_add(struct pace *p, const struct est_block *b, double half_width, uint64_t used,
	uint64_t enough)
{
	double co, solo;
	bool changed = blockrate(b, &co, &solo) && phase_changed(p, log(co), log(solo / co));

	p->since++;
	if (used < enough || isnan(half_width)) {
		p->level = 0;
	} else if (p->level > 0 && half_width > SLACK * tight[p->level - 1]) {
		p->level--;
		p->since = 0;
	} else if (p->level < PACE_MAX_LEVEL && p->since >= STAY && half_width < tight[p->level]) {
		p->level++;
		p->since = 0;
	}
	return changed;
}

int pace_level(const struct pace *p)
{
	int level = p->alert ? p->level - ALERT_LEVELS : p->level;

	return level > 0 ? level : 0;
}
