/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a settlement to where Slurm counts: job record, fairshare usage, accounting database. */
#pragma once

#include <stdbool.h>

#include "accounting/record/settlement.h"

#include "run_snapshot.h"
#include "usage_journal.h"

struct write_back_order {
	bool change;        /* the price is an administrator's change of an earlier one */
	bool never_written; /* nobody can have written the price before (struct run) */
	bool tell;          /* slurmdbd is told, too */
};

struct write_back_result {
	bool done;
	bool needs_row; /* the run's record is gone: call slurmdbd_rows_read() first */
	bool refunded;  /* the difference was given back, now */
	bool commented; /* slurmdbd is to show the SystemComment, too */
	bool told;      /* slurmdbd was told */
};

/*
 * Writes a price. Where the job's record is still about this run and does not show the price yet:
 * rewrites its billing and SystemComment, and refunds the difference to the associations and QOS
 * that were charged, unless the journal has that refund. A change may also raise a price. Then
 * queues the price for slurmdbd, for the earlier sizes of a resized job, too. The record of a run
 * that is gone, or has been requeued, is left alone, and slurmdbd learns the comment only if no
 * later run has a row there.
 *
 * May be called again, also in a later slurmctld: the refund is made once, and *s becomes what the
 * record shows, unless that is to be changed. Where this slurmctld does not serve (controller.h),
 * does nothing, and done is false.
 *
 * First the refund is made and entered in the journal (usage_journal.h); a kill -9 cannot part the
 * two. Only then the record changes, which may be saved at any moment: a record that shows a price
 * whose refund has no line would keep the next slurmctld from making it. This takes the locks on
 * configuration and partitions (read), jobs (write), then the association manager's on TRES (read).
 * Nothing is waited for under them, and no file is touched. A kill -9 loses the record's change,
 * the refund or both, whatever was not saved yet, and the line tells the next slurmctld which. What
 * slurmdbd is told goes into slurmctld's queue, which a kill may lose: the next slurmctld tells it
 * again.
 */
struct write_back_result write_back(const struct run_snapshot *run, struct settlement *s,
	struct usage_journal *usage, struct write_back_order order);
