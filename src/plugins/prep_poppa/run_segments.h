/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What running jobs teach the pair history before they have a price. */
#pragma once

#include "settler_context.h"

/* What the records so far of one running job tell that the history does not know yet. */
struct run_segments;

/* NULL: nothing, or the history cannot be read. Takes none of Slurm's locks but the read lock on
 * the configuration, and asks nobody. The run stays the caller's, and must outlive what is
 * returned.
 */
struct run_segments *run_segments_take(
	struct settler *w, const struct run_snapshot *run, const struct client_answer *answer);
void run_segments_free(struct run_segments *s);

/*
 * Enters what they tell into the history, which is written some seconds later. A partner's class is
 * what slurmctld and the history know of it: of one that has ended, and is forgotten or known by
 * its name alone, the run tells when it has its price. Takes the read lock on jobs once, for a
 * short time.
 */
void run_segments_learn(struct settler *w, struct run_segments *const *list, int count);
