/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads "HOST:PORT" as people write it. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"

/*
 * Reads HOST, HOST:PORT, [IPV6]:PORT, or a bare IPv6 address. *port stays as it is where the text
 * has none. Returns 0, or -1 with err and nothing changed.
 */
int hostport_parse(const char *text, char *host, size_t size, int *port, struct errmsg *err);
