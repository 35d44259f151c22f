/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of runs that wait: what a change costs, and what is left of it after a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "accounting/settle/waiting_runs.h"
#include "common/fsio.h"

#define MANY 20000

static char dir[] = "/tmp/poppa-waiting-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/runs", dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* About as long as what the settler keeps of a run. */
static json_t *run_of(int job, int value)
{
	return json_pack("{s:i, s:i, s:i, s:s}", "job", job, "start", 1000 + job, "value", value,
		"facts",
		"................................................................................"
		"................................................................................"
		"................................................................................"
		"................................................................................");
}

static json_t *list_of(json_t *only)
{
	json_t *list = json_array();

	json_array_append_new(list, only);
	return list;
}

static json_t *many_runs(void)
{
	json_t *list = json_array();

	for (int i = 1; i <= MANY; i++)
		json_array_append_new(list, run_of(i, 0));
	return list;
}

static long size_of_file(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (long)st.st_size;
}

/* The value of each run, in the order of the file: "1:0 2:5". */
static const char *values(int want_damaged)
{
	static char text[1024];
	struct errmsg err;
	int damaged, used = 0;
	json_t *list = waiting_read(path, &damaged, &err), *run;
	size_t i;

	assert_non_null(list);
	assert_int_equal(damaged, want_damaged);
	text[0] = '\0';
	json_array_foreach(list, i, run) used += snprintf(text + used, sizeof(text) - (size_t)used,
		"%s%d:%d", used ? " " : "", (int)json_integer_value(json_object_get(run, "job")),
		(int)json_integer_value(json_object_get(run, "value")));
	json_decref(list);
	return text;
}

static void put(const char *text)
{
	struct errmsg err;

	assert_int_equal(fsio_write(path, text, strlen(text), 0600, 0, &err), 0);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void a_change_costs_what_it_is(void **state)
{
	struct waiting w = {.ours = false};
	struct errmsg err = {""};
	double began, all, one;
	long before;

	(void)state;
	assert_true(waiting_is_due(&w));
	began = now_ms();
	assert_int_equal(waiting_write(&w, path, many_runs(), &err), 0);
	all = now_ms() - began;
	assert_false(waiting_is_due(&w));
	before = size_of_file();
	began = now_ms();
	assert_int_equal(waiting_append(&w, path, list_of(run_of(7, 1)), &err), 0);
	one = now_ms() - began;
	assert_true(size_of_file() - before < before / MANY * 2);
	print_message("%d runs: %ld bytes in %.1f ms; a change: %ld bytes in %.1f ms\n", MANY,
		before, all, size_of_file() - before, one);
}

/* However long it goes on, what is written is some few times what has changed. */
static void the_file_does_not_grow_for_ever(void **state)
{
	struct waiting w = {.ours = false};
	struct errmsg err = {""};
	long written = 0, changed = 0, largest = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		int job = round % 100 + 1;

		if (waiting_is_due(&w)) {
			json_t *all = json_array();

			for (int i = 1; i <= 100; i++)
				json_array_append_new(all, run_of(i, round));
			assert_int_equal(waiting_write(&w, path, all, &err), 0);
			written += size_of_file();
		} else {
			long before = size_of_file();

			assert_int_equal(
				waiting_append(&w, path, list_of(run_of(job, round)), &err), 0);
			changed += size_of_file() - before;
			written += size_of_file() - before;
		}
		if (size_of_file() > largest)
			largest = size_of_file();
	}
	assert_true(written < 3 * changed);
	assert_true(largest < 3 * (64 << 10));
}

static void changes_are_read_in_order(void **state)
{
	struct waiting w = {.ours = false};
	struct errmsg err = {""};
	json_t *list = json_array();

	(void)state;
	json_array_append_new(list, run_of(1, 0));
	json_array_append_new(list, run_of(2, 0));
	assert_int_equal(waiting_write(&w, path, list, &err), 0);
	assert_string_equal(values(0), "1:0 2:0");
	list = json_array();
	json_array_append_new(list, run_of(3, 0));
	json_array_append_new(list, run_of(2, 5));
	json_array_append_new(list, waiting_gone(1, 1001));
	assert_int_equal(waiting_append(&w, path, list, &err), 0);
	assert_string_equal(values(0), "2:5 3:0");
	/* A job's id alone is not a run. */
	assert_int_equal(waiting_append(&w, path, list_of(waiting_gone(2, 1)), &err), 0);
	assert_string_equal(values(0), "2:5 3:0");
	assert_int_equal(waiting_append(&w, path, list_of(waiting_gone(2, 1002)), &err), 0);
	assert_int_equal(waiting_append(&w, path, list_of(waiting_gone(3, 1003)), &err), 0);
	assert_string_equal(values(0), "");
	assert_int_equal(waiting_write(&w, path, json_array(), &err), 0);
	assert_int_equal(size_of_file(), 3);
}

/* Killed, or out of power, at any byte of a change: what was there before is there. */
static void a_change_that_was_cut_is_none(void **state)
{
	struct waiting w = {.ours = false};
	struct errmsg err = {""};
	long whole, all;

	(void)state;
	assert_int_equal(waiting_write(&w, path, list_of(run_of(1, 0)), &err), 0);
	whole = size_of_file();
	assert_int_equal(waiting_append(&w, path, list_of(run_of(2, 0)), &err), 0);
	all = size_of_file();
	for (long size = all - 1; size >= whole; size--) {
		assert_int_equal(truncate(path, size), 0);
		assert_string_equal(values(0), "1:0");
		/* Nothing is written behind a part of a line. */
		if (size < all - 1)
			continue;
		assert_int_equal(waiting_append(&w, path, list_of(run_of(3, 0)), &err), -1);
		assert_true(waiting_is_due(&w));
	}
}

static void another_ones_file_is_replaced(void **state)
{
	struct waiting w = {.ours = false};
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(waiting_write(&w, path, list_of(run_of(1, 0)), &err), 0);
	unlink(path);
	assert_int_equal(waiting_append(&w, path, list_of(run_of(2, 0)), &err), -1);
	assert_true(waiting_is_due(&w));
}

static void what_can_be_read_is(void **state)
{
	struct errmsg err = {""};
	int damaged;

	(void)state;
	put("[{\"job\":1,\"start\":5,\"va\n{\"job\":2,\"start\":5,\"value\":1}\nnothing\n"
	    "{\"job\":\"3\"}\n{\"job\":4,\"start\":5,\"value\":1}\n");
	assert_string_equal(values(3), "2:1 4:1");
	put("");
	assert_string_equal(values(1), "");
	put("[{\"job\":1,\"start\":5,\"value\":2}]");
	assert_string_equal(values(1), "");
	unlink(path);
	assert_null(waiting_read(path, &damaged, &err));
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_costs_what_it_is),
		cmocka_unit_test(the_file_does_not_grow_for_ever),
		cmocka_unit_test(changes_are_read_in_order),
		cmocka_unit_test(a_change_that_was_cut_is_none),
		cmocka_unit_test(another_ones_file_is_replaced),
		cmocka_unit_test(what_can_be_read_is),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
