/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks Slurm when the job ends, without waiting for the answer: its time limit may have moved. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct farm_limit {
	pid_t pid;     /* of squeue; 0: it is not there, which the caller says who reaps it */
	int fd;        /* what it says; -1: nothing is asked */
	char text[32]; /* so far, len bytes of it */
	size_t len;
};

void farm_limit_init(struct farm_limit *l);

/* Starts the question; an unanswered one is given up. Where squeue cannot be started, there is no
 * answer. job: its number, or ARRAY_TASK. */
void farm_limit_ask(struct farm_limit *l, const char *job);

/* The end of the job, seconds since 1970, once for each question; 0 where there is no answer, yet
 * or at all. */
int64_t farm_limit_answer(struct farm_limit *l);

/* Gives up what is asked. */
void farm_limit_close(struct farm_limit *l);
