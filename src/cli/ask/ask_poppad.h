/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks this node's poppad what it does. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"

/* The options of a subcommand that asks poppad: --json, and --node and --conf, by which it chooses
 * a poppad (NULL = not given). */
struct ask_poppad_options {
	bool json;
	const char *node, *conf;
};

/* The entries of --node and --conf for an option table. */
#define ASK_POPPAD_OPTIONS                                                                         \
	{"node", 'N', "NAME", 0, "Slurm's name of the node, where several share the host", 0},     \
	{                                                                                          \
		"conf", 'c', "FILE", 0, "Read this poppa.conf", 0                                  \
	}

/* Takes --node and --conf, and does with other keys what cli_parse_rest() does. */
error_t ask_poppad_parse_rest(int key, const char *arg, struct ask_poppad_options *o);

/*
 * Finds the path of the socket of a node's poppad. Where node is NULL it tries $SLURMD_NODENAME,
 * then the host's short name, and then, when RunDir contains %n, the only directory that matches.
 * Returns 0, or -1 with err, as when several nodes' daemons share the host and nothing chooses one.
 */
int ask_poppad_socket(
	const struct nodeconf *conf, const char *node, char *path, size_t size, struct errmsg *err);

/*
 * Asks for poppad's status: a JSON object with its jobs in the order of their ids, a new reference.
 * NULL with err when poppad does not answer or refuses. path, of PATH_MAX bytes, becomes the
 * socket's path, or "" where that is not known.
 */
json_t *ask_poppad_status(const struct ask_poppad_options *o, char *path, struct errmsg *err);

/* Asks the poppad at a socket for its status and returns the reply, a JSON object, as a new
 * reference; NULL with err, also after 5 s without an answer. */
json_t *ask_poppad(const char *socket_path, struct errmsg *err);
