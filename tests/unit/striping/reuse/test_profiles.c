/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the file of profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/journal.h"
#include "striping/reuse/profiles.h"
#include "unit/striping/reuse/histograms.h"

static char dir[] = "/tmp/test_profiles.XXXXXX", path[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/" PROFILES_FILE, dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void set(struct profiles *p, const char *name, double distance)
{
	struct reuse_histogram h = at_distance(distance, 7);

	assert_int_equal(profiles_set(p, name, &h, 1000, NULL), 0);
}

static void kept_in_order(void **state)
{
	struct profiles *p = profiles_new(), *again;
	struct errmsg err;
	struct stat st;
	int bad = -1;

	(void)state;
	set(p, "7:net", 100);
	set(p, "7:mem", 200);
	set(p, "7@a b/c", 300);
	set(p, "7:mem", 5000);
	assert_int_equal(profiles_save(p, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	again = profiles_load(path, &bad, &err);
	assert_non_null(again);
	assert_int_equal(bad, 0);
	assert_int_equal(profiles_count(again), 3);
	assert_null(profiles_get(again, 3));
	assert_null(profiles_get(again, -1));
	for (int i = 0; i < 3; i++)
		assert_memory_equal(&profiles_get(again, i)->h, &profiles_get(p, i)->h,
			sizeof(struct reuse_histogram));
	assert_string_equal(profiles_get(again, 0)->class_name, "7:mem");
	assert_true(profiles_get(again, 0)->h.bucket[reuse_bucket_of(5000)].mean == 5000);
	assert_true(profiles_get(again, 0)->imported == 1000);
	assert_int_equal(profiles_remove(again, "7:mem", &err), 0);
	assert_int_equal(profiles_remove(again, "7:mem", &err), -1);
	assert_non_null(strstr(err.text, "\"7:mem\" has no profile"));
	assert_int_equal(profiles_count(again), 2);
	assert_string_equal(profiles_get(again, 0)->class_name, "7:net");
	profiles_free(p);
	profiles_free(again);
	profiles_free(NULL);
}

static void no_file(void **state)
{
	struct errmsg err;
	struct profiles *p;
	int bad = -1;

	(void)state;
	unlink(path);
	p = profiles_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(profiles_count(p), 0);
	assert_int_equal(bad, 0);
	profiles_free(p);
	/* A folder is no file. */
	assert_null(profiles_load(dir, NULL, &err));
	assert_non_null(strstr(err.text, dir));
}

static void damaged_lines(void **state)
{
	static const char histogram[] =
		"Line=64\tReferences=10\tInstructions=30\tCold=4\tBucket0=6 2";
	FILE *f = fopen(path, "w");
	struct errmsg err;
	struct profiles *p;
	int bad = 0;

	(void)state;
	assert_non_null(f);
	fprintf(f, "#a comment\n8:good\t5\t%s\n", histogram);
	fprintf(f, "8:good\t6\t%s\n", histogram); /* a second time */
	fprintf(f, "8:short\n8:shorter\t5\n\t5\t%s\n", histogram);
	fprintf(f, "8:when\tx\t%s\n8:when\t-1\t%s\n", histogram, histogram);
	fprintf(f, "8:sum\t5\tLine=64\tReferences=11\tInstructions=30\tCold=4\tBucket0=6 2\n");
	fprintf(f, "8:%0*d\t5\t%s\n", PROFILE_NAME_MAX, 0, histogram);
	fprintf(f, "9:good\t5\t%s\n9:cut\t5\tLine=64\tRef", histogram);
	fclose(f);
	p = profiles_load(path, &bad, &err);
	assert_non_null(p);
	assert_int_equal(bad, 9);
	assert_int_equal(profiles_count(p), 2);
	assert_true(profiles_get(p, 0)->imported == 5 && profiles_get(p, 1)->h.cold == 4);
	profiles_free(p);
}

static void bounded(void **state)
{
	struct reuse_histogram h = at_distance(100, 1);
	struct profiles *p = profiles_new(), *again;
	char name[PROFILE_NAME_MAX + 1];
	struct errmsg err;
	FILE *f;
	int bad;

	(void)state;
	for (int i = 0; i < PROFILES_MAX; i++) {
		snprintf(name, sizeof(name), "8:%d", i);
		assert_int_equal(profiles_set(p, name, &h, 1, &err), 0);
	}
	assert_int_equal(profiles_set(p, "8:more", &h, 1, &err), -1);
	assert_non_null(strstr(err.text, "--remove"));
	assert_int_equal(profiles_set(p, "8:7", &h, 2, &err), 0);
	assert_int_equal(profiles_save(p, path, &err), 0);
	f = fopen(path, "a");
	fprintf(f, "8:more\t5\tLine=64\tReferences=10\tInstructions=30\tCold=10\n");
	fclose(f);
	again = profiles_load(path, &bad, &err);
	assert_int_equal(bad, 1);
	assert_int_equal(profiles_count(again), PROFILES_MAX);
	profiles_free(again);
	profiles_free(p);
}

static void bad_names(void **state)
{
	static const char *const bad[] = {"", "#a", "a\tb", "a\nb", "a\rb"};
	struct reuse_histogram h = at_distance(100, 1);
	struct profiles *p = profiles_new();
	char name[PROFILE_NAME_MAX + 1];
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(profiles_set(p, bad[i], &h, 1, &err), -1);
	assert_non_null(strstr(err.text, "is no class"));
	memset(name, 'x', sizeof(name));
	name[PROFILE_NAME_MAX] = '\0';
	assert_int_equal(profiles_set(p, name, &h, 1, &err), -1);
	name[PROFILE_NAME_MAX - 1] = '\0';
	assert_int_equal(profiles_set(p, name, &h, 1, &err), 0);
	assert_int_equal(profiles_count(p), 1);
	profiles_free(p);
}

/* Several that change the file at once lose nothing. */
static void one_at_a_time(void **state)
{
	const struct reuse_histogram h = at_distance(100, 1);
	struct profiles *p;
	struct errmsg err;

	(void)state;
	unlink(path);
	for (int child = 0; child < 4; child++)
		if (!fork()) {
			for (int i = 0; i < 8; i++) {
				int fd = journal_lock(path, &err);
				char name[32];

				p = profiles_load(path, NULL, &err);
				snprintf(name, sizeof(name), "%d:%d", child, i);
				if (fd < 0 || !p || profiles_set(p, name, &h, 1, &err) ||
					profiles_save(p, path, &err))
					_exit(1);
				profiles_free(p);
				close(fd);
			}
			_exit(0);
		}
	for (int child = 0; child < 4; child++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	p = profiles_load(path, NULL, &err);
	assert_int_equal(profiles_count(p), 32);
	profiles_free(p);
	assert_int_equal(journal_lock("/nonexistent/" PROFILES_FILE, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_in_order),
		cmocka_unit_test(no_file),
		cmocka_unit_test(damaged_lines),
		cmocka_unit_test(bounded),
		cmocka_unit_test(bad_names),
		cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
