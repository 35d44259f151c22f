/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded counters of tasks, interval by interval. */
#pragma once

#include "common/errmsg.h"
#include "mapper/mapper.h"

struct recording {
	struct mapper_sample *samples; /* by interval, in the order of the text */
	int64_t *interval;             /* of each sample; never falls */
	int count, room;
};

/* The columns of a recording, as its first line names them. */
#define RECORDING_COLUMNS "interval,app,task,pu,instructions,cycles,inter,intra,local,remote,stalls"

/* Reads a recording; text is cut in place, name is what messages call it. A task is in an interval
 * once, and intervals follow each other. Returns 0, or -1 with err. recording_free() in both cases.
 */
int recording_read(struct recording *r, const char *name, char *text, struct errmsg *err);
void recording_free(struct recording *r);

/* How many samples the interval has that begins with sample `first`. */
int recording_interval(const struct recording *r, int first);
