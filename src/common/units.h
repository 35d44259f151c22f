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
 * Reads a number and a unit, such as "200ms", "3200us", "1.5s", "10m", "2h" or "500ns", or a bare
 * 0. Stores nanoseconds. These functions return 0, or -1 with err that says what is allowed.
 */
int units_parse_duration(const char *text, int64_t *ns, struct errmsg *err);

/* Writes a duration with the largest unit that is exact, such as "200ms"; returns buf. */
char *units_format_duration(int64_t ns, char *buf, size_t size);

/* Reads bytes as a number and K, M or G, such as "32M", or a bare 0. */
int units_parse_size(const char *text, int64_t *bytes, struct errmsg *err);

/* Writes bytes with the largest unit that is exact, such as "32M"; returns buf. What is no whole
 * number of K cannot be read again. */
char *units_format_size(int64_t bytes, char *buf, size_t size);

/* Reads "0.5%" or "0.5", from 0 to 100 percent; stores the fraction 0.005 for both. */
int units_parse_percent(const char *text, double *fraction, struct errmsg *err);

/* Reads a whole decimal number in [min, max]. */
int units_parse_int(const char *text, int64_t min, int64_t max, int64_t *value, struct errmsg *err);

/* Reads a finite decimal number in [min, max]. */
int units_parse_double(const char *text, double min, double max, double *value, struct errmsg *err);
