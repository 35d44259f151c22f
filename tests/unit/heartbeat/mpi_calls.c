/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI program for 2 ranks that makes calls of every kind and compares them with what is published.
 */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "poppa/counter/counter.h"

#define POLLS 100000

static struct counter *own;
static uint64_t base;
static int rank, other, failed;
static MPI_Comm comm;

static uint64_t published(void)
{
	struct counter_sample s;

	if (counter_read(own, &s)) {
		perror("the own page");
		exit(1);
	}
	return s.progress;
}

static void mark(void)
{
	base = published();
}

/* Rank 0 prints one line for all ranks. */
static void verdict(const char *name, int bad)
{
	int any;

	MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_LOR, comm);
	failed |= any;
	if (rank == 0)
		printf("%s - %s\n", any ? "not ok" : "ok", name);
	fflush(stdout);
	MPI_Barrier(comm);
	mark();
}

/* The calls since the last check have completed `wanted` operations of this rank. */
static void check(const char *name, uint64_t wanted)
{
	uint64_t got = published() - base;

	if (got != wanted)
		printf("# rank %d: %s: published %llu, made %llu\n", rank, name,
			(unsigned long long)got, (unsigned long long)wanted);
	verdict(name, got != wanted);
}

static void blocking(void)
{
	int in[2] = {0}, out[2] = {1, 2};
	char buffer[1024];
	MPI_Message message;

	MPI_Buffer_attach(buffer, sizeof(buffer));
	mark();
	if (rank == 0) {
		MPI_Send(out, 1, MPI_INT, other, 1, comm);
		MPI_Ssend(out, 1, MPI_INT, other, 1, comm);
		MPI_Bsend(out, 1, MPI_INT, other, 1, comm);
		MPI_Recv(in, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(in, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
		MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
		MPI_Mprobe(other, 1, comm, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		MPI_Send(out, 1, MPI_INT, other, 1, comm);
	}
	check("blocking messages count once in each rank", 4);
	MPI_Buffer_detach(buffer, &(int){0});
	mark();
	MPI_Sendrecv(out, 1, MPI_INT, other, 2, in, 1, MPI_INT, other, 2, comm, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(in, 1, MPI_INT, other, 3, other, 3, comm, MPI_STATUS_IGNORE);
	check("an exchange counts as two", 4);
}

static void collective(void)
{
	int in[2], out[2] = {1, 2}, counts[2] = {1, 1}, at[2] = {0, 1}, offset[2] = {0, 4};
	MPI_Datatype type[2] = {MPI_INT, MPI_INT};
	MPI_Comm ring;
	MPI_Win win;

	mark();
	MPI_Barrier(comm);
	MPI_Bcast(out, 2, MPI_INT, 0, comm);
	MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
	MPI_Gatherv(out, 1, MPI_INT, in, counts, at, MPI_INT, 0, comm);
	MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
	MPI_Scatterv(out, counts, at, MPI_INT, in, 1, MPI_INT, 0, comm);
	MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
	MPI_Allgatherv(out, 1, MPI_INT, in, counts, at, MPI_INT, comm);
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
	MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm);
	MPI_Alltoallw(out, counts, offset, type, in, counts, offset, type, comm);
	MPI_Reduce(out, in, 2, MPI_INT, MPI_SUM, 0, comm);
	MPI_Allreduce(out, in, 2, MPI_INT, MPI_SUM, comm);
	MPI_Scan(out, in, 2, MPI_INT, MPI_SUM, comm);
	MPI_Exscan(out, in, 2, MPI_INT, MPI_SUM, comm);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
	MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, comm);
	check("every collective counts once in each rank", 17);

	MPI_Dist_graph_create_adjacent(
		comm, 1, &other, counts, 1, &other, counts, MPI_INFO_NULL, 0, &ring);
	mark();
	MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
	MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, at, MPI_INT, ring);
	MPI_Neighbor_alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, ring);
	MPI_Neighbor_alltoallw(
		out, counts, (MPI_Aint[]){0}, type, in, counts, (MPI_Aint[]){0}, type, ring);
	check("so do those with neighbours", 5);
	MPI_Comm_free(&ring);

	MPI_Win_create(in, sizeof(in), sizeof(int), MPI_INFO_NULL, comm, &win);
	mark();
	MPI_Win_fence(0, win);
	MPI_Put(out, 1, MPI_INT, other, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 100; i++) {
		MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
		MPI_Get(out, 1, MPI_INT, other, 0, 1, MPI_INT, win);
		MPI_Win_unlock(other, win);
	}
	check("the ends of common one-sided epochs count, looking at a remote value does not", 2);
	MPI_Win_free(&win);
}

static void polling(void)
{
	MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int in[3], out = 1, flag = 0, index, n, indices[3];
	MPI_Message message;

	mark();
	MPI_Irecv(in, 1, MPI_INT, other, 4, comm, &request[1]);
	for (int i = 0; i < POLLS; i++)
		MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
	for (int i = 0; i < POLLS / 10; i++) {
		MPI_Iprobe(other, 5, comm, &flag, MPI_STATUS_IGNORE);
		MPI_Improbe(other, 5, comm, &flag, &message, MPI_STATUS_IGNORE);
		MPI_Testall(3, request, &flag, MPI_STATUSES_IGNORE);
		MPI_Testany(3, request, &index, &flag, MPI_STATUS_IGNORE);
		MPI_Testsome(3, request, &n, indices, MPI_STATUSES_IGNORE);
		MPI_Request_get_status(request[1], &flag, MPI_STATUS_IGNORE);
	}
	check("polling for what does not come counts nothing", 0);

	mark();
	MPI_Send(&out, 1, MPI_INT, other, 4, comm);
	for (n = 0, flag = 0; n < POLLS || !flag; n++) {
		int now;

		MPI_Test(&request[1], &now, MPI_STATUS_IGNORE);
		flag |= now;
	}
	for (int i = 0; i < POLLS; i++) {
		MPI_Wait(&request[1], MPI_STATUS_IGNORE);
		MPI_Waitany(3, request, &index, MPI_STATUS_IGNORE);
		MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
		MPI_Testall(3, request, &flag, MPI_STATUSES_IGNORE);
		MPI_Testany(3, request, &index, &flag, MPI_STATUS_IGNORE);
		MPI_Testsome(3, request, &n, indices, MPI_STATUSES_IGNORE);
	}
	check("100,000 tests of one message, and as many of empty handles, count it once", 2);
}

/* Three messages each way, of which `finish` takes the receives to their end. */
static void three(const char *name, int finish(MPI_Request request[]))
{
	MPI_Request request[3], sent;
	int in[3], out = 1, calls = 0;

	mark();
	for (int i = 0; i < 3; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, other, 10 + i, comm, &request[i]);
	for (int i = 2; i >= 0; i--) {
		MPI_Isend(&out, 1, MPI_INT, other, 10 + i, comm, &sent);
		MPI_Wait(&sent, MPI_STATUS_IGNORE);
	}
	while (!finish(request) && calls < 100000000)
		calls++;
	check(name, 6);
}

static int all_null(const MPI_Request request[])
{
	return request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL &&
	       request[2] == MPI_REQUEST_NULL;
}

static int by_waitall(MPI_Request request[])
{
	MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
	return all_null(request);
}

static int by_waitany(MPI_Request request[])
{
	int index;

	MPI_Waitany(3, request, &index, MPI_STATUS_IGNORE);
	return all_null(request);
}

static int by_waitsome(MPI_Request request[])
{
	int n, index[3];

	MPI_Waitsome(3, request, &n, index, MPI_STATUSES_IGNORE);
	return all_null(request);
}

static int by_testall(MPI_Request request[])
{
	int flag;

	MPI_Testall(3, request, &flag, MPI_STATUSES_IGNORE);
	return all_null(request);
}

static int by_testany(MPI_Request request[])
{
	int flag, index;

	MPI_Testany(3, request, &index, &flag, MPI_STATUS_IGNORE);
	return all_null(request);
}

static int by_testsome(MPI_Request request[])
{
	int n, index[3];

	MPI_Testsome(3, request, &n, index, MPI_STATUSES_IGNORE);
	return all_null(request);
}

static void persistent(void)
{
	MPI_Request request[2];
	int in, out = 1, flag;

	mark();
	MPI_Recv_init(&in, 1, MPI_INT, other, 6, comm, &request[0]);
	MPI_Send_init(&out, 1, MPI_INT, other, 6, comm, &request[1]);
	for (int i = 0; i < 10; i++) {
		MPI_Startall(2, request);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		for (int j = 0; j < 100; j++)
			MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
	}
	MPI_Start(&request[1]);
	MPI_Start(&request[0]);
	MPI_Wait(&request[1], MPI_STATUS_IGNORE);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	MPI_Request_free(&request[0]);
	MPI_Request_free(&request[1]);
	check("persistent messages count at each start, and no more when tested", 22);
}

static void split_collective(void)
{
	MPI_Request request[2];
	int in, out = 1, flag = 0;

	mark();
	MPI_Ibarrier(comm, &request[0]);
	MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm, &request[1]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	while (!flag)
		MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
	check("collectives that were only started count when complete", 2);
}

enum { THREADS = 4, EACH = 1000 };

static void *talk_to_self(void *arg)
{
	int tag = 100 + (int)(intptr_t)arg, in, out = tag;

	for (int i = 0; i < EACH; i++)
		MPI_Sendrecv(&out, 1, MPI_INT, 0, tag, &in, 1, MPI_INT, 0, tag, MPI_COMM_SELF,
			MPI_STATUS_IGNORE);
	return NULL;
}

static void threads(int provided)
{
	pthread_t t[THREADS];

	if (provided < MPI_THREAD_MULTIPLE) {
		if (rank == 0)
			printf("ok - threads count apart # SKIP this MPI has no thread support\n");
		return;
	}
	mark();
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, talk_to_self, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	check("all threads' calls count", THREADS * EACH * 2);
}

static void forks(void)
{
	struct counter *c;
	struct errmsg err;
	int status = 1;
	pid_t pid;

	mark();
	pid = fork();
	if (pid == 0)
		_exit(counter_open(COUNTER_HEARTBEAT, NULL, getpid(), &c, &err) ? 0 : 1);
	waitpid(pid, &status, 0);
	verdict("a forked child publishes nothing", status != 0);
	MPI_Barrier(comm);
	check("and its parent goes on", 1);
}

/* The MPI library's own function, past whatever stands in front of it. */
static __typeof__(&MPI_Sendrecv) real_sendrecv(void)
{
	__typeof__(&MPI_Sendrecv) found = NULL;

	for (struct link_map *m = _r_debug.r_map; m && !found; m = m->l_next) {
		const char *name = strrchr(m->l_name, '/');
		void *lib;

		if (!name || strncmp(name, "/libmpi", 7) || strstr(name, "_"))
			continue;
		lib = dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (!lib)
			continue;
		*(void **)&found = dlsym(lib, "MPI_Sendrecv");
	}
	return found;
}

/* Nanoseconds of processor time a call: what others do on the processor meanwhile is not in them.
 */
static double batch(__typeof__(&MPI_Sendrecv) call)
{
	enum { CALLS = 500 };
	struct timespec from, to;
	int in, out = 1;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (int i = 0; i < CALLS; i++)
		call(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
			MPI_STATUS_IGNORE);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       CALLS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The cheapest call there is, made both ways, one right after the other: a machine that gets slower
 * for a while slows both of a pair. The median of the pairs' ratios is judged. */
static void cost(void)
{
	enum { PAIRS = 401 };
	__typeof__(&MPI_Sendrecv) real = real_sendrecv();
	double fastest = INFINITY, ratio[PAIRS];

	if (!real) {
		if (rank == 0)
			printf("ok - cost # SKIP the MPI library was not found by its name\n");
		return;
	}
	for (int i = 0; i < PAIRS; i++) {
		double without = batch(real);

		ratio[i] = batch(MPI_Sendrecv) / without;
		if (without < fastest)
			fastest = without;
	}
	qsort(ratio, PAIRS, sizeof(*ratio), by_size);
	if (rank == 0)
		printf("# an exchange with itself takes %.0f ns, counted %.2f times that\n",
			fastest, ratio[PAIRS / 2]);
	verdict("counting costs less than a quarter of an exchange with itself",
		ratio[PAIRS / 2] > 1.25);
}

/* A program that is linked with libpoppa-heartbeat: the library is there before the first call. */
static void own_publisher(const char *lib)
{
	struct errmsg err;
	int bad;

	if (!dlopen(lib, RTLD_NOW | RTLD_GLOBAL)) {
		printf("not ok - %s\n", dlerror());
		exit(1);
	}
	MPI_Init(NULL, NULL);
	comm = MPI_COMM_WORLD;
	MPI_Comm_rank(comm, &rank);
	MPI_Barrier(comm);
	bad = !counter_open(COUNTER_HEARTBEAT, NULL, getpid(), &own, &err);
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_LOR, comm);
	if (rank == 0)
		printf("%s - a program that publishes by itself is left alone\n",
			bad ? "not ok" : "ok");
	MPI_Finalize();
	exit(bad);
}

int main(int argc, char **argv)
{
	struct errmsg err;
	int provided, size;

	if (argc > 1)
		own_publisher(argv[1]);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	comm = MPI_COMM_WORLD;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	other = 1 - rank;
	if (size != 2) {
		fprintf(stderr, "for 2 ranks\n");
		MPI_Abort(comm, 1);
	}
	MPI_Barrier(comm);
	if (counter_open(COUNTER_HEARTBEAT, NULL, getpid(), &own, &err)) {
		fprintf(stderr, "%s\n", err.text);
		MPI_Abort(comm, 1);
	}
	blocking();
	collective();
	polling();
	three("three receives by MPI_Waitall", by_waitall);
	three("three receives by MPI_Waitany", by_waitany);
	three("three receives by MPI_Waitsome", by_waitsome);
	three("three receives by MPI_Testall", by_testall);
	three("three receives by MPI_Testany", by_testany);
	three("three receives by MPI_Testsome", by_testsome);
	persistent();
	split_collective();
	threads(provided);
	forks();
	cost();
	counter_close(own);
	MPI_Finalize();
	provided = counter_open(COUNTER_HEARTBEAT, NULL, getpid(), &own, &err);
	if (rank == 0)
		printf("%s - MPI_Finalize ends the publishing\n", provided ? "ok" : "not ok");
	return failed || !provided;
}
