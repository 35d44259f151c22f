/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers the ledger's requests: who may ask what, and what comes back. */
#ifndef POPPA_ACCOUNTING_SERVICE_H
#define POPPA_ACCOUNTING_SERVICE_H

#include <stdint.h>
#include <time.h>
#include <sys/types.h>
#include <jansson.h>

#include "accounting/ledger.h"

/* Counts since the start, shown by the "status" request. */
struct service_counts {
	uint64_t requests, refused, malformed; /* refused: not allowed; malformed: not understood */
	uint64_t records, stale_records, refused_records; /* stored, not news, malformed */
	uint64_t settlements, repeated_settlements;
};

struct service {
	struct ledger *ledger; /* not owned */
	uid_t ledger_uid;      /* beside root, the one who may do everything */
	time_t started;
	struct service_counts counts;
};

/*
 * The reply to a request of uid `from`, a new reference; NULL only when memory is out. Requests are
 * {"op":OP,"nonce":TEXT,...}, replies {"nonce":TEXT,"ok":true,...} or
 * {...,"ok":false,"error":TEXT}: record    {"records":[...]} ->
 * {"results":[{"ok":true}|{"ok":false,"error":TEXT},...]}, on disk job
 * {"cluster","job","restart","start"} -> {"records":[...],"settlement":{...}|null} settle
 * {"settlement":{...}} -> {"settlement":{the one that counts},"first":BOOL} unsettled {"cluster"}
 * -> {"runs":[{"job","restart","start"},...]} status    -> {"version","schema","records",...}
 * Everything is for root and ledger_uid; a job's owner may ask for that job, anybody for status.
 */
json_t *service_answer(struct service *s, const json_t *request, uid_t from);

#endif
