/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds, adds and drops the rows of users. */
#include "striping/history/user_rows.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

static uint32_t user_of(const void *row)
{
	uint32_t uid;

	memcpy(&uid, row, sizeof(uid));
	return uid;
}

static char **text_of(const struct user_rows_kind *kind, void *row, int i)
{
	return (char **)((char *)row + kind->text[i]);
}

static void free_texts(const struct user_rows_kind *kind, void *row)
{
	for (int i = 0; i < kind->texts; i++)
		free(*text_of(kind, row, i));
}

/* false without memory: then some are NULL. */
static bool copy_texts(const struct user_rows_kind *kind, void *row)
{
	bool good = true;

	for (int i = 0; i < kind->texts; i++) {
		char **text = text_of(kind, row, i);

		*text = strdup(*text);
		good &= *text != NULL;
	}
	return good;
}

void user_rows_clear(struct user_rows *t)
{
	for (size_t i = 0; i < t->count; i++)
		free_texts(t->kind, user_rows_at(t, i));
	free(t->row);
	*t = (struct user_rows){.kind = t->kind};
}

void *user_rows_at(const struct user_rows *t, size_t i)
{
	return t->row + i * t->kind->size;
}

static int compare(const struct user_rows *t, const void *a, const void *b)
{
	const uint32_t x = user_of(a), y = user_of(b);

	return x != y ? (x < y ? -1 : 1) : t->kind->compare(a, b);
}

size_t user_rows_find(const struct user_rows *t, const void *key, bool *found)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(t, user_rows_at(t, mid), key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*found = low < t->count && !compare(t, user_rows_at(t, low), key);
	return low;
}

/* Closes the gap of a row that is gone. */
static void close_gap(struct user_rows *t, size_t at)
{
	const size_t size = t->kind->size;

	t->count--;
	memmove(t->row + at * size, t->row + (at + 1) * size, (t->count - at) * size);
}

/* Drops the row of a user that was seen longest ago, of so many from the first one on. */
static void drop_oldest(struct user_rows *t, size_t first, size_t rows)
{
	size_t oldest = first;

	for (size_t i = first; i < first + rows; i++)
		if (t->kind->last(user_rows_at(t, i)) < t->kind->last(user_rows_at(t, oldest)))
			oldest = i;
	free_texts(t->kind, user_rows_at(t, oldest));
	close_gap(t, oldest);
}

static void make_room(struct user_rows *t, uint32_t uid)
{
	size_t first = 0, most = 0, whose = 0;

	for (size_t i = 0; i < t->count; i++) {
		const uint32_t user = user_of(user_rows_at(t, i));

		if (user != user_of(user_rows_at(t, first)))
			first = i;
		if (user == uid && i - first + 1 >= t->kind->most_of_user) {
			drop_oldest(t, first, i - first + 1);
			return;
		}
		if (i - first + 1 > most) {
			most = i - first + 1;
			whose = first;
		}
	}
	if (t->count >= t->kind->most)
		drop_oldest(t, whose, most);
}

void *user_rows_insert(struct user_rows *t, const void *key)
{
	const size_t size = t->kind->size;
	bool found;
	size_t at;
	char *row;

	make_room(t, user_of(key));
	if (t->count == t->room) {
		const size_t room = t->room ? t->room * 2 : FIRST_ROOM;

		row = realloc(t->row, room * size);
		if (!row)
			return NULL;
		t->row = row;
		t->room = room;
	}
	at = user_rows_find(t, key, &found);
	row = user_rows_at(t, at);
	memmove(row + size, row, (t->count - at) * size);
	memcpy(row, key, size);
	t->count++;
	if (copy_texts(t->kind, row))
		return row;
	free_texts(t->kind, row);
	close_gap(t, at);
	errno = ENOMEM;
	return NULL;
}
