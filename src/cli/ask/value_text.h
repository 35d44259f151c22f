/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of poppad's answer as text for people; what is not known is "-" or "?". */
#pragma once

#include <stdio.h>
#include <jansson.h>

/* Room for the longest text of a column. */
struct value_cell {
	char text[128];
};

/* The value at a path such as "totals.shutters" or "ci95.0" (of an array), borrowed; NULL where
 * there is none. */
const json_t *value_at(const json_t *v, const char *path);
/* The member of an object; "?", 0 or NAN where it is missing or of another type. */
const char *value_text(const json_t *o, const char *key);
json_int_t value_whole(const json_t *o, const char *key);
double value_real(const json_t *o, const char *key);

/* These write a text into *c and return c->text. */
const char *value_number(struct value_cell *c, int digits, double v);
/* ci is [low, high]; each is multiplied by scale. */
const char *value_interval(
	struct value_cell *c, int digits, double scale, const char *between, const json_t *ci);
/* The co-runners of a job, "12,13", or with what each costs it where that is known,
 * "12:0.08,13:0.02". Ends before the first one that does not fit whole. */
const char *value_partners(struct value_cell *c, const json_t *job);
/* Prints a line for each thing in poppad's status that somebody should look at. */
void value_notes(FILE *out, const json_t *status);
/* Prints a line on turns where the jobs take them; totals: those of poppad's status. */
void value_turns(FILE *out, const json_t *totals);
