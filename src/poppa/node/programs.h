/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program of a job has used most processor time on this node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/record.h"

/* So many names are kept of a job, however many programs it starts. */
#define PROGRAMS_MAX 8

/* All 0: none yet. */
struct programs {
	bool resumed; /* of a checkpoint, and no task was looked at since */
	int count;
	struct program {
		char name[RECORD_PROGRAM]; /* printable */
		uint64_t ticks;            /* of processor time, at most: see programs_ran() */
	} list[PROGRAMS_MAX];
};

/*
 * Adds processor time of a program; name: of its executable file, as anybody may have chosen it.
 * Where there is no room for one more, it takes the place of the one with the least time, and that
 * time with it, so a program with more than an eighth of all time is always among them ("space
 * saving", Metwally, Agrawal, El Abbadi, ICDT 2005, section 3).
 */
void programs_ran(struct programs *p, const char *name, uint64_t ticks);

/* The name of the one with most time, the first of several; "" without one. */
const char *programs_first(const struct programs *p);

/* For a checkpoint. The first returns a new reference, or NULL. The second leaves out what cannot
 * be read; NULL is none. */
json_t *programs_save(const struct programs *p);
void programs_load(const json_t *saved, struct programs *p);
