/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers the ledger's requests: who may ask what, and what comes back. */
#pragma once

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
	uint64_t misplaced;       /* requests about prices from hosts that are no controllers */
	uint64_t malformed;       /* requests and lines that the ledger does not understand */
	uint64_t oversized;       /* lines that are too long */
	uint64_t invalid;         /* credentials that are forged, damaged or for another reader */
	uint64_t replayed;        /* credentials that were opened before */
	uint64_t expired;         /* credentials that are too old, or from the future */
	uint64_t records;         /* records that were stored */
	uint64_t stale_records;   /* records that are not newer than the stored one */
	uint64_t refused_records; /* malformed records */
	uint64_t future_records;  /* records with a time in the future */
	uint64_t foreign_records; /* records not of a node of the job, or not from its address */
	uint64_t settlements, repeated_settlements, restored_settlements, changes;
};

struct service {
	struct ledger *ledger; /* not owned */
	uid_t ledger_uid;      /* who, beside root, may do everything */
	time_t started;
	struct service_counts counts;
	struct service_counts saved; /* the part of counts that the ledger's file has */
	/* The origin of the current request (origin.h), set before each one. NULL: origins are not
	 * checked, and records have none. */
	const char *origin;
	/* Other hosts' addresses that may make and change prices; not owned, may be NULL. */
	const json_t *controllers;
	/* Limits on log lines that anybody can cause: one for lines that are no requests, one for
	 * requests of people or hosts that may not make them. With one limit for both, somebody
	 * without a credential could hide what those with one do. */
	struct log_limit bad_lines, refusals;
};

/*
 * The whole protocol. A request and a reply are each one line: a MUNGE credential that holds one
 * JSON object (wire.h). A reply comes when what it says is on disk; a client may send its next
 * request before that.
 *
 *   request  {"op":OP,"nonce":TEXT,...}
 *   reply    {"ok":true,"nonce":TEXT,...} or {"ok":false,"nonce":TEXT,"error":TEXT}, with the
 *            nonce of the request that it answers. The reply to a line that is no request has no
 *            nonce; anybody can read it, and the connection is then closed.
 *
 * The other members of request and reply, by OP. record_to_json() makes a RECORD,
 * settlement_to_json() a SETTLEMENT; times are seconds since 1970.
 *
 *   record     {"records":[RECORD,...][,"node_type":TEXT]}, at most 1000
 *              {"results":[{"ok":true} or {"ok":false,"error":TEXT},...],"ledger":TEXT
 *              [,"prior":{"none","narrow","wide"}]}
 *              One result for each record, in their order. "ledger" is the ledger's identity.
 *              "prior" is that of nodes of the type (slow_prior.h), where jobs have told one. A
 *              request for these alone has no records.
 *   job        {"cluster","job","restart","start"[,"nodes":[{"name","addresses":[...]},...]]
 *              [,"after":NODE][,"upto":NODE]}
 *              {"records":[RECORD,...],"settlement":SETTLEMENT or null,"changes":[CHANGE,...],
 *              "ledger":TEXT[,"more":NODE]}
 *              "start" 0 is the latest run. The answer is about the nodes whose names come after
 *              "after" (at first "") and not after "upto". Without "upto", and for all but root
 *              and LedgerUser, those may be more than fit into a reply: then "more" is the "after"
 *              of the next request. "nodes" is slurmctld's word for which nodes may have sent a
 *              record, and from where; "addresses" are numeric.
 *   settle     {"settlement":SETTLEMENT}
 *              {"settlement":the one that counts,"first":whether that is the request's}
 *   restore    the same for a settlement that the ledger has lost
 *   change     {"settlement":SETTLEMENT,"reason":TEXT}, an administrator's change
 *              {}
 *   changes    {"cluster"}
 *              {"changes":[CHANGE,...]}, the last of each run that Slurm does not show yet, at
 *              most 100. A CHANGE is {"n","reason","old":{"charged","text"},
 *              "settlement":SETTLEMENT,"state"}, in job also with "time" and "by_uid".
 *   changed    {"settlement":SETTLEMENT,"written":BOOL}: slurmctld begins to write the run's
 *              changes (false), or has written them (true)
 *              {"first":whether that is news}
 *   unsettled  {"cluster"}
 *              {"runs":[{"job","restart","start"},...]}, those with a final record and no
 *              settlement, the oldest first, at most 1000
 *   status     {}
 *              {"version","uptime","now","stored":{"schema","records","settlements","events"},
 *              "since_start":struct service_counts,"refused":{KIND:{"count","first","last"}},
 *              "set_aside","ledger","head":{"event","hash"}}
 *
 * The table operations[] in service.c says who may ask what. root and ledger_uid may ask
 * everything; anybody else may ask status, and job: about others' jobs the answer is the one about
 * a job that the ledger does not know. In answers to anybody else a record that is not final, of a
 * run without a settlement, tells nothing of shutters: blocks, used and culprit are 0, degradation,
 * variance and thesis_degradation null, and sensing, spin, lack, partner_degradation, partner_ns
 * and slow_likelihood are not there. A request that makes or changes a price must also come from
 * a controller (origin_controls()), and so must a job request of root or ledger_uid with "nodes";
 * the "nodes" of other people are ignored.
 *
 * Returns a new reference; NULL only when memory is out.
 */
json_t *service_answer(struct service *s, const json_t *request, uid_t from);

/* Whether this uid may ask everything: root or ledger_uid. */
bool service_trusts(const struct service *s, uid_t from);

/* Counts a line that was turned away before there was a request in it. */
void service_refused_line(struct service *s, enum wire_fault fault);

/* Logs a fault of a peer, at most a few lines a minute. */
void service_complain(struct service *s, const char *peer, const char *text);

/* Logs how many lines the limits have left out since the last call, if any. */
void service_log_left_out(struct service *s);

/* Adds what was turned away since the last call to the counts in the ledger's file. */
void service_save_counts(struct service *s);
