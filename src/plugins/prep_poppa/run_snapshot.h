/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of what slurmctld knows of one run of a job: the job's record may be gone, or be about the
 * next run, by the time the run is settled. */
#ifndef POPPA_PLUGINS_PREP_RUN_SNAPSHOT_H
#define POPPA_PLUGINS_PREP_RUN_SNAPSHOT_H

#include <jansson.h>

#include "src/slurmctld/slurmctld.h"

#include "accounting/settle/settle.h"
#include "accounting/record/settlement.h"

/* Tag of the part of SystemComment that shows a settlement (common/tags.h). */
#define SETTLED_TAG "poppa"

struct facts {
	uint32_t job_id, restart, uid;
	uint32_t array_job_id, array_task_id; /* NO_VAL as task: not of an array */
	uint64_t db_index;                    /* 0: slurmdbd has not told yet */
	time_t submit, start, end;            /* end is that of the run, once it has ended */
	uint32_t assoc_id, qos_id;
	char *partition, *cluster, *nodes, *tres; /* tres: simple TRES string before settlement */
	char *colocate;                           /* canonical option */
	char *name;
	char *comment;           /* SystemComment before settlement */
	uint64_t raw;            /* billing in tres */
	double billable, wall_s; /* billable: what fairshare charges a second */
	double usage_factor;     /* that of the QOS as the run ended; NAN: not known */
	uint32_t parent_id;      /* the association above that of the job then; 0: not known */
	int64_t part_qos;        /* the partition's QOS then; 0: it had none, -1: not known */
	uint32_t exit_code, derived_ec, requid;
	uint32_t state; /* that of its end, as slurmdbd is told; NO_VAL: not known */
	bool row_known; /* the state and end that slurmdbd has, for a run without a record: */
	uint32_t row_state;
	time_t row_end;
	bool row_latest;    /* no later run of the job id has a row */
	time_t resized;     /* when the last size of a resized job began; 0 = it had one only */
	bool sizes_read;    /* slurmdbd was asked for the others: */
	int size_count;     /* oldest first; 0 = they are not to be had, and the run has no price */
	struct facts *size; /* of each what slurmdbd's row of it tells (row_known) */
	struct settlement_size *earlier; /* the same as settle_job has it */
	int node_count, last_node_count; /* those of the last size come first */
	struct settle_node *node;
};

/* The option's value in the job's SPANK environment, not copied; NULL: not a co-located job. */
const char *facts_colocate(const job_record_t *job);

/* The restart count whose settlement the job's SystemComment shows, -1 for none. */
int64_t facts_settled_restart(const job_record_t *job);

/* NULL for a job that is not co-located or had no nodes. At least a read lock on jobs is held. */
struct facts *facts_take(const job_record_t *job);
void facts_free(struct facts *f);

/* For the settler's state file: a new reference or NULL, and facts or NULL where json is not one.
 */
json_t *facts_to_json(const struct facts *f);
struct facts *facts_from_json(const json_t *json);

/* Whether the record still is about this run. */
bool facts_same_run(const struct facts *f, const job_record_t *job);

/*
 * Takes over the sizes before the last one, oldest first, an xcalloc'ed array, and with them the
 * nodes that the job no longer had at its end. For how long it had a node is the time of the sizes
 * with it. A node that is gone weighs what the bill of its size has beyond the others.
 */
void facts_set_sizes(struct facts *f, struct facts *size, int count);

/* Of an array that facts_set_sizes() did not get; the array, too. */
void facts_free_sizes(struct facts *size, int count);

/* The run's last size alone, of one that was not resized the run. The pointers are those of f. */
struct facts facts_last_size(const struct facts *f);

/* Takes what is known only when the run has ended. */
void facts_update_end(struct facts *f, const job_record_t *job);

/* The name of the run's QOS, with xmalloc; NULL: it has none, or it is no more. */
char *facts_qos_name(const struct facts *f);

/* The billing in a simple TRES string ("1=2,5=2000"). */
uint64_t facts_billing(char *tres);

/* What slurmdbd's row of each earlier size is to show, as far as the settlement tells of them; how
 * many, or 0. */
int facts_shares(const struct facts *f, const struct settlement *s,
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES], uint64_t charged[SETTLEMENT_MAX_SIZES]);

/* What the price is made of; the pointers are those of f. */
struct settle_job facts_settle_job(const struct facts *f);

#endif
