/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/topology, with hwloc-calc as the oracle for cpusets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "striping/lanes/lanes.h"
#include "striping/lanes/topology.h"

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

static struct topology_map *load(const char *source, int lanes, struct errmsg *err)
{
	return topology_map_load(source, &(struct topology_view){.lanes = lanes}, err);
}

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
			struct topology_map *map = load(synthetic[t], lanes, &err);
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
		struct topology_map *map = load(synthetic[t], 2, &err);
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
	struct topology_map *map = load("pack:2 core:5 pu:2", 2, &err);

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
	assert_null(load(path, 2, &err));
	assert_non_null(strstr(err.text, path));
	snprintf(command, sizeof(command),
		"lstopo-no-graphics -f -i 'pack:2 core:4 pu:2' --of xml %s 2>/dev/null", path);
	if (system(command)) {
		unlink(path);
		print_message("skipped: lstopo is not installed (Debian: apt-get install hwloc)\n");
		skip();
	}
	map = load(path, 2, &err);
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
		assert_null(load(bad[i][0], 2, &err));
		assert_non_null(strstr(err.text, bad[i][1]));
	}
	assert_null(load("pack:2 core:8 pu:1", 17, &err));
	assert_non_null(strstr(err.text, "17"));
	assert_null(load("pack:2 core:8 pu:1", -1, &err));
}

/* The same numbers on every machine, so that a failure can be repeated. */
static unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % below;
}

/* A machine of 1 to 8 sockets, with or without NUMA nodes and L3 caches in them. */
static void draw_shape(unsigned int *seed, char *text, size_t size)
{
	unsigned int sockets = 1 + draw(seed, 8), numa = draw(seed, 4), l3 = draw(seed, 5);
	unsigned int cores = 1 + draw(seed, l3 ? 8 : 24), threads = 1 + draw(seed, 3);
	size_t n = (size_t)snprintf(text, size, "pack:%u", sockets);

	if (numa)
		n += (size_t)snprintf(text + n, size - n, " numa:%u", numa);
	if (l3)
		n += (size_t)snprintf(text + n, size - n, " l3:%u", l3);
	snprintf(text + n, size - n, " core:%u pu:%u", cores, threads);
}

/* What is left of it when some CPUs are offline, as a file that lstopo could have written. */
static hwloc_topology_t take_offline(
	const char *shape, unsigned int *seed, unsigned int permille, const char *path)
{
	hwloc_bitmap_t left = hwloc_bitmap_alloc();
	hwloc_topology_t hw;

	assert_int_equal(hwloc_topology_init(&hw), 0);
	assert_int_equal(hwloc_topology_set_synthetic(hw, shape), 0);
	assert_int_equal(hwloc_topology_load(hw), 0);
	hwloc_bitmap_copy(left, hwloc_topology_get_topology_cpuset(hw));
	for (int pu = hwloc_bitmap_last(left); pu > 0; pu--)
		if (draw(seed, 1000) < permille)
			hwloc_bitmap_clr(left, (unsigned int)pu);
	assert_int_equal(hwloc_topology_restrict(hw, left, 0), 0);
	assert_int_equal(hwloc_topology_export_xml(hw, path, 0), 0);
	hwloc_bitmap_free(left);
	return hw;
}

/*
 * Every object of this kind has its cores spread over the lanes: they differ by one at most, and by
 * two where packages are uneven, so that Slurm's sockets begin elsewhere than the machine's.
 */
static void is_shared_evenly(
	hwloc_topology_t hw, hwloc_obj_type_t type, const int *lane_of, int sockets, int lanes)
{
	int all = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE), known = all / sockets * sockets;

	for (int i = 0; i < hwloc_get_nbobjs_by_type(hw, type); i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(hw, type, (unsigned int)i), core = NULL;
		int count[LANES_MAX] = {0}, most = 0, least = 1 << 30;

		while ((core = hwloc_get_next_obj_inside_cpuset_by_type(
				hw, obj->cpuset, HWLOC_OBJ_CORE, core)))
			if ((int)core->logical_index < known &&
				lane_of[core->logical_index] != LANE_NONE)
				count[lane_of[core->logical_index]]++;
		for (int l = 0; l < lanes; l++) {
			most = count[l] > most ? count[l] : most;
			least = count[l] < least ? count[l] : least;
		}
		assert_in_range(most - least, 0, all % sockets ? 2 : 1);
	}
}

/* The map says what slurmctld gives out, and the lanes are what they are to be. */
static void check_map(const struct topology_map *map, hwloc_topology_t hw, const int *lane_of,
	int lanes, int sockets, int cores, enum stripe_shape shape)
{
	int all = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE), known = sockets * cores, pus = 0;
	hwloc_bitmap_t taken = hwloc_bitmap_alloc();

	assert_int_equal(map->sockets, sockets);
	assert_int_equal(map->lane_count, lanes);
	for (int l = 0; l < lanes; l++) {
		int per_socket[8] = {0}, first[8] = {0};

		for (int i = 0; i < map->lane[l].core_count; i++) {
			int c = map->lane[l].cores[i];
			hwloc_obj_t core = hwloc_get_obj_by_type(hw, HWLOC_OBJ_CORE, (unsigned)c);

			assert_in_range(c, 0, known - 1);
			assert_int_equal(lane_of[c], l);
			per_socket[c / cores]++;
			assert_false(hwloc_bitmap_intersects(taken, core->cpuset));
			hwloc_bitmap_or(taken, taken, core->cpuset);
		}
		pus += map->lane[l].pu_count;
		for (int c = 0; c < known; c++)
			first[c / cores] += lane_of[c] == 0;
		/* Sockets of one core count together. */
		for (int s = 0; shape == SHAPE_STRIPE && cores > 1 && s < sockets; s++)
			assert_int_equal(per_socket[s], first[s]);
		assert_int_equal(map->lane[l].core_count, map->lane[0].core_count);
	}
	for (int i = 0; i < map->unused_count; i++)
		assert_true(map->unused[i] >= known || lane_of[map->unused[i]] == LANE_NONE);
	assert_int_equal(map->unused_count + lanes * map->lane[0].core_count, all);
	assert_int_equal(hwloc_bitmap_weight(taken), pus);
	hwloc_bitmap_free(taken);
}

/*
 * Random machines, every other one with CPUs offline and every third with specialised cores: both
 * users of the lanes agree, and lanes are disjoint, of whole cores, equal per socket, and a fair
 * share of each cache and NUMA node.
 */
static void random_topologies(void **state)
{
	char path[] = "/tmp/test_topology.XXXXXX";
	int fd = mkstemp(path), striped = 0, uneven = 0;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (unsigned int n = 1; n <= 300; n++) {
		unsigned int seed = n;
		struct poppa_settings settings;
		struct topology_view view = {.settings = &settings};
		struct errmsg err = {""};
		struct topology_map *map;
		char shape[128], reserved[32];
		bool spare[8 * 128] = {false};
		int lane_of[8 * 128], sockets, cores, threads, all, lanes, rc;
		hwloc_topology_t hw;

		draw_shape(&seed, shape, sizeof(shape));
		print_message("%u %s\n", n, shape);
		hw = take_offline(shape, &seed, n % 2 ? 0 : 60, path);
		all = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE);
		sockets = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PACKAGE);
		cores = all / sockets;
		threads = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU) / all;
		uneven += all % sockets != 0;
		settings_defaults(&settings);
		settings.stripe_lanes = 2 + (int)draw(&seed, 5);
		settings.lanes_on.rule[settings.lanes_on.count++] =
			(struct stripe_rule){2, 8, 2 + (int)draw(&seed, 15)};
		view.shape_given = n % 5 == 0;
		view.shape = view.shape_given && n % 2 ? SHAPE_SOCKET : SHAPE_STRIPE;
		if (n % 3 == 0 && sockets * cores > 1) {
			int core = (int)draw(&seed, (unsigned int)(sockets * cores));

			snprintf(reserved, sizeof(reserved), "%d-%d", core * threads,
				core * threads + threads - 1);
			view.reserved = reserved;
			spare[core] = true;
		}
		lanes = lanes_count(&settings, sockets, cores);
		rc = lanes_of_node(view.shape, sockets, cores, spare, lanes, lane_of, NULL);
		map = topology_map_load(path, &view, &err);
		assert_int_equal(!map, rc <= 0);
		if (map) {
			striped++;
			check_map(map, hw, lane_of, lanes, sockets, cores, view.shape);
			if (view.shape == SHAPE_STRIPE) {
				is_shared_evenly(hw, HWLOC_OBJ_L3CACHE, lane_of, sockets, lanes);
				is_shared_evenly(hw, HWLOC_OBJ_NUMANODE, lane_of, sockets, lanes);
			}
		} else {
			assert_non_null(strstr(err.text, "fewer lanes"));
		}
		topology_map_free(map);
		hwloc_topology_destroy(hw);
	}
	unlink(path);
	assert_true(striped > 250);
	assert_true(uneven > 30);
}

static void other_sockets(void **state)
{
	struct topology_view view = {.lanes = 2};
	struct errmsg err = {""};
	struct topology_map *map;

	(void)state;
	view.socket = TOPOLOGY_L3;
	map = topology_map_load("pack:2 l3:2 core:3 pu:1", &view, &err);
	assert_non_null(map);
	assert_int_equal(map->sockets, 4);
	assert_int_equal(map->unused_count, 4);
	topology_map_free(map);
	view.socket = TOPOLOGY_NUMA;
	map = topology_map_load("pack:2 numa:2 core:4 pu:1", &view, &err);
	assert_non_null(map);
	assert_int_equal(map->sockets, 4);
	assert_string_equal(map->lane[0].cpuset, "0x00005555");
	topology_map_free(map);
	view.reserved = "0,16";
	assert_null(topology_map_load("pack:2 core:8 pu:1", &view, &err));
	assert_non_null(strstr(err.text, "\"0,16\" is no list"));
}

static void this_machine(void **state)
{
	struct errmsg err = {""};
	struct topology_map *map = load(NULL, 1, &err);

	(void)state;
	assert_non_null(map);
	assert_true(map->sockets >= 1);
	assert_int_equal(map->unused_count, 0);
	assert_true(map->lane[0].pu_count >= map->lane[0].core_count);
	topology_map_free(map);
}

/* Whether these PUs, and no others, are in the one lane of what this process may use. */
static bool has_only(const int *pu, int count)
{
	struct topology_view view = {.lanes = 1, .allowed = true};
	struct errmsg err = {""};
	struct topology_map *map = topology_map_load(NULL, &view, &err);
	bool same = map && map->lane_count == 1 && map->lane[0].pu_count == count;

	for (int i = 0; same && i < count; i++) {
		bool found = false;

		for (int k = 0; k < count; k++)
			found |= map->lane[0].pus[k] == pu[i];
		same = found;
	}
	topology_map_free(map);
	return same;
}

/* One lane more than there are cores. */
static bool refuses_two_lanes(void)
{
	struct topology_view view = {.lanes = 2, .allowed = true};
	struct errmsg err = {""};
	struct topology_map *map = topology_map_load(NULL, &view, &err);
	bool refused = !map && strstr(err.text, "lanes");

	topology_map_free(map);
	return refused;
}

/* In a child, which may be bound. */
static int bound_to(const int *pu, int count)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct topology_view all = {.lanes = 1};
		struct errmsg err = {""};
		struct topology_map *before = topology_map_load(NULL, &all, &err), *after;
		cpu_set_t set;

		CPU_ZERO(&set);
		for (int i = 0; i < count; i++)
			CPU_SET(pu[i], &set);
		if (sched_setaffinity(0, sizeof(set), &set) || !has_only(pu, count))
			_exit(1);
		if (count == 1 && !refuses_two_lanes())
			_exit(2);
		/* Without allowed it is all of the machine as before. */
		after = topology_map_load(NULL, &all, &err);
		if (!before || !after || before->lane[0].pu_count != after->lane[0].pu_count)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void what_this_process_may_use(void **state)
{
	cpu_set_t mine;
	int pu[2], found = 0;

	(void)state;
	if (getenv("HWLOC_XMLFILE") || getenv("HWLOC_SYNTHETIC")) {
		print_message("skipped: hwloc is told of another machine\n");
		skip();
	}
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	/* The last one, so that it is not the one that would be first anyway. */
	for (int i = CPU_SETSIZE - 1; i >= 0 && found < 2; i--)
		if (CPU_ISSET(i, &mine))
			pu[found++] = i;
	assert_true(found > 0);
	assert_int_equal(bound_to(pu, 1), 0);
	if (found == 2) {
		assert_int_equal(bound_to(pu + 1, 1), 0);
		assert_int_equal(bound_to(pu, 2), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpusets_are_those_of_hwloc_calc),
		cmocka_unit_test(every_core_once),
		cmocka_unit_test(hyperthreads_stay_together),
		cmocka_unit_test(xml_files),
		cmocka_unit_test(errors_name_the_source),
		cmocka_unit_test(random_topologies),
		cmocka_unit_test(other_sockets),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(what_this_process_may_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
