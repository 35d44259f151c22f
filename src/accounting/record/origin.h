/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address that a request came from: may it send records of a node, may it make prices? */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <jansson.h>

/* Room for an origin: a numeric address, ORIGIN_LOCAL, or "" = not known. */
#define ORIGIN_SIZE 64
/* The origin of every process on the ledger's own host, whichever address it used. */
#define ORIGIN_LOCAL "local"

/* Writes the origin of a connection from the addresses of its two ends. Returns buf. */
const char *origin_name(const struct sockaddr *peer, socklen_t peer_len, const struct sockaddr *own,
	socklen_t own_len, char buf[ORIGIN_SIZE]);

/*
 * Whether a record in the name of `node` that came from `origin` may be the node's own. nodes is
 * slurmctld's array of the job's nodes, {"name","addresses":[...]} with numeric addresses. A node
 * that is not in it has no records, and one without addresses has none that came from anywhere.
 * Where the origin is not known, because it is not looked at, the answer is yes.
 */
bool origin_allowed(const json_t *nodes, const char *node, const char *origin);

/* Appends the numeric addresses of a host; false without one. It may wait for a name server. */
bool origin_resolve(json_t *addresses, const char *host);

/* The numeric addresses of a node, a new array. May wait for a name server. */
typedef json_t *(*origin_fn)(const char *node);

/*
 * The addresses of a node, a new reference. It takes them from `known` (at first an empty object)
 * where they are fresh there, else from resolve(), and keeps them in `known` for ten minutes. Where
 * resolve() finds none, the old ones stay, and it is asked again after some seconds. Without
 * may_wait it is not called: old addresses do, and a node that is not in `known` has none. now_s is
 * of a monotonic clock.
 */
json_t *origin_remembered(
	json_t *known, const char *node, int64_t now_s, bool may_wait, origin_fn resolve);

/* Whether a request from origin may make and change prices: one from this host or from one of the
 * addresses (NULL: none) may, one from an unknown origin may not. */
bool origin_controls(const json_t *addresses, const char *origin);
