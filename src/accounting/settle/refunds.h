/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journal of refunds in Slurm's usage, in the folder in which Slurm saves the usage. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounting/record/settlement.h"
#include "common/errmsg.h"

/*
 * slurmctld keeps usage in memory and saves it now and then. After a crash it goes on with what the
 * files have. A file has a refund if it was written after the refund, which no clock shows for
 * sure. So the journal notes which files there are when a refund was made and before the usage can
 * be saved with it: every other file has it.
 */

#define REFUNDS_FILE "poppa_refunds"

/* One saved file, as the file system tells files apart. The next file cannot have the same inode
 * while this one is kept as .old; a later file with this inode has another time. All 0: no file. */
struct refunds_file {
	uint64_t inode;
	int64_t mtime_ns, size;
};

/* The files that Slurm had saved at one moment. */
struct refunds_saved {
	struct refunds_file assoc, qos, jobs;
};

/* One size of a run gets another charge: what fairshare_adjust() needs. */
struct refund_part {
	uint32_t assoc_id, qos_id;
	char partition[256];
	int64_t start_unix, end_unix;
	double billable;     /* what fair-share charges for `raw` per second */
	double usage_factor; /* of its QOS when it was charged; NAN = not known */
	uint32_t parent_id;  /* the association above it then; 0 = not known */
	int64_t part_qos;    /* the partition's QOS then; 0 = it had none, -1 = not known */
	uint64_t raw, before, after;
};

struct refund {
	uint32_t job_id, restart;
	int64_t start_unix; /* of the run */
	bool change;        /* an administrator has changed the price */
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
 * Opens the journal in a folder that exists. now_ms is of a monotonic clock. A last line without an
 * end is ignored (common/journal.h): nothing was saved after it. NULL with err where the journal
 * cannot be read or written. refunds_close() takes NULL, too.
 */
struct refunds *refunds_open(const char *folder, int64_t now_ms, struct errmsg *err);
void refunds_close(struct refunds *r);

/* Whether the journal has all late refunds: its file was there when it was opened, and every line
 * could be read. */
bool refunds_whole(const struct refunds *r);

/* How many lines of the file cannot be read. They stay in it; when the file is written anew, the
 * old one is kept as poppa_refunds.damaged. */
int refunds_damaged(const struct refunds *r);

/* Which files there are now. Waits for the file system, as all but refunds_charged() do. */
void refunds_look(const struct refunds *r, struct refunds_saved *saved);

/* Whether both are the same files of usage. */
bool refunds_same_usage(const struct refunds_saved *a, const struct refunds_saved *b);

/* Waits until the folder has taken a file, which is removed again. 0, or -1 with err. */
int refunds_probe(const struct refunds *r, struct errmsg *err);

/* Whether the run was refunded; if so, *charged is what the usage has for it or its last size. */
bool refunds_charged(const struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix,
	uint64_t *charged);

/* Keeps the run's entries some minutes longer: slurmctld's record of the job shows the refund only
 * from now on, and may not be saved yet. */
void refunds_keep(
	struct refunds *r, uint32_t job_id, uint32_t restart, int64_t start_unix, int64_t now_ms);

/*
 * Enters a refund with one write, which is not synced yet. The refund was made, and the usage is
 * not saved before this returns; `saved` are the files of now. Returns 0, or -1 with err where the
 * file did not take it: then only this process knows of it.
 */
int refunds_enter(struct refunds *r, const struct refund *refund, const struct refunds_saved *saved,
	int64_t now_ms, struct errmsg *err);

/* Brings what was entered to the disk. 0, or -1 with err. */
int refunds_sync(struct refunds *r, struct errmsg *err);

/* What slurmctld began with when it loaded its usage, seconds since 1970. */
struct refunds_base {
	int64_t saved_unix;   /* when that was saved; 0 = unknown */
	int64_t charged_unix; /* until when running jobs had been charged in it */
	int64_t loaded_unix;  /* a time before it was loaded */
};

/* When Slurm saved the usage of associations, from the file's head; 0 = there is no file. */
int64_t refunds_saved_unix(const struct refunds *r);

/*
 * Until when the usage has a run's charge. Slurm charges the last part of a run when it ends. If it
 * is killed before it has saved that charge, it does not make the charge again, and a charge that
 * is not there cannot be given back. end_unix: of the run, or of one of its sizes.
 */
int64_t refunds_charged_until(const struct refunds_base *base, int64_t end_unix);

/* Called for a refund that is lost: from the usage of associations, of QOS, or both. */
typedef void (*refunds_fn)(const struct refund *refund, bool assoc, bool qos, void *arg);

/*
 * Finds the refunds that are missing in the files from which slurmctld has loaded its usage, and
 * returns how many. The entries stay even when the caller makes the refunds again: as long as those
 * files are there, each start of slurmctld loses them.
 */
int refunds_lost(struct refunds *r, const struct refunds_saved *loaded, refunds_fn fn, void *arg);

/*
 * Forgets the entries that all of Slurm's files have by now, that are some minutes old (a day for a
 * change), and that are of none of these runs, which may be asked for again; it sorts run[]. It
 * writes the file anew, and only when such entries are at least half of it. 0, or -1 with err: try
 * again later.
 */
int refunds_trim(struct refunds *r, int64_t now_ms, struct refunds_run *run, size_t count,
	struct errmsg *err);
