/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns an hwloc topology into lanes. */
#include "striping/lanes/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "striping/lanes/lanes.h"

static bool names_file(const char *source)
{
	size_t len = strlen(source);

	return strchr(source, '/') || (len > 4 && !strcmp(source + len - 4, ".xml")) ||
	       !access(source, F_OK);
}

/* Tells hwloc where the topology comes from; the machine itself needs nothing. */
static int set_source(hwloc_topology_t hw, const char *source, struct errmsg *err)
{
	if (!source)
		return 0;
	if (!*source)
		return errmsg_set(err, "the topology is empty: give an XML file or a synthetic "
				       "topology such as \"pack:2 core:8 pu:1\"");
	if (names_file(source)) {
		if (access(source, R_OK))
			return errmsg_set(err, "%s: %s", source, strerror(errno));
		if (hwloc_topology_set_xml(hw, source))
			return errmsg_set(err,
				"%s is not a topology that hwloc can read: write one "
				"with \"lstopo FILE.xml\"",
				source);
		return 0;
	}
	if (hwloc_topology_set_synthetic(hw, source))
		return errmsg_set(err,
			"\"%s\" is neither a file nor a synthetic topology such as "
			"\"pack:2 core:8 pu:1\"",
			source);
	return 0;
}

/* Leaves the PUs that this process is bound to. Where it cannot be told, all are left. */
static int restrict_to_binding(hwloc_topology_t hw, struct errmsg *err)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int rc = 0;

	if (!set)
		return errmsg_set(err, "out of memory");
	if (!hwloc_get_cpubind(hw, set, HWLOC_CPUBIND_PROCESS) &&
		hwloc_topology_restrict(hw, set, 0))
		rc = errmsg_set(err, "hwloc cannot leave out what this process may not use: %s",
			strerror(errno));
	hwloc_bitmap_free(set);
	return rc;
}

static hwloc_topology_t load(const char *source, bool allowed, struct errmsg *err)
{
	hwloc_topology_t hw;

	if (hwloc_topology_init(&hw)) {
		errmsg_set(err, "hwloc cannot start: %s", strerror(errno));
		return NULL;
	}
	if (!allowed)
		hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (set_source(hw, source, err)) {
		hwloc_topology_destroy(hw);
		return NULL;
	}
	if (hwloc_topology_load(hw)) {
		errmsg_set(err, "hwloc cannot load %s: %s", source ? source : "this machine",
			strerror(errno));
		hwloc_topology_destroy(hw);
		return NULL;
	}
	if (allowed && restrict_to_binding(hw, err)) {
		hwloc_topology_destroy(hw);
		return NULL;
	}
	return hw;
}

/* The depth of what Slurm takes for sockets; negative: the whole machine is one socket. */
static int socket_depth(hwloc_topology_t hw, enum topology_socket socket)
{
	hwloc_obj_t numa;

	switch (socket) {
	case TOPOLOGY_L3:
		return hwloc_get_type_depth(hw, HWLOC_OBJ_L3CACHE);
	case TOPOLOGY_NUMA:
		numa = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_NUMANODE, NULL);
		return numa && numa->parent ? numa->parent->depth : -1;
	default:
		return hwloc_get_type_depth(hw, HWLOC_OBJ_PACKAGE);
	}
}

/*
 * Lists the physical cores socket by socket and counts them per socket; sockets without cores do
 * not count. The list's order is the node's logical core order, which is also the order of Slurm's
 * core numbers.
 */
static hwloc_obj_t *list_cores(hwloc_topology_t hw, enum topology_socket socket,
	struct topology_map *map, int *count, struct errmsg *err)
{
	hwloc_obj_type_t type =
		hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	int depth = socket_depth(hw, socket), n = 0;
	int sockets = depth >= 0 ? (int)hwloc_get_nbobjs_by_depth(hw, depth) : 1;
	hwloc_obj_t *core;

	*count = hwloc_get_nbobjs_by_type(hw, type);
	core = *count > 0 ? calloc((size_t)*count, sizeof(*core)) : NULL;
	map->cores_per_socket = calloc((size_t)sockets + 1, sizeof(int));
	if (!core || !map->cores_per_socket) {
		errmsg_set(err, *count > 0 ? "out of memory" : "the topology has no core");
		free(core);
		return NULL;
	}
	for (int s = 0; s < sockets; s++) {
		hwloc_obj_t obj = depth >= 0 ? hwloc_get_obj_by_depth(hw, depth, (unsigned)s)
					     : hwloc_get_root_obj(hw);
		hwloc_obj_t c = NULL;

		while (n < *count &&
			(c = hwloc_get_next_obj_inside_cpuset_by_type(hw, obj->cpuset, type, c))) {
			core[n++] = c;
			map->cores_per_socket[map->sockets]++;
		}
		map->sockets += map->cores_per_socket[map->sockets] > 0;
	}
	*count = n;
	return core;
}

static int fill_pus(struct topology_lane *l, hwloc_const_bitmap_t set)
{
	int n = hwloc_bitmap_weight(set), pu;

	l->pus = calloc((size_t)(n > 0 ? n : 1), sizeof(int));
	if (!l->pus || hwloc_bitmap_asprintf(&l->cpuset, set) < 0)
		return -1;
	for (pu = hwloc_bitmap_first(set); pu >= 0; pu = hwloc_bitmap_next(set, pu))
		l->pus[l->pu_count++] = pu;
	return 0;
}

static int fill_lane(struct topology_map *map, int lane, hwloc_obj_t *core, const int *lane_of,
	int count, int lane_cores)
{
	struct topology_lane *l = &map->lane[lane];
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int rc;

	l->cores = calloc((size_t)lane_cores, sizeof(int));
	if (!set || !l->cores) {
		hwloc_bitmap_free(set);
		return -1;
	}
	for (int c = 0; c < count; c++) {
		if (lane_of[c] != lane)
			continue;
		l->cores[l->core_count++] = c;
		hwloc_bitmap_or(set, set, core[c]->cpuset);
	}
	rc = fill_pus(l, set);
	hwloc_bitmap_free(set);
	return rc;
}

/* Marks the cores of the CPUs in the list, `threads` of which make a core. */
static int mark_spare(const char *list, int threads, int cores, bool *spare, struct errmsg *err)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int rc = 0;

	if (!set || hwloc_bitmap_list_sscanf(set, list) || hwloc_bitmap_weight(set) < 1 ||
		hwloc_bitmap_last(set) / threads >= cores)
		rc = errmsg_set(
			err, "\"%s\" is no list of this topology's CPUs, such as \"0,8-9\"", list);
	for (int cpu = hwloc_bitmap_first(set); !rc && cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
		spare[cpu / threads] = true;
	hwloc_bitmap_free(set);
	return rc;
}

/* Shares the cores out as Slurm sees the node. Cores that Slurm does not count are in no lane. */
static int share_out(const struct topology_map *map, const struct topology_view *view, int count,
	int threads, int *lanes, int *lane_of, struct errmsg *err)
{
	bool *spare = calloc((size_t)count, sizeof(*spare));
	int per_socket = count / map->sockets, rc = -1;
	const struct poppa_settings *settings = view->settings;
	struct poppa_settings defaults;
	enum stripe_shape shape = view->shape;

	settings_defaults(&defaults);
	for (int c = 0; c < count; c++)
		lane_of[c] = LANE_NONE;
	if (!view->settings)
		settings = &defaults;
	*lanes = view->lanes ? view->lanes : lanes_count(settings, map->sockets, per_socket);
	if (!spare)
		errmsg_set(err, "out of memory");
	else if (!view->reserved || !mark_spare(view->reserved, threads, count, spare, err))
		rc = 0;
	if (!rc && per_socket && view->shape_given)
		rc = lanes_of_node(shape, map->sockets, per_socket, spare, *lanes, lane_of, NULL);
	else if (!rc && per_socket)
		rc = lanes_usual(
			settings, map->sockets, per_socket, spare, *lanes, lane_of, NULL, &shape);
	if (rc < 0 && spare && !*err->text)
		errmsg_set(err, "%d lanes are out of range: 1 to %d", *lanes, LANES_MAX);
	free(spare);
	if (rc)
		return rc;
	if (view->allowed)
		return errmsg_set(err,
			"%d lanes need %d cores of one socket, and this process may use fewer: "
			"allow it more (salloc, taskset), run it on another node%s",
			*lanes, *lanes, *lanes > 2 ? ", or ask for fewer lanes" : "");
	if (shape == SHAPE_SOCKET)
		return errmsg_set(err,
			"%d socket%s of %d core%s cannot be shared out as %d lanes of whole sockets that are "
			"as large as stripes: ask for fewer lanes, or for the shape stripe",
			map->sockets, map->sockets == 1 ? "" : "s", per_socket,
			per_socket == 1 ? "" : "s", *lanes);
	return errmsg_set(err,
		"no socket has %d cores for jobs, so there is no lane: ask for fewer lanes",
		*lanes);
}

static int fill_all_pus(struct topology_map *map, hwloc_obj_t *core, int count)
{
	int socket = 0, end = map->cores_per_socket[0], room = 0;

	for (int c = 0; c < count; c++)
		room += hwloc_bitmap_weight(core[c]->cpuset);
	map->pu = calloc((size_t)room + 1, sizeof(*map->pu));
	if (!map->pu)
		return -1;
	for (int c = 0; c < count; c++) {
		hwloc_const_bitmap_t set = core[c]->cpuset;

		if (c == end)
			end += map->cores_per_socket[++socket];
		for (int pu = hwloc_bitmap_first(set); pu >= 0; pu = hwloc_bitmap_next(set, pu))
			map->pu[map->pu_count++] = (struct topology_pu){pu, c, socket};
	}
	return 0;
}

static int fill_map(struct topology_map *map, const struct topology_view *view, hwloc_obj_t *core,
	int count, int threads, int *lane_of, struct errmsg *err)
{
	int lanes, lane_cores = share_out(map, view, count, threads, &lanes, lane_of, err);

	if (lane_cores < 0)
		return -1;
	map->lane = calloc((size_t)lanes, sizeof(*map->lane));
	map->unused = calloc((size_t)count, sizeof(int));
	if (!map->lane || !map->unused || fill_all_pus(map, core, count))
		return errmsg_set(err, "out of memory");
	map->lane_count = lanes;
	for (int i = 0; i < lanes; i++)
		if (fill_lane(map, i, core, lane_of, count, lane_cores))
			return errmsg_set(err, "out of memory");
	for (int c = 0; c < count; c++)
		if (lane_of[c] == LANE_NONE)
			map->unused[map->unused_count++] = c;
	return 0;
}

struct topology_map *topology_map_load(
	const char *source, const struct topology_view *view, struct errmsg *err)
{
	hwloc_topology_t hw = load(source, view->allowed, err);
	struct topology_map *map;
	hwloc_obj_t *core = NULL;
	int count = 0, *lane_of = NULL, rc = -1;

	if (!hw)
		return NULL;
	*err->text = '\0';
	map = calloc(1, sizeof(*map));
	if (map)
		core = list_cores(hw, view->socket, map, &count, err);
	else
		errmsg_set(err, "out of memory");
	if (core && !map->sockets) {
		errmsg_set(err, "the topology has no core in what is to count as a socket");
	} else if (core) {
		int threads = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU) / count;

		lane_of = calloc((size_t)count + 1, sizeof(int));
		rc = lane_of ? fill_map(map, view, core, count, threads, lane_of, err)
			     : errmsg_set(err, "out of memory");
	}
	free(lane_of);
	free(core);
	hwloc_topology_destroy(hw);
	if (rc) {
		topology_map_free(map);
		return NULL;
	}
	return map;
}

void topology_map_free(struct topology_map *map)
{
	if (!map)
		return;
	for (int i = 0; i < map->lane_count; i++) {
		free(map->lane[i].cores);
		free(map->lane[i].pus);
		free(map->lane[i].cpuset);
	}
	free(map->lane);
	free(map->cores_per_socket);
	free(map->pu);
	free(map->unused);
	free(map);
}
