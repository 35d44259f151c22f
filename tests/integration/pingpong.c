/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI program of two ranks that send each other one number after another for some seconds, and
 * check each. TCP looks every second whether the other end of their connection is there. */
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CHUNK 1024 /* numbers in a message: more than what TCP sends at once */

/* OpenMPI leaves keep-alive off for what ranks send each other. Returns for how many connections
 * it is on now. */
static int keep_alive(void)
{
	static const struct {
		int level, name, value;
	} option[] = {{IPPROTO_TCP, TCP_KEEPIDLE, 1}, {IPPROTO_TCP, TCP_KEEPINTVL, 1},
		{IPPROTO_TCP, TCP_KEEPCNT, 2}, {SOL_SOCKET, SO_KEEPALIVE, 1}};
	struct rlimit most = {.rlim_cur = 0};
	int count = 0;

	getrlimit(RLIMIT_NOFILE, &most);
	for (int fd = 0; fd < (int)most.rlim_cur && fd < 1024; fd++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		bool on = !getpeername(fd, (struct sockaddr *)&peer, &len) &&
			  (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);

		for (size_t i = 0; on && i < sizeof(option) / sizeof(option[0]); i++)
			on = !setsockopt(
				fd, option[i].level, option[i].name, &option[i].value, sizeof(int));
		count += on;
	}
	return count;
}

int main(int argc, char **argv)
{
	static long sent[CHUNK], got[CHUNK];
	double seconds = argc > 1 ? atof(argv[1]) : 10, start;
	long rounds = 0, wrong = 0;
	int rank, more = 1, kept = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	start = MPI_Wtime();
	while (more) {
		for (int i = 0; i < CHUNK; i++)
			sent[i] = rounds * CHUNK + i + rank;
		memset(got, 0, sizeof(got));
		MPI_Sendrecv(sent, CHUNK, MPI_LONG, 1 - rank, 0, got, CHUNK, MPI_LONG, 1 - rank, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < CHUNK; i++)
			wrong += got[i] != rounds * CHUNK + i + 1 - rank;
		/* They connect with the first message. */
		if (!rounds++)
			kept = keep_alive();
		more = MPI_Wtime() - start < seconds;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	printf("rank=%d kept_alive=%d rounds=%ld wrong=%ld\n", rank, kept, rounds, wrong);
	MPI_Finalize();
	return wrong != 0;
}
