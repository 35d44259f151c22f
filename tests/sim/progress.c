/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats lines about progress, for a terminal or a log. */
#include "sim/progress.h"

#include <inttypes.h>
#include <stdio.h>

#define TERMINAL_MS 200
#define LOG_MS 60000

/* A count that is not negative, as in 34,000. */
struct count_text {
	char text[16];
};

static struct count_text count_text(int n)
{
	struct count_text c;

	if (n >= 1000000)
		snprintf(c.text, sizeof(c.text), "%d,%03d,%03d", n / 1000000, n / 1000 % 1000,
			n % 1000);
	else if (n >= 1000)
		snprintf(c.text, sizeof(c.text), "%d,%03d", n / 1000, n % 1000);
	else
		snprintf(c.text, sizeof(c.text), "%d", n);
	return c;
}

bool progress_due(struct progress *p, int64_t now_ms)
{
	if (now_ms - p->shown_ms < (p->terminal ? TERMINAL_MS : LOG_MS))
		return false;
	p->shown_ms = now_ms;
	return true;
}

char *progress_text(const struct progress *p, int64_t now_ms, const char *policy, int done, int all,
	int waiting, char *buf, size_t size)
{
	if (p->terminal)
		snprintf(buf, size, "\r%-10s %d of %d jobs, %d wait ", policy, done, all, waiting);
	else
		snprintf(buf, size, "tests/sim/run: %s: %s of %s jobs after %" PRId64 " s\n",
			policy, count_text(done).text, count_text(all).text,
			(now_ms - p->began_ms) / 1000);
	return buf;
}
