/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a miss in the last-level cache costs the jobs of a class, by what nodes have measured. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins a line of the history's file that says what a miss costs a class. */
#define MISS_COST_LINE "#miss\t"

/* What a processor may take for an instruction without a miss, and what a miss may add, in cycles:
 * the most is that of the setting stripe_miss_cycles. */
#define MISS_COST_BASE_MIN 0.05
#define MISS_COST_BASE_MAX 100.0
#define MISS_COST_CYCLES_MIN 1.0
#define MISS_COST_CYCLES_MAX 10000.0
/* So many runs count; later ones outweigh earlier ones. Fewer than the least tell nothing for
 * certain, as one does not show how much runs differ. */
#define MISS_COST_RUNS 10
#define MISS_COST_LEAST_RUNS 2

/*
 * The lines of classes that tell cycles per instruction by misses per instruction (Breslow's
 * thesis, section 2.4.2), a part of the pair history. Of a user there are 50 classes at most, of
 * all 5,000: one more takes the place of the one of the user who has the most that was seen longest
 * ago. What a user runs tells of this user's classes only.
 */
struct miss_costs;

struct miss_costs *miss_costs_new(void); /* NULL with ENOMEM */
void miss_costs_free(struct miss_costs *t);

/* What a run's nodes have told. */
struct miss_run {
	uint32_t uid;
	const char *class_name;
	double base_cycles; /* of an instruction at no miss */
	double miss_cycles; /* that each miss adds */
};

/*
 * Notes a run at `now` (unix time), as one of its class: a variant of a class counts for the class,
 * as what a miss costs does not depend on how many nodes a job has. Every run counts the same,
 * however long it was. Returns 1; 0 where it does not count, as the class is not the user's own, or
 * no processor has such a line; -1 with ENOMEM.
 */
int miss_costs_learn(struct miss_costs *t, const struct miss_run *run, long long now);

/* Why it is not certain what a miss costs; the words are those of spread_gain.h. */
enum miss_doubt { MISS_SURE, MISS_APART, MISS_ONE_RUN, MISS_NO_RUN, MISS_DOUBTS };

struct miss_cost {
	enum miss_doubt doubt;
	/* Geometric means over runs; NAN = there is none, or the last one is 90 days older than the
	 * latest of all classes. */
	double base_cycles, miss_cycles;
	/* Standard errors of their logarithms; NAN of fewer than MISS_COST_LEAST_RUNS. */
	double base_error, miss_error;
	int runs; /* MISS_COST_RUNS at most; less where most are old */
};

/* What a miss costs a class, whatever its variant. Returns whether that is certain; *out is filled
 * in any case. A class that is everybody's has none: any of its users could change it. */
bool miss_costs_of(const struct miss_costs *t, const char *class_name, struct miss_cost *out);

/* Calls fn for each class, sorted by user, then class. */
void miss_costs_each(const struct miss_costs *t,
	void (*fn)(const char *class_name, const struct miss_cost *cost, void *arg), void *arg);

/* "", "apart", "one-run", "no-run". */
const char *miss_doubt_name(enum miss_doubt doubt);

/* Runs of later times are of that time: the clock was wrong. */
void miss_costs_no_later(struct miss_costs *t, long long now);

/* Takes a line of the file, without its end; it changes it. false where it cannot be read. The
 * second writes all lines. */
bool miss_costs_read(struct miss_costs *t, char *line);
void miss_costs_write(const struct miss_costs *t, FILE *f);
