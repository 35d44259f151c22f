/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/striping/history/user_rows.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/history/user_rows.h"

#define MOST_OF_USER 3
#define MOST 5

struct row {
	uint32_t uid;
	const char *name, *note;
	long long seen;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static long long last_of(const void *row)
{
	const struct row *r = row;

	return r->seen;
}

static const struct user_rows_kind kind = {sizeof(struct row), MOST_OF_USER, MOST, compare, last_of,
	2, {offsetof(struct row, name), offsetof(struct row, note)}};

static void add(struct user_rows *t, uint32_t uid, const char *name, long long seen)
{
	char here[16], note[] = "note";
	const struct row key = {uid, strcpy(here, name), note, seen};
	const struct row *r = user_rows_insert(t, &key);

	assert_non_null(r);
	assert_string_equal(r->name, name);
	/* What the key points to is the caller's. */
	assert_ptr_not_equal(r->name, here);
	assert_ptr_not_equal(r->note, note);
}

static bool has(const struct user_rows *t, uint32_t uid, const char *name)
{
	const struct row key = {uid, name, "", 0};
	bool found;

	user_rows_find(t, &key, &found);
	return found;
}

static void rows_are_sorted(void **state)
{
	static const struct row wanted[] = {
		{1, "a", "", 0}, {1, "b", "", 0}, {2, "a", "", 0}, {300, "A", "", 0}};
	struct user_rows t = {.kind = &kind};
	bool found;

	(void)state;
	assert_int_equal(user_rows_find(&t, &wanted[0], &found), 0);
	assert_false(found);
	add(&t, 2, "a", 1);
	add(&t, 300, "A", 1);
	add(&t, 1, "b", 1);
	add(&t, 1, "a", 1);
	assert_int_equal(t.count, 4);
	for (size_t i = 0; i < t.count; i++) {
		const struct row *r = user_rows_at(&t, i);

		assert_int_equal(r->uid, wanted[i].uid);
		assert_string_equal(r->name, wanted[i].name);
		assert_int_equal(user_rows_find(&t, &wanted[i], &found), i);
		assert_true(found);
	}
	assert_false(has(&t, 1, "c"));
	user_rows_clear(&t);
	assert_int_equal(t.count, 0);
	add(&t, 1, "again", 1);
	user_rows_clear(&t);
}

/* A user who has the most loses the own row that was seen longest ago. */
static void users_push_out_their_own(void **state)
{
	struct user_rows t = {.kind = &kind};

	(void)state;
	add(&t, 1, "x", 1);
	add(&t, 2, "a", 5);
	add(&t, 2, "b", 3);
	add(&t, 2, "c", 4);
	add(&t, 2, "d", 2);
	assert_int_equal(t.count, 4);
	assert_false(has(&t, 2, "b"));
	assert_true(has(&t, 1, "x") && has(&t, 2, "a") && has(&t, 2, "c") && has(&t, 2, "d"));
	user_rows_clear(&t);
}

/* Where there are as many as can be in all, the user with most rows loses one. */
static void the_largest_user_makes_room(void **state)
{
	struct user_rows t = {.kind = &kind};

	(void)state;
	add(&t, 1, "x", 1);
	add(&t, 2, "a", 5);
	add(&t, 2, "b", 4);
	add(&t, 2, "c", 6);
	add(&t, 3, "y", 1);
	add(&t, 4, "z", 1);
	assert_int_equal(t.count, MOST);
	assert_false(has(&t, 2, "b"));
	assert_true(has(&t, 1, "x") && has(&t, 3, "y") && has(&t, 4, "z"));
	user_rows_clear(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(users_push_out_their_own),
		cmocka_unit_test(the_largest_user_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
