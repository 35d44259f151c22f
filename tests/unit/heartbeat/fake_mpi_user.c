/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of the other kind of MPI: its calls work, and nothing is published for it. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int MPI_Wait(int *request, int *status);
int MPI_Finalize(void);

int main(void)
{
	char link[256];
	int status = 0, pages = 0;
	DIR *dir;

	for (int i = 1; i < 1000; i++) {
		int request = i;

		if (MPI_Wait(&request, &status) || status != i || request != 0x2c000000)
			return 1;
	}
	dir = opendir("/proc/self/fd");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		link[n < 0 ? 0 : n] = '\0';
		pages += strstr(link, "poppa-heartbeat") != NULL;
	}
	return MPI_Finalize() || pages;
}
