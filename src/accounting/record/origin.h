/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address that a request came from: may it send records of a node, may it make prices? */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <jansson.h>

/* Longest origin with its end: a numeric address, ORIGIN_LOCAL, or "" = not known. */
#define ORIGIN_SIZE 64
/* A process on the ledger's own host, whichever of its addresses it used. */
#define ORIGIN_LOCAL "local"

/* Writes the origin of what comes over a connection: the address of its other end, or ORIGIN_LOCAL.
 * own is the address of this end. Returns buf. */
const char *origin_name(const struct sockaddr *peer, socklen_t peer_len, const struct sockaddr *own,
	socklen_t own_len, char buf[ORIGIN_SIZE]);

/*
 * Whether a record in the name of `node` that came from `origin` may be the node's own. nodes is an
 * array of {"name","addresses":[...]} with numeric addresses, which slurmctld made for the nodes of
 * the job: a node that is not in it has no records. Where the origin is not known, or the addresses
 * of the node are not known, the answer is yes.
 */
bool origin_allowed(const json_t *nodes, const char *node, const char *origin);

/* Appends the numeric addresses of a host to an array. It may wait for a name server. false where
 * none can be found. */
bool origin_resolve(json_t *addresses, const char *host);

/* The numeric addresses of a node, a new array. May wait for a name server. */
typedef json_t *(*origin_fn)(const char *node);

/*
 * The addresses of a node, from `known` where they are there and fresh, else from resolve(), which
 * are then kept in `known` (at first an empty object) for ten minutes, or for one minute where the
 * node has none. Without may_wait resolve() is not called: old addresses are used, and a node that
 * is not known has none. now_s is of a monotonic clock. A new reference.
 */
json_t *origin_remembered(
	json_t *known, const char *node, int64_t now_s, bool may_wait, origin_fn resolve);

/* Whether a request from origin may make and change prices: it may from this host and from one of
 * the addresses (NULL: none), and not from an origin that is not known. */
bool origin_controls(const json_t *addresses, const char *origin);
