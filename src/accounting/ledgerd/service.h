/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers the ledger's requests: who may ask what, and what comes back. */
#ifndef POPPA_ACCOUNTING_LEDGERD_SERVICE_H
#define POPPA_ACCOUNTING_LEDGERD_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <sys/types.h>
#include <jansson.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/record/wire.h"
#include "common/log_limit.h"

/* Counts since the start, shown by the "status" request. */
struct service_counts {
	uint64_t requests;
	uint64_t refused;         /* requests of people who may not make them */
	uint64_t misplaced;       /* prices from hosts that are no controllers */
	uint64_t malformed;       /* requests, and lines, that are not understood */
	uint64_t oversized;       /* lines that are too long */
	uint64_t invalid;         /* credentials that are forged, damaged or another's */
	uint64_t replayed;        /* credentials that were opened before */
	uint64_t expired;         /* credentials that are too old, or of the future */
	uint64_t records;         /* stored */
	uint64_t stale_records;   /* not news */
	uint64_t refused_records; /* malformed */
	uint64_t future_records;  /* of a time that has not come */
	uint64_t foreign_records; /* not of a node of the job, or not from its address */
	uint64_t settlements, repeated_settlements, restored_settlements, changes;
};

struct service {
	struct ledger *ledger; /* not owned */
	uid_t ledger_uid;      /* beside root, the one who may do everything */
	time_t started;
	struct service_counts counts;
	struct service_counts saved; /* what of counts the ledger's file has */
	/* Where the request that is being answered came from (accounting/origin.h); NULL, or any,
	 * where that is not to be looked at: then records have no origin. */
	const char *origin;
	/* Addresses, beside this host's own, from which prices are made and changed; borrowed, may
	 * be NULL. */
	const json_t *controllers;
	/* What anybody may cause to be logged: lines that are no requests, and requests of people
	 * and from hosts that may not make them. Apart, so that who has no credential does not hide
	 * what those do who have one. */
	struct log_limit bad_lines, refusals;
};

/*
 * The reply to a request of uid `from`, a new reference; NULL only when memory is out. Requests are
 * {"op":OP,"nonce":TEXT,...}, replies {"nonce":TEXT,"ok":true,...} or
 * {...,"ok":false,"error":TEXT}. By OP, what a request has, and its reply:
 *
 *   record     {"records":[...]}: {"results":[{"ok":true}|{"ok":false,"error":TEXT},...],
 *              "ledger":TEXT}, on disk; the text is another one when the ledger was lost
 *   job        {"cluster","job","restart","start"[,"nodes":[{"name","addresses":[...]},...]]
 *              [,"after":NODE[,"upto":NODE]]}:
 *              {"records":[...],"settlement":{...}|null,"changes":[...],"ledger":TEXT
 *              [,"more":NODE]}; the nodes are slurmctld's word for who may have sent a record.
 *              With "after" it is about the nodes whose names come after that one, to be asked
 *              again with "more" where these are more than fit into an answer
 *   settle     {"settlement":{...}}: {"settlement":{the one that counts},"first":BOOL}
 *   restore    the same for one that was lost
 *   change     {"settlement":{...},"reason"}: {}; an administrator's change
 *   changes    {"cluster"}: {"changes":[...]}, those that Slurm does not show yet
 *   changed    {"settlement":{...},"written":BOOL}: {"first":BOOL}
 *   unsettled  {"cluster"}: {"runs":[{"job","restart","start"},...]}
 *   status     {"version","schema","records",...}
 *
 * Everything is for root and ledger_uid; a job's owner may ask for that job, anybody for status.
 * What makes or changes a price (settle, restore, change, changed, and the nodes in job) must also
 * come from a controller (origin_controls), wherever origin is to be looked at.
 */
json_t *service_answer(struct service *s, const json_t *request, uid_t from);

/* Whether this uid may do everything: root or ledger_uid. */
bool service_trusts(const struct service *s, uid_t from);

/* Counts a line that was turned away before there was a request in it. */
void service_refused_line(struct service *s, enum wire_fault fault);

/* Logs what is wrong with a peer; no more than a few lines a minute. */
void service_complain(struct service *s, const char *peer, const char *text);

/* Logs how much of this was left out since the last call, if any. */
void service_tell_unsaid(struct service *s);

/* Adds to the ledger's file what has been turned away since the last call. */
void service_save_counts(struct service *s);

#endif
