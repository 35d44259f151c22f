/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journal of what was given back in Slurm's usage, beside the files in which Slurm saves that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounting/record/settlement.h"
#include "common/errmsg.h"

/*
 * slurmctld keeps usage in memory and saves it now and then. Killed, it goes on with what the files
 * have: a refund is in there if they were written after it. No clock tells that for sure, but which
 * files there were does. Nothing is saved while a refund is made, so it is in any file but the one
 * that was there then.
 */

#define REFUNDS_FILE "poppa_refunds"

/* One saved file, as the file system tells files apart: a number that the next one cannot have
 * while this one is kept as .old, and that a later one has with another time. All 0: there is none.
 */
struct refunds_file {
	uint64_t inode;
	int64_t mtime_ns, size;
};

/* Slurm's files of one moment. */
struct refunds_saved {
	struct refunds_file assoc, qos, jobs;
};

/* A charge for a size of a run that is taken for another: what fairshare_adjust() needs. */
struct refund_part {
	uint32_t assoc_id, qos_id;
	char partition[256];
	int64_t start_unix, end_unix;
	double billable;     /* what fair-share charges a second for `raw` */
	double usage_factor; /* of its QOS, as it was charged; NAN = not known */
	uint32_t parent_id;  /* the association above it then; 0 = not known */
	int64_t part_qos;    /* the partition's QOS then; 0 = it had none, -1 = not known */
	uint64_t raw, before, after;
};

struct refund {
	uint32_t job_id, restart;
	int64_t start_unix; /* of the run */
	bool change;        /* of a price that an administrator has changed */
	int part_count;     /* the last size comes first */
	struct refund_part part[SETTLEMENT_MAX_SIZES + 1];
};

/* A run as the journal knows it. */
struct refunds_run {
	uint32_t job_id;
	int64_t start_unix;
};

/* Not thread-safe. */
struct refunds;

/*
 * Opens the journal in a folder, which must exist. now_ms: of a monotonic clock. A last line
 * without an end is ignored (common/journal.h): nothing was saved after it. NULL with err where the
 * journal cannot be read or written. It is kept open; refunds_close() takes NULL, too.
 */
struct refunds *refunds_open(const char *folder, int64_t now_ms, struct errmsg *err);
void refunds_close(struct refunds *r);

/* Whether the journal has everything that was refunded lately: its file was there when it was
 * opened, and all lines could be read. */
bool refunds_whole(const struct refunds *r);

/* How many lines of the file cannot be read. They stay in it; when it is written anew, what it was
 * is kept as poppa_refunds.damaged. */
int refunds_damaged(const struct refunds *r);

/* Which files there are now. Waits for nothing but the file system's answer for three names. */
void refunds_look(const struct refunds *r, struct refunds_saved *saved);

/* Whether the run was refunded, and then what it, or its last size, is charged in the usage. */
bool refunds_charged(const struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix,
	uint64_t *charged);

/* Keeps the run's entries for some more minutes: slurmctld's record shows the refund only now, and
 * may not be saved yet. */
void refunds_keep(
	struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix, int64_t now_ms);

/*
 * Enters a refund. To be called while the usage is changed and locked, so that nobody saves it in
 * between; `saved` are the files of the same moment. One write, which waits for no disk. -1 with
 * err where the file did not take it: then it is known to this process only.
 */
int refunds_enter(struct refunds *r, const struct refund *refund, const struct refunds_saved *saved,
	int64_t now_ms, struct errmsg *err);

/* Brings what was entered to the disk. 0, or -1 with err. */
int refunds_sync(struct refunds *r, struct errmsg *err);

/* What slurmctld began with when it loaded its usage, seconds since 1970. */
struct refunds_base {
	int64_t saved_unix;   /* when that was saved; 0 = unknown */
	int64_t charged_unix; /* until when running jobs had been charged by then */
	int64_t loaded_unix;  /* it was loaded later than this */
};

/* When Slurm saved the usage of associations, from the file's head; 0 = there is no such file. */
int64_t refunds_saved_unix(const struct refunds *r);

/*
 * Until when a run's charge is in the usage. Slurm charges the last part of a run as it ends;
 * killed before it has saved that, it has forgotten that charge and does not make it again, and
 * what is not there cannot be given back. end_unix: of the run, or of one of its sizes.
 */
int64_t refunds_charged_until(const struct refunds_base *base, int64_t end_unix);

/* Called for a refund that is lost: in the usage of associations, of QOS, or both. */
typedef void (*refunds_fn)(const struct refund *refund, bool assoc, bool qos, void *arg);

/*
 * Finds the refunds that are not in the files which slurmctld has loaded its usage from. Making
 * them again changes nothing here: as long as those files are there, they are lost at each start.
 * Returns how many.
 */
int refunds_lost(struct refunds *r, const struct refunds_saved *loaded, refunds_fn fn, void *arg);

/*
 * Forgets, and leaves out of the file, what all of Slurm's files have by now, has been here for
 * some minutes (a day, if it was a change) and is of none of these runs, which may be asked for
 * again; their order changes.
 * Writes the file anew only when that is at least half of it. 0, or -1 with err: try again later.
 */
int refunds_trim(struct refunds *r, int64_t now_ms, struct refunds_run *run, size_t count,
	struct errmsg *err);
