/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the size of the graph of readers. */
#include "graph_options.h"

#include <inttypes.h>

#include "workload_number.h"

/* Other parsers of the same program have other keys. */
enum { KEY_DOCUMENTS = 0x1000, KEY_USERS, KEY_EDGES, KEY_SEED };

const struct graph_size graph_size_default = {82100, 72300, 1740000, 1};

static const struct argp_option option_list[] = {
	{"documents", KEY_DOCUMENTS, "N", 0, "of the graph (82100)", 0},
	{"users", KEY_USERS, "N", 0, "of the graph (72300)", 0},
	{"edges", KEY_EDGES, "N", 0, "pairs of a user and a document that was read (1740000)", 0},
	{"seed", KEY_SEED, "N", 0, "other numbers make other graphs and other queries (1)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct graph_size *size = state->input;

	switch (key) {
	case KEY_DOCUMENTS:
		size->documents = (uint32_t)workload_number(state, "documents", arg, 2, 1 << 30);
		return 0;
	case KEY_USERS:
		size->users = (uint32_t)workload_number(state, "users", arg, 2, 1 << 30);
		return 0;
	case KEY_EDGES:
		size->edges = (uint32_t)workload_number(state, "edges", arg, 1, 1 << 30);
		return 0;
	case KEY_SEED:
		size->seed = (uint64_t)workload_number(state, "seed", arg, 0, INT32_MAX);
		return 0;
	case ARGP_KEY_END:
		if (size->edges > (uint64_t)size->documents * size->users / 2)
			argp_error(state, "--edges: half of all pairs at most, %" PRIu64,
				(uint64_t)size->documents * size->users / 2);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp graph_options = {.options = option_list, .parser = parse};
