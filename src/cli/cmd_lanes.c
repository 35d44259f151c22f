/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa lanes: which cores and PUs of a machine belong to which lane. */
#include <stdio.h>

#include "cli/cli.h"
#include "striping/lanes.h"
#include "striping/topology.h"

#define DEFAULT_LANES 2

struct options {
	bool json;
	int lanes;
	const char *topology;
};

static const struct argp_option option_table[] = {
	{"lanes", 'l', "N", 0, "Lanes that each socket is split into (default 2)", 0},
	{"topology", 't', "FILE.xml|SYNTHETIC", 0,
		"Another machine: a file that lstopo wrote, or a description such as "
		"\"pack:2 core:8 pu:1\"",
		0},
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l':
		o->lanes = (int)cli_int("--lanes", arg, 1, LANES_MAX);
		return 0;
	case 't':
		o->topology = arg;
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static json_t *int_array(const int *values, int count)
{
	json_t *array = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(array, json_integer(values[i]));
	return array;
}

static json_t *to_json(const struct topology_map *map)
{
	json_t *lanes = json_array();

	for (int i = 0; i < map->lane_count; i++) {
		const struct topology_lane *l = &map->lane[i];

		json_array_append_new(
			lanes, json_pack("{s:i, s:o, s:o, s:s}", "lane", i, "cores",
				       int_array(l->cores, l->core_count), "pus",
				       int_array(l->pus, l->pu_count), "cpuset", l->cpuset));
	}
	return json_pack("{s:o, s:i, s:o, s:o}", "lanes", lanes, "sockets", map->sockets,
		"cores_per_socket", int_array(map->cores_per_socket, map->sockets), "unused",
		int_array(map->unused, map->unused_count));
}

/* "0,2,4-6": runs of three and more are shortened. */
static void print_list(const int *values, int count)
{
	for (int i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && values[end] == values[end - 1] + 1; end++)
			;
		if (end - i < 3)
			end = i + 1;
		printf(end - i > 1 ? "%s%d-%d" : "%s%d", i ? "," : "", values[i], values[end - 1]);
	}
}

static void print_map(const struct topology_map *map)
{
	printf("sockets %d, cores per socket ", map->sockets);
	print_list(map->cores_per_socket, map->sockets);
	putchar('\n');
	for (int i = 0; i < map->lane_count; i++) {
		const struct topology_lane *l = &map->lane[i];

		printf("lane %d: cores ", i);
		print_list(l->cores, l->core_count);
		printf("; PUs ");
		print_list(l->pus, l->pu_count);
		printf("; cpuset %s\n", l->cpuset);
	}
	if (map->unused_count) {
		printf("unused: cores ");
		print_list(map->unused, map->unused_count);
		putchar('\n');
	}
}

int cmd_lanes(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "The lanes of this machine or of another topology: lane i of L has the "
		       "cores "
		       "i, i+L, i+2L, ... of every socket, with both hyperthreads of each."};
	struct options o = {.lanes = DEFAULT_LANES};
	struct topology_map *map;
	struct errmsg err;
	int rc = CLI_OK;

	cli_parse(&argp, argc, argv, &o);
	map = topology_map_load(o.topology, o.lanes, &err);
	if (!map) {
		cli_error("%s", err.text);
		return CLI_FAILURE;
	}
	if (o.json)
		rc = cli_print_json(to_json(map));
	else
		print_map(map);
	topology_map_free(map);
	return rc;
}
