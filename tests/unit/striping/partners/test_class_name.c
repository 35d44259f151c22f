/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the texts that name classes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "striping/partners/class_name.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_classes),
		cmocka_unit_test(half_characters),
		cmocka_unit_test(numbers_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
