/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many answers each user has had lately, for servers that limit them. */
#pragma once

#include <stdbool.h>
#include <time.h>
#include <sys/types.h>

#define ASKERS 64

/* At first all 0. Of more users than it has room for, it knows those that asked last. */
struct askers {
	struct asker {
		uid_t uid;
		time_t second; /* by CLOCK_MONOTONIC */
		int answers;   /* in that second */
	} asker[ASKERS];
};

/* Counts an answer to the user. */
void askers_count(struct askers *a, uid_t uid);

/* Whether the user has had so many answers in this second: the next one has to wait. */
bool askers_had_enough(struct askers *a, uid_t uid, int answers);
