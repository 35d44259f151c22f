/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The innocent co-runner: keeps its cores busy and touches nothing outside their registers. */
#include "workload.h"

#include <stddef.h>

#include "heartbeat/poppa_heartbeat.h"

#define STEPS 64 /* of private work an operation */
#define BATCH 16

static uint64_t state;

static void setup(int rank, int local_rank)
{
	(void)local_rank;
	state = (uint64_t)rank;
}

static void run(uint64_t n)
{
	uint64_t x = state;

	while (n) {
		uint64_t batch = n < BATCH ? n : BATCH;

		for (uint64_t i = 0; i < batch * STEPS; i++)
			x = workload_step(x);
		poppa_heartbeat_add(batch);
		n -= batch;
	}
	state = x;
}

static uint64_t checksum(void)
{
	return state;
}

int main(int argc, char **argv)
{
	static const struct workload null = {
		.doc = "MPI program that computes in registers and disturbs no co-runner.",
		.setup = setup,
		.run = run,
		.checksum = checksum,
	};

	return workload_main(argc, argv, &null);
}
