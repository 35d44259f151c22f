/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the class of a job, and of what jobs of a name have run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "striping/history/job_class.h"
#include "striping/history/job_names.h"

#define HOUR 3600

/* A history in a file that ends with the test. */
struct fixture {
	char dir[32], path[64];
	struct pairs_batch batch;
};

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_names.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/p", f->dir);
	*state = f;
	return 0;
}

static int drop(void **state)
{
	struct fixture *f = *state;
	char damaged[80];

	pairs_batch_forget(&f->batch);
	snprintf(damaged, sizeof(damaged), "%s.damaged", f->path);
	unlink(damaged);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void ran(
	struct fixture *f, unsigned int uid, const char *name, const char *program, long long now)
{
	const struct job_ran what = {.program = program};
	struct errmsg err = {""};

	assert_int_equal(pairs_batch_ran(&f->batch, f->path, uid, name, &what, now, &err), 0);
}

/* A job of user 7 that ran lu for so long. */
static void took(struct fixture *f, const char *name, double seconds, long long now)
{
	const struct job_ran what = {"lu", seconds};
	struct errmsg err = {""};

	assert_int_equal(pairs_batch_ran(&f->batch, f->path, 7, name, &what, now, &err), 0);
}

static void takes(const struct fixture *f, const char *name, double seconds)
{
	assert_float_equal(
		job_names_usual_s(pairs_names(f->batch.pairs), 7, name), seconds, 1e-5 * seconds);
}

/* Saves and reads again. Returns how many lines of the file begin so. */
static int again(struct fixture *f, const char *begin)
{
	struct errmsg err = {""};
	char *text, *save = NULL;
	int lines = 0;

	assert_int_equal(pairs_batch_save(&f->batch, f->path, &err), 0);
	assert_int_equal(pairs_batch_read(&f->batch, f->path, &err), 0);
	assert_false(f->batch.changed);
	text = fsio_read(f->path, 16 << 20, NULL, &err);
	assert_non_null(text);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		lines += !strncmp(line, begin, strlen(begin));
	free(text);
	return lines;
}

/* The class of a job of that name, of which nothing else is known. */
static const char *class_by_name(const struct fixture *f, unsigned int uid, const char *name)
{
	static char buf[PAIRS_CLASS_MAX];
	const struct job_kind kind = {.uid = uid, .job_name = name};

	job_class(f->batch.pairs, &kind, buf);
	return buf;
}

static void classes(void **state)
{
	struct fixture *f = *state;
	struct job_kind kind = {.uid = 7, .job_name = "step-17"};
	char buf[PAIRS_CLASS_MAX];

	/* Before there is a history, and with nothing in it. */
	assert_false(job_class(NULL, &kind, buf));
	assert_string_equal(buf, "7/step-#");
	ran(f, 8, "step-17", "lu", 1);
	assert_false(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7/step-#");
	/* What it ran says more than its name. */
	kind.program = "lu.C x";
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7@lu.C x");
	kind.program = "python3.11";
	assert_false(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7/step-#");
	/* And what it wants to be called says more than both. */
	kind.class_name = "cfd-2";
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7:cfd-2");
	kind.shared = true;
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "cfd-2");
	kind.class_name = "";
	kind.program = "a\tb\n";
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7@a_b_");
	kind = (struct job_kind){.uid = 7};
	assert_false(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7/");
}

/* The size of a job and the type of its nodes make variants, which no name forges. */
static void class_variants(void **state)
{
	struct fixture *f = *state;
	struct job_kind kind = {.uid = 7, .job_name = "step-17", .program = "lmp", .nodes = 5};
	char buf[PAIRS_CLASS_MAX];

	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7@lmp+4n");
	kind.node_type = "2x8x1";
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7@lmp+4n+2x8x1");
	kind.nodes = 1;
	kind.program = "lmp+64n";
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7@lmp_64n+2x8x1");
	kind = (struct job_kind){.uid = 7, .class_name = "cfd", .shared = true, .nodes = 2};
	assert_true(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "cfd+2n");
	kind = (struct job_kind){.uid = 7, .job_name = "a+4n", .nodes = 2};
	assert_false(job_class(f->batch.pairs, &kind, buf));
	assert_string_equal(buf, "7/a+#n+2n");
}

static void names_tell_programs(void **state)
{
	struct fixture *f = *state;

	ran(f, 7, "step-17", "lu", 1);
	assert_string_equal(class_by_name(f, 7, "step-17"), "7@lu");
	assert_string_equal(class_by_name(f, 7, "step-1800"), "7@lu");
	assert_string_equal(class_by_name(f, 7, "step-"), "7/step-");
	assert_string_equal(class_by_name(f, 7, "step-1-2"), "7/step-#-#");
	assert_string_equal(class_by_name(f, 70, "step-17"), "70/step-#");
	/* Of those that are alike the latest counts. */
	ran(f, 7, "step-18", "cg", 2);
	assert_string_equal(class_by_name(f, 7, "step-17"), "7@cg");
	assert_string_equal(class_by_name(f, 7, "step-18"), "7@cg");
	assert_string_equal(class_by_name(f, 7, "step-19"), "7@cg");
	/* Its own name is better. */
	ran(f, 7, "step-17", "python3", 3);
	assert_string_equal(class_by_name(f, 7, "step-17"), "7/step-#");
	assert_string_equal(class_by_name(f, 7, "step-18"), "7@cg");
	assert_int_equal(again(f, "#ran\t7\t"), 3);
	assert_string_equal(class_by_name(f, 7, "step-18"), "7@cg");
	assert_string_equal(class_by_name(f, 7, "step-17"), "7/step-#");
}

/* The same again changes no file, until an hour has gone by. */
static void notes_are_rare(void **state)
{
	struct fixture *f = *state;

	ran(f, 7, "lu", "lu", HOUR);
	assert_true(f->batch.changed);
	again(f, "");
	ran(f, 7, "lu", "lu", 2 * HOUR - 1);
	assert_false(f->batch.changed);
	ran(f, 7, "lu", "lu", 2 * HOUR);
	assert_true(f->batch.changed);
	again(f, "");
	ran(f, 7, "lu", "lu.D", 2 * HOUR);
	assert_true(f->batch.changed);
}

static void refuses_nothing(void **state)
{
	struct fixture *f = *state;
	static const struct job_ran bad[] = {{"", 1}, {"lu", -1}, {"lu", NAN}, {"lu", INFINITY}};
	struct errmsg err = {""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(pairs_batch_ran(&f->batch, f->path, 7, "x", &bad[i], 1, &err), -1);
		assert_non_null(strstr(err.text, "x of uid 7"));
		assert_false(f->batch.changed);
	}
}

static void names_tell_times(void **state)
{
	struct fixture *f = *state;

	ran(f, 7, "lu", "lu", 1);
	takes(f, "lu", 0);
	takes(f, "cg", 0);
	took(f, "step-1", 100, 1);
	takes(f, "step-1", 100);
	takes(f, "step-22", 100);
	/* The geometric mean, so one long run does not count for all. */
	took(f, "step-2", 400, 2);
	takes(f, "step-3", 200);
	/* What was cancelled tells nothing. */
	took(f, "step-2", 0, 3);
	takes(f, "step-3", 200);
	assert_int_equal(again(f, "#ran\t7\t2\tlu\tstep-#\t200\t2"), 1);
	takes(f, "step-3", 200);
	/* Later runs outweigh earlier ones. */
	for (int i = 0; i < 100; i++)
		took(f, "step-4", 10, 4 + i);
	takes(f, "step-3", 10.00037);
	/* Another program takes another time. */
	ran(f, 7, "step-1", "cg", 200);
	takes(f, "step-1", 0);
}

/* A change that matters is noted at once. */
static void times_change_the_file(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 10; i++)
		took(f, "lu", 100, 1);
	again(f, "");
	took(f, "lu", 101, 2);
	assert_false(f->batch.changed);
	took(f, "lu", 300, 3);
	assert_true(f->batch.changed);
}

/* Lines of a file of an earlier release have no time; bad ones are passed over. */
static void reads_times(void **state)
{
	static const char text[] = "#ran\t7\t1\tlu\told\n"
				   "#ran\t7\t1\tlu\tgood\t60\t3\n"
				   "#ran\t7\t1\tlu\ta\t60\n"
				   "#ran\t7\t1\tlu\tb\t60\t0\n"
				   "#ran\t7\t1\tlu\tc\t60\t11\n"
				   "#ran\t7\t1\tlu\td\t-1\t3\n"
				   "#ran\t7\t1\tlu\te\tinf\t3\n"
				   "#ran\t7\t1\tlu\tf\tnan\t3\n"
				   "#ran\t7\t1\tlu\tg\t60\t3x\n"
				   "#ran\t7\t1\tlu\th\t60\t3\t\n";
	struct fixture *f = *state;
	struct errmsg err = {""};
	FILE *out = fopen(f->path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	assert_int_equal(pairs_batch_read(&f->batch, f->path, &err), 0);
	takes(f, "old", 0);
	takes(f, "good", 60);
	assert_int_equal(again(f, "#ran\t"), 2);
}

/* Names can be as long as Slurm takes them, and of any bytes. */
static void names_are_bounded(void **state)
{
	struct fixture *f = *state;
	char name[2000], program[200];

	memset(name, 'y', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(program, 'z', sizeof(program) - 1);
	program[sizeof(program) - 1] = '\0';
	ran(f, 4294967295U, name, program, 1);
	ran(f, 7, "a\tb\n#ran\t8\t1\tlu\tc\r\377", "p\tq\n", 1);
	ran(f, 7, "", "lu", 1);
	assert_int_equal(again(f, "#ran\t"), 3);
	assert_string_equal(class_by_name(f, 8, "c"), "8/c");
	assert_string_equal(class_by_name(f, 7, "a\tb\n#ran\t8\t1\tlu\tc\r\377"), "7@p_q_");
	assert_string_equal(class_by_name(f, 7, NULL), "7@lu");
	assert_int_equal(strlen(class_by_name(f, 4294967295U, name)), 10 + 1 + 63);
	assert_true(strlen(class_by_name(f, 1, name)) < PAIRS_CLASS_MAX);
}

/* Of a user the last 50 names stay, whatever the numbers in them, and the pattern of these. */
static void a_user_has_so_many_names(void **state)
{
	struct fixture *f = *state;
	char name[32];

	ran(f, 8, "quiet", "cg", 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "flood-%d", i);
		ran(f, 7, name, i % 2 ? "lu" : "ft", i);
	}
	assert_int_equal(again(f, "#ran\t7\t"), 50);
	assert_string_equal(class_by_name(f, 7, "flood-3"), "7@lu");
	assert_string_equal(class_by_name(f, 8, "quiet"), "8@cg");
	assert_int_equal(again(f, "#ran\t8\t"), 1);
}

/* Numbered names that run the same program are one, and leave the user's others. */
static void numbers_push_nothing_out(void **state)
{
	struct fixture *f = *state;
	char name[32];

	ran(f, 7, "weather", "wrf", 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "sweep-%d", i);
		ran(f, 7, name, "lu", i);
	}
	assert_int_equal(again(f, "#ran\t7\t"), 2);
	assert_string_equal(class_by_name(f, 7, "weather"), "7@wrf");
	assert_string_equal(class_by_name(f, 7, "sweep-1000"), "7@lu");
}

/* Of all users there are so many: those who have the most lose their own. */
static void all_have_so_many_names(void **state)
{
	struct fixture *f = *state;
	char name[32];

	ran(f, 5000, "quiet", "cg", 0);
	for (unsigned int uid = 1000; uid < 1101; uid++) {
		for (int i = 0; i < 50; i++) {
			snprintf(name, sizeof(name), "n%c%c", 'a' + i / 10, 'a' + i % 10);
			ran(f, uid, name, "lu", i + 1);
		}
	}
	assert_int_equal(again(f, "#ran\t"), 5000);
	assert_string_equal(class_by_name(f, 5000, "quiet"), "5000@cg");
	assert_string_equal(class_by_name(f, 1100, "nej"), "1100@lu");
	assert_string_equal(class_by_name(f, 1000, "nej"), "1000@lu");
}

/* Lines that cannot be read are counted and kept aside; others and the pairs stay. */
static void damaged_lines(void **state)
{
	static const char text[] =
		"#job\tpartner\n#ran\t7\t5\tlu\tgood\n#ran\t7\t5\tlu\n"
		"#ran\t7\t5\tlu\ta\tb\n#ran\t-7\t5\tlu\ta\n#ran\tx\t5\tlu\ta\n"
		"#ran\t4294967296\t5\tlu\ta\n#ran\t7\tx\tlu\ta\n#ran\t7\t-9\tlu\ta\n#ran\t7\t5\t\ta\n"
		"#ran\t7\t5\tcg\tgood\na\tb\t0.5\t600\t1\t5\n";
	struct fixture *f = *state;
	struct errmsg err = {""};
	struct pairs *p;
	double d;
	int bad;

	assert_int_equal(fsio_write(f->path, text, strlen(text), 0600, 0, &err), 0);
	p = pairs_load(f->path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(bad, 9);
	assert_true(pairs_expect(p, "a", "b", &d));
	assert_string_equal(job_names_program(pairs_names(p), 7, "good"), "lu");
	pairs_free(p);
	assert_int_equal(pairs_batch_read(&f->batch, f->path, &err), 0);
	assert_true(f->batch.changed);
	assert_int_equal(again(f, "#ran\t"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(classes, make, drop),
		cmocka_unit_test_setup_teardown(class_variants, make, drop),
		cmocka_unit_test_setup_teardown(names_tell_programs, make, drop),
		cmocka_unit_test_setup_teardown(notes_are_rare, make, drop),
		cmocka_unit_test_setup_teardown(refuses_nothing, make, drop),
		cmocka_unit_test_setup_teardown(names_tell_times, make, drop),
		cmocka_unit_test_setup_teardown(times_change_the_file, make, drop),
		cmocka_unit_test_setup_teardown(reads_times, make, drop),
		cmocka_unit_test_setup_teardown(names_are_bounded, make, drop),
		cmocka_unit_test_setup_teardown(a_user_has_so_many_names, make, drop),
		cmocka_unit_test_setup_teardown(numbers_push_nothing_out, make, drop),
		cmocka_unit_test_setup_teardown(all_have_so_many_names, make, drop),
		cmocka_unit_test_setup_teardown(damaged_lines, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
