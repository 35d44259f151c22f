/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a request came from: whether a record's origin is the node in whose name it speaks, and a
 * price's a controller. */
#ifndef POPPA_ACCOUNTING_RECORD_ORIGIN_H
#define POPPA_ACCOUNTING_RECORD_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <jansson.h>

/* Longest origin with its end: a numeric address, ORIGIN_LOCAL, or "" = not known. */
#define ORIGIN_SIZE 64
/* A process on the ledger's own host, whichever of its addresses it used. */
#define ORIGIN_LOCAL "local"

/* Names the other end of a connection; own is this end's address. Returns buf. */
const char *origin_name(const struct sockaddr *peer, socklen_t peer_len, const struct sockaddr *own,
	socklen_t own_len, char buf[ORIGIN_SIZE]);

/*
 * Whether a record of `node` from `origin` may be the node's own: nodes is an array of
 * {"name","addresses":[...]} with numeric addresses, made by slurmctld for the nodes of the job. An
 * origin that is not known, and a node whose addresses are not known, pass.
 */
bool origin_allowed(const json_t *nodes, const char *node, const char *origin);

/* Appends the numeric addresses of a host to an array; may wait for a name server. false: it has
 * none, or none that can be found now. */
bool origin_resolve(json_t *addresses, const char *host);

/* The numeric addresses of a node, a new array. May wait for a name server. */
typedef json_t *(*origin_fn)(const char *node);

/*
 * The same, remembered in `known`, at first an empty object: for ten minutes, or for one where the
 * node had none. With !may_wait nothing is resolved: old ones will do, and a new node has none.
 * now_s: of a monotonic clock. A new reference.
 */
json_t *origin_remembered(
	json_t *known, const char *node, int64_t now_s, bool may_wait, origin_fn resolve);

/* Whether what came from origin may make and change prices: from this host, or from one of the
 * addresses (NULL: none). One that is not known may not. */
bool origin_controls(const json_t *addresses, const char *origin);

#endif
