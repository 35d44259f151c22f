/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the settler's worker knows: its settings, who answers, the runs that wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "accounting/record/client.h"
#include "common/nodeconf.h"
#include "common/price_rules.h"
#include "common/settings.h"
#include "striping/history/pairs.h"

#include "run_store.h"
#include "usage_journal.h"

#define SETTLER_CULPRITS 256

/* While a server (ledger or slurmdbd) does not answer, all runs wait for the next try. */
struct outage {
	int64_t retry_ms;   /* not before then */
	int64_t backoff_ms; /* 0 = it answers */
};

/*
 * Belongs to the worker, without a lock: settler.c sees to it that there is one worker at a time.
 * The worker may block, on the network or a disk, but never with one of Slurm's locks. All times
 * are of CLOCK_MONOTONIC, ms.
 */
struct settler {
	struct run_store store;
	struct usage_journal *usage; /* NULL: no worker has begun yet */

	/* What is in force. */
	struct nodeconf conf;
	struct poppa_settings settings;
	struct price_rules rules;
	char *settings_text;
	struct client client; /* to the ledger; valid once configured */
	bool configured;
	char complaint[ERRMSG_MAX]; /* the last problem that was logged */

	struct outage ledger, database;
	int64_t ledger_back_ms;           /* when the ledger's last outage ended */
	char ledger_id[CLIENT_LEDGER_ID]; /* "": it has not told yet */
	int64_t ledger_new_ms; /* when it was seen to be another one than before; 0 = never */

	struct pairs_batch pairs; /* what is yet to be written to the pair history */
	int64_t pairs_ms;         /* when it is */
	int64_t plain_ms;         /* when to take plain runs again */

	bool scanned;       /* slurmctld's records were looked through since it serves */
	int64_t scan_ms;    /* when to look for unsettled runs again */
	int64_t changes_ms; /* when to look for changed prices again */

	int64_t limits_ms;     /* when to move time limits again */
	uint32_t limits_after; /* job ids up to this one had their turn at that */
	struct {
		uint32_t job_id;
		int64_t until_ms;
	} culprit[SETTLER_CULPRITS]; /* jobs that have kept others from being measured */
};

/* What a look at a run leads to. */
enum outcome {
	RUN_AGAIN, /* the same state; looks again after a while, each time a longer one */
	RUN_LATER, /* the same state; looks again at run->due_ms, which the look has set */
	RUN_NEXT,  /* on to the next state */
	RUN_BACK,  /* back to the state before */
	RUN_OVER,  /* nothing is left to do */
};

/* Logs a problem once, until it changes. */
void settler_complain(struct settler *w, const char *text);

/*
 * Follows slurm.conf. A bad value keeps what was in force, or the defaults where nothing was. What
 * was in force may be from before this process began: newer slurmctlds begin anew at each
 * reconfigure. Takes the read lock on the configuration.
 */
void settler_follow_settings(struct settler *w);

/* What the ledger's answers tell. id: of the ledger that answered, "" where that is not known. */
void settler_ledger_failed(struct settler *w, const char *why);
void settler_ledger_answered(struct settler *w, const char *id);

/* The same for slurmdbd. rc < 0: it did not answer. */
void settler_database_answered(struct settler *w, int rc);
/* Whether the run has to wait for slurmdbd; its due_ms is set then. */
bool settler_database_rests(const struct settler *w, struct run *run);

/* Whether there is no use in waiting any longer for what tells of the run (settle_timeout). */
bool settler_too_late(const struct settler *w, const struct run *run);
