/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's front: connections, lines in, lines out, all of it bounded. */
#ifndef POPPA_ACCOUNTING_LEDGERD_SERVER_H
#define POPPA_ACCOUNTING_LEDGERD_SERVER_H

#include <event2/event.h>

#include "accounting/ledgerd/service.h"
#include "accounting/record/wire.h"

/* Connections served at a time; more wait in the kernel's queue. */
#define SERVER_MAX_CONNECTIONS 512

struct server;

/*
 * Opens the listening sockets (host NULL = every address). service and auth must outlive it; base
 * is not owned. What requests change goes to the disk in groups, when no request is at the door
 * that could be added; that needs a base with three priorities. NULL with err.
 */
struct server *server_new(struct event_base *base, struct service *service,
	const struct wire_auth *auth, const char *host, int port, struct errmsg *err);
/* Whether records are stored with the address that they came from; at first they are not. */
void server_check_origin(struct server *s, bool check);

void server_free(struct server *s);

#endif
