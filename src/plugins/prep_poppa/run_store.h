/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs that wait for their settlement, in memory and in files beside slurmctld's state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <jansson.h>

#include "accounting/record/settlement.h"
#include "accounting/settle/waiting_runs.h"
#include "common/errmsg.h"

#include "run_snapshot.h"

#define TICK_MS 500      /* how often a run is looked at, at first */
#define MAX_TICK_MS 5000 /* and later */
#define RUN_BUCKETS 8192

/*
 * What a run waits for. advance() in settler_worker.c takes each step:
 *
 *   RUN_ON_NODES         <-- an epilog, the files of an earlier slurmctld, or a scan of the records
 *        | the job has left its nodes       ^
 *        v                                  | slurmctld ends the run a second time
 *   RUN_AWAITS_RECORDS ---------------------+
 *        | all records are in, or it is too late: the ledger has the price
 *        v
 *   RUN_PRICED           <-- a scan (RUN_SHOWN), a change in the ledger (RUN_REPRICED)
 *        |           |                      ^
 *        |           |                      | slurmdbd was not told, or does not show it for long
 *        |           +-- nobody knows the run any more, or its record is gone (RUN_SHOWN): RUN_DONE
 *        | record, usage and slurmdbd's queue have the price
 *        v                                  |
 *   RUN_WRITTEN ----------------------------+
 *        | slurmdbd shows the price
 *        v
 *   RUN_DONE
 *
 * What a kill -9 of slurmctld leaves, and why nothing is settled twice:
 *
 * - RUN_ON_NODES, RUN_AWAITS_RECORDS: the run is in a file (arrivals.h) or in slurmctld's records,
 *   where the first scan finds it. It begins again at RUN_ON_NODES.
 * - While the price is put into the ledger: the ledger keeps the first price that it gets for a
 *   run, and the next slurmctld is answered with that.
 * - RUN_PRICED: as before, and the file has the price, should the ledger be lost, too. While the
 *   price is written, the record, the usage and the refunds' journal change under Slurm's locks
 *   (write_back.h). The next slurmctld makes the refund again if its usage lacks it, and only then
 *   (usage_journal.h).
 * - RUN_WRITTEN: the next slurmctld writes the price again. The journal or the job's record tells
 *   that it was refunded, and telling slurmdbd twice changes nothing.
 * - RUN_DONE: the run is dropped from the file; until then it is as RUN_WRITTEN.
 */
enum run_state {
	RUN_ON_NODES,       /* until the job has left its nodes */
	RUN_AWAITS_RECORDS, /* until all nodes have sent their records, or it is too late */
	RUN_PRICED,         /* the price is in the ledger, and is to be written to Slurm */
	RUN_WRITTEN,        /* until the accounting database shows it */
	RUN_DONE,           /* to be dropped */
};

/* Why a run is here. */
enum run_kind {
	RUN_ENDED,    /* it has ended and has no price in Slurm */
	RUN_SHOWN,    /* the job's record shows its price; slurmdbd may not */
	RUN_REPRICED, /* Slurm shows its price, and an administrator has changed that since */
};

/*
 * A run that waits. It belongs to the thread that made it until arrivals_add(), then to `arrivals`
 * (under its lock), and from arrivals_take() on to the worker alone, without a lock. Times are of
 * CLOCK_MONOTONIC, ms.
 */
struct run {
	struct run *next, *same_bucket;
	struct run_snapshot *snapshot;
	enum run_kind kind;
	enum run_state state;
	int64_t due_ms, tick_ms; /* when it is looked at next, and how long after that again */
	int64_t ended_ms;        /* when it was seen to have left its nodes; 0 = not yet */
	int64_t told_ms;         /* when slurmdbd was told of the price; 0 = it is yet to be told */
	int64_t unknown_ms; /* since when nobody knows the run, or its end; 0 = somebody does */
	/* job_id 0: it has none. A run that comes from a file with a price had it in an earlier
	 * process, and the ledger is to have it back if it lacks it. */
	struct settlement settlement;
	/* Since unknown_ms, slurmctld's queue for slurmdbd was empty once: slurmdbd has heard all
	 * that there was to hear of the run. */
	bool all_told;
	/* The ledger has the price from this process, which has yet to write it. So no refund can
	 * have been made for it, even where neither journal nor record is left to tell. Not kept in
	 * the file: after a kill nobody can be sure. */
	bool never_written;
	/* slurmdbd is to show the SystemComment, too: the run is the latest of its job. */
	bool commented;
	bool unsaved; /* poppa_unsettled has it otherwise, or not at all */
};

/* A run that has just ended; takes over the snapshot. */
struct run *run_new(struct run_snapshot *snapshot);
void run_free(struct run *run);
bool run_has_price(const struct run *run);
/* Looks at it again after a while, each time a longer one. */
void run_delay(struct run *run);
void run_enter(struct run *run, enum run_state state);

/*
 * Belongs to the worker alone. The file is written by it only, too: of several slurmctlds the one
 * that serves (controller.h) has it, and one that stands by clears its store.
 */
struct run_store {
	struct run *list;
	struct run *bucket[RUN_BUCKETS]; /* the same runs, by job id and start */
	bool loaded;                     /* what earlier processes have left is in the list */
	bool changed;                    /* the file is behind */
	int64_t save_ms;                 /* the file is not written before that time */
	struct waiting file;             /* what the file has of it (waiting_runs.h) */
	json_t *gone;                    /* runs that the file has and that wait no longer */
};

/* NULL where it does not wait here. */
struct run *run_store_find(const struct run_store *store, uint32_t job_id, time_t start);
/* Takes over the run. */
void run_store_add(struct run_store *store, struct run *run);
/* Call this when the run's entry in the file is out of date. Changed prices are not in the file:
 * they are found in the ledger again. */
void run_store_touch(struct run_store *store, struct run *run);
void run_store_drop_done(struct run_store *store);
/* Forgets all runs; the files stay. */
void run_store_clear(struct run_store *store);

/*
 * poppa_unsettled: what is in the store. Only what has changed is written. A kill while it is
 * written loses at most what this call adds. 0, or -1 with err: store->changed stays. Takes the
 * read lock on the configuration.
 */
int run_store_save(struct run_store *store, struct errmsg *err);

/*
 * Adds what both files have. A damaged file is kept as NAME.damaged and logged. Lock as above; the
 * caller keeps everybody else from poppa_arrived.
 */
void run_store_load(struct run_store *store);

/*
 * poppa_arrived: what the worker has not taken yet. Writes the list of run_store_to_json(), of
 * which it takes over the reference, beside what the file has, if nobody has loaded that. 0, or -1
 * with err.
 */
int run_store_save_arrived(json_t *list, bool loaded, struct errmsg *err);
void run_store_drop_arrived(void);

/* Runs as the files have them, a new reference or NULL. */
json_t *run_store_to_json(const struct run *list);
