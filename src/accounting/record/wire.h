/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One message of the ledger's protocol: a line that holds JSON in a MUNGE credential. What the
 * messages mean is in accounting/ledgerd/service.h. */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <jansson.h>

#include "common/errmsg.h"

/* Longest line, newline included. */
#define WIRE_MAX_LINE (256 * 1024)

/* One line has room for the addresses, or the records, of this many nodes of a run, whatever they
 * contain. A message about more nodes goes in parts. */
#define WIRE_NODES_AT_ONCE 100

/* The reader of a message that anybody may read. */
#define WIRE_ANYBODY ((uid_t)-1)

/* Why a line was turned away. */
enum wire_fault {
	WIRE_FINE,
	WIRE_MALFORMED, /* no credential, or no JSON object in it */
	WIRE_OVERSIZED,
	WIRE_INVALID,  /* forged, damaged, or meant for another reader */
	WIRE_REPLAYED, /* somebody has opened it before */
	WIRE_EXPIRED,  /* too old, or from the future */
	WIRE_TROUBLE,  /* not the sender's fault: MUNGE does not answer, or memory is out */
	WIRE_FAULTS
};

/*
 * Makes credentials and checks them: MUNGE, or a stand-in in tests. seal() makes a credential that
 * only `reader` can open. open() gives the payload (terminated; the caller frees it) and the uid
 * that sealed it. It fails where the credential is forged, expired, meant for another reader, or
 * was opened before. Both return 0, or -1 with err; open() may return a negative enum wire_fault,
 * too.
 */
struct wire_auth {
	int (*seal)(const struct wire_auth *a, const char *payload, size_t len, uid_t reader,
		char **cred, struct errmsg *err);
	int (*open)(const struct wire_auth *a, const char *cred, char **payload, size_t *len,
		uid_t *from, struct errmsg *err);
	const char *munge_socket; /* "" = libmunge's default */
};

/* MUNGE through this socket (MungeSocket in poppa.conf). The text must outlive the result. */
struct wire_auth wire_munge(const char *munge_socket);

/* A line with its newline, newly allocated. NULL with err where memory is out, the line would be
 * longer than WIRE_MAX_LINE, or MUNGE makes no credential. */
char *wire_encode(
	const struct wire_auth *a, const json_t *message, uid_t reader, struct errmsg *err);

/* The JSON object in a line (with its newline or without), a new reference, and the uid that sent
 * it. NULL with err. */
json_t *wire_decode(
	const struct wire_auth *a, const char *line, size_t len, uid_t *from, struct errmsg *err);

/* The same, and *fault says why where it returns NULL. */
json_t *wire_decode_fault(const struct wire_auth *a, const char *line, size_t len, uid_t *from,
	enum wire_fault *fault, struct errmsg *err);

/* Makes a text of 32 random hexadecimal digits, which no other request has. 0, or -1 with err. */
int wire_nonce(char out[33], struct errmsg *err);
