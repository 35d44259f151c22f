/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what slurmdbd has of a run: its rows there, and whether they show its price. */
#ifndef POPPA_PLUGINS_PREP_SLURMDBD_ROWS_H
#define POPPA_PLUGINS_PREP_SLURMDBD_ROWS_H

#include <stdbool.h>

#include "accounting/record/settlement.h"

#include "run_snapshot.h"

/*
 * The condition that selects this job in slurmdbd, to be released; its lists hold what the caller
 * owns.
 */
void rows_select(const struct facts *f, slurm_selected_step_t *step, slurmdb_job_cond_t *condition);
void rows_release(slurmdb_job_cond_t *condition);

/*
 * The facts of a settled run: from its job record, or else from slurmdbd, which may take long. 1
 * and *f, to be freed with facts_free(), 0 nobody knows the run, -1 they cannot be asked now.
 */
int rows_facts(const struct settlement *s, struct facts **f);

/* How much slurmctld has for slurmdbd that it has yet to tell, or -1: that is not known. With 0 it
 * lacks for good what it lacks. */
int rows_queue(void);

/*
 * Takes the state and the end of a run from slurmdbd, which may take long: 1, or 0 it does not know
 * the run, or its end, -1 it cannot be asked. all_told: that was so before, and so a row that lacks
 * the end gets the one that the facts have.
 */
int rows_read(struct facts *f, bool all_told);

/*
 * Takes the earlier sizes of a resized run from slurmdbd, which may take long: 1, or 0 it does not
 * know all of them (yet) or they are more than SETTLEMENT_MAX_SIZES, -1 it cannot be asked. What it
 * says of their billing is raw only while the run has no price.
 */
int rows_read_sizes(struct facts *f);

/*
 * Asks slurmdbd, which may take long: 1 the price (and the comment, if commented) is in the
 * database, 0 not, -1 it cannot be asked.
 */
int rows_check(const struct facts *f, const struct settlement *s, bool commented);

#endif
