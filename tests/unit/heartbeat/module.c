/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI code that is loaded at run time, as an interpreter's module is; prints what it publishes. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

int run(void);

static long published(void)
{
	struct poppa_heartbeat_page page;
	char path[300], link[256];
	long sum = -1;
	DIR *dir = opendir("/proc/self/fd");

	for (struct dirent *e; dir && (e = readdir(dir));) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		FILE *f;

		link[n < 0 ? 0 : n] = '\0';
		if (!strstr(link, POPPA_HEARTBEAT_NAME))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		f = fopen(path, "r");
		if (f && fread(&page, sizeof(page), 1, f) == 1)
			sum = (long)page.slot[0].count;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

int run(void)
{
	MPI_Init(NULL, NULL);
	for (int i = 0; i < 10; i++)
		MPI_Barrier(MPI_COMM_SELF);
	printf("%ld\n", published());
	return MPI_Finalize();
}
