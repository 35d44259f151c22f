/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a job tries lanes of which the history knows little. */
#pragma once

#include <stdbool.h>

#include "striping/partners/exploration.h"
#include "striping/partners/lane_yield.h"

/*
 * What is expected of a pair that has never met may be wrong, and where nobody shares with a class
 * because of that, nothing is ever learned of it. So now and then a job is placed by draws in place
 * of means (Thompson, Biometrika 25, 1933): a pair is tried as often as it may well be the best
 * one, and a pair that is known is not affected.
 *
 * An exploratory start is a placement that the draws make and the means would not. It is made only
 * where
 * - by the draws all bounds of the wish hold, and the lanes bring enough;
 * - by the means nobody there is expected to be slower than whole nodes by more than twice what the
 *   wish allows; draws are no further from the mean than the 90 % interval, so no number of draws
 *   has a job explore what is almost certainly bad;
 * - the lane time of all whom it can slow down is no more than what is saved.
 */

/* What an exploratory start costs: the lanes of the job and all lanes of its partners, as these
 * wait for their slowest node; and how long they are together at most, s. No lanes: it is none. */
struct exploratory_start {
	double lanes, seconds;
};

/*
 * Orders offers for an exploratory start, if there is one to make. offer: in the order of
 * lane_yield_order() for this wish, with their yields and their overlap_s, and ids from 0 to count
 * - 1; wish->drawn says what was drawn. waits: by the means the job takes none of them. spare:
 * there are enough empty nodes for the job.
 *
 * Returns true where there is one: those that the job is to take are in front then, and those that
 * it explores are marked. Else the offers are as they were; so they are without memory.
 */
bool exploratory_start_order(const struct outlook *o, const struct lane_wish *wish,
	const struct exploration *account, bool waits, bool spare, struct lane_offer *offer,
	int count, struct exploratory_start *out);
