/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sample MPI programs share: options, the loop, heartbeats and the result line. */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "workload_number.h"

/* One program's inner part. An operation is what it does much of. */
struct workload {
	const char *doc;          /* for --help */
	const struct argp *extra; /* options of its own, or NULL */
	/* Called in each rank with its number in the job and on the node; exits on failure. */
	void (*setup)(int rank, int local_rank);
	/* Does n operations and beats after every few. */
	void (*run)(uint64_t n);
	/* Depends on the rank and the number of operations done, and on nothing else. */
	uint64_t (*checksum)(void);
	/* Must be safe in a signal handler; may be NULL. */
	void (*cleanup)(void);
};

int workload_main(int argc, char **argv, const struct workload *w);

/* One step of private work: a chain of dependent multiplications that no compiler shortens. */
static inline uint64_t workload_step(uint64_t x)
{
	return x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}
