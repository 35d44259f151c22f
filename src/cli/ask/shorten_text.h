/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shortens names that users chose to the columns that there are for them. */
#pragma once

#include <stdio.h>

/*
 * Writes text with put in at most so many columns of a terminal. A longer text has mark, of one
 * column, in place of its middle, because names of one family differ at their ends. Returns the
 * columns that it took.
 */
int shorten_text(FILE *out, const char *text, int columns, const char *mark,
	void (*put)(FILE *, const char *));

/* Writes a name in so many columns of a terminal, and blanks where it is shorter. */
void shorten_name(FILE *out, const char *text, int columns);
