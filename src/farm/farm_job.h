/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of poppa-farm share: its options, its tasks and their fate. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"
#include "farm/farm_schedule.h"

/* One line of the input. */
struct farm_line {
	struct farm_task task; /* first: the schedule's part */
	uint64_t number;       /* of the line, from 1 */
	uint64_t check;        /* of its text: after a restart the same line has the same */
	uint32_t tries;        /* how often it was started */
	char text[];           /* the command */
};

struct farm_options {
	const char *input;   /* "-": standard input */
	const char *journal; /* NULL: none */
	const char
		*output; /* folder of the tasks' output; NULL: they write where poppa-farm does */
	const char *server; /* command of the workers that take tasks as lines; NULL: each task is a
			       command */
	uint32_t workers;   /* 0: one for each processor that it may use */
	uint32_t retries;
	int64_t time_ns;  /* 0: no limit of its own */
	const char *job;  /* Slurm's number of the job whose limit time_ns is; else NULL */
	int64_t grace_ns; /* how long running tasks get at the end */
	bool json, pin;
	struct farm_settings settings;
};

/* Counted while it runs. */
struct farm_counts {
	uint64_t tasks;   /* lines that are tasks, also wrong ones */
	uint64_t done;    /* here or, by the journal, before */
	uint64_t skipped; /* of these, before */
	uint64_t failed;  /* for good, wrong lines among them */
	uint64_t retried; /* starts that were not the first */
};

struct farm_worker_sum {
	uint64_t tasks;
	double busy_s;
	int cpu; /* -1: not pinned */
};
