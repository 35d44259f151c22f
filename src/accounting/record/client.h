/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talks to poppa-ledgerd: blocking calls with a deadline, for a thread that may wait. */
#ifndef POPPA_ACCOUNTING_RECORD_CLIENT_H
#define POPPA_ACCOUNTING_RECORD_CLIENT_H

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

/* Most records one message carries; longer arrays are sent in several. */
#define CLIENT_MAX_BATCH 64

/* Where the ledger is and whom to believe. Plain data: copy it freely, no clean-up. */
struct client {
	char host[256];
	int port;
	int timeout_ms; /* for one call as a whole, name look-up apart */
	char munge_socket[PATH_MAX];
	uid_t ledger_uid; /* replies from it or root are believed */
};

/*
 * From the settings (poppa_ledger) and poppa.conf (MungeSocket, LedgerUser). controller is the
 * first SlurmctldHost, used where poppa_ledger is not set: "name" or "name(address)", a list is cut
 * at its first comma. 10 s timeout. 0, or -1 with err.
 */
int client_init(struct client *c, const struct poppa_settings *settings,
	const struct nodeconf *conf, const char *controller, struct errmsg *err);

enum client_ack {
	CLIENT_PENDING, /* nobody answered for it: send again */
	CLIENT_ACKED,   /* the ledger has it, or a later one, on disk */
	CLIENT_REFUSED, /* it is malformed or not ours to send: sending it again is useless */
};

/* Length of a ledger's identity, with its end. */
#define CLIENT_LEDGER_ID 64

/*
 * Sends n records and says for each in ack[n] what became of it. Returns 0 when every record was
 * answered for, else -1 with err; ack[] is right either way. A refused record's reason is in err,
 * too (then the return is 0 and err->text not empty). ledger (may be NULL) gets the ledger's
 * identity: when that changes, the ledger was lost, and what it had is wanted again. n 0 only asks.
 */
int client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, char ledger[CLIENT_LEDGER_ID], struct errmsg *err);

/* A run of a job in a question; 0 in a field that may be anything. */
struct client_run {
	const char *cluster;
	uint32_t job_id;
	uint32_t restart;
	int64_t start_unix; /* when slurmctld started it; tells a reused job id apart, 0 = latest */
	/* slurmctld's word for the run's nodes and their addresses (origin_allowed); NULL for
	 * others. */
	json_t *nodes;
};

/* What the ledger knows of a run. Free with client_answer_free(). */
struct client_answer {
	struct ledger_record *records;
	int record_count;
	bool settled;
	struct settlement settlement;
	json_t *changes; /* by administrators, oldest first (ledger_changes) */
	char ledger[CLIENT_LEDGER_ID];
};

/* 0, also where it knows nothing; -1 with err where it cannot be asked or refuses. */
int client_job(const struct client *c, const struct client_run *run, struct client_answer *answer,
	struct errmsg *err);
void client_answer_free(struct client_answer *answer);

/*
 * Stores a settlement. The first writer wins: *stored is what the ledger has now, *first says
 * whether it is the caller's. 0 or -1 with err.
 */
int client_settle(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err);

/* The same for one that the ledger has lost. */
int client_restore(const struct client *c, const struct settlement *s, struct settlement *stored,
	bool *first, struct errmsg *err);

/* Stores an administrator's change (settlement_change), for prep/poppa to write. 0 or -1 with err.
 */
int client_change(
	const struct client *c, const struct settlement *s, const char *reason, struct errmsg *err);

/* The changes that Slurm does not show yet (ledger_waiting_changes), a new reference; NULL with
 * err.
 */
json_t *client_changes(const struct client *c, const char *cluster, struct errmsg *err);

/* Says that the changes up to s->changes are being written, or that they are written; *first says
 * whether that is news. 0 or -1 with err. */
int client_changed(const struct client *c, const struct settlement *s, bool written, bool *first,
	struct errmsg *err);

/*
 * Runs with a final record and no settlement: JSON array of {"job","restart","start"}, oldest
 * first, at most 1000, a new reference; NULL with err.
 */
json_t *client_unsettled(const struct client *c, const char *cluster, struct errmsg *err);

/* The ledger's own account of itself, a JSON object, a new reference; NULL with err. */
json_t *client_status(const struct client *c, struct errmsg *err);

#endif
