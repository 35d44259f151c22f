/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the warnings of a minute, and leaves out those that are too many. */
#include "common/log_limit.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"

#define MINUTE_S 60

void log_limit_tell(struct log_limit *limit)
{
	if (limit->unsaid)
		plog_warn("%llu more %s were not logged", (unsigned long long)limit->unsaid,
			limit->what);
	limit->unsaid = 0;
}

void log_limit_warn(struct log_limit *limit, const char *what, time_t now, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (now / MINUTE_S != limit->minute) {
		log_limit_tell(limit);
		limit->minute = now / MINUTE_S;
		limit->said = 0;
	}
	limit->what = what;
	if (limit->said < LOG_LIMIT_A_MINUTE) {
		va_start(ap, fmt);
		vsnprintf(line, sizeof(line), fmt, ap);
		va_end(ap);
		plog_warn("%s", line);
	} else {
		if (limit->said == LOG_LIMIT_A_MINUTE)
			plog_warn("more %s: not logged for the rest of this minute", limit->what);
		limit->unsaid++;
	}
	if (limit->said <= LOG_LIMIT_A_MINUTE)
		limit->said++;
}
