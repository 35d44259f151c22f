/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the SQL of columns, binds them and compares them, field by field. */
#include "accounting/ledgerd/ledger_columns.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct field *f)
{
	return f->column_name ? f->column_name : f->name;
}

static const char *sql_type(const struct field *f)
{
	return f->type == FIELD_TEXT ? "TEXT" : "INTEGER";
}

/* Appends the pattern for one column. */
static void append_column(sqlite3_str *out, const struct field *f, const char *pattern, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (pattern[i] == '$')
			sqlite3_str_appendall(out, name_of(f));
		else if (pattern[i] == '#')
			sqlite3_str_appendall(out, sql_type(f));
		else
			sqlite3_str_appendchar(out, 1, pattern[i]);
	}
}

/* Appends the list for one {LETTER:PATTERN}. */
static void append_list(
	sqlite3_str *out, const struct field_table *t, char letter, const char *pattern, size_t len)
{
	static const char letters[] = {
		[FIELD_KEY] = 'k', [FIELD_NEWEST] = 'n', [FIELD_FIXED] = 'f'};
	bool first = true;

	for (int kind = FIELD_KEY; kind <= FIELD_FIXED; kind++) {
		if (letter != 'a' && letter != letters[kind])
			continue;
		for (const struct field *f = t->field; f < t->field + t->count; f++) {
			if ((int)f->column != kind)
				continue;
			if (!first)
				sqlite3_str_appendall(out, ", ");
			first = false;
			append_column(out, f, pattern, len);
		}
	}
}

char *columns_sql(const char *text, const struct field_table *t)
{
	sqlite3_str *out = sqlite3_str_new(NULL);

	for (const char *open; (open = strchr(text, '{')); text = strchr(open, '}') + 1) {
		sqlite3_str_append(out, text, (int)(open - text));
		append_list(out, t, open[1], open + 3, strcspn(open + 3, "}"));
	}
	sqlite3_str_appendall(out, text);
	return sqlite3_str_finish(out);
}

static const char *place_of(const struct field *f, const void *object)
{
	return (const char *)object + f->offset;
}

void columns_bind(sqlite3_stmt *st, const struct field_table *t, const void *object)
{
	for (const struct field *f = t->field; f < t->field + t->count; f++) {
		char parameter[64];
		int i;

		snprintf(parameter, sizeof(parameter), ":%s", name_of(f));
		i = f->column ? sqlite3_bind_parameter_index(st, parameter) : 0;
		if (!i)
			continue;
		if (f->type == FIELD_TEXT)
			sqlite3_bind_text(st, i, place_of(f, object), -1, SQLITE_STATIC);
		else
			sqlite3_bind_int64(st, i, field_value(f, object, 0));
	}
}

static bool agrees(sqlite3_stmt *st, int column, const struct field *f, const void *object)
{
	const char *text;

	if (f->type != FIELD_TEXT)
		return sqlite3_column_int64(st, column) == field_value(f, object, 0);
	text = (const char *)sqlite3_column_text(st, column);
	return text && !strcmp(text, place_of(f, object));
}

bool columns_agree(sqlite3_stmt *st, const struct field_table *t, const void *object)
{
	for (int column = 0; column < sqlite3_column_count(st); column++)
		for (const struct field *f = t->field; f < t->field + t->count; f++)
			if (f->column && !strcmp(sqlite3_column_name(st, column), name_of(f)) &&
				!agrees(st, column, f, object))
				return false;
	return true;
}
