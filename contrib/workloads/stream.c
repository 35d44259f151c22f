/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the memory busy: a co-runner that shares the socket's bandwidth notices. */
#include "workload.h"

#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "heartbeat/poppa_heartbeat.h"

#define BLOCK 256 /* elements an operation: 6 KiB of traffic */

enum { KEY_MIB = 'm' };

static int64_t mib = 64;
static uint64_t blocks, next;
static double *a, *b, *c;

static const struct argp_option options[] = {
	{"mib", KEY_MIB, "M", 0, "memory of each rank in MiB (default 64)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *argp)
{
	if (key != KEY_MIB)
		return ARGP_ERR_UNKNOWN;
	mib = workload_number(argp, "mib", arg, 1, 1 << 20);
	return 0;
}

static void setup(int rank, int local_rank)
{
	uint64_t elements;

	(void)local_rank;
	blocks = ((uint64_t)mib << 20) / (3 * sizeof(double) * BLOCK);
	elements = blocks * BLOCK;
	a = calloc(elements, sizeof(*a));
	b = calloc(elements, sizeof(*b));
	c = calloc(elements, sizeof(*c));
	if (!a || !b || !c)
		error(EXIT_FAILURE, errno, "%" PRId64 " MiB", mib);
	for (uint64_t i = 0; i < elements; i++) {
		b[i] = (double)(i % 1000);
		c[i] = (double)(rank % 1000);
	}
}

static void run(uint64_t n)
{
	while (n--) {
		uint64_t at = next * BLOCK;

		for (uint64_t i = at; i < at + BLOCK; i++)
			a[i] = b[i] + 0.5 * c[i] + 0.25 * a[i];
		next = next + 1 == blocks ? 0 : next + 1;
		poppa_heartbeat_add(1);
	}
}

static uint64_t checksum(void)
{
	uint64_t sum = 0, bits;

	for (uint64_t i = 0; i < blocks * BLOCK; i++) {
		memcpy(&bits, &a[i], sizeof(bits));
		sum = workload_step(sum ^ bits);
	}
	return sum;
}

int main(int argc, char **argv)
{
	static const struct argp extra = {.options = options, .parser = parse};
	static const struct workload stream = {
		.doc = "MPI program that streams through memory.",
		.extra = &extra,
		.setup = setup,
		.run = run,
		.checksum = checksum,
	};

	return workload_main(argc, argv, &stream);
}
