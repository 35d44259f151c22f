/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a co-located job is expected to end whose time limit counts progress. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The end in a job's record is moved by what the job was measured to lose
 * (accounting/settle/time_limit.h), and so is the one to expect. For so many seconds after two jobs
 * have met there is no measurement yet: until then the pair history says more.
 */
#define EXPECTED_FRESH_S 180

/*
 * The end of a job whose limit ends at `end` as things are, if the job loses `degradation`
 * (a fraction) from now until its partner leaves at `until` (0: the partner stays as long as the
 * job). What is left to the job takes 1 / (1 - degradation) times as long. The end moves by no more
 * than the job loses before `until`, by no more than TIME_LIMIT_MOST_TIMES of what is left, and not
 * behind `latest` (0 = no bound). Times are seconds since 1970.
 */
int64_t expected_end(int64_t now, int64_t end, double degradation, int64_t until, int64_t latest);

/* A start that is later by no more than this, seconds, does not count: backfill plans in minutes.
 * Without it a job for whose end a planned job waits could have no partner at all. */
#define EXPECTED_SLACK_S 60

/* Whether a job that is planned to start at that time on a node has to wait longer if the last of
 * those that are there before it ends at `after` in place of `before`. */
bool expected_puts_off(int64_t before, int64_t after, int64_t planned);
