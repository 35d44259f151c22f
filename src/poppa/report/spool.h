/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that must outlive poppad: checkpoints of jobs, and records for the ledger. */
#pragma once

#include <limits.h>
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
 * leaves record_dir only after the ledger has answered. After a crash between the answer and the
 * removal, the record is sent again, which changes nothing in the ledger.
 */
struct spool {
	/* Checkpoints of the jobs that are here: JOBID.RESTART. They are not synced: after a power
	 * cut one may be older than the last. A kill within a write leaves JOBID.RESTART.XXXXXX. */
	char state_dir[PATH_MAX];
	/* Final records that the ledger has not acknowledged: JOBID.RESTART.START. They are synced.
	 * NAME.refused and NAME.bad beside them are for people to look at. */
	char record_dir[PATH_MAX];
	/* Records that the ledger has acknowledged, under the same names. A new ledger gets them
	 * again. */
	char sent_dir[PATH_MAX];
	char ledger[PATH_MAX]; /* a file: the identity of the ledger that acknowledged them */
	char prior[PATH_MAX];  /* a file: what the ledger last said of slow refill */
	_Atomic int keep_days; /* how long sent_dir keeps them; 0 (as opened): not at all */
};

/* Makes dir/state, dir/records and dir/sent (mode 0700), and removes checkpoints that a kill left
 * half written. 0, or -1 with err. */
int spool_open(struct spool *s, const char *dir, struct errmsg *err);

/* Replaces the job's checkpoint, without a sync. 0, or -1 with err and the last one in place. */
int spool_checkpoint(const struct spool *s, uint32_t job_id, uint32_t restart, const json_t *state,
	struct errmsg *err);
/* Reads the job's checkpoint. Returns a new reference, or NULL with err and errno: ENOENT where
 * there is none, EINVAL where it is no JSON. */
json_t *spool_restore(const struct spool *s, uint32_t job_id, uint32_t restart, struct errmsg *err);
void spool_forget(const struct spool *s, uint32_t job_id, uint32_t restart);

/* Calls fn for every checkpoint there is. */
typedef void (*spool_fn)(uint32_t job_id, uint32_t restart, void *arg);
void spool_each(const struct spool *s, spool_fn fn, void *arg);

/* Stores a final record: when this returns 0, it survives a power cut. It replaces an earlier
 * record of the same run; one of another run with the same job id stays beside it. -1 with err. */
int spool_record(const struct spool *s, const struct ledger_record *r, struct errmsg *err);

/* Counts the files in record_dir by their names: records to be sent, and files kept for people. */
struct spool_counts {
	int records, refused, bad;
};
void spool_count(const struct spool *s, struct spool_counts *out);

/*
 * Reads at most max records that wait, the lowest job ids first. A file that is no record is logged
 * and renamed to NAME.bad. Returns the number of records, or -1 with err.
 */
int spool_records(const struct spool *s, struct ledger_record *r, int max, struct errmsg *err);

/* Moves a record that the ledger acknowledged to sent_dir, or removes it where keep_days is 0. A
 * newer record of the run that has replaced it stays. 0, or -1 with errno. */
int spool_acked(const struct spool *s, const struct ledger_record *r);

/*
 * Stores which ledger acknowledges records. Where it is another one than before, the records in
 * sent_dir go back to record_dir. Returns the number of these, or -1 with err.
 */
int spool_know_ledger(const struct spool *s, const char *id, struct errmsg *err);

/*
 * Stores the prior of nodes of this type. 0, or -1 with err. And reads it: slow_prior_default where
 * there is none for this type. A file that is no prior is logged and renamed to NAME.bad.
 */
int spool_keep_prior(const struct spool *s, const char *node_type, const struct slow_prior *prior,
	struct errmsg *err);
void spool_kept_prior(const struct spool *s, const char *node_type, struct slow_prior *prior);

/* Removes the records that have been in sent_dir for more than keep_days. */
void spool_expire(const struct spool *s);

/* Renames a record that the ledger refused to NAME.refused. 0, or -1 with errno. */
int spool_refused(const struct spool *s, const struct ledger_record *r);
