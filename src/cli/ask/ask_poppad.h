/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks this node's poppad. */
#ifndef POPPA_CLI_ASK_ASK_POPPAD_H
#define POPPA_CLI_ASK_ASK_POPPAD_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"

/* Which poppad a subcommand asks: its options --node and --conf; NULL = not given. */
struct ask_poppad_options {
	const char *node, *conf;
};

/* Their entries for an option table. */
#define ASK_POPPAD_OPTIONS                                                                         \
	{"node", 'N', "NAME", 0, "Slurm's name of the node, where several share the host", 0},     \
	{                                                                                          \
		"conf", 'c', "FILE", 0, "Read this poppa.conf", 0                                  \
	}

/* Takes one of the two; ARGP_ERR_UNKNOWN for other keys. */
error_t ask_poppad_parse_option(int key, const char *arg, struct ask_poppad_options *o);

/*
 * The socket of a node's poppad. node NULL: $SLURMD_NODENAME, else the host's short name, else,
 * when RunDir holds %n and a single node's directory is there, that one. Returns 0, or -1 with err
 * where several nodes' daemons share the host and node says nothing.
 */
int ask_poppad_socket(
	const struct nodeconf *conf, const char *node, char *path, size_t size, struct errmsg *err);

/* What poppad says of itself, a JSON object with its jobs by their ids, a new reference; NULL with
 * err, also where it refuses. path is its socket, PATH_MAX, "" where that is not known. */
json_t *ask_poppad_status(const struct ask_poppad_options *o, char *path, struct errmsg *err);

/* Sends one request line and returns the reply, a JSON object, a new reference; NULL with err. */
json_t *ask_poppad(const char *socket_path, json_t *request, struct errmsg *err);

#endif
