/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket RUNDIR/poppad.sock: a request is one line of JSON, and so is its answer. */
#pragma once

#include <sys/types.h>
#include <event2/event.h>
#include <jansson.h>

#include "common/errmsg.h"

/* Answers a request of a user, whose uid the kernel gives. Returns a new reference. */
typedef json_t *(*status_fn)(const json_t *request, uid_t uid, void *arg);

struct status;

/* Listens at path, to which anybody may connect. Limits for each user (status.c) keep the socket
 * free for others. base stays the caller's. Returns NULL with err on failure. */
struct status *status_open(
	struct event_base *base, const char *path, status_fn fn, void *arg, struct errmsg *err);

/* Closes all connections and removes the socket. NULL is allowed. */
void status_close(struct status *s);
