/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and times as people read them. */
#pragma once

#include <stdint.h>

/* Room for the text of one number or time. */
struct number_cell {
	char text[64];
};

enum time_precision { TIME_DAY, TIME_HOUR, TIME_MINUTE, TIME_SECOND };

/* These write a text into *c and return c->text. A value that is not known becomes "-". */
const char *number_count(struct number_cell *c, int64_t n, const char *thing); /* "1 job" */
const char *number_hours(struct number_cell *c, uint64_t seconds);       /* hours, one digit */
const char *number_signed_hours(struct number_cell *c, int64_t seconds); /* the same, with a sign */
const char *number_short(struct number_cell *c, double v);               /* "1.5k", "20M" */
const char *number_percent(struct number_cell *c, double fraction);      /* "27.1 %" */
const char *number_real(struct number_cell *c, int digits, double v);
const char *number_time(struct number_cell *c, int64_t unix_s, enum time_precision precision);
