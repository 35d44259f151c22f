/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the line that tells a job's cycles per instruction by its last-level cache misses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

/*
 * The linear model of the thesis, section 2.4.2: the run time of a program that its last-level
 * cache limits is linear in its misses per instruction. Here for windows of blocks, by weighted
 * least squares:
 *
 *     cycles / instructions = b + m * (misses / instructions)
 *
 * so m is what a miss adds, in cycles. A window weighs its instructions: then long windows count by
 * their length, and those in which the job hardly ran count for little.
 *
 * A line is told only where it is known. Errors of misses and of instructions make wrong lines that
 * look like right ones, in two ways:
 *
 *  - Errors of x alone make the line too flat: m is too low by the factor var(x) / (var(x) +
 *    var(error)), and b too high. The coefficient of determination is at most that factor, so the
 *    true m lies between m and m/r2 (the line of x by y). With r2 of MISS_LEAST_R2 or more, m is
 *    too low by a tenth at most. It is not corrected: what the line misses may as well be an error
 *    of y.
 *  - Instructions are in both ratios. Where only they vary (a task that waits for others in a
 *    loop), the points lie on a line through the origin, and it says nothing of misses. So b must
 *    be above 0 by two standard errors even on the steepest line, the one with m/r2.
 *
 * Few windows far from all others would make a line by themselves, and the windows of one block are
 * of one moment and not independent. So the standard errors come from a jackknife over groups of
 * whole blocks: who leaves out any sixteenth of the blocks must find the same line.
 *
 * It cannot see what changes together with the misses: where memory is slower while co-runners run,
 * a miss costs more there, and m has that in it. So the line holds for this job, beside co-runners
 * like these, on processors and clock rates like these.
 */

#define MISS_LEAST_R2 0.9
#define MISS_LEAST_BLOCKS 30
#define MISS_MOST_ERROR 0.2  /* the standard error of m, as a share of m */
#define MISS_MOST_CYCLES 1e4 /* a miss never adds so many: some microseconds */
#define MISS_MOST_CPI 1e3    /* nor is an instruction as slow on average */
#define MISS_MOST_COUNT 1e15 /* of instructions in a window: days */
#define MISS_GROUPS 16

struct miss_window {
	double instructions, cycles, misses;
};

/* Weighted means, and sums of weighted squares around them. All members are doubles. */
struct miss_moments {
	double weight, x, y, xx, xy, yy;
};

/* All zero: nothing is known. A block belongs to the next group. */
struct miss_model {
	uint64_t blocks;
	struct miss_moments group[MISS_GROUPS];
};

struct miss_fit {
	bool accepted;   /* all conditions above hold; otherwise the rest is for tests and logs */
	uint64_t blocks; /* that had windows */
	double b, m;     /* NAN: there is no line */
	double r2;
	double b_error, m_error; /* standard errors; NAN with fewer than MISS_GROUPS blocks */
};

/* Takes the windows of one block. Those that cannot be are left out: no instructions or cycles,
 * more misses than instructions, numbers that no window reaches, or none. Returns whether two at
 * least are left; with fewer the block does not count. O(n) time, no memory. */
bool miss_model_add(struct miss_model *model, const struct miss_window *w, int n);

void miss_model_line(const struct miss_model *model, struct miss_fit *out);

/* For a checkpoint: the state, which the caller owns; reads it from one and returns 0, or -1 with
 * *model untouched where it is not one. */
json_t *miss_model_save(const struct miss_model *model);
int miss_model_load(struct miss_model *model, const json_t *json);
