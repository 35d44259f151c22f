/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps refunds and Slurm's usage in step, however slurmctld ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/settle/decay.h"
#include "accounting/settle/refunds.h"

/*
 * slurmctld has usage in memory. Every five minutes, and when it is reconfigured, it saves that: it
 * takes the association manager's read locks and the one on files, writes all files, and unlocks
 * (dump_assoc_mgr_state(), 22.05 to 26.05). So a save has a refund wholly or not at all. A refund:
 * 1. All locks of fairshare_adjust() and the one on files are taken: no save is under way.
 * 2. The refund is made in memory.
 * 3. All locks but the one on files are given back. slurmctld goes on; no save can begin.
 * 4. The refund is entered in the journal (poppa_refunds), as a line with a mark of which files
 *    there are. They are those from before 1., which lack the refund.
 * 5. The lock on files is given back. Every later save has the refund, and makes other files.
 * The job's record shows the price after that. What a kill -9 leaves:
 * - From 1. until the line is whole: neither line, nor refund in the files, nor record. The run is
 *   settled again, and the refund is made then. A part of a line is none (common/journal.h).
 * - After that, before slurmctld has saved its usage: the line, and the files that it names. The
 *   next start makes the refund.
 * - After a save: the line and other files. Nothing is made again. The two files of a save are
 *   judged by themselves.
 * Whichever slurmctld saves next, here or on another host, finds the same on the disk. Where the
 * line cannot be written, the log says what a kill would do.
 *
 * A file system may stand still, so none of the locks for which slurmctld's other threads wait is
 * held while a file is touched. The one on files delays only a save, which would itself stand still
 * on that file system, holding the same locks. It is never waited for: step 1. has all locks that
 * come before it, which a save holds for as long as that one. And nothing is locked in 4.
 * usage_journal_sync() brings the line to the disk: until then a host that loses power loses it.
 *
 * All times are of CLOCK_MONOTONIC, ms. Belongs to the settler's worker. Lives as long as slurmctld
 * does and not only as long as the plugin, as the usage does.
 */
struct usage_journal {
	struct refunds *refunds;  /* NULL while it is closed */
	struct refunds_base base; /* what slurmctld's usage in memory began with */
	bool followed;            /* everything that the journal has is in memory, too */
	bool behind;              /* the journal may not be on the disk yet */
	int64_t saved_ms; /* the usage was last saved here after this time; 0 = not since loaded */
	int64_t next_ms;  /* when it may be saved here again */
	int64_t trim_ms;  /* when old lines are forgotten next */
};

/*
 * Opens the journal, and makes the refunds again that slurmctld had not saved when it was ended
 * last: once for each time that it has loaded its usage. Takes all locks of fairshare_adjust(). 0,
 * or -1 with err: nothing may be refunded yet; err is empty where slurmctld is not in charge.
 */
int usage_journal_follow(struct usage_journal *u, struct errmsg *err);

/* Another slurmctld is in charge: before this one is, it will load its usage anew. */
void usage_journal_forget(struct usage_journal *u);
void usage_journal_close(struct usage_journal *u);

/*
 * Whether the usage was saved after that time, and with it all that was charged until then: a run's
 * refund may be made. Otherwise has slurmctld save it, unless it did not long ago; then, and where
 * it cannot be saved (err), *due_ms is when to ask again. Waits for the disk; slurmctld takes its
 * own locks for that, so hold none.
 */
bool usage_journal_has_saved(
	struct usage_journal *u, int64_t since_ms, int64_t *due_ms, struct errmsg *err);

/* Cuts a refund's parts to what had been charged, makes it, and enters it in the journal. Waits for
 * the disk: hold none of Slurm's locks. */
void usage_journal_refund(
	struct usage_journal *u, struct refund *refund, const struct decay *clock);

/* Keeps the line of an earlier refund: the job's record shows the refund from now on, but may not
 * be saved for some minutes. Waits for the disk, without Slurm's locks. */
void usage_journal_keep(struct usage_journal *u, const struct refund *refund);

/* Brings what was entered to the disk. 0, or -1 with err. */
int usage_journal_sync(struct usage_journal *u, struct errmsg *err);

/* Forgets old refunds now and then, but keeps those of the runs that wait. */
bool usage_journal_trim_due(const struct usage_journal *u);
int usage_journal_trim(
	struct usage_journal *u, struct refunds_run *waiting, size_t count, struct errmsg *err);
