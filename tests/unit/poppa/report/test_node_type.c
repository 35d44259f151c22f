/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/report/node_type.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/report/node_type.h"

static char root[] = "/tmp/test_node_type.XXXXXX";

static void put(const char *name, const char *text)
{
	struct errmsg err = {""};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 0, &err), 0);
}

static void put_cache(int index, const char *level, const char *size)
{
	char name[128];

	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu0/cache/index%d/level", index);
	put(name, level);
	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu0/cache/index%d/size", index);
	put(name, size);
}

static void expect(const char *cpuinfo, const char *want)
{
	char type[SLOW_NODE_TYPE];

	put("proc/cpuinfo", cpuinfo);
	memset(type, 'x', sizeof(type));
	node_type_read(root, type);
	assert_string_equal(type, want);
}

static void names_model_and_cache(void **state)
{
	char type[SLOW_NODE_TYPE], model[1024];

	(void)state;
	strcpy(type, "x");
	node_type_read(root, type);
	assert_string_equal(type, "");
	expect("processor\t: 0\nmodel\t\t: 1\nmodel name\t: A  B(R) CPU @ 2.0GHz \ncpu MHz\t: 7\n\n"
	       "processor\t: 1\nmodel name\t: Z\n",
		"A B(R) CPU @ 2.0GHz");
	put_cache(0, "1\n", "32K\n");
	put_cache(1, "1\n", "64K\n");
	put_cache(2, "2\n", "1024K\n");
	put_cache(3, "3\n", "32768K\n");
	expect("model name\t: A\n", "A, L3 32768K");
	expect("cpu\t\t: POWER9, altivec\n", "POWER9, altivec, L3 32768K");
	expect("CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n",
		"0x41 0xd0c, L3 32768K");
	/* Hostile or broken: what cannot be printed counts as a space. */
	expect("model name : \x1b[31m\xc3\xa4X\t\x7fY\n", "[31m X Y, L3 32768K");
	expect("model name :\n", "");
	expect("", "");
	expect("no colon", "");
	memset(model, 'M', sizeof(model));
	memcpy(model, "model name:", 11);
	model[sizeof(model) - 1] = '\0';
	put("proc/cpuinfo", model);
	node_type_read(root, type);
	assert_true(strlen(type) < SLOW_NODE_TYPE);
	assert_non_null(strstr(type, "MMM, L3 32768K"));
}

static void knows_this_host(void **state)
{
	char type[SLOW_NODE_TYPE];

	(void)state;
	node_type_read("", type);
	print_message("%s\n", type);
	for (const char *p = type; *p; p++)
		assert_true(*p >= ' ' && *p <= '~');
}

static int make_root(void **state)
{
	(void)state;
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_model_and_cache),
		cmocka_unit_test(knows_this_host),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
