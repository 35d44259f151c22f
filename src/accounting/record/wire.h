/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One message of the ledger's protocol: a line that holds JSON in a MUNGE credential. */
#ifndef POPPA_ACCOUNTING_RECORD_WIRE_H
#define POPPA_ACCOUNTING_RECORD_WIRE_H

#include <stddef.h>
#include <sys/types.h>
#include <jansson.h>

#include "common/errmsg.h"

/* Longest line, newline included. */
#define WIRE_MAX_LINE (256 * 1024)

/* The addresses, or the records, of so many nodes of a run fit into one, whatever they hold.
 * What is about more goes in parts. */
#define WIRE_NODES_AT_ONCE 100

/* A uid that stands for "anybody may read it". */
#define WIRE_ANYBODY ((uid_t)-1)

/* Why a line was turned away. */
enum wire_fault {
	WIRE_FINE,
	WIRE_MALFORMED, /* no credential, or not what the protocol has in one */
	WIRE_OVERSIZED,
	WIRE_INVALID,  /* forged, damaged, or meant for another reader */
	WIRE_REPLAYED, /* opened before */
	WIRE_EXPIRED,  /* too old, or from the future */
	WIRE_TROUBLE,  /* MUNGE cannot be asked, or memory is out: nobody's fault */
	WIRE_FAULTS
};

/*
 * Who signs and who checks. seal() makes a credential that only `reader` can open; open() gives the
 * payload (terminated, caller frees) and the uid that sealed it, and fails on a credential that is
 * forged, stale, meant for another or opened before. Both return 0, or -1 with err; open() may
 * return the fault instead, negative. The tests put another one in the place of MUNGE.
 */
struct wire_auth {
	int (*seal)(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
		char **cred, struct errmsg *err);
	int (*open)(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
		uid_t *from, struct errmsg *err);
	const char *munge_socket; /* "" = libmunge's default */
};

/* MUNGE through the socket of poppa.conf's MungeSocket; the text must outlive the result. */
struct wire_auth wire_munge(const char *munge_socket);

/*
 * A line with its newline, newly allocated, or NULL with err: out of memory, longer than
 * WIRE_MAX_LINE, or no credential to be had.
 */
char *wire_encode(
	const struct wire_auth *a, const json_t *message, uid_t reader, struct errmsg *err);

/* The JSON object in a line (newline or not), a new reference, and who sent it; NULL with err. */
json_t *wire_decode(
	const struct wire_auth *a, const char *line, size_t len, uid_t *from, struct errmsg *err);

/* The same, and *fault says why where it returns NULL. */
json_t *wire_decode_fault(const struct wire_auth *a, const char *line, size_t len, uid_t *from,
	enum wire_fault *fault, struct errmsg *err);

/* A text of 32 hexadecimal digits that no other request has; 0, or -1 with err. */
int wire_nonce(char out[33], struct errmsg *err);

#endif
