/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a settlement to where Slurm counts: job record, fairshare usage, accounting database. */
#ifndef POPPA_PREP_WRITE_BACK_H
#define POPPA_PREP_WRITE_BACK_H

#include <stdbool.h>

#include "accounting/settlement.h"

#include "facts.h"
#include "usage.h"

/* Tag of the part of SystemComment that shows a settlement (common/tags.h). */
#define SETTLED_TAG "poppa"

/*
 * Whether this slurmctld is in charge, with its state read, and not about to end. Otherwise nothing
 * below does anything. While it starts it has a list of jobs before it has their hash table, and to
 * look a job up then ends it; it saves its state only after that.
 */
bool write_back_possible(void);

struct write_back_result {
	bool done;
	bool needs_row; /* the run's record is gone: call write_back_read_row() first */
	bool refunded;  /* the difference was given back, now */
	bool commented; /* slurmdbd was told the SystemComment, too */
	bool told;      /* that is, it was told */
};

/*
 * Between these two a shutdown waits, and then it saves its state and closes the connection to
 * slurmdbd: it saves nothing while anybody holds its locks. False, and nothing to end: it is not
 * possible any more.
 */
bool write_back_begin(void);
void write_back_end(void);

/*
 * Under Slurm's locks, all at once: if the job's record is still about this run and not yet
 * settled, rewrites its billing and SystemComment, and refunds the difference to the associations
 * and QOS that were charged, unless the journal has that or the record shows it. Then queues the
 * same for slurmdbd, for the earlier sizes of a resized job, too. Safe to call again, also in a
 * later slurmctld: the refund is made once, and *s becomes what the record shows. The record of a
 * run that is gone, or has been requeued, is left alone, and slurmdbd learns the comment only if no
 * later run has a row there. first: the price is new; where the journal cannot tell, the refund of
 * a run without a record is made only then. tell: slurmdbd is told, too.
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

/*
 * The facts of a settled run: from its job record, or else from slurmdbd, which may take long. 1
 * and *f, to be freed with facts_free(), 0 nobody knows the run, -1 they cannot be asked now.
 */
int write_back_facts(const struct settlement *s, struct facts **f);

/* How much slurmctld has for slurmdbd that it has yet to tell, or -1: that is not known. With 0 it
 * lacks for good what it lacks. */
int write_back_queue(void);

/*
 * Takes the state and the end of a run from slurmdbd, which may take long: 1, or 0 it does not know
 * the run, or its end, -1 it cannot be asked. all_told: that was so before, and so a row that lacks
 * the end gets the one that the facts have.
 */
int write_back_read_row(struct facts *f, bool all_told);

/*
 * Takes the earlier sizes of a resized run from slurmdbd, which may take long: 1, or 0 it does not
 * know all of them (yet) or they are more than SETTLEMENT_MAX_SIZES, -1 it cannot be asked. What it
 * says of their billing is raw only while the run has no price.
 */
int write_back_read_sizes(struct facts *f);

/*
 * Asks slurmdbd, which may take long: 1 the price (and the comment, if commented) is in the
 * database, 0 not, -1 it cannot be asked.
 */
int write_back_check(const struct facts *f, const struct settlement *s, bool commented);

#endif
