/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run of a job that a user names, as sacct and squeue show it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/bills/why.h"

/* All 0: no job is named yet. */
struct find_run {
	bool has_run;
	uint32_t run; /* 0 = the first; where has_run is not set the latest is meant */
	char job[64]; /* as sacct takes it, without the run */
};

/* Reads "12", "12_3" or "12+1", each with or without ".RUN". Anything else, and a second job, ends
 * the program with CLI_USAGE. */
void find_run_read(struct find_run *f, const char *arg);

/*
 * Finds the run among what sacct shows, or in a file with that (input; NULL = none), and in squeue
 * where the job has not started. Sets w->bills, w->bill, w->job, w->restart and w->waiting; *f and
 * *bills must live as long as *w. Without a job in *f it ends the program with CLI_USAGE. Returns
 * 0, and the caller ends with find_run_free(); or -1, and has printed why.
 */
int find_run(const struct find_run *f, const char *input, struct bills *bills, struct why *w);

/* Frees what find_run() and why_gather() have put into both. */
void find_run_free(struct bills *bills, struct why *w);
