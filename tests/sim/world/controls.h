/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Controls: worlds in which a policy can gain nothing, or can learn nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "sim/world/matrix.h"

struct controls {
	bool permuted; /* the cells of each row at random: who suits whom has no pattern */
	bool additive; /* log speed = suffered + inflicted: who is with whom makes no difference */
	bool zero;     /* D = 0: each program is as fast beside others as alone on a lane */
	bool names;    /* each job has a name of its own, so nothing of it is known */
	bool drift;    /* in the middle of the trace half of the classes become other programs */
};

#define CONTROLS_NAMES "permuted, additive, zero, names, drift"

/* Reads a list of the names above, with commas: 0, or -1 with err. Each is there once at most, and
 * one at most of those that replace the matrix. */
int controls_parse(const char *text, struct controls *c, struct errmsg *err);

/* Changes the matrix as they say; the seed says which cell goes where. */
void controls_apply(const struct controls *c, uint64_t seed, struct matrix *m);
