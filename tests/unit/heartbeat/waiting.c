/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI program of two ranks, of which one works, contended, and the other waits for its messages. */
/*
 * The ranks have one processor in common, as a lane of one core has. So the waiting rank sleeps
 * between its looks; on a core of its own it would look all the time, and execute as many
 * instructions as the worker, which the meter makes up for.
 */
#include <mpi.h>

#include "waiting.h"

#define ADDITIONS 5000 /* for a message: some ten microseconds */
#define LOOKS 20       /* between two sleeps */

static void work(struct waiting *w, int64_t start)
{
	uint64_t x = 1;
	int more = 1;

	while (more) {
		x = waiting_contend(w, x, ADDITIONS);
		more = !waiting_over(w, start);
		/* Always true, which the compiler does not know. */
		more = x == 0 ? 2 : more;
		MPI_Send(&more, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		__atomic_store_n(&w->work, w->work + 1, __ATOMIC_RELAXED);
	}
}

static void wait_for_it(struct waiting *w)
{
	struct timespec nap = {.tv_nsec = 100000};
	int more = 1, flag, in_vain = 0;
	MPI_Request request;

	MPI_Irecv(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
	for (;;) {
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
		__atomic_store_n(&w->polls, w->polls + 1, __ATOMIC_RELAXED);
		if (flag && !more)
			return;
		if (flag)
			MPI_Irecv(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
		in_vain = flag ? 0 : in_vain + 1;
		if (in_vain == LOOKS) {
			clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
			in_vain = 0;
		}
	}
}

int main(int argc, char **argv)
{
	struct waiting *w;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 2) {
		fprintf(stderr, "Usage: waiting FILE\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	w = waiting_map(argv[1]);
	waiting_pin(0);
	waiting_prefer(rank); /* the sleeper is to get its processor when it wakes */
	MPI_Barrier(MPI_COMM_WORLD);
	__atomic_store_n(&w->pid[rank], (int32_t)getpid(), __ATOMIC_RELEASE);
	if (rank == 0)
		work(w, waiting_now());
	else
		wait_for_it(w);
	MPI_Finalize();
	return 0;
}
