/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options by which a program's user chooses the size of the graph of readers. */
#pragma once

#include <argp.h>

#include "recommend_graph.h"

/* That of the paper (CF'14, table 1). */
extern const struct graph_size graph_size_default;

/* --documents, --users, --edges and --seed. Its input is a struct graph_size; it refuses one that
 * graph_open() cannot make. */
extern const struct argp graph_options;
