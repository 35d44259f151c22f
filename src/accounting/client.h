/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talks to poppa-ledgerd: blocking calls with a deadline, for a thread that may wait. */
#ifndef POPPA_ACCOUNTING_CLIENT_H
#define POPPA_ACCOUNTING_CLIENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <jansson.h>

#include "accounting/record.h"
#include "accounting/settlement.h"
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

/*
 * Sends n records and says for each in ack[n] what became of it. Returns 0 when every record was
 * answered for, else -1 with err; ack[] is right either way. A refused record's reason is in err,
 * too (then the return is 0 and err->text not empty).
 */
int client_send_records(const struct client *c, const struct ledger_record *records, int n,
	enum client_ack *ack, struct errmsg *err);

/* A run of a job in a question; 0 in a field that may be anything. */
struct client_run {
	const char *cluster;
	uint32_t job_id;
	uint32_t restart;
	int64_t start_unix; /* when slurmctld started it; tells a reused job id apart, 0 = latest */
};

/* What the ledger knows of a run. Free with client_answer_free(). */
struct client_answer {
	struct ledger_record *records;
	int record_count;
	bool settled;
	struct settlement settlement;
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

/*
 * Runs with a final record and no settlement: JSON array of {"job","restart","start"}, oldest
 * first, at most 1000, a new reference; NULL with err.
 */
json_t *client_unsettled(const struct client *c, const char *cluster, struct errmsg *err);

/* The ledger's own account of itself, a JSON object, a new reference; NULL with err. */
json_t *client_status(const struct client *c, struct errmsg *err);

#endif
