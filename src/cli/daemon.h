/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks this node's poppad. */
#ifndef POPPA_CLI_DAEMON_H
#define POPPA_CLI_DAEMON_H

#include <stddef.h>
#include <jansson.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"

/*
 * The socket of a node's poppad. node NULL: $SLURMD_NODENAME, else the host's short name, else,
 * when RunDir holds %n and a single node's directory is there, that one. Returns 0, or -1 with err
 * where several nodes' daemons share the host and node says nothing.
 */
int daemon_socket(
	const struct nodeconf *conf, const char *node, char *path, size_t size, struct errmsg *err);

/* Sends one request line and returns the reply, a JSON object, a new reference; NULL with err. */
json_t *daemon_ask(const char *socket_path, json_t *request, struct errmsg *err);

#endif
