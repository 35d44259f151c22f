/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of what slurmctld knows of one run of a job. */
#pragma once

#include <jansson.h>

#include "src/slurmctld/slurmctld.h"

#include "accounting/settle/settle.h"
#include "accounting/settle/time_limit.h"
#include "accounting/record/settlement.h"
#include "striping/history/class_name.h"
#include "striping/history/spread_gain.h"

/* Tag of the part of SystemComment that shows a settlement (common/tags.h). */
#define SETTLED_TAG "poppa"

/*
 * Whom Slurm has charged for a size of a run, and how much. All of it is as it was when the run
 * ended: by the time of the refund the job may have another QOS, and its association, its QOS or
 * its partition may be gone.
 */
struct run_charge {
	uint32_t assoc_id, qos_id;
	uint32_t parent_id;  /* the association above that of the job; 0: not known */
	int64_t part_qos;    /* the partition's QOS; 0: it had none, -1: not known */
	double usage_factor; /* that of the QOS; NAN: not known */
	uint64_t raw;        /* billing before settlement */
	double billable;     /* what fairshare charges a second */
};

/*
 * A job that is resized while it runs has several sizes, one after the other, and most have one
 * only. Slurm charges each size by itself, and slurmdbd has a row for each.
 */
struct run_size {
	uint64_t db_index; /* index of its row; 0: slurmdbd has not told it yet */
	time_t submit;     /* as slurmdbd's row has it: a requeue changes that of the job */
	time_t start, end;
	double wall_s; /* without suspended time; the last size gets it with the earlier ones */
	char *partition, *nodes;
	char *tres; /* simple TRES string before settlement */
	struct run_charge charge;
	uint32_t state; /* of its end, as slurmdbd is told; NO_VAL: not known */
	uint32_t exit_code, derived_ec, requid;
};

/*
 * The settler works on this copy and not on the job's record, which may be purged, or be about the
 * job's next run, before this run is settled. One thread has it at a time: Slurm's thread that
 * takes it in an epilog, then the settler's worker. No lock belongs to it.
 */
struct run_snapshot {
	/* Identity: job_id and start tell a run from all others of the cluster. */
	char *cluster;
	uint32_t job_id, restart, uid;
	uint32_t array_job_id, array_task_id; /* NO_VAL as task: not of an array */
	time_t start;

	/* What the user asked for, and what the administrator reads. */
	char *name;
	char *colocate; /* canonical option */
	char *comment;  /* SystemComment before settlement */

	struct time_limit_state limit; /* how far the end of the time limit was moved */

	/* Sizes. Until the run has ended, slurmctld only guesses last.end. */
	double wall_s;                   /* of all sizes, without suspended time */
	struct run_size last;            /* begins with the run, unless that was resized */
	bool sizes_known;                /* the sizes before the last one were looked up */
	int size_count;                  /* 0 of a resized run: slurmdbd lacks them, so no price */
	struct run_size *size;           /* the sizes before the last one, oldest first */
	struct settlement_size *earlier; /* the same ones as settle_job has them */

	/* All nodes that the run had at any time. Those of the last size come first. */
	int node_count, last_node_count;
	struct settle_node *node;

	/* What slurmdbd's row of the last size shows, read once the job's record is gone. */
	struct {
		bool known;
		bool latest; /* no later run of the job id has a row */
		uint32_t state;
		time_t end;
	} row;
};

/* The option's value in the job's SPANK environment, not copied; NULL: not a co-located job. */
const char *run_snapshot_colocate(const job_record_t *job);

/*
 * Writes the type of a job's nodes, for its class, into buf, of CLASS_TYPE_MAX bytes, and returns
 * it:
 * "" where all nodes of the cluster are alike, or the job's are not. That of a record (NULL: none)
 * is asked with the read lock on nodes, that of a run without any of Slurm's locks.
 */
const char *run_snapshot_type_of_record(const job_record_t *job, char *buf);
const char *run_snapshot_type(const struct run_snapshot *s, char *buf);

/* The restart count whose settlement the job's SystemComment shows, -1 for none. */
int64_t run_snapshot_settled_restart(const job_record_t *job);

/* NULL for a job that is not co-located or had no nodes. At least a read lock on jobs is held;
 * takes the association manager's. */
struct run_snapshot *run_snapshot_take(const job_record_t *job);
void run_snapshot_free(struct run_snapshot *run);

/* What the run tells of the gain from spreading, but for the seconds; its texts are the run's. */
struct spread_run run_snapshot_spread(const struct run_snapshot *run);

/*
 * The same of a job without --colocate, with its seconds; the texts are the job's. false where it
 * is no plain run: it has not completed in one size, or did not have all CPUs of its nodes for
 * itself. Cheap, for Slurm calls it for each job that ends, with the job write lock.
 */
bool run_snapshot_plain(const job_record_t *job, struct spread_run *run);

/* For the settler's state file: a new reference or NULL, and a run or NULL where json is not one.
 * Earlier sizes and slurmdbd's row are left out: slurmdbd is asked for them again. */
json_t *run_snapshot_to_json(const struct run_snapshot *run);
struct run_snapshot *run_snapshot_from_json(const json_t *json);

/* Whether the record still is about this run. */
bool run_snapshot_is_of(const struct run_snapshot *run, const job_record_t *job);

bool run_snapshot_resized(const struct run_snapshot *run);

/*
 * Takes over the sizes before the last one, an xcalloc'ed array, oldest first, and with them the
 * nodes that the job no longer had at its end. A node had the job for as long as the sizes with it
 * lasted. Such a node weighs the CPUs of its size that the other nodes do not account for.
 */
void run_snapshot_set_sizes(struct run_snapshot *run, struct run_size *size, int count);

/* Frees sizes that no run has taken over, and their array. */
void run_snapshot_free_sizes(struct run_size *size, int count);

/* Takes what is known only when the run has ended. Lock as for run_snapshot_take(). */
void run_snapshot_update_end(struct run_snapshot *run, const job_record_t *job);

/* The name of the run's QOS, with xmalloc; NULL: it has none, or it is no more. Takes the
 * association manager's lock. */
char *run_snapshot_qos_name(const struct run_snapshot *run);

/* The billing in a simple TRES string ("1=2,5=2000"). */
uint64_t run_snapshot_billing(char *tres);

/* Whether a SystemComment shows this settlement. */
bool run_snapshot_comment_shows(const char *comment, const struct settlement *s);

/* What slurmdbd's row of each earlier size is to show. Returns how many sizes the settlement has,
 * or 0 where the run has another number of them. */
int run_snapshot_shares(const struct run_snapshot *run, const struct settlement *s,
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES], uint64_t charged[SETTLEMENT_MAX_SIZES]);

/* What the price is made of; the pointers are those of the run. */
struct settle_job run_snapshot_settle_job(const struct run_snapshot *run);
