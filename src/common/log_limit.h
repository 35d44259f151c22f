/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings that strangers can cause: a few a minute, and the number of the others. */
#pragma once

#include <stdint.h>
#include <time.h>

#define LOG_LIMIT_A_MINUTE 10

/* Warnings of one kind; all zero to begin with. Not thread-safe. */
struct log_limit {
	const char *what;
	int64_t minute;  /* of the last one, since 1970 */
	int said;        /* in that minute */
	uint64_t unsaid; /* left out, and their number not logged yet */
};

/* Logs a warning, or leaves it out when this minute has had enough of them. what is the kind, such
 * as "bad requests", and is not copied; now is in seconds since 1970. */
void log_limit_warn(struct log_limit *limit, const char *what, time_t now, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Logs how many warnings were left out since this was last logged, if any. Without this call, the
 * first warning of a later minute logs it. */
void log_limit_tell(struct log_limit *limit);
