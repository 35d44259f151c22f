/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the texts that name classes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/history/class_name.h"

static void names_classes(void **state)
{
	char buf[PAIRS_CLASS_MAX], name[2 * PAIRS_CLASS_MAX];

	(void)state;
	/* Another's class is another one, whatever its name. */
	assert_string_equal(class_by_names("cfd", false, 7, "job", buf), "7:cfd");
	assert_string_equal(class_by_names("cfd", true, 7, "job", buf), "cfd");
	assert_string_equal(class_by_names("", true, 7, "job", buf), "7/job");
	assert_string_equal(class_by_names("", false, 7, "job", buf), "7/job");
	assert_string_equal(class_by_names(NULL, false, 7, "a\tb", buf), "7/a_b");
	assert_string_equal(class_by_names(NULL, false, 7, NULL, buf), "7/");
	memset(name, 'y', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(class_by_names(NULL, false, 7, name, buf)), PAIRS_CLASS_MAX - 1);
}

/* JSON takes them, cut or not. */
static void half_characters(void **state)
{
	char buf[PAIRS_CLASS_MAX], name[2 * PAIRS_CLASS_MAX], cut[5];

	(void)state;
	assert_string_equal(class_by_names(NULL, false, 7, "caf\xe9", buf), "7/caf?");
	assert_string_equal(class_copy("caf\xc3\xa9", cut, sizeof(cut)), "caf?");
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		strcpy(name + i, "\xc3\xa9");
	class_by_names(NULL, false, 77, name, buf);
	assert_int_equal(strlen(buf), PAIRS_CLASS_MAX - 1);
	class_by_names(NULL, false, 7, name, buf);
	assert_int_equal(buf[PAIRS_CLASS_MAX - 2], '?');
}

static void numbers_of_names(void **state)
{
	char with[] = "7step-17.3x", without[] = "step", empty[] = "";

	(void)state;
	assert_true(class_generalize(with));
	assert_string_equal(with, "#step-#.#x");
	assert_false(class_generalize(without));
	assert_string_equal(without, "step");
	assert_false(class_generalize(empty));
}

static void add(const char *class, unsigned int nodes, const char *type, const char *expected)
{
	char buf[PAIRS_CLASS_MAX];

	strcpy(buf, class);
	assert_string_equal(class_add_variant(buf, nodes, type), expected);
	assert_int_equal(class_base(buf), strlen(class));
}

/* Sizes are powers of two, and the type comes last. */
static void variants(void **state)
{
	char type[CLASS_TYPE_MAX], name[PAIRS_CLASS_MAX];

	(void)state;
	add("7@lmp", 0, NULL, "7@lmp");
	add("7@lmp", 1, "", "7@lmp");
	add("7@lmp", 2, "", "7@lmp+2n");
	add("7@lmp", 3, NULL, "7@lmp+2n");
	add("7@lmp", 4, NULL, "7@lmp+4n");
	add("7@lmp", 7, NULL, "7@lmp+4n");
	add("7@g++", 1023, NULL, "7@g+++512n");
	add("7/", 536870912, NULL, "7/+536870912n");
	add("weather", 1, "2x8x1", "weather+2x8x1");
	add("weather", 6, class_node_type(2, 16, 2, false, type), "weather+4n+2x16x2");
	assert_string_equal(class_node_type(0, 0, 0, false, type), "1x1x1");
	add("weather", 6, class_node_type(2, 16, 2, true, type), "weather+4n+2x16x2s");
	assert_true(class_of_sockets("weather+4n+2x16x2s"));
	assert_false(class_of_sockets("weather+4n+2x16x2"));
	assert_false(class_of_sockets("weathers"));
	add("7@lmp", UINT32_MAX, class_node_type(UINT32_MAX, UINT32_MAX, UINT32_MAX, false, type),
		"7@lmp+2147483648n+4294967295x4294967295x4294967295");
	class_node_type(UINT16_MAX, UINT16_MAX, UINT16_MAX, false, type);
	add("7@lmp", 2, type, "7@lmp+2n+65535x65535x65535");
	/* Without room for the suffix it is the class itself. */
	memset(name, 'y', sizeof(name));
	name[sizeof(name) - 3] = '\0';
	add(name, 2, NULL, name);
}

/* A user makes no name that looks like a variant. */
static void forged_variants(void **state)
{
	static const char *const as_they_are[] = {"7@lmp", "7@g++", "7/a+b", "7/+", "7/a+4",
		"7/a+n", "7/a+3n", "7/a+1n", "7/a+0n", "7/a+04n", "7/a+4nn", "7/a+2x8", "7/a+2x8x",
		"7/a+2x8x1x", "7/a+2x8x1ss", "7/a+2x8xs", "7/a+x8x1", "7/a+2x08x1", "7/a+-4n",
		"7/a+ 4n", "7/a+99999999999999999999n", "+4n", ""};
	static const char *const other[][2] = {{"7/a+4n", "7/a_4n"}, {"7/a+2x8x1", "7/a_2x8x1"},
		{"7/a+2x8x1s", "7/a_2x8x1s"}, {"7/a+4n+2x8x1", "7/a_4n_2x8x1"},
		{"7/a+2x8x1+4n", "7/a+2x8x1_4n"}};
	char buf[PAIRS_CLASS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(as_they_are) / sizeof(*as_they_are); i++) {
		strcpy(buf, as_they_are[i]);
		assert_int_equal(class_base(buf), strlen(buf));
		assert_string_equal(class_guard(buf), as_they_are[i]);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		strcpy(buf, other[i][0]);
		assert_true(class_base(buf) < strlen(buf));
		assert_string_equal(class_guard(buf), other[i][1]);
		assert_int_equal(class_base(buf), strlen(buf));
	}
}

static void parents(void **state)
{
	char buf[PAIRS_CLASS_MAX];

	(void)state;
	assert_true(class_parent("7@lmp+4n+2x8x1", buf));
	assert_string_equal(buf, "7@lmp");
	assert_true(class_parent("7@lmp", buf));
	assert_string_equal(buf, "#7");
	assert_false(class_parent("#7", buf));
	assert_true(class_parent("weather+2n", buf));
	assert_string_equal(buf, "weather");
	assert_false(class_parent("weather", buf));
	assert_false(class_parent("77", buf));
	assert_false(class_parent("", buf));
	assert_int_equal(class_user("77:a"), 2);
	assert_int_equal(class_user("77"), 0);
	assert_int_equal(class_user(":a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_classes),
		cmocka_unit_test(half_characters),
		cmocka_unit_test(numbers_of_names),
		cmocka_unit_test(variants),
		cmocka_unit_test(forged_variants),
		cmocka_unit_test(parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
