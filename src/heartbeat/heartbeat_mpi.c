/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Publishes the progress of unchanged MPI programs: the communication that they have completed. */
/*
 * Preloaded, or linked before the MPI library, this library receives the MPI calls of a program and
 * counts what completes. It does not count how often the program asks for completion: a rank that
 * waits makes no progress, however fast it polls.
 *
 * It defines both names of each call: MPI_X for C, and PMPI_X because the Fortran bindings of Open
 * MPI call that one. Each calls the next function of its own name, so that other tools see the same
 * as without us. Only the outermost call of a thread counts.
 *
 * Nothing here refers to an MPI library before a program calls one, because a preload also reaches
 * shells and every other program that a job starts.
 *
 * One build serves every kind of MPI, since nobody knows of a script what its programs are linked
 * with. So it includes no mpi.h. A handle is a pointer in Open MPI and an int in the family of
 * MPICH (also Intel MPI, Cray MPICH, MVAPICH). Passed on as a whole word, either arrives as it
 * came. Only whether a request's handle is empty has to be read, in the way of the kind that is
 * there.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heartbeat/poppa_heartbeat.h"

typedef void *MPI_Comm;
typedef void *MPI_Datatype;
typedef void *MPI_Message;
typedef void *MPI_Op;
typedef void *MPI_Request;
typedef void *MPI_Win;
typedef intptr_t MPI_Aint;
typedef struct {
	char opaque;
} MPI_Status;
/* The same in all kinds. */
#define MPI_SUCCESS 0
#define MPI_UNDEFINED (-32766)
/* MPI_REQUEST_NULL, where handles are ints. */
#define EMPTY_NUMBER 0x2c000000

enum { UNDECIDED, COUNTING, SILENT };

static int state; /* one of the above */
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Open MPI's empty request; NULL: handles are ints. Set before state is COUNTING. */
static void *empty_request;
static __thread unsigned int depth; /* number of nested MPI calls that this thread is in */

static bool is_ours(const void *symbol)
{
	Dl_info us, it;

	return dladdr(&state, &us) && dladdr(symbol, &it) && us.dli_fbase == it.dli_fbase;
}

/* Also looks in the libraries that a module loaded at run time, for example a module of an
 * interpreter: dlsym() does not search these by itself. */
static void *in_any_object(const char *name)
{
	void *found = NULL;

	for (struct link_map *m = _r_debug.r_map; m && !found; m = m->l_next) {
		void *object;

		if (!m->l_name[0])
			continue;
		object = dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (!object)
			continue;
		found = dlsym(object, name);
		if (found && is_ours(found))
			found = NULL;
		dlclose(object);
	}
	return found;
}

static void *next_call(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		found = in_any_object(name);
	if (!found) {
		fprintf(stderr, "libpoppa-heartbeat-mpi: no MPI library has %s\n", name);
		abort();
	}
	return found;
}

static void find_kind(void)
{
	/* Not RTLD_NEXT: this is data, and where the program has its own copy, that one is used. */
	empty_request = dlsym(RTLD_DEFAULT, "ompi_request_null");
	if (!empty_request)
		empty_request = in_any_object("ompi_request_null");
}

/* Whether the user wants none of this, for one program or for all of a job. */
static bool refused(void)
{
	const char *wish = getenv("POPPA_HEARTBEAT_MPI");

	return wish && !strcmp(wish, "no");
}

/* Whether the program itself uses libpoppa-heartbeat: it knows its progress better. */
static bool program_publishes(void)
{
	void *open = dlsym(RTLD_DEFAULT, "poppa_heartbeat_open");

	return open && !is_ours(open);
}

static void begin(void)
{
	bool count = !refused() && !program_publishes();

	if (count)
		find_kind();
	count = count && !poppa_heartbeat_open();
	__atomic_store_n(&state, count ? COUNTING : SILENT, __ATOMIC_RELEASE);
}

static inline bool counting(void)
{
	if (__builtin_expect(__atomic_load_n(&state, __ATOMIC_ACQUIRE) == UNDECIDED, 0))
		pthread_once(&once, begin);
	return __atomic_load_n(&state, __ATOMIC_RELAXED) == COUNTING;
}

static inline void add(int n)
{
	if (n > 0 && counting())
		poppa_heartbeat_add((uint64_t)n);
}

static inline bool is_empty(const MPI_Request *request, int i)
{
	return empty_request ? request[i] == empty_request
			     : ((const int *)request)[i] == EMPTY_NUMBER;
}

/* The number of empty handles. Completion sets a request's handle to MPI_REQUEST_NULL; a test of an
 * empty handle also succeeds, but changes none. A persistent request keeps its handle and counts
 * when it is started. */
static inline int done(int n, const MPI_Request *request)
{
	int nulls = 0;

	if (depth || !counting())
		return 0;
	for (int i = 0; i < n; i++)
		nulls += is_empty(request, i);
	return nulls;
}

static int done_of(int n, const int *index, const MPI_Request *request)
{
	int nulls = 0;

	if (depth || n == MPI_UNDEFINED || !counting())
		return 0;
	for (int i = 0; i < n; i++)
		nulls += is_empty(request, index[i]);
	return nulls;
}

/* Defines symbol, which calls the next function of that name. before is taken before that call (as
 * `first`); completed is the number to count after it has succeeded. */
#define FORWARD(symbol, params, args, before, completed)                                           \
	int symbol params;                                                                         \
	int symbol params                                                                          \
	{                                                                                          \
		static __typeof__(&symbol) target;                                                 \
		__typeof__(&symbol) next = __atomic_load_n(&target, __ATOMIC_RELAXED);             \
		int first = before, rc;                                                            \
                                                                                                   \
		(void)first;                                                                       \
		if (__builtin_expect(!next, 0)) {                                                  \
			*(void **)&next = next_call(#symbol);                                      \
			__atomic_store_n(&target, next, __ATOMIC_RELAXED);                         \
		}                                                                                  \
		depth++;                                                                           \
		rc = next args;                                                                    \
		if (--depth == 0 && rc == MPI_SUCCESS)                                             \
			add(completed);                                                            \
		return rc;                                                                         \
	}
#define BOTH(name, params, args, before, completed)                                                \
	FORWARD(MPI_##name, params, args, before, completed)                                       \
	FORWARD(PMPI_##name, params, args, before, completed)
#define COUNT(n, name, params, args) BOTH(name, params, args, 0, n)

/* Messages. An exchange counts as two: a send and a receive. */
#define SEND_PARAMS                                                                                \
	(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
#define SEND_ARGS (buf, count, type, dest, tag, comm)
COUNT(1, Send, SEND_PARAMS, SEND_ARGS)
COUNT(1, Bsend, SEND_PARAMS, SEND_ARGS)
COUNT(1, Ssend, SEND_PARAMS, SEND_ARGS)
COUNT(1, Rsend, SEND_PARAMS, SEND_ARGS)
COUNT(1, Recv,
	(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		MPI_Status *status),
	(buf, count, type, source, tag, comm, status))
COUNT(1, Mrecv, (void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
	(buf, count, type, message, status))
COUNT(2, Sendrecv,
	(const void *sbuf, int scount, MPI_Datatype stype, int dest, int stag, void *rbuf,
		int rcount, MPI_Datatype rtype, int source, int rtag, MPI_Comm comm,
		MPI_Status *status),
	(sbuf, scount, stype, dest, stag, rbuf, rcount, rtype, source, rtag, comm, status))
COUNT(2, Sendrecv_replace,
	(void *buf, int count, MPI_Datatype type, int dest, int stag, int source, int rtag,
		MPI_Comm comm, MPI_Status *status),
	(buf, count, type, dest, stag, source, rtag, comm, status))

/* The completion of operations that were started before, of any kind. */
BOTH(Wait, (MPI_Request * request, MPI_Status *status), (request, status), done(1, request),
	done(1, request) - first)
BOTH(Waitall, (int n, MPI_Request request[], MPI_Status status[]), (n, request, status),
	done(n, request), done(n, request) - first)
BOTH(Waitany, (int n, MPI_Request request[], int *index, MPI_Status *status),
	(n, request, index, status), 0, done_of(*index == MPI_UNDEFINED ? 0 : 1, index, request))
BOTH(Waitsome, (int n, MPI_Request request[], int *completed, int index[], MPI_Status status[]),
	(n, request, completed, index, status), 0, done_of(*completed, index, request))
BOTH(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status),
	done(1, request), done(1, request) - first)
BOTH(Testall, (int n, MPI_Request request[], int *flag, MPI_Status status[]),
	(n, request, flag, status), done(n, request), *flag ? done(n, request) - first : 0)
BOTH(Testany, (int n, MPI_Request request[], int *index, int *flag, MPI_Status *status),
	(n, request, index, flag, status), 0,
	done_of(*flag &&*index != MPI_UNDEFINED ? 1 : 0, index, request))
BOTH(Testsome, (int n, MPI_Request request[], int *completed, int index[], MPI_Status status[]),
	(n, request, completed, index, status), 0, done_of(*completed, index, request))
COUNT(1, Start, (MPI_Request * request), (request))
COUNT(n, Startall, (int n, MPI_Request request[]), (n, request))

/* Collective operations. */
COUNT(1, Barrier, (MPI_Comm comm), (comm))
COUNT(1, Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
	(buf, count, type, root, comm))
#define ROOTED_PARAMS                                                                              \
	(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,                 \
		MPI_Datatype rtype, int root, MPI_Comm comm)
#define ROOTED_ARGS (sbuf, scount, stype, rbuf, rcount, rtype, root, comm)
COUNT(1, Gather, ROOTED_PARAMS, ROOTED_ARGS)
COUNT(1, Scatter, ROOTED_PARAMS, ROOTED_ARGS)
COUNT(1, Gatherv,
	(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, const int rcounts[],
		const int displs[], MPI_Datatype rtype, int root, MPI_Comm comm),
	(sbuf, scount, stype, rbuf, rcounts, displs, rtype, root, comm))
COUNT(1, Scatterv,
	(const void *sbuf, const int scounts[], const int displs[], MPI_Datatype stype, void *rbuf,
		int rcount, MPI_Datatype rtype, int root, MPI_Comm comm),
	(sbuf, scounts, displs, stype, rbuf, rcount, rtype, root, comm))
#define ALL_PARAMS                                                                                 \
	(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,                 \
		MPI_Datatype rtype, MPI_Comm comm)
#define ALL_ARGS (sbuf, scount, stype, rbuf, rcount, rtype, comm)
COUNT(1, Allgather, ALL_PARAMS, ALL_ARGS)
COUNT(1, Alltoall, ALL_PARAMS, ALL_ARGS)
COUNT(1, Neighbor_allgather, ALL_PARAMS, ALL_ARGS)
COUNT(1, Neighbor_alltoall, ALL_PARAMS, ALL_ARGS)
#define ALLGATHERV_PARAMS                                                                          \
	(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, const int rcounts[],        \
		const int displs[], MPI_Datatype rtype, MPI_Comm comm)
#define ALLGATHERV_ARGS (sbuf, scount, stype, rbuf, rcounts, displs, rtype, comm)
COUNT(1, Allgatherv, ALLGATHERV_PARAMS, ALLGATHERV_ARGS)
COUNT(1, Neighbor_allgatherv, ALLGATHERV_PARAMS, ALLGATHERV_ARGS)
#define ALLTOALLV_PARAMS                                                                           \
	(const void *sbuf, const int scounts[], const int sdispls[], MPI_Datatype stype,           \
		void *rbuf, const int rcounts[], const int rdispls[], MPI_Datatype rtype,          \
		MPI_Comm comm)
#define ALLTOALLV_ARGS (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm)
COUNT(1, Alltoallv, ALLTOALLV_PARAMS, ALLTOALLV_ARGS)
COUNT(1, Neighbor_alltoallv, ALLTOALLV_PARAMS, ALLTOALLV_ARGS)
COUNT(1, Alltoallw,
	(const void *sbuf, const int scounts[], const int sdispls[], const MPI_Datatype stypes[],
		void *rbuf, const int rcounts[], const int rdispls[], const MPI_Datatype rtypes[],
		MPI_Comm comm),
	(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm))
COUNT(1, Neighbor_alltoallw,
	(const void *sbuf, const int scounts[], const MPI_Aint sdispls[],
		const MPI_Datatype stypes[], void *rbuf, const int rcounts[],
		const MPI_Aint rdispls[], const MPI_Datatype rtypes[], MPI_Comm comm),
	(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm))
COUNT(1, Reduce,
	(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op, int root,
		MPI_Comm comm),
	(sbuf, rbuf, count, type, op, root, comm))
#define REDUCE_PARAMS                                                                              \
	(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define REDUCE_ARGS (sbuf, rbuf, count, type, op, comm)
COUNT(1, Allreduce, REDUCE_PARAMS, REDUCE_ARGS)
COUNT(1, Scan, REDUCE_PARAMS, REDUCE_ARGS)
COUNT(1, Exscan, REDUCE_PARAMS, REDUCE_ARGS)
COUNT(1, Reduce_scatter_block, REDUCE_PARAMS, REDUCE_ARGS)
COUNT(1, Reduce_scatter,
	(const void *sbuf, void *rbuf, const int counts[], MPI_Datatype type, MPI_Op op,
		MPI_Comm comm),
	(sbuf, rbuf, counts, type, op, comm))

/* One-sided: the ends of epochs on which both sides agree. Locks, flushes and single accesses do
 * not count: a program may poll with them. */
COUNT(1, Win_fence, (int assert, MPI_Win win), (assert, win))
COUNT(1, Win_complete, (MPI_Win win), (win))
COUNT(1, Win_wait, (MPI_Win win), (win))
COUNT(*flag != 0, Win_test, (MPI_Win win, int *flag), (win, flag))

/* After MPI_Finalize() no progress can be counted: withdraws the page, which would look like a
 * program that stands still. */
static int withdraw(void)
{
	if (!depth && counting()) {
		__atomic_store_n(&state, SILENT, __ATOMIC_RELEASE);
		poppa_heartbeat_close();
	}
	return 0;
}
BOTH(Finalize, (void), (), withdraw(), 0)
