/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to stop a job: by what suits its tasks, or frozen as a whole with its launchers. */
#include "poppa/measure/hold_way.h"

#define PATIENCE_GROWS 4
#define PATIENCE_MOST (HOLD_WAY_MANY * PATIENCE_GROWS * PATIENCE_GROWS * PATIENCE_GROWS)

static void turn(struct hold_way *w, bool whole)
{
	w->whole = whole;
	w->shutters = w->spoilt = 0;
}

bool hold_way_may_freeze(const struct hold_way *w)
{
	return !w->whole && w->patience <= HOLD_WAY_MANY;
}

void hold_way_freeze(struct hold_way *w)
{
	if (hold_way_may_freeze(w))
		turn(w, true);
}

void hold_way_shutter(struct hold_way *w, bool whole, bool spoilt)
{
	if (whole != w->whole)
		return;
	if (!w->patience)
		w->patience = HOLD_WAY_MANY;
	w->spoilt += spoilt;
	if (!whole) {
		if (w->spoilt >= w->patience)
			turn(w, true);
	} else if (++w->shutters == HOLD_WAY_JUDGED) {
		bool helps = 2 * w->spoilt <= HOLD_WAY_JUDGED;

		if (!helps && w->patience < PATIENCE_MOST)
			w->patience *= PATIENCE_GROWS;
		if (helps && w->patience > HOLD_WAY_MANY)
			w->patience /= PATIENCE_GROWS;
		turn(w, helps);
	}
}
