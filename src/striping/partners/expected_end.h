/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a co-located job is expected to end whose time limit counts progress. Knows no Slurm. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * While a limit moves with what the job was measured to lose (accounting/settle/time_limit.h), the
 * end in the job's record is what is to be expected of it. Before the first records have come after
 * two jobs met, seconds, what the pair history expects of them says more.
 */
#define EXPECTED_FRESH_S 180

/*
 * The end of a job whose limit ends at `end` as things are, if the job loses `degradation`
 * (a fraction) from now on and until `until`, when its partner leaves (0: it stays as long): what
 * is left to it takes 1 / (1 - degradation) times as long, but never by more longer than it loses
 * until then, nor TIME_LIMIT_MOST_TIMES longer. It is not moved behind `latest` (0 = no bound).
 * Times are seconds since 1970.
 */
int64_t expected_end(int64_t now, int64_t end, double degradation, int64_t until, int64_t latest);

/* What does not count of a later start, seconds: backfill plans in minutes. Without it a job that
 * everybody waits for could have no partner at all. */
#define EXPECTED_SLACK_S 60

/* Whether a job that is planned to start at that time on a node has to wait longer if the last of
 * those that are there before it ends at `after` in place of `before`. */
bool expected_puts_off(int64_t before, int64_t after, int64_t planned);
