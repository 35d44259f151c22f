/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads recorded counters. */
#include "mapper/recording.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "columns/columns.h"

#define SAMPLES_MAX 10000000

enum column {
	INTERVAL,
	APP,
	TASK,
	PU,
	INSTRUCTIONS,
	CYCLES,
	INTER,
	INTRA,
	LOCAL,
	REMOTE,
	STALLS,
	COLUMNS
};

static const char *const names[COLUMNS] = {"interval", "app", "task", "pu", "instructions",
	"cycles", "inter", "intra", "local", "remote", "stalls"};

struct reading {
	struct columns columns;
	struct recording *r;
};

static int make_room(struct recording *r, struct errmsg *err)
{
	int room = r->room ? 2 * r->room : 1024;
	struct mapper_sample *samples;
	int64_t *interval;

	if (r->count < r->room)
		return 0;
	if (r->count == SAMPLES_MAX)
		return errmsg_set(err, "more than %d lines", SAMPLES_MAX);
	samples = reallocarray(r->samples, (size_t)room, sizeof(*samples));
	if (samples)
		r->samples = samples;
	interval = samples ? reallocarray(r->interval, (size_t)room, sizeof(*interval)) : NULL;
	if (!interval)
		return errmsg_set(err, "no memory for %d lines", room);
	r->interval = interval;
	r->room = room;
	return 0;
}

/* No processor counts more in a hundred days; and some of them can be added up. */
#define MOST (INT64_C(1) << 58)

static int read_row(void *arg, char *const *field, int line, struct errmsg *err)
{
	struct reading *reading = arg;
	struct recording *r = reading->r;
	int64_t value[COLUMNS];

	for (int k = 0; k < COLUMNS; k++)
		if (columns_whole(&reading->columns, field, k, line, 0, k == PU ? INT_MAX : MOST,
			    &value[k], err))
			return -1;
	if (r->count && value[INTERVAL] < r->interval[r->count - 1])
		return errmsg_set(err, "%s: line %d: interval %lld follows interval %lld",
			reading->columns.name, line, (long long)value[INTERVAL],
			(long long)r->interval[r->count - 1]);
	/* Nobody maps more, and each task is compared with the others of its interval. */
	if (r->count >= MAPPER_PUS_MAX && r->interval[r->count - MAPPER_PUS_MAX] == value[INTERVAL])
		return errmsg_set(err, "%s: line %d: interval %lld has more than %d tasks",
			reading->columns.name, line, (long long)value[INTERVAL], MAPPER_PUS_MAX);
	for (int i = r->count; i-- && r->interval[i] == value[INTERVAL];)
		if (r->samples[i].task == value[TASK])
			return errmsg_set(err, "%s: line %d: task %lld is in interval %lld twice",
				reading->columns.name, line, (long long)value[TASK],
				(long long)value[INTERVAL]);
	if (make_room(r, err))
		return -1;
	r->interval[r->count] = value[INTERVAL];
	r->samples[r->count++] = (struct mapper_sample){
		.task = value[TASK],
		.app = value[APP],
		.pu = (int)value[PU],
		.instructions = (uint64_t)value[INSTRUCTIONS],
		.cycles = (uint64_t)value[CYCLES],
		.inter = (uint64_t)value[INTER],
		.intra = (uint64_t)value[INTRA],
		.local = (uint64_t)value[LOCAL],
		.remote = (uint64_t)value[REMOTE],
		.stalls = (uint64_t)value[STALLS],
	};
	return 0;
}

int recording_read(struct recording *r, const char *name, char *text, struct errmsg *err)
{
	struct reading reading = {{name, names, COLUMNS, COLUMNS, RECORDING_COLUMNS}, r};

	*r = (struct recording){.count = 0};
	return columns_read(&reading.columns, text, read_row, &reading, err);
}

void recording_free(struct recording *r)
{
	free(r->samples);
	free(r->interval);
}

int recording_interval(const struct recording *r, int first)
{
	int n = 0;

	while (first + n < r->count && r->interval[first + n] == r->interval[first])
		n++;
	return n;
}
