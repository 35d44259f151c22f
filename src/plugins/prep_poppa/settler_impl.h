/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the settler share: the runs that wait, and what its worker knows. */
#ifndef POPPA_PLUGINS_PREP_SETTLER_IMPL_H
#define POPPA_PLUGINS_PREP_SETTLER_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <jansson.h>

#include "accounting/record/client.h"
#include "accounting/record/settlement.h"
#include "accounting/settle/waiting_runs.h"
#include "common/nodeconf.h"
#include "common/price_rules.h"
#include "common/settings.h"

#include "run_snapshot.h"
#include "usage_journal.h"

#define ME "prep/poppa"
#define TICK_MS 500      /* how often a job's nodes and records are looked at, at first */
#define MAX_TICK_MS 5000 /* and later */
#define ITEM_BUCKETS 8192

enum stage {
	WAIT_NODES,   /* until the job has left its nodes */
	WAIT_RECORDS, /* until all its records are in, or it is too late */
	WRITE,        /* priced and in the ledger: tell Slurm */
	CHECK,        /* until the accounting database shows it */
};

/* A run that waits for its settlement. */
struct item {
	struct item *next, *same_bucket;
	struct facts *facts;
	enum stage stage;
	int64_t due_ms, tick_ms;
	int64_t ended_ms;   /* when it had left its nodes */
	int64_t sent_ms;    /* when slurmdbd was told */
	int64_t unknown_ms; /* since when nobody knows the run, or its end; 0 = somebody does */
	bool all_told;      /* in that time slurmdbd was told of all that there was for it */
	struct settlement settlement;
	bool priced; /* an earlier process knew the settlement */
	bool first;  /* the settlement is this process's */
	bool change; /* an administrator's change of a price that Slurm shows already */
	bool shown;  /* settled before; the job's record has the settlement */
	bool commented;
	bool told;    /* slurmdbd was; otherwise only slurmctld has the price */
	bool unsaved; /* the state file has it otherwise, or not at all */
	bool done;
};

/* Of somebody who is asked and may not answer for a while: everybody waits for its end. */
struct outage {
	int64_t retry_ms;   /* not before then */
	int64_t backoff_ms; /* 0 = it answers */
};

/* Belongs to the worker alone. */
struct settler {
	struct item *items;
	struct item *bucket[ITEM_BUCKETS]; /* the same, to be found by their job and start */
	struct nodeconf conf;
	struct poppa_settings settings;
	struct price_rules rules;
	struct client client;
	char *settings_text;
	bool configured;
	char complaint[512]; /* the last problem with the configuration that was logged */
	struct outage ledger, database;
	int64_t ledger_back_ms; /* when the ledger's last outage ended */
	char ledger_id[CLIENT_LEDGER_ID];
	int64_t ledger_new_ms; /* when it was seen to be another one than before; 0 = never */
	int64_t scan_ms, changes_ms;
	bool scanned;
	bool loaded;
	struct usage *usage;
	bool changed; /* the state file is behind */
	struct waiting state;
	json_t *gone; /* what it has and waits no longer; NULL = nothing */
	int64_t save_ms;
};

/* All times are of CLOCK_MONOTONIC. */
int64_t settler_now_ms(void);

/* Logs a problem once, until it changes. */
void settler_complain(struct settler *w, const char *text);

/* --- settler_items.c: the list of runs. */

/* A run that has just ended; takes over f. Free with item_free(). */
struct item *item_new(struct facts *f);
void item_free(struct item *i);
/* Looks at it again after a while, each time a longer one. */
void item_delay(struct item *i);
void item_enter(struct item *i, enum stage stage);

/* NULL where it does not wait here. */
struct item *items_find(struct settler *w, uint32_t job_id, time_t start);
void items_add(struct settler *w, struct item *i);
/* What the state file has of it is no longer right. */
void items_changed(struct settler *w, struct item *i);
void items_drop_done(struct settler *w);
void items_free(struct settler *w);

/* --- settler_outage.c: when the ledger and slurmdbd do not answer. */

void ledger_failed(struct settler *w, const char *why);
/* id: of the ledger that answered, or "" where that is not known. */
void ledger_answered(struct settler *w, const char *id);
/* rc < 0: slurmdbd did not answer. */
void database_answered(struct settler *w, int rc);
/* Whether the run has to wait for slurmdbd, and then it does. */
bool database_rests(const struct settler *w, struct item *i);

/* --- settler_find.c: what slurmctld's records of jobs tell. Take Slurm's locks. */

/* Finds what an earlier slurmctld, or a lost epilog, left unsettled. */
void settler_scan(struct settler *w);
/* Lets runs go on that have left their nodes: one lock for all that wait for that. */
void settler_look_at_nodes(struct settler *w, int64_t now_ms);

/* --- settler_price.c: from a run's records to its settlement. */

/* Whether there is no use in waiting for what tells of the run any longer. */
bool settler_too_late(const struct settler *w, const struct item *i);
void settler_look_at_records(struct settler *w, struct item *i);

/* --- settler_write.c: from a settlement to where Slurm shows it. */

/*
 * slurmctld's record has the last size of a resized job only: asks slurmdbd for the others. false:
 * come again. Where slurmdbd never hears of them, the run is settled without them.
 */
bool settler_know_sizes(struct settler *w, struct item *i);
void settler_write(struct settler *w, struct item *i);
void settler_check(struct settler *w, struct item *i);
/* Brings refunds to the disk, and forgets those that nobody can ask for again. */
void settler_keep_refunds(struct settler *w);

/* --- settler_changes.c: prices that administrators have changed. */

int64_t settler_changes_due_ms(const struct settler *w);
void settler_look_at_changes(struct settler *w, int64_t now_ms);
/* Tells the ledger that Slurm shows a change everywhere; false where it did not answer. */
bool settler_end_change(struct settler *w, const struct settlement *price);

/* --- settler_state.c: what outlives slurmctld. */

/* Runs as the state files have them, a new reference or NULL. */
json_t *state_of_items(const struct item *list);
/* Writes what has changed of what the worker has; w->changed stays where that failed. */
void state_save(struct settler *w);
/* The same, and without a history: as earlier releases read it. */
void state_save_list(struct settler *w);
void state_load(struct settler *w);
/* Writes what the worker has not taken yet, beside what the file has where nobody has loaded that;
 * takes over the reference. 0, or -1 with err. */
int state_save_arrived(json_t *list, bool loaded, struct errmsg *err);
void state_drop_arrived(void);

#endif
