/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads memory at random that fits into the last-level cache: slow again after others emptied it.
 */
#include "workload.h"

#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "heartbeat/poppa_heartbeat.h"

#define READS 64 /* an operation */

enum { KEY_MIB = 'm' };

static int64_t mib = 16;
static uint64_t lines, where, sum;
static struct line {
	uint64_t value, rest[7];
} * memory;

static const struct argp_option options[] = {
	{"mib", KEY_MIB, "M", 0, "memory of each rank in MiB (default 16)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *argp)
{
	if (key != KEY_MIB)
		return ARGP_ERR_UNKNOWN;
	mib = workload_number(argp, "mib", arg, 1, 1 << 16);
	return 0;
}

/* In huge pages where the kernel gives any, so that the caches are what is slow, and not the
 * translation of addresses. */
static void setup(int rank, int local_rank)
{
	size_t size = (size_t)mib << 20;

	(void)local_rank;
	lines = size / sizeof(*memory);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		error(EXIT_FAILURE, errno, "%" PRId64 " MiB", mib);
	madvise(memory, size, MADV_HUGEPAGE);
	for (uint64_t i = 0; i < lines; i++)
		memory[i].value = workload_step(i + (uint64_t)rank);
	where = (uint64_t)rank;
}

static void run(uint64_t n)
{
	while (n--) {
		for (int i = 0; i < READS; i++) {
			where = workload_step(where);
			/* The upper bits are the random ones. */
			sum += memory[(uint64_t)(((unsigned __int128)where * lines) >> 64)].value;
		}
		poppa_heartbeat_add(1);
	}
}

static uint64_t checksum(void)
{
	return workload_step(sum ^ where);
}

int main(int argc, char **argv)
{
	static const struct argp extra = {.options = options, .parser = parse};
	static const struct workload llc = {
		.doc = "MPI program that reads a part of the last-level cache at random.",
		.extra = &extra,
		.setup = setup,
		.run = run,
		.checksum = checksum,
	};

	return workload_main(argc, argv, &llc);
}
