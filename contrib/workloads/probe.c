/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up random keys in a hash table that no cache holds; how many cache lines a lookup reads can
 * be chosen. */
#include "workload.h"

#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <stdlib.h>

#include "heartbeat/poppa_heartbeat.h"
#include "horton/poppa_horton.h"

#define BATCH 64 /* lookups an operation */
#define LOAD 0.9
#define LINE 64
#define MOST 8

enum { KEY_MIB = 'm', KEY_LINES = 'l' };

static int64_t mib = 64;
static double wanted; /* lines a lookup; 0: as many as the table needs */
static struct horton *table;
static uint64_t lines; /* of the second array */
static uint64_t *more; /* what tables read that need more lines: one number of each line is used */
static uint32_t items;
static uint64_t state, sum;
static double extra, owed; /* lines a lookup that are read of it, and not read yet */

static const struct argp_option options[] = {
	{"mib", KEY_MIB, "M", 0, "memory of each rank in MiB (default 64)", 0},
	{"lines", KEY_LINES, "N", 0,
		"cache lines that a lookup reads on average, up to 8 (default: 1.14, what a Horton table needs; a cuckoo table "
		"needs 1.5)",
		0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *argp)
{
	char *end;

	if (key == KEY_MIB) {
		mib = workload_number(argp, "mib", arg, 1, 1 << 18);
		return 0;
	}
	if (key != KEY_LINES)
		return ARGP_ERR_UNKNOWN;
	wanted = strtod(arg, &end);
	if (end == arg || *end || !(wanted >= 1 && wanted <= MOST))
		argp_error(argp, "--lines=%s: give a number from 1 to %d", arg, MOST);
	return 0;
}

/* Keys are 1 to items, spread by a permutation: all of them are there. */
static uint32_t key_of(uint32_t i)
{
	return i * 2654435769u;
}

static void setup(int rank, int local_rank)
{
	uint64_t bytes = (uint64_t)mib << 20;
	struct horton_shape shape;
	double own;

	(void)local_rank;
	table = horton_create((uint32_t)(bytes / 2 / LINE), (uint64_t)rank);
	lines = bytes / 2 / LINE;
	more = table ? aligned_alloc(LINE, lines * LINE) : NULL;
	if (!table || !more)
		error(EXIT_FAILURE, errno, "%" PRId64 " MiB", mib);
	for (uint64_t i = 0; i < lines * LINE / sizeof(*more); i++)
		more[i] = i;
	for (items = 0; items < LOAD * (double)lines * LINE / 8;)
		if (horton_insert(table, key_of(items + 1), items + 1) == HORTON_FULL)
			break;
		else
			items++;
	horton_measure(table, &shape);
	own = 1 + (double)shape.secondary / (double)shape.items;
	if (wanted > 0 && wanted < own - 0.005)
		error(EXIT_FAILURE, 0, "--lines=%.2f: this table needs %.2f: give that or more",
			wanted, own);
	extra = wanted > own ? wanted - own : 0;
	state = (uint64_t)rank + 1;
}

static void run(uint64_t n)
{
	uint32_t keys[BATCH], values[BATCH];
	uint8_t found[BATCH];
	uint64_t at[BATCH * MOST];

	while (n--) {
		unsigned reads;

		for (int i = 0; i < BATCH; i++) {
			state = workload_step(state);
			keys[i] = key_of(1 + (uint32_t)((state >> 32) * items >> 32));
		}
		owed += extra * BATCH;
		reads = (unsigned)owed;
		owed -= reads;
		for (unsigned i = 0; i < reads; i++) {
			at[i] = (uint64_t)(keys[i % BATCH] * (2246822519u + 2 * i)) * lines >> 32;
			__builtin_prefetch(&more[at[i] * (LINE / sizeof(*more))]);
		}
		horton_lookup_many(table, keys, BATCH, values, found);
		for (int i = 0; i < BATCH; i++)
			sum += values[i];
		for (unsigned i = 0; i < reads; i++)
			sum += more[at[i] * (LINE / sizeof(*more))];
		poppa_heartbeat_add(1);
	}
}

static uint64_t checksum(void)
{
	return sum;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = options, .parser = parse};
	static const struct workload probe = {
		.doc = "MPI program that looks up keys in a hash table.",
		.extra = &argp,
		.setup = setup,
		.run = run,
		.checksum = checksum,
	};

	return workload_main(argc, argv, &probe);
}
