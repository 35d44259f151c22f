/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns that a table of fields gives a table of the ledger: their SQL, writing, checking. */
#pragma once

#include <stdbool.h>
#include <sqlite3.h>

#include "accounting/record/fields.h"

/*
 * A field with a column is a text, a whole number, a bool or a word: no list, and no real, whose
 * NAN SQLite would take for NULL.
 *
 * An SQL text in which each {LETTER:PATTERN} is replaced by a list with commas: the pattern once
 * for each column of that kind, with the column's name for each $ and its type for each #. Letters:
 * k = FIELD_KEY, n = FIELD_NEWEST, f = FIELD_FIXED, a = all, in this order. To be freed with
 * sqlite3_free(), or NULL: out of memory.
 */
char *columns_sql(const char *text, const struct field_table *t);

/* Binds the columns of an object to the parameters with their names (:NAME), where the statement
 * has them. The object must stay until the statement has run. */
void columns_bind(sqlite3_stmt *st, const struct field_table *t, const void *object);

/* Whether the columns of a row, those that have the names of fields, are those of an object. */
bool columns_agree(sqlite3_stmt *st, const struct field_table *t, const void *object);
