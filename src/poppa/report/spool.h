/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must outlive poppad: checkpoints of running jobs, and records that the ledger has not got.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "common/errmsg.h"

/*
 * The spool's folders, and what a crash leaves in them. poppad's main thread writes checkpoints and
 * final records; the sender's thread alone takes records out. Every write is a new file and a
 * rename, so a file is always whole.
 *
 * A final record is on disk before the job's checkpoint is removed. After a crash between the two
 * there are both: the next start makes the record again, and it replaces the first one. A record
 * leaves record_dir only when the ledger has answered for it. After a crash between the answer and
 * that, it is sent again, which changes nothing in the ledger.
 */
struct spool {
	/* Checkpoints of the jobs that are here: JOBID.RESTART. They are not synced: after a power
	 * cut one may be older than the last. A kill within a write leaves JOBID.RESTART.XXXXXX. */
	char state_dir[PATH_MAX];
	/* Final records that the ledger has not acknowledged: JOBID.RESTART.START. They are synced.
	 * NAME.refused and NAME.bad lie beside them for people to look at. */
	char record_dir[PATH_MAX];
	/* Records that the ledger has acknowledged, under the same names: a ledger that was lost
	 * gets them again. */
	char sent_dir[PATH_MAX];
	char ledger[PATH_MAX]; /* a file: the identity of the ledger that acknowledged them */
	_Atomic int keep_days; /* how long they are kept; 0 (as opened): not at all */
};

/* Makes dir/state, dir/records and dir/sent (mode 0700), and removes checkpoints that a kill left
 * half written. 0, or -1 with err. */
int spool_open(struct spool *s, const char *dir, struct errmsg *err);

/* Replaces the job's checkpoint, without a sync. 0, or -1 with err: the last one then stays. */
int spool_checkpoint(const struct spool *s, uint32_t job_id, uint32_t restart, const json_t *state,
	struct errmsg *err);
/* A new reference, or NULL with err and errno: ENOENT where there is none, EINVAL where it is no
 * JSON. */
json_t *spool_restore(const struct spool *s, uint32_t job_id, uint32_t restart, struct errmsg *err);
void spool_forget(const struct spool *s, uint32_t job_id, uint32_t restart);

/* Calls fn for every checkpoint there is. */
typedef void (*spool_fn)(uint32_t job_id, uint32_t restart, void *arg);
void spool_each(const struct spool *s, spool_fn fn, void *arg);

/* Stores a final record: when this returns 0, it survives a power cut. It replaces an earlier
 * record of the same run; one of another run with the same job id stays beside it. -1 with err. */
int spool_record(const struct spool *s, const struct ledger_record *r, struct errmsg *err);

/* What lies in record_dir: records to be sent, and those that are kept aside for people. */
struct spool_counts {
	int records, refused, bad;
};

/* Counts by the files' names. */
void spool_count(const struct spool *s, struct spool_counts *out);

/*
 * Reads at most max records that wait, the lowest job ids first. A file that is no record is
 * renamed to NAME.bad and logged: it is not lost, and not in the way. Returns how many, or -1 with
 * err.
 */
int spool_records(const struct spool *s, struct ledger_record *r, int max, struct errmsg *err);

/* Takes out a record that the ledger acknowledged, and keeps it in sent_dir where keep_days says
 * so. It stays where a newer record of the run has replaced it meanwhile. 0, or -1 with errno where
 * it cannot be taken out. */
int spool_acked(const struct spool *s, const struct ledger_record *r);

/*
 * Notes which ledger acknowledges records. Where it is another one than before, everything in
 * sent_dir is to be sent again: returns the number of records, or -1 with err.
 */
int spool_know_ledger(const struct spool *s, const char *id, struct errmsg *err);

/* Removes from sent_dir what has been there for more than keep_days. */
void spool_expire(const struct spool *s);

/* Keeps a record that the ledger refused as NAME.refused, which is not sent. 0, or -1 with errno.
 */
int spool_refused(const struct spool *s, const struct ledger_record *r);
