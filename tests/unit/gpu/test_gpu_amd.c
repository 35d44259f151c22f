/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of AMD's mask, on a topology in the form that the kernel documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fsio.h"
#include "gpu/gpu_amd.h"

static char folder[] = "/tmp/test-gpu-amd-XXXXXX";

static void node(int number, const char *properties)
{
	struct errmsg err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", folder, number);
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	strcat(path, "/properties");
	assert_int_equal(fsio_write(path, properties, strlen(properties), 0644, 0, &err), 0);
}

static void test_masks(void **state)
{
	char buf[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(gpu_amd_mask(folder, 50, buf, sizeof(buf)), -1);
	node(0, "cpu_cores_count 64\nsimd_count 0\nsimd_per_cu 0\n");
	assert_int_equal(gpu_amd_mask(folder, 50, buf, sizeof(buf)), -1);
	assert_int_equal(gpu_amd_units(folder), 0);
	node(1, "cpu_cores_count 0\nsimd_count 176\nmem_banks_count 1\nsimd_per_cu 4\n");
	assert_int_equal(gpu_amd_mask(folder, 50, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "0:0-21");
	node(2, "simd_count 240\nsimd_per_cu 4\n");
	assert_int_equal(gpu_amd_mask(folder, 100, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "0:0-43;1:0-59");
	assert_int_equal(gpu_amd_units(folder), 44);
	assert_int_equal(gpu_amd_mask(folder, 1, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "0:0-0;1:0-0");
	assert_int_equal(gpu_amd_mask(folder, 100, buf, 13), -1);
	node(2, "simd_count many\n");
	assert_int_equal(gpu_amd_mask(folder, 100, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "0:0-43");
}

static int tear_down(void **state)
{
	char command[192];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
