/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps refunds and Slurm's usage in step, whenever slurmctld is ended. */
#ifndef POPPA_PLUGINS_PREP_USAGE_JOURNAL_H
#define POPPA_PLUGINS_PREP_USAGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "accounting/settle/decay.h"
#include "accounting/settle/refunds.h"

/* What is known of the usage that slurmctld has in memory. All times are of CLOCK_MONOTONIC. Lives
 * as long as slurmctld does, not only as long as the plugin. */
struct usage {
	struct refunds *journal; /* NULL while it is closed */
	struct refunds_base base;
	bool followed;    /* everything that the journal has is in memory, too */
	bool behind;      /* the journal may not be on the disk yet */
	int64_t saved_ms; /* when it was saved here last; 0 = not since it was loaded */
	int64_t next_ms, trim_ms;
};

/*
 * Opens the journal, and makes the refunds again that slurmctld had not saved when it was ended
 * last: once for each time that it has loaded its usage. Takes Slurm's locks. 0, or -1 with err:
 * nothing may be refunded yet; err is empty where slurmctld is not in charge.
 */
int usage_follow(struct usage *u, struct errmsg *err);

/* Another slurmctld is in charge: before this one is, it will load its usage anew. */
void usage_forget(struct usage *u);
void usage_close(struct usage *u);

/*
 * Whether the usage was saved after that time, and with it all that was charged until then: a run's
 * refund may be made. Otherwise has slurmctld save it, unless it did not long ago; then, and where
 * it cannot be saved (err), *due_ms is when to ask again.
 */
bool usage_has_saved(struct usage *u, int64_t since_ms, int64_t *due_ms, struct errmsg *err);

/*
 * Makes a refund, and enters it in the journal; cuts its parts to what had been charged. Locks:
 * fairshare_adjust(). usage_look() before they are taken keeps it from waiting for a file system.
 */
void usage_refund(struct usage *u, struct refund *refund, const struct decay *clock);
void usage_look(const struct usage *u);

/* Keeps one that was entered before the job's record shows it. Locks: at least those on jobs. */
void usage_keep(struct usage *u, const struct refund *refund);

/* Brings what was entered to the disk: a kill cannot undo it, a host that loses power can. */
int usage_sync(struct usage *u, struct errmsg *err);

/* Forgets old refunds, now and then; those of runs that wait may be asked for again. */
bool usage_trim_due(const struct usage *u);
int usage_trim(struct usage *u, struct refunds_run *waiting, size_t count, struct errmsg *err);

#endif
