/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns that a table of fields gives a table of the ledger: their SQL, writing, checking. */
#pragma once

#include <stdbool.h>
#include <sqlite3.h>

#include "accounting/record/fields.h"

/*
 * A field with a column is a text, a whole number, a bool or a word. It is no list, and no real:
 * SQLite would store NAN as NULL.
 *
 * Returns an SQL text in which each {LETTER:PATTERN} is replaced by a list with commas: the pattern
 * once for each column of that kind, with the column's name for each $ and its type for each #.
 * Letters: k = FIELD_KEY, n = FIELD_NEWEST, f = FIELD_FIXED, a = all, in this order. The caller
 * frees it with sqlite3_free(). NULL: out of memory.
 */
char *columns_sql(const char *text, const struct field_table *t);

/* Binds the columns of an object to those parameters of the statement that have their names
 * (:NAME). The object must live until the statement has run. */
void columns_bind(sqlite3_stmt *st, const struct field_table *t, const void *object);

/* Whether the columns of a row that are named like fields have the values of the object. */
bool columns_agree(sqlite3_stmt *st, const struct field_table *t, const void *object);
