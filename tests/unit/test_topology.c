/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/topology, with hwloc-calc as the oracle for cpusets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "striping/topology.h"

static const char *const synthetic[] = {
	"pack:1 core:2 pu:1",
	"pack:2 l3:1 core:8 pu:1",
	"pack:2 core:5 pu:2",
	"pack:2 numa:2 core:6 pu:2",
	"pack:4 core:12 pu:1",
	"pack:2 core:8 pu:2(indexes=core:pack)",
	"pack:2 core:24 pu:2",
	"numa:2 core:4 pu:4",
	"core:3 pu:2",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What hwloc-calc says of these logical cores; the terminated text is without its newline. */
static void oracle(const char *topology, const struct topology_lane *lane, char *out, size_t size)
{
	char command[4096];
	size_t n = (size_t)snprintf(
		command, sizeof(command), "hwloc-calc -i '%s' 2>/dev/null", topology);
	FILE *pipe;

	for (int i = 0; i < lane->core_count; i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " core:%d", lane->cores[i]);
	assert_true(n < sizeof(command));
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(out, (int)size, pipe));
	assert_int_equal(pclose(pipe), 0);
	out[strcspn(out, "\n")] = '\0';
}

static void cpusets_are_those_of_hwloc_calc(void **state)
{
	(void)state;
	if (system("hwloc-calc --version >/dev/null 2>&1")) {
		print_message(
			"skipped: hwloc-calc is not installed (Debian: apt-get install hwloc)\n");
		skip();
	}
	for (size_t t = 0; t < COUNT(synthetic); t++) {
		for (int lanes = 1; lanes <= 3; lanes++) {
			struct errmsg err = {""};
			struct topology_map *map = topology_map_load(synthetic[t], lanes, &err);
			char expected[1024];

			if (!map) {
				assert_int_equal(lanes, 3);
				assert_non_null(strstr(err.text, "fewer lanes"));
				continue;
			}
			for (int l = 0; l < lanes; l++) {
				oracle(synthetic[t], &map->lane[l], expected, sizeof(expected));
				assert_string_equal(map->lane[l].cpuset, expected);
			}
			topology_map_free(map);
		}
	}
}

/* Each core is in one lane or unused, and so is each PU. */
static void every_core_once(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT(synthetic); t++) {
		struct errmsg err = {""};
		struct topology_map *map = topology_map_load(synthetic[t], 2, &err);
		int cores = 0, seen[256] = {0}, pus[256] = {0};

		assert_non_null(map);
		for (int s = 0; s < map->sockets; s++)
			cores += map->cores_per_socket[s];
		for (int l = 0; l < map->lane_count; l++) {
			assert_int_equal(map->lane[l].core_count, map->lane[0].core_count);
			for (int i = 0; i < map->lane[l].core_count; i++)
				seen[map->lane[l].cores[i]]++;
			for (int i = 0; i < map->lane[l].pu_count; i++)
				pus[map->lane[l].pus[i]]++;
		}
		for (int i = 0; i < map->unused_count; i++)
			seen[map->unused[i]]++;
		for (int c = 0; c < 256; c++) {
			assert_int_equal(seen[c], c < cores);
			assert_in_range(pus[c], 0, 1);
		}
		topology_map_free(map);
	}
}

static void hyperthreads_stay_together(void **state)
{
	struct errmsg err = {""};
	struct topology_map *map = topology_map_load("pack:2 core:5 pu:2", 2, &err);

	(void)state;
	assert_non_null(map);
	assert_int_equal(map->sockets, 2);
	assert_int_equal(map->cores_per_socket[1], 5);
	assert_int_equal(map->lane[0].pu_count, 8);
	assert_int_equal(map->lane[0].pus[0], 0);
	assert_int_equal(map->lane[0].pus[1], 1);
	assert_int_equal(map->lane[0].pus[2], 4);
	assert_int_equal(map->unused_count, 2);
	assert_int_equal(map->unused[0], 4);
	assert_int_equal(map->unused[1], 9);
	topology_map_free(map);
}

static void xml_files(void **state)
{
	char path[] = "/tmp/test_topology.XXXXXX", command[256];
	struct errmsg err = {""};
	struct topology_map *map;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_null(topology_map_load(path, 2, &err));
	assert_non_null(strstr(err.text, path));
	snprintf(command, sizeof(command),
		"lstopo-no-graphics -f -i 'pack:2 core:4 pu:2' --of xml %s 2>/dev/null", path);
	if (system(command)) {
		unlink(path);
		print_message("skipped: lstopo is not installed (Debian: apt-get install hwloc)\n");
		skip();
	}
	map = topology_map_load(path, 2, &err);
	unlink(path);
	assert_non_null(map);
	assert_string_equal(map->lane[1].cpuset, "0x0000cccc");
	topology_map_free(map);
}

static void errors_name_the_source(void **state)
{
	static const char *const bad[][2] = {{"/no/such.xml", "/no/such.xml: "},
		{"no.xml", "no.xml: "}, {"pack:x", "\"pack:x\""}, {"", "empty"},
		{"pack:0 core:1 pu:1", "pack:0"}};
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		err.text[0] = '\0';
		assert_null(topology_map_load(bad[i][0], 2, &err));
		assert_non_null(strstr(err.text, bad[i][1]));
	}
	assert_null(topology_map_load("pack:2 core:8 pu:1", 17, &err));
	assert_non_null(strstr(err.text, "17"));
	assert_null(topology_map_load("pack:2 core:8 pu:1", 0, &err));
}

static void this_machine(void **state)
{
	struct errmsg err = {""};
	struct topology_map *map = topology_map_load(NULL, 1, &err);

	(void)state;
	assert_non_null(map);
	assert_true(map->sockets >= 1);
	assert_int_equal(map->unused_count, 0);
	assert_true(map->lane[0].pu_count >= map->lane[0].core_count);
	topology_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpusets_are_those_of_hwloc_calc),
		cmocka_unit_test(every_core_once),
		cmocka_unit_test(hyperthreads_stay_together),
		cmocka_unit_test(xml_files),
		cmocka_unit_test(errors_name_the_source),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
