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
	uint64_t unsaid; /* left out and not told of yet */
};

/* Logs a warning, or leaves it out when there were enough in this minute. what is the kind, such as
 * "bad requests", and is not copied; now is the time since 1970, s. */
void log_limit_warn(struct log_limit *limit, const char *what, time_t now, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Logs how many were left out since it was told last, if any. To be called now and then, and at the
 * end: otherwise that comes with the first warning of a later minute. */
void log_limit_tell(struct log_limit *limit);
