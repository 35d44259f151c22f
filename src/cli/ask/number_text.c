/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and times as people read them. */
#include "cli/ask/number_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *number_count(struct number_cell *c, int64_t n, const char *thing)
{
	snprintf(c->text, sizeof(c->text), "%lld %s%s", (long long)n, thing, n == 1 ? "" : "s");
	return c->text;
}

const char *number_hours(struct number_cell *c, uint64_t seconds)
{
	snprintf(c->text, sizeof(c->text), "%.1f", (double)seconds / 3600);
	return c->text;
}

const char *number_signed_hours(struct number_cell *c, int64_t seconds)
{
	/* Less than half a digit below 0 is 0, and no "-0.0". */
	return number_real(c, 1, seconds < 0 && seconds > -180 ? 0 : (double)seconds / 3600);
}

const char *number_short(struct number_cell *c, double v)
{
	static const char suffix[] = " kMGTPE";
	int i = 0;

	for (; v >= 1000 && i < 6; i++)
		v /= 1000;
	snprintf(c->text, sizeof(c->text), "%.4g%.*s", v, i ? 1 : 0, &suffix[i]);
	return c->text;
}

/* Nothing is less than 0 whose digits are all 0. */
static const char *without_false_minus(struct number_cell *c)
{
	if (*c->text == '-' && !strpbrk(c->text, "123456789"))
		memmove(c->text, c->text + 1, strlen(c->text));
	return c->text;
}

const char *number_percent(struct number_cell *c, double fraction)
{
	if (isnan(fraction))
		return strcpy(c->text, "-");
	snprintf(c->text, sizeof(c->text), "%.1f %%", 100 * fraction);
	return without_false_minus(c);
}

const char *number_real(struct number_cell *c, int digits, double v)
{
	if (isnan(v))
		return strcpy(c->text, "-");
	snprintf(c->text, sizeof(c->text), "%.*f", digits, v);
	return without_false_minus(c);
}

const char *number_time(struct number_cell *c, int64_t unix_s, enum time_precision precision)
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	if (!unix_s || !localtime_r(&t, &tm))
		strcpy(c->text, "-");
	else if (precision == TIME_DAY)
		strftime(c->text, sizeof(c->text), "%Y-%m-%d", &tm);
	else if (precision == TIME_HOUR)
		strftime(c->text, sizeof(c->text), "%d %b %H:%M", &tm);
	else
		strftime(c->text, sizeof(c->text),
			precision == TIME_SECOND ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
	return c->text;
}
