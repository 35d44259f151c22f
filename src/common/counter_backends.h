/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of counter backends, from which a job's progress can be read. */
#pragma once

#include <stdbool.h>

/*
 * One row for each backend: X(KIND, name, order, automatic, counts).
 *   name       in settings, logs and JSON; counter_<name>_ops of src/poppa/counter is its code
 *   order      from 1, without gaps: where several backends have a signal, the first one counts
 *   automatic  whether auto tries it, in that order; else it is used only where a setting names it
 *   counts     what it counts as progress; docs/counters.md has the same words (tests/lint)
 * Messages name the backends in the order of the rows.
 */
#define COUNTER_TABLE(X)                                                                           \
	X(PERF, perf, 2, true, "instructions and cycles")                                          \
	X(PAPI, papi, 3, true, "the same through PAPI, for sites that have it set up")             \
	X(HEARTBEAT, heartbeat, 1, true, "what the program publishes")                             \
	X(UPROBE, uprobe, 4, true, "calls of a function")                                          \
	X(REPLAY, replay, 5, false, "a recorded shutter log")

#define COUNTER_KIND(kind, name, order, automatic, counts) COUNTER_##kind,

/* What a setting may name: auto, a backend, or none (no signal: a job keeps its full price). */
enum counter_backend {
	COUNTER_AUTO,
	COUNTER_TABLE(COUNTER_KIND) COUNTER_NONE,
	COUNTER_NAMES, /* how many there are */
};

extern const char *const counter_backend_names[COUNTER_NAMES];

/* The columns of the table; false and "" for auto and none. */
const char *counter_backend_name(enum counter_backend b);
bool counter_backend_automatic(enum counter_backend b);
const char *counter_backend_counts(enum counter_backend b);

/* The backend of this order, from 1; COUNTER_NONE after the last. */
enum counter_backend counter_backend_ordered(int order);

/* 0, or -1 for an unknown name. Case does not matter. */
int counter_backend_parse(const char *name, enum counter_backend *b);
