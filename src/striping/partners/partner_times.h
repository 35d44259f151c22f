/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When enough nodes are to be had together by a job whose partners stripe_match chooses. */
#ifndef POPPA_STRIPING_PARTNERS_PARTNER_TIMES_H
#define POPPA_STRIPING_PARTNERS_PARTNER_TIMES_H

#include "striping/partners/node_choice.h"

/* A node has a lane for the job, beside the same partners, from one time on and until another. */
struct vacancy {
	struct candidate c; /* c.when: from; of the rest, shared, group and named count */
	time_t until;       /* 0 = for good */
};

/*
 * The moments at which sets of nodes are to be had by choice_serves(): groups of just those
 * partners, alone or with empty nodes, and, from the time `alone` on, empty nodes without a
 * partner. start[0..max) (max >= 1): out, the earliest ones in ascending order, the last one of all
 * in place of the last where there are more. Returns how many, or -1 with ENOMEM. Sorts v.
 */
int vacancy_starts(const struct poppa_settings *s, struct vacancy *v, int count, int need, int want,
	time_t alone, time_t *start, int max);

#endif
