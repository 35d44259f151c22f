/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes durations, percentages and counts as people write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/*
 * "200ms", "3200us", "1.5s", "10m", "2h", "500ns": a number and a unit, nothing else. A bare 0 is
 * allowed. Stores nanoseconds. Returns 0, or -1 with a message that names the text and the form
 * expected.
 */
int units_parse_duration(const char *text, int64_t *ns, struct errmsg *err);

/* The shortest exact form with one of the units above ("200ms"); returns buf. */
char *units_format_duration(int64_t ns, char *buf, size_t size);

/* "0.5%" or "0.5" (both mean 0.5 percent); stores the fraction 0.005. Range 0 to 100 percent. */
int units_parse_percent(const char *text, double *fraction, struct errmsg *err);

/* Whole decimal number in [min, max]. */
int units_parse_int(const char *text, int64_t min, int64_t max, int64_t *value, struct errmsg *err);

/* Finite decimal number in [min, max]. */
int units_parse_double(const char *text, double min, double max, double *value, struct errmsg *err);
