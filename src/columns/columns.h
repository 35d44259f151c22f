/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads lines of comma-separated values, the first of which names the columns. */
#pragma once

#include <stdint.h>

#include "common/errmsg.h"

#define COLUMNS_MAX 64 /* in a line */

struct columns {
	const char *name;         /* of the text, for messages */
	const char *const *names; /* of the columns that are wanted; others are passed over */
	int count;                /* up to COLUMNS_MAX */
	int needed;               /* so many of them, from the first on, have to be there */
	const char *example;      /* of a first line, for who has none */
};

/* Cuts a line at its commas, in place; fields have no blanks around them. Returns how many there
 * are; what is behind the last one that fits is not cut off it. */
int columns_split(char *line, char *field[COLUMNS_MAX]);

/* A line: of each wanted column its text without blanks around it, or NULL where there is no such
 * column. A result other than 0 ends the reading and becomes its result; err is then written. */
typedef int (*columns_fn)(void *arg, char *const *field, int line, struct errmsg *err);

/* Calls fn for each line but the first one; empty lines and those that begin with "#" are passed
 * over. text is cut in place, and the fields lie in it. Returns 0, or -1 with err, which names the
 * line; also where nothing follows the first line. */
int columns_read(const struct columns *c, char *text, columns_fn fn, void *arg, struct errmsg *err);

/* A field as a number; err names the line and the column. What is NULL or empty is NAN for
 * columns_real(), and an error for columns_whole(). Return 0, or -1. */
int columns_real(const struct columns *c, char *const *field, int column, int line, double min,
	double max, double *value, struct errmsg *err);
int columns_whole(const struct columns *c, char *const *field, int column, int line, int64_t min,
	int64_t max, int64_t *value, struct errmsg *err);
