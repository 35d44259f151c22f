/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps refunds and Slurm's usage in step, however slurmctld ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/settle/decay.h"
#include "accounting/settle/refunds.h"

/*
 * slurmctld has usage in memory, and saves it now and then. A refund is first entered as a line of
 * the journal (poppa_refunds), and then made in memory under the association manager's locks, of
 * which slurmctld holds some while it saves. What a kill -9 leaves at each step:
 * - Before the line: neither. The run is settled again, and the refund is made then.
 * - After the line, before slurmctld saves its usage: the line alone. It names the files that there
 *   were when it was entered; the next start finds these files still, and makes the refund.
 * - After the usage was saved: both. The files are other ones, and nothing is made again.
 * slurmctld saves by itself every five minutes, and that may come between the line and the refund.
 * usage_journal_made() looks for this and has the usage saved again at once; only a kill in that
 * moment leaves a line that claims a refund which the files lack.
 *
 * A file system may stand still, so no file is touched while one of Slurm's locks is held. Only
 * slurmctld itself holds some while it saves, which is begun on a file system that has just taken a
 * file. usage_journal_sync() brings the line to the disk: until then a host that loses power loses
 * it.
 *
 * All times are of CLOCK_MONOTONIC, ms. Belongs to the settler's worker. Lives as long as slurmctld
 * does and not only as long as the plugin, as the usage does.
 */
struct usage_journal {
	struct refunds *refunds;      /* NULL while it is closed */
	struct refunds_base base;     /* what slurmctld's usage in memory began with */
	bool followed;                /* everything that the journal has is in memory, too */
	bool behind;                  /* the journal may not be on the disk yet */
	struct refunds_saved entered; /* the files of when the last refund was entered */
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

/*
 * A refund in three steps: it is entered in the journal, and its parts are cut to what had been
 * charged; it is made; the usage is saved again if it was saved in between. The first and the last
 * wait for the disk: hold none of Slurm's locks. For the second those of fairshare_adjust() are
 * held.
 */
void usage_journal_enter(struct usage_journal *u, struct refund *refund);
void usage_journal_refund(const struct refund *refund, const struct decay *clock);
void usage_journal_made(const struct usage_journal *u);

/* Keeps the line of an earlier refund: the job's record shows the refund from now on, but may not
 * be saved for some minutes. Waits for the disk, without Slurm's locks. */
void usage_journal_keep(struct usage_journal *u, const struct refund *refund);

/* Brings what was entered to the disk. 0, or -1 with err. */
int usage_journal_sync(struct usage_journal *u, struct errmsg *err);

/* Forgets old refunds now and then, but keeps those of the runs that wait. */
bool usage_journal_trim_due(const struct usage_journal *u);
int usage_journal_trim(
	struct usage_journal *u, struct refunds_run *waiting, size_t count, struct errmsg *err);
