/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another tool that stands in front of MPI; at the end it prints how many barriers it has seen. */
#include <mpi.h>
#include <stdio.h>

static int seen;

int MPI_Barrier(MPI_Comm comm)
{
	seen++;
	return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
	printf("tool %d\n", seen);
	fflush(stdout);
	return PMPI_Finalize();
}
