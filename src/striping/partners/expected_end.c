/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes expected ends. */
#include "striping/partners/expected_end.h"

#include "common/settings.h"

static double least(double a, double b)
{
	return a < b ? a : b;
}

int64_t expected_end(int64_t now, int64_t end, double degradation, int64_t until, int64_t latest)
{
	double left = (double)(end - now), longer = left * TIME_LIMIT_MOST_TIMES;

	/* What is no number moves nothing. */
	if (!(left > 0) || !(degradation > 0) || (latest && end >= latest))
		return end;
	if (degradation < 1)
		longer = least(longer, left / (1 - degradation) - left);
	if (until)
		longer = least(longer, until > now ? degradation * (double)(until - now) : 0);
	if (latest && longer > (double)(latest - end))
		return latest;
	return end + (int64_t)longer;
}

bool expected_puts_off(int64_t before, int64_t after, int64_t planned)
{
	return before <= planned && planned + EXPECTED_SLACK_S < after;
}
