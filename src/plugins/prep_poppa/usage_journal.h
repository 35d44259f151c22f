/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps refunds and Slurm's usage in step, however slurmctld ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/settle/decay.h"
#include "accounting/settle/refunds.h"

/*
 * slurmctld has usage in memory, and saves it now and then. A refund changes it there and enters a
 * line in the journal (poppa_refunds), both under the association manager's locks, so that nobody
 * saves the one without the other. What a kill -9 leaves at each step:
 * - Before the line: neither. The run is settled again, and the refund is made then.
 * - After the line, before slurmctld saves its usage: the line alone. It names the files that there
 *   were when it was entered; the next start finds these files still, and makes the refund again.
 * - After the usage was saved: both. The files are other ones, and nothing is made again.
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

/*
 * Makes a refund, and enters it in the journal; cuts its parts to what had been charged. The locks
 * of fairshare_adjust() are held. It asks for the names of Slurm's files under them: call
 * usage_journal_prefetch() before, without locks, so that a slow file system keeps nobody waiting.
 */
void usage_journal_refund(
	struct usage_journal *u, struct refund *refund, const struct decay *clock);
void usage_journal_prefetch(const struct usage_journal *u);

/* Keeps the line of an earlier refund. Slurm's lock on jobs is held. The job's record shows the
 * refund from then on, but may not be saved for some minutes. */
void usage_journal_keep(struct usage_journal *u, const struct refund *refund);

/* Brings what was entered to the disk. 0, or -1 with err. */
int usage_journal_sync(struct usage_journal *u, struct errmsg *err);

/* Forgets old refunds now and then, but keeps those of the runs that wait. */
bool usage_journal_trim_due(const struct usage_journal *u);
int usage_journal_trim(
	struct usage_journal *u, struct refunds_run *waiting, size_t count, struct errmsg *err);
