/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a settlement to where Slurm counts: job record, fairshare usage, accounting database. */
#ifndef POPPA_PLUGINS_PREP_WRITE_BACK_H
#define POPPA_PLUGINS_PREP_WRITE_BACK_H

#include <stdbool.h>

#include "accounting/record/settlement.h"

#include "run_snapshot.h"
#include "usage_journal.h"

struct write_back_result {
	bool done;
	bool needs_row; /* the run's record is gone: call rows_read() first */
	bool refunded;  /* the difference was given back, now */
	bool commented; /* slurmdbd was told the SystemComment, too */
	bool told;      /* that is, it was told */
};

/*
 * Under Slurm's locks, all at once: if the job's record is still about this run and not yet
 * settled, rewrites its billing and SystemComment, and refunds the difference to the associations
 * and QOS that were charged, unless the journal has that or the record shows it. Then queues the
 * same for slurmdbd, for the earlier sizes of a resized job, too. Safe to call again, also in a
 * later slurmctld: the refund is made once, and *s becomes what the record shows. The record of a
 * run that is gone, or has been requeued, is left alone, and slurmdbd learns the comment only if no
 * later run has a row there. first: the price is new; where the journal cannot tell, the refund of
 * a run without a record is made only then. tell: slurmdbd is told, too. Does nothing, and says
 * so, where this slurmctld does not serve (serving.h).
 */
struct write_back_result write_back(
	const struct facts *f, struct settlement *s, struct usage *usage, bool first, bool tell);

/*
 * Writes a price that an administrator has changed, in the same way: billing and SystemComment of
 * the record, if it is still about this run, or else of slurmdbd's row, and the difference between
 * what was charged before and is now to the associations and QOS, whichever sign it has.
 */
struct write_back_result write_back_change(const struct facts *f, const struct settlement *s,
	struct usage *usage, bool first, bool tell);

#endif
