/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RUNDIR/poppad.sock: one line of JSON asks, one line of JSON answers. */
#ifndef POPPA_REPORT_STATUS_H
#define POPPA_REPORT_STATUS_H

#include <sys/types.h>
#include <event2/event.h>
#include <jansson.h>

#include "common/errmsg.h"

/* Answers a request of uid, which the kernel vouches for; a new reference. */
typedef json_t *(*status_fn)(const json_t *request, uid_t uid, void *arg);

struct status;

/* Listens at path, which anybody may connect to. NULL with err. */
struct status *status_open(
	struct event_base *base, const char *path, status_fn fn, void *arg, struct errmsg *err);

/* Closes all connections and removes the socket. NULL is allowed. */
void status_close(struct status *s);

#endif
