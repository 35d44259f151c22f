/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to Slurm's own plugin about a job on some nodes or lanes. */
#ifndef POPPA_PLUGINS_SELECT_STRIPE_INNER_QUERY_H
#define POPPA_PLUGINS_SELECT_STRIPE_INNER_QUERY_H

#include "plugins/select_stripe/candidates.h"

/*
 * Asks for a co-located job on the first `count` of the list, plus the nodes that it requires;
 * `require` of them (from the first on) must all be taken. On success the chosen nodes are in
 * ask->nodes.
 */
int question_lanes(struct ask *ask, const struct candidates *list, int count, int require,
	bool now_only, bool preempt);

/*
 * Asks for the job on all cores of these nodes, on at least so many of them (0: as it says). On
 * success the chosen ones are in nodes.
 */
int question_nodes(struct ask *ask, bitstr_t *nodes, uint32_t least);

/* Jobs on the chosen nodes that could not stay beside this one are to be preempted too. */
void question_preempt_rest(struct ask *ask, bool colocated);

#endif
