/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From when on a job can have enough nodes together, where stripe_match limits its partners. */
#pragma once

#include "striping/partners/node_choice.h"

/* A time during which a node has a lane for the job, beside the same partners. */
struct vacancy {
	struct candidate
		c;    /* c.when is when it begins; of the rest only shared, group, named count */
	time_t until; /* its end; 0 = it has none */
};

/*
 * Finds the moments from which the job could run: those at which more nodes come to a group that
 * node_choice_serves() accepts, and, from the time `alone` on, those at which enough nodes without
 * partners are free. start[0..max) (max >= 1): out, the earliest moments in ascending order; where
 * there are more than max, the last entry is the last moment of all. Returns how many entries are
 * filled, or -1 with ENOMEM. Sorts v.
 */
int partner_times_starts(const struct poppa_settings *s, struct vacancy *v, int count, int need,
	int want, time_t alone, time_t *start, int max);
