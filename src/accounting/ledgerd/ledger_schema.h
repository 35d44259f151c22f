/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's tables, and the chain of its events. */
#pragma once

#include <stdint.h>
#include <sqlite3.h>

#include "common/errmsg.h"

/* The version that this release writes (PRAGMA user_version). */
#define LEDGER_SCHEMA 4

/*
 * Prepares a database that was just opened: sets WAL and synchronous commits, checks the file, and
 * makes the tables of an empty one. Returns SQLITE_OK, or SQLite's error with err: SQLITE_CORRUPT
 * or SQLITE_NOTADB for a damaged file, SQLITE_MISMATCH for a file of another release.
 */
int ledger_schema_apply(sqlite3 *db, struct errmsg *err);

/* Length of a hash as text, with its end. */
#define LEDGER_HASH_SIZE 65

/* A row of the event table; texts belong to the caller. */
struct ledger_event {
	int64_t id, unix_s;
	const char *kind, *cluster;
	int64_t job, restart, by_uid;
	const char *body;
};

/*
 * The hash of an event: SHA-256, in hexadecimal, of the compact JSON array [previous event's hash,
 * id, time, kind, cluster, job, restart, uid, body]; the first event's previous hash is "". Whoever
 * changes or removes an event, or adds one in between, has to change the hash of every later one.
 * Returns 0, or -1 where memory is out or a text is not UTF-8.
 */
int ledger_event_hash(
	const char *previous, const struct ledger_event *e, char hash[LEDGER_HASH_SIZE]);
