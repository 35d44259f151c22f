/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands for an MPI library of another kind, whose handles are numbers. */
int MPI_Wait(int *request, int *status);
int MPI_Finalize(void);

int MPI_Wait(int *request, int *status)
{
	*status = *request;
	*request = 0x2c000000;
	return 0;
}

int MPI_Finalize(void)
{
	return 0;
}
