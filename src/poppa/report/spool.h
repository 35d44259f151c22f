/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must outlive poppad: checkpoints of running jobs and records the ledger has not acked. */
#ifndef POPPA_REPORT_SPOOL_H
#define POPPA_REPORT_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "common/errmsg.h"

struct spool {
	char state_dir[PATH_MAX];  /* checkpoints: JOBID.RESTART */
	char record_dir[PATH_MAX]; /* final records not yet acked: JOBID.RESTART[.START] */
	char sent_dir[PATH_MAX];   /* those that were acked, for a ledger that is lost one day */
	char ledger[PATH_MAX];     /* the identity of the ledger that acked them */
	_Atomic int keep_days;     /* for how long they are kept; 0, as opened: not at all */
};

/* Makes dir/state, dir/records and dir/sent (0700), and removes checkpoints that a kill left half
 * written. 0, or -1 with err. */
int spool_open(struct spool *s, const char *dir, struct errmsg *err);

/* Replaces the checkpoint; not synced to disk each time: at worst the last one is lost. */
int spool_checkpoint(const struct spool *s, uint32_t job_id, uint32_t restart, const json_t *state,
	struct errmsg *err);
/* New reference, or NULL with err; errno ENOENT where there is none. */
json_t *spool_restore(const struct spool *s, uint32_t job_id, uint32_t restart, struct errmsg *err);
void spool_forget(const struct spool *s, uint32_t job_id, uint32_t restart);

/* Calls fn for every checkpoint there is. */
typedef void (*spool_fn)(uint32_t job_id, uint32_t restart, void *arg);
void spool_each(const struct spool *s, spool_fn fn, void *arg);

/* Stores a record durably: on return it survives a power cut. It replaces an earlier one of the
 * same run, and stands beside one of another run with the same id. 0, or -1 with err. */
int spool_record(const struct spool *s, const struct ledger_record *r, struct errmsg *err);

/* What lies in the spool: final records to be sent, and those kept aside for people to look at. */
struct spool_counts {
	int records, refused, bad;
};

/* Counts by the files' names. */
void spool_count(const struct spool *s, struct spool_counts *out);

/*
 * Reads at most max stored records, those of the lowest job ids first. A file that is no record is
 * renamed to NAME.bad and logged, so that it is neither lost nor in the way. Returns how many, or
 * -1 with err.
 */
int spool_records(const struct spool *s, struct ledger_record *r, int max, struct errmsg *err);

/* Drops a record that was acked, or keeps it among those that were sent, unless the one in the
 * spool is newer by now. 0, or -1 with errno where it cannot be taken out. */
int spool_acked(const struct spool *s, const struct ledger_record *r);

/*
 * Notes which ledger acks records. Where it is not the one that did before, everything that was
 * sent and is still kept goes back into the spool: the number of records, or -1 with err.
 */
int spool_know_ledger(const struct spool *s, const char *id, struct errmsg *err);

/* Removes what was sent more than keep_days ago. */
void spool_expire(const struct spool *s);

/* Keeps a record that the ledger refused, out of the way, as NAME.refused. 0, or -1 with errno. */
int spool_refused(const struct spool *s, const struct ledger_record *r);

#endif
