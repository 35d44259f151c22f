/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa lanes: which cores and PUs of a machine belong to which lane. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/ask/scontrol.h"
#include "common/settings.h"
#include "striping/lanes/lanes.h"
#include "striping/lanes/topology.h"

enum { OPT_SOCKETS = CLI_OPT_FIRST, OPT_RESERVED, OPT_SHAPE };

struct options {
	bool json, socket_given;
	const char *topology, *node;
	struct topology_view view;
};

static const struct argp_option option_table[] = {
	{"lanes", 'l', "N", 0,
		"Lanes that each socket is split into (default 2; with --node, the cluster's)", 0},
	{"topology", 't', "FILE.xml|SYNTHETIC", 0,
		"Another machine: a file that lstopo wrote, or a description such as "
		"\"pack:2 core:8 pu:1\"",
		0},
	{"node", 'N', "NAME", 0,
		"A node of the cluster as slurmctld knows it; PUs are numbered as in the CPU_IDs "
		"of scontrol -d show job",
		0},
	{"sockets", OPT_SOCKETS, "package|numa|l3", 0,
		"What Slurm takes for a socket: a package (default), or what numa_node_as_socket "
		"or l3cache_as_socket in SlurmdParameters make of it",
		0},
	{"shape", OPT_SHAPE, "stripe|socket", 0,
		"Lanes of every L-th core of each socket, or of whole sockets (default stripe; with "
		"--node, the cluster's)",
		0},
	{"reserved", OPT_RESERVED, "CPUS", 0, "CPUs that jobs never get, as in CpuSpecList: 0,8-9",
		0},
	CLI_JSON_OPTION, {0}};

static enum topology_socket parse_socket(const char *arg)
{
	static const char *const names[] = {
		[TOPOLOGY_PACKAGE] = "package", [TOPOLOGY_NUMA] = "numa", [TOPOLOGY_L3] = "l3"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(arg, names[i]))
			return i;
	cli_usage_error("--sockets %s: choose one of package, numa, l3", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l':
		o->view.lanes = (int)cli_int("--lanes", arg, 1, LANES_MAX);
		return 0;
	case 't':
		o->topology = arg;
		return 0;
	case 'N':
		o->node = arg;
		return 0;
	case OPT_SOCKETS:
		o->view.socket = parse_socket(arg);
		o->socket_given = true;
		return 0;
	case OPT_RESERVED:
		o->view.reserved = arg;
		return 0;
	case OPT_SHAPE:
		if (stripe_shape_parse(arg, &o->view.shape))
			cli_usage_error("--shape %s: choose one of stripe, socket", arg);
		o->view.shape_given = true;
		return 0;
	case ARGP_KEY_END:
		if (o->node && (o->topology || o->socket_given || o->view.reserved))
			cli_usage_error("--node takes the rest from slurmctld: leave --topology, "
					"--sockets and --reserved out");
		return ARGP_ERR_UNKNOWN;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

/* Copies the value of " KEY=" from one line of scontrol; returns out, which is "" where the key is
 * missing. */
static const char *field(const char *text, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key), len;

	*out = '\0';
	for (const char *at = text; (at = strstr(at, key)); at += key_len) {
		if ((at > text && at[-1] != ' ') || at[key_len] != '=')
			continue;
		at += key_len + 1;
		len = strcspn(at, " \n");
		if (len < size) {
			memcpy(out, at, len);
			out[len] = '\0';
		}
		break;
	}
	return out;
}

/* Reads the cluster's settings. Bad ones are an error, because only slurmctld knows which settings
 * are in force then. */
static int read_settings(struct poppa_settings *settings, struct errmsg *err)
{
	char prep[SETTINGS_MAX_TEXT];
	char *text = scontrol_show("config", 0, err);

	if (!text)
		return -1;
	scontrol_value(text, "PrEpParameters", prep, sizeof(prep));
	free(text);
	if (settings_parse(prep, settings, err))
		return errmsg_set(err, "PrEpParameters: %s", err->text);
	return 0;
}

/* The lanes of a node of the cluster, made from what slurmctld knows about the node. */
static struct topology_map *load_node(const struct options *o, struct errmsg *err)
{
	char what[256], cores[16], sockets[16], threads[16], reserved[4096], shape[64];
	struct topology_view view = o->view;
	struct poppa_settings settings;
	bool unknown;
	char *text;

	snprintf(what, sizeof(what), "node=%s", o->node);
	if (read_settings(&settings, err))
		return NULL;
	text = scontrol_show(what, 1, err);
	if (!text || !*field(text, "Sockets", sockets, sizeof(sockets)) ||
		strchr(text, '\n') != strrchr(text, '\n')) {
		errmsg_set(err, "slurmctld knows no one node \"%s\"", o->node);
		free(text);
		return NULL;
	}
	field(text, "CoresPerSocket", cores, sizeof(cores));
	field(text, "ThreadsPerCore", threads, sizeof(threads));
	field(text, "CPUSpecList", reserved, sizeof(reserved));
	unknown = !*reserved && *field(text, "CoreSpecCount", shape, sizeof(shape));
	free(text);
	if (unknown) {
		errmsg_set(err,
			"%s has %s specialised cores, and only its slurmd can tell which: let it "
			"register first",
			o->node, shape);
		return NULL;
	}
	snprintf(shape, sizeof(shape), "pack:%s core:%s pu:%s", sockets, cores, threads);
	view.settings = &settings;
	view.reserved = *reserved ? reserved : NULL;
	return topology_map_load(shape, &view, err);
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

/* Prints "0,2,4-6": three and more numbers in a row become a range. */
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
		.doc = "The lanes of this machine, of another topology or of a node of the "
		       "cluster: lane i of L has the cores i, i+L, i+2L, ... of every socket, or "
		       "every L-th part of the sockets as a whole, with all hardware threads of each core."};
	struct options o = {0};
	struct topology_map *map;
	struct errmsg err = {""};
	int rc = CLI_OK;

	cli_parse(&argp, argc, argv, &o);
	map = o.node ? load_node(&o, &err) : topology_map_load(o.topology, &o.view, &err);
	if (!map)
		return cli_error("%s", err.text);
	if (o.json)
		rc = cli_print_json(to_json(map));
	else
		print_map(map);
	topology_map_free(map);
	return rc;
}
