/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints figures of policies. */
#include "sim/output.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* One row for each figure: JSON, table, units. */
static const struct column {
	const char *key, *title;
	size_t at;
	int digits;
	double factor; /* of what the table shows */
	bool slips;    /* only with --slips */
} columns[] = {
	{"makespan_s", "makespan h", offsetof(struct figures, makespan_s), 1, 1 / 3600., false},
	{"mean_wait_s", "wait h", offsetof(struct figures, mean_wait_s), 2, 1 / 3600., false},
	{"bounded_slowdown", "slow-down", offsetof(struct figures, bounded_slowdown), 2, 1, false},
	{"stp", "STP", offsetof(struct figures, stp), 4, 1, false},
	{"throughput", "throughput", offsetof(struct figures, throughput), 4, 1, false},
	{"share_of_gain", "gain %", offsetof(struct figures, share_of_gain), 1, 100, false},
	{"below_break_even", "below %", offsetof(struct figures, below_break_even), 2, 100, false},
	{"timeouts_added", "timeouts %", offsetof(struct figures, timeouts_added), 3, 100, false},
	{"explored", "explored %", offsetof(struct figures, explored), 2, 100, false},
	{"slipped", "slipped %", offsetof(struct figures, slipped), 2, 100, true},
	{"slip_s", "slip s", offsetof(struct figures, slip_s), 1, 1, true},
	{"capped_over", "capped over %", offsetof(struct figures, capped_over), 2, 100, false},
	{"pairs_mae", "pair error %", offsetof(struct figures, pairs_mae), 2, 100, false},
	{"pairs_cover90", "in 90 % interval %", offsetof(struct figures, pairs_cover90), 1, 100,
		false},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static double value(const struct figures *f, const struct column *c)
{
	return *(const double *)((const char *)f + c->at);
}

/* Whether the column was asked for. */
static bool shown(const struct options *o, const struct column *c)
{
	return o->slips || !c->slips;
}

static json_t *number(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *policy_json(const struct options *o, const struct figures *f)
{
	json_t *object = json_object();

	for (size_t i = 0; i < COLUMNS; i++) {
		double v = value(f, &columns[i]);

		if (!shown(o, &columns[i]))
			continue;
		json_object_set_new(object, columns[i].key, number(v));
	}
	return object;
}

int output_json(const struct options *o, const struct workload *w, const struct matrix *m,
	const struct figures *figures, struct errmsg *err)
{
	json_t *all = json_pack("{s:s, s:s, s:i, s:i, s:i, s:I, s:f, s:o, s:{}}", "trace", o->trace,
		"matrix", o->matrix, "programs", m->count, "nodes", o->nodes, "jobs", w->count,
		"seed", (json_int_t)o->workload.seed, "least_makespan_s",
		workload_least_makespan_s(w, m), "best_pairing_stp", number(policy_best_pairing(m)),
		"policies");
	int rc;

	if (!all)
		return errmsg_set(err, "the result cannot be written: is a path in it no UTF-8?");
	for (int i = 0; i < o->policies; i++)
		json_object_set_new(json_object_get(all, "policies"), o->policy[i]->name,
			policy_json(o, &figures[i]));
	rc = json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(all);
	putchar('\n');
	/* output_end() tells why nothing could be written. */
	return rc && !ferror(stdout) ? errmsg_set(err, "out of memory") : 0;
}

void output_table(const struct options *o, const struct workload *w, const struct matrix *m,
	const struct figures *figures)
{
	printf("A simulation: %d jobs of %s on %d nodes, %d programs of %s, seed %llu.\n", w->count,
		o->trace, o->nodes, m->count, o->matrix, (unsigned long long)o->workload.seed);
	printf("No node makes more than %.4f (STP) in the best pairing of all programs.\n",
		policy_best_pairing(m));
	printf("No policy has a makespan below %.1f h.\n\n",
		workload_least_makespan_s(w, m) / 3600);
	printf("%-10s", "policy");
	for (size_t k = 0; k < COLUMNS; k++)
		if (shown(o, &columns[k]))
			printf("  %s", columns[k].title);
	putchar('\n');
	for (int i = 0; i < o->policies; i++) {
		printf("%-10s", o->policy[i]->name);
		for (size_t k = 0; k < COLUMNS; k++) {
			double v = value(&figures[i], &columns[k]);
			int width = (int)snprintf(NULL, 0, "%s", columns[k].title);

			if (!shown(o, &columns[k]))
				continue;
			if (isnan(v))
				printf("  %*s", width, "-");
			else
				printf("  %*.*f", width, columns[k].digits, v * columns[k].factor);
		}
		putchar('\n');
	}
}

int output_end(struct errmsg *err)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errmsg_set(err, "cannot write to standard output: %s", strerror(errno));
}
