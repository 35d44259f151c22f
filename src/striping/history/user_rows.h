/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of what is known of users' work, bounded for each user and for all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define USER_ROWS_TEXTS 3

/* What the rows of a table are. Each begins with its user's id, a uint32_t. */
struct user_rows_kind {
	size_t size;
	size_t most_of_user, most;
	/* The order of two rows of one user. */
	int (*compare)(const void *a, const void *b);
	/* When the row was seen last. */
	long long (*last)(const void *row);
	/* Where its texts are, pointers to char: those of a row in the table are its own. */
	int texts;
	size_t text[USER_ROWS_TEXTS];
};

/* Without a row all 0, but for its kind. */
struct user_rows {
	const struct user_rows_kind *kind;
	char *row; /* sorted by user, then as the kind says */
	size_t count, room;
};

/* Frees all rows. */
void user_rows_clear(struct user_rows *t);

void *user_rows_at(const struct user_rows *t, size_t i);

/* Index of the row that is equal to the key, or of the place where it belongs. */
size_t user_rows_find(const struct user_rows *t, const void *key, bool *found);

/*
 * Adds a copy of a key that no row is equal to. A user who has the most takes the place of the own
 * row that was seen longest ago; else, where the table is full, it is that of the user who has most
 * rows. Indices and rows of before do not count any more. NULL with ENOMEM.
 */
void *user_rows_insert(struct user_rows *t, const void *key);
