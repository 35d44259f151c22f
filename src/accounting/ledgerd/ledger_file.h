/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks, copies and exports a ledger's file, whether poppa-ledgerd runs or not. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "accounting/ledgerd/ledger_schema.h"
#include "common/errmsg.h"

#define LEDGER_MAX_REFUSALS 16

struct ledger_check {
	int64_t schema, records, foreign_records, settlements, changes, events;
	int64_t faults; /* how many things are not as they must be */
	int64_t head;   /* the last event's number; 0 without one */
	char hash[LEDGER_HASH_SIZE];
	int refusal_count; /* what poppa-ledgerd has turned away, by kind */
	struct ledger_refusal {
		char kind[32];
		int64_t count, first_unix, last_unix;
	} refusal[LEDGER_MAX_REFUSALS];
};

/* The last event at some earlier moment, noted where those who can write the file cannot write. */
struct ledger_anchor {
	int64_t event;
	char hash[LEDGER_HASH_SIZE];
};

/* Called with one line for each fault. */
typedef void (*ledger_fault_fn)(const char *line, void *arg);

/*
 * Verifies the whole file. SQLite's own integrity check must pass. Each record and settlement must
 * be readable and agree with its columns. No charge may be above its raw price. Each settlement and
 * each change must have exactly one event, which says the same. No event may have been changed,
 * removed or added in between since its hash was made, nor, with an anchor (may be NULL), since the
 * anchor was noted. fn gets at most 100 lines. Returns 0 with *out (out->faults may be above 0), or
 * -1 with err where the file cannot be read at all.
 */
int ledger_file_check(const char *path, const struct ledger_anchor *anchor,
	struct ledger_check *out, ledger_fault_fn fn, void *arg, struct errmsg *err);

/*
 * Copies the ledger as it is at one moment to another file. The copy appears complete and synced,
 * or not at all; only its owner can read it. A file that exists is not touched. The copy has
 * another identity: when it is put into service, the nodes send it again what came after it. 0, or
 * -1 with err.
 */
int ledger_file_backup(const char *path, const char *to, struct errmsg *err);

/* Writes all settlements, records and events from since_unix on (their settlement, start or time)
 * as JSON, one object a line with its "kind". 0, or -1 with err. */
int ledger_file_export(const char *path, int64_t since_unix, FILE *out, struct errmsg *err);
