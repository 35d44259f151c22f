/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's connections: receives lines, sends lines, and limits how many of both can wait. */
#pragma once

#include <event2/event.h>

#include "accounting/ledgerd/service.h"
#include "accounting/record/wire.h"

/* How many connections are served at a time; others wait in the kernel's queue. */
#define SERVER_MAX_CONNECTIONS 512
/* What is read of a connection before its first line is opened: so many bytes, and four times as
 * many at each turn, up to a whole line. So many who have proved nothing cannot fill the turns of
 * others with reading. */
#define SERVER_FIRST_ROOM 4096

struct server;

/*
 * Opens the listening sockets (host NULL = every address). service, auth and base must outlive it;
 * base needs three priorities. What requests change goes to the disk in groups, because a sync
 * costs the same for one request as for many. A group ends when no other request waits to be read,
 * and the replies wait for its end. NULL with err.
 *
 * One line of one connection is taken at a time, in the order of line_order.h. So no user can hold
 * slurmctld up, with however many connections, and however often they are new ones.
 */
struct server *server_new(struct event_base *base, struct service *service,
	const struct wire_auth *auth, const char *host, int port, struct errmsg *err);
/* Says whether records are stored with the address that they came from; at first they are not. */
void server_check_origin(struct server *s, bool check);

void server_free(struct server *s);
