/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of a structure's fields, the source of all its forms; and single fields of JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "common/errmsg.h"

/* What a field holds, in C and in JSON. */
enum field_type {
	FIELD_TEXT, /* char[]: a string that fits into it with its end */
	FIELD_INT,  /* an integer type of 4 or 8 bytes: a whole number from min to max */
	FIELD_REAL, /* double: a number from -max to max (max 0: any), or null for NAN */
	FIELD_BOOL, /* bool: true or false */
	FIELD_WORD, /* an enum: the word of words[] with this number; optional */
};

/* What a field is in the ledger's table. A field without a column is in the JSON body alone. */
enum field_column {
	FIELD_NO_COLUMN,
	FIELD_KEY,    /* a column of the primary key */
	FIELD_NEWEST, /* a column that a newer one with the same key replaces */
	FIELD_FIXED,  /* a column that keeps its first value */
};

/*
 * One field of a structure. A table has the fields in the order of the JSON. The JSON, the ledger's
 * columns, their check and the tests of both go by the table, so a new field needs a new row only
 * (a new column is also a new schema of the ledger).
 */
struct field {
	const char *name; /* in JSON; NULL: not there */
	enum field_type type;
	size_t offset, size; /* FIELD_AT, or FIELD_LIST, where size is that of one item */
	size_t step;         /* from an item of a list to the next one; 0: size */
	int64_t min, max;
	const char *const *words; /* for FIELD_WORD: word_count of them, "" for 0 */
	size_t word_count;
	/* A value of 0, false, "" or the first word is not written, and a missing field has that
	 * value. A bool or word that this release does not know reads as missing, too. */
	bool optional;
	size_t room;  /* how many items the list has room for; 0: no list */
	size_t count; /* offset of the int with the number of items; 0: the array is always full */
	/* Offset of a bool that says whether this list exists; 0: it always does. Such a list comes
	 * after one with the same count, and has as many items; without a count it is full. */
	size_t flag;
	const char *items; /* what a list holds, for messages */
	enum field_column column;
	const char *column_name; /* NULL: the same as name */
	const void *forms;       /* for the structure's own module */
};

#define FIELD_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define FIELD_LIST(type, member)                                                                   \
	.offset = offsetof(type, member), .size = sizeof(*((type *)0)->member),                    \
	.room = sizeof(((type *)0)->member) / sizeof(*((type *)0)->member)

/* The table of a structure; what: its name in messages. */
struct field_table {
	const char *what;
	const struct field *field;
	size_t count;
};

/* A new reference, or NULL: out of memory, or a text that is not UTF-8. */
json_t *fields_to_json(const struct field_table *t, const void *object);

/*
 * Fills the fields of an object. Before the call the object is zeroed, or its optional fields have
 * the values that they get where JSON lacks them. JSON may have other members, too. Returns 0, or
 * -1 with an err that names the field and an object that may be filled in part.
 */
int fields_from_json(
	const struct field_table *t, const json_t *json, void *object, struct errmsg *err);

/* The JSON of one field; a new reference, or NULL as above. */
json_t *field_to_json(const struct field *f, const void *object);

/* The value of a field that is a FIELD_INT, FIELD_BOOL or FIELD_WORD, or of one of its items. */
int64_t field_value(const struct field *f, const void *object, size_t item);
void field_set_value(const struct field *f, void *object, size_t item, int64_t value);

/* Each takes one field out of JSON that a stranger may have written. They return 0, or -1 with err
 * "WHAT: "FIELD" must be ..." and *out untouched. A text must fit into size bytes with its end. */
int field_text(const char *what, const json_t *json, const char *field, char *out, size_t size,
	struct errmsg *err);
int field_int(const char *what, const json_t *json, const char *field, int64_t min, int64_t max,
	int64_t *out, struct errmsg *err);
/* null is NAN. */
int field_real(
	const char *what, const json_t *json, const char *field, double *out, struct errmsg *err);

/* A new reference: the number, or null for one that JSON cannot write. */
json_t *field_real_or_null(double value);
