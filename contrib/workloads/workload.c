/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a sample MPI program for some work or some time and prints its result. */
#include "workload.h"

#include <mpi.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/units.h"
#include "heartbeat/poppa_heartbeat.h"

/* Operations between two meetings of the ranks: some milliseconds of work. */
#define EPOCH UINT64_C(65536)

enum { KEY_SECONDS = 's', KEY_WORK = 'w', KEY_VERBOSE = 'v' };

struct options {
	double seconds;
	uint64_t work;
	bool verbose;
};

static const struct workload *current;

static const struct argp_option option_list[] = {
	{"seconds", KEY_SECONDS, "S", 0, "run this long (default 10)", 0},
	{"work", KEY_WORK, "N", 0, "do this many operations in each rank, however long it takes",
		0},
	{"verbose", KEY_VERBOSE, NULL, 0, "print the rate to standard error", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;

	switch (key) {
	case KEY_SECONDS:
		if (units_parse_double(arg, 0.001, 1e6, &o->seconds, &err))
			argp_error(state, "--seconds: %s", err.text);
		return 0;
	case KEY_WORK:
		o->work = (uint64_t)workload_number(state, "work", arg, 1, INT64_MAX);
		return 0;
	case KEY_VERBOSE:
		o->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What a killed job must not leave behind. */
static void on_signal(int sig)
{
	if (current->cleanup)
		current->cleanup();
	signal(sig, SIG_DFL);
	raise(sig);
}

static volatile sig_atomic_t enough;

static void on_enough(int sig)
{
	(void)sig;
	enough = 1;
}

/* Runs until the work or the time is over in all ranks, or one is told by SIGUSR1; returns this
 * rank's operations. */
static uint64_t run(const struct workload *w, const struct options *o)
{
	double end = now() + o->seconds;
	uint64_t done = 0;
	int go_on = 1;

	while (go_on) {
		uint64_t n = o->work && o->work - done < EPOCH ? o->work - done : EPOCH;
		int mine;

		w->run(n);
		done += n;
		mine = !enough && (o->work ? done < o->work : now() < end);
		MPI_Allreduce(&mine, &go_on, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	}
	return done;
}

int workload_main(int argc, char **argv, const struct workload *w)
{
	struct options o = {.seconds = 10};
	const struct argp_child children[] = {{w->extra, 0, NULL, 0}, {0}};
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.doc = w->doc,
		.children = w->extra ? children : NULL,
	};
	uint64_t done, sum, all;
	int rank, ranks, local;
	MPI_Comm node;
	double start;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &local);

	current = w;
	w->setup(rank, local);
	/* Who sees its heartbeat may measure it: it has begun. */
	poppa_heartbeat_open();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGUSR1, on_enough);
	start = now();
	done = run(w, &o);
	if (o.verbose)
		fprintf(stderr, "%s: rank %d: %.4g operations a second\n",
			program_invocation_short_name, rank, (double)done / (now() - start));
	sum = w->checksum();
	MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
	if (w->cleanup)
		w->cleanup();
	if (rank == 0 && o.work)
		printf("%s: %d rank%s, %" PRIu64 " operations each, checksum %016" PRIx64 "\n",
			program_invocation_short_name, ranks, ranks == 1 ? "" : "s", o.work, all);
	else if (rank == 0)
		printf("%s: %d rank%s, %g s\n", program_invocation_short_name, ranks,
			ranks == 1 ? "" : "s", o.seconds);
	poppa_heartbeat_close();
	MPI_Comm_free(&node);
	MPI_Finalize();
	return 0;
}
