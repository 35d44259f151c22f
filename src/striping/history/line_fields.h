/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the tab-separated fields of the history's lines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Cuts text at its tabs, in place. Returns how many fields there are, most + 1 where they are more
 * than field[] has room for. */
int line_fields(char *text, char **field, int most);

/* Each reads a whole field; false where it is no such number, or out of range: a number from min to
 * max; an id, of decimal digits only; a time in seconds, which may be negative. */
bool line_number(const char *text, double min, double max, double *out);
bool line_id(const char *text, uint32_t *out);
bool line_time(const char *text, long long *out);
