/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks poppa-ledgerd: blocking calls with a deadline, for a thread that may wait. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <jansson.h>

#include "accounting/record/record.h"
#include "accounting/record/settlement.h"
#include "common/errmsg.h"
#include "common/nodeconf.h"
#include "common/settings.h"

/* Most records that one message carries; a longer array goes in several messages. */
#define CLIENT_MAX_BATCH 64

/* Where the ledger is, and whose replies are believed. It owns nothing and may be copied. */
struct client {
	char node_type[SLOW_NODE_TYPE]; /* of the node that sends records; "" = unknown */
	char host[256];
	int port;
	int timeout_ms; /* for one request, without the look-up of the host's name */
	char munge_socket[PATH_MAX];
	uid_t ledger_uid; /* only replies from it and from root are believed */
};

/*
 * Takes the settings (poppa_ledger) and poppa.conf (MungeSocket, LedgerUser), and a timeout of 10
 * s. Where poppa_ledger is not set, the ledger is on the first controller: controller is
 * SlurmctldHost, "name" or "name(address)", and only the part before its first comma counts. 0, or
 * -1 with err.
 */
int client_init(struct client *c, const struct poppa_settings *settings,
	const struct nodeconf *conf, const char *controller, struct errmsg *err);

enum client_ack {
	CLIENT_PENDING, /* no answer: send it again */
	CLIENT_ACKED,   /* the ledger has this record, or a later one of the same run, on disk */
	CLIENT_REFUSED, /* the ledger will never take it: do not send it again */
};

/* Length of a ledger's identity, with its end. */
#define CLIENT_LEDGER_ID 64

/* What the ledger says to each node that sends records. */
struct client_news {
	/* When it changes, the ledger was lost and must get its records again. */
	char ledger[CLIENT_LEDGER_ID];
	bool has_prior; /* there is one for nodes of the client's type */
	struct slow_prior prior;
};

/*
 * Sends n records and says in ack[n] what became of each. Returns 0 where there is an answer for
 * every record, else -1 with err; ack[] is right either way. With 0, err says why a record was
 * refused, or is empty, and *news (may be NULL) is filled. With n = 0 the call asks for that alone.
 */
int client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct client_news *news, struct errmsg *err);

/* The run of a job that a question is about. */
struct client_run {
	const char *cluster;
	uint32_t job_id;
	uint32_t restart;
	/* When slurmctld started it, which tells runs of one job id apart; 0 = the latest. */
	int64_t start_unix;
	/* The run's nodes and their addresses as slurmctld knows them (origin_allowed()); NULL
	 * where somebody else asks. Not owned. */
	json_t *nodes;
};

/* What the ledger knows of a run. Free with client_answer_free(). */
struct client_answer {
	struct ledger_record *records;
	int record_count;
	bool settled;
	struct settlement settlement;
	json_t *changes; /* by administrators, oldest first (CHANGE in service.h) */
	char ledger[CLIENT_LEDGER_ID];
};

/* Returns 0, also where the ledger knows nothing of the run; -1 with err where the ledger does not
 * answer or refuses to. */
int client_job(const struct client *c, const struct client_run *run, struct client_answer *answer,
	struct errmsg *err);
void client_answer_free(struct client_answer *answer);

/* The price of a run alone, without its records. 1, 0 where it has none, or -1 with err. */
int client_settlement(const struct client *c, const struct client_run *run, struct settlement *s,
	struct errmsg *err);

/* Stores a settlement. The first one of a run stays: *stored is what the ledger has now, *first
 * says whether that is the caller's. 0, or -1 with err. */
int client_settle(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err);

/* The same for a settlement that the ledger has lost. */
int client_restore(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err);

/* Stores an administrator's change (settlement_change()) for prep/poppa. 0, or -1 with err. */
int client_change(
	const struct client *c, const struct settlement *s, const char *reason, struct errmsg *err);

/* The changes that Slurm does not show yet (CHANGE in service.h), a new reference, or NULL. */
json_t *client_changes(const struct client *c, const char *cluster, struct errmsg *err);

/* Tells the ledger that the run's changes up to s->changes are being written, or that they are
 * written. *first says whether that was news to the ledger. 0, or -1 with err. */
int client_changed(const struct client *c, const struct settlement *s, bool written, bool *first,
	struct errmsg *err);

/* Runs with a final record and no settlement: JSON array of {"job","restart","start"}, oldest
 * first, at most 1000, a new reference; NULL with err. */
json_t *client_unsettled(const struct client *c, const char *cluster, struct errmsg *err);

/* The reply to "status" (service.h), a JSON object, a new reference; NULL with err. */
json_t *client_status(const struct client *c, struct errmsg *err);
