/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the result: a JSON object, or a table. */
#pragma once

#include "sim/measures.h"
#include "sim/options.h"

/* figures[i] is of o->policy[i]. 0, or -1 with err. */
int output_json(const struct options *o, const struct workload *w, const struct matrix *m,
	const struct figures *figures, struct errmsg *err);
void output_table(const struct options *o, const struct workload *w, const struct matrix *m,
	const struct figures *figures);

/* Writes out all that was printed: 0, or -1 with err, as a full disk must not look like success. */
int output_end(struct errmsg *err);
