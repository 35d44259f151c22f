/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suspects jobs whose tasks wait for each other in a loop, which counts as progress but is none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Ranks of a parallel job advance together. When a co-runner slows one of them down, the others
 * wait. Where they wait in a loop, a processor counts the loop's instructions (thesis, section
 * 3.5.2), so the sum over the tasks shows a smaller loss than there is. What the slowest task lost
 * is then nearer to the truth.
 *
 * Counts alone do not tell such a job from one of independent tasks of which the co-runners hurt
 * only some: for that job the sum is right and the slowest task is not. Also, the slowest of many
 * noisy readings is always too slow. So the sum is billed, and this file only tells where the sum
 * is doubtful: a task feels the co-runners and another one certainly does not feel them as much.
 * Where a task is even slower without the co-runners, its progress was waiting: no job's real work
 * does that. The fix is to count what is completed, as the heartbeat backend does.
 */

#define SPIN_MAX_TASKS 256 /* further tasks are ignored */

enum spin_verdict {
	SPIN_UNKNOWN, /* fewer than 2 tasks, or too few blocks */
	SPIN_EVEN,    /* no sign of waiting */
	SPIN_UNEVEN,  /* the tasks feel the co-runners unevenly: suspected */
	SPIN_CERTAIN, /* and some count more while their job is held up */
};

const char *spin_verdict_name(enum spin_verdict v);

struct spin_result {
	enum spin_verdict verdict;
	double most, least; /* degradation of the most and the least affected task; NAN = unknown */
};

struct spin; /* constant size */

struct spin *spin_new(void);
void spin_free(struct spin *s);

/* Takes a block in which the job ran alone: each task's id, in any order, and the log of its rate
 * alone divided by its rate beside the co-runners (NAN: none). Tasks that are not in the block are
 * forgotten, as only tasks that were measured together can be compared. */
void spin_add(struct spin *s, int count, const uint64_t *id, const double *log_ratio);

void spin_result(const struct spin *s, struct spin_result *out);
