/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the jobs of emulated machines run: an MPI program that mostly rests, until told to end. */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

/* Emulated processors share a few real ones, so ranks do not spin while they wait. */
#define ROUNDS 32
#define STEPS 2000
#define REST_NS 40000000

static const struct timespec rest = {.tv_nsec = REST_NS};

static void wait_for(MPI_Request *request)
{
	int done = 0;

	while (!MPI_Test(request, &done, MPI_STATUS_IGNORE) && !done)
		nanosleep(&rest, NULL);
}

/* One line that says where this rank may run, as the kernel sees it. */
static void print_affinity(int rank)
{
	char text[4096], host[256];
	int length = 0, cpu;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || gethostname(host, sizeof(host)))
		MPI_Abort(MPI_COMM_WORLD, 1);
	host[sizeof(host) - 1] = '\0';
	for (cpu = 0; cpu < CPU_SETSIZE && length < (int)sizeof(text) - 16; cpu++)
		if (CPU_ISSET(cpu, &set))
			length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%d",
				length ? "," : "", cpu);
	printf("rank %d node %s pid %d cpus %s\n", rank, host, (int)getpid(), text);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	MPI_Request request;
	uint64_t x = 1, all, done = 0, sum;
	int rank, ranks, end = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2) {
		if (rank == 0)
			fprintf(stderr,
				"usage: rank FILE: runs until FILE is there, on the node of "
				"the first rank\n");
		MPI_Finalize();
		return 2;
	}
	print_affinity(rank);
	poppa_heartbeat_open();
	while (!end) {
		int i, j;

		for (i = 0; i < ROUNDS; i++) {
			for (j = 0; j < STEPS; j++)
				x = x * UINT64_C(6364136223846793005) +
				    UINT64_C(1442695040888963407);
			poppa_heartbeat_add(STEPS);
			nanosleep(&rest, NULL);
		}
		done += ROUNDS;
		end = rank == 0 && access(argv[1], F_OK) == 0;
		MPI_Ibcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
		wait_for(&request);
	}
	poppa_heartbeat_close();
	MPI_Ireduce(&x, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD, &request);
	wait_for(&request);
	MPI_Ireduce(&done, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD, &request);
	wait_for(&request);
	if (rank == 0)
		printf("%d ranks, %llu rounds, checksum %016llx\n", ranks, (unsigned long long)sum,
			(unsigned long long)all);
	MPI_Finalize();
	return 0;
}
