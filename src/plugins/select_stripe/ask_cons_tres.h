/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks Slurm's own plugin whether a job can have some nodes or lanes. */
#pragma once

#include "plugins/select_stripe/candidates.h"

/*
 * Asks for a co-located job on the first `count` of the list, plus the nodes that it requires; it
 * must get all of the first `require`. On success the chosen nodes are in ask->nodes.
 */
int ask_cons_tres_lanes(struct ask *ask, const struct candidates *list, int count, int require,
	bool now_only, bool preempt);

/*
 * Asks for the job on all cores of these nodes, on at least `least` of them (0: as many as the job
 * says). On success the chosen ones are in nodes.
 */
int ask_cons_tres_nodes(struct ask *ask, bitstr_t *nodes, uint32_t least);

/* Adds the jobs on the chosen nodes that may not stay beside this job to those to be preempted. */
void ask_cons_tres_preempt_rest(struct ask *ask, bool colocated);
