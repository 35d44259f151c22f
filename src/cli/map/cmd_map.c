/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa map: where the mapper would put tasks, by counters that were recorded. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/ask/cli.h"
#include "cli/ask/real_or_null.h"
#include "common/clock.h"
#include "common/fsio.h"
#include "common/units.h"
#include "mapper/recording.h"
#include "striping/lanes/topology.h"

#define FILE_MAX (1 << 30)

struct options {
	bool json;
	const char *replay, *topology;
	struct mapper_settings settings;
};

enum { OPT_REPLAY = CLI_OPT_FIRST, OPT_TOPOLOGY, OPT_SET };

static const struct argp_option option_table[] = {
	{"replay", OPT_REPLAY, "FILE", 0, "Counters of tasks, interval by interval; see poppa(1)",
		0},
	{"topology", OPT_TOPOLOGY, "TOPOLOGY", 0,
		"The machine of the recording, such as \"pack:2 core:10 pu:2\" or a file of lstopo (this machine)",
		0},
	{"set", OPT_SET, "KEY=N,...", 0,
		"Constants: high_coherence, low_coherence, high_ipc, hyper_spc, high_misses, history, majority",
		0},
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct errmsg err;

	switch (key) {
	case OPT_REPLAY:
		o->replay = cli_path("--replay", arg);
		return 0;
	case OPT_TOPOLOGY:
		o->topology = arg;
		return 0;
	case OPT_SET:
		if (mapper_settings_parse(&o->settings, arg, &err))
			cli_usage_error("--set: %s", err.text);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static struct mapper *make_mapper(const struct options *o, struct errmsg *err)
{
	struct topology_view view = {.lanes = 1};
	struct topology_map *map = topology_map_load(o->topology, &view, err);
	struct mapper_pu *pus;
	struct mapper *m = NULL;

	if (!map)
		return NULL;
	if (map->pu_count > MAPPER_PUS_MAX) {
		errmsg_set(err, "the machine has %d PUs, and %d is the most that can be mapped",
			map->pu_count, MAPPER_PUS_MAX);
		topology_map_free(map);
		return NULL;
	}
	pus = calloc((size_t)map->pu_count + 1, sizeof(*pus));
	for (int i = 0; pus && i < map->pu_count; i++)
		pus[i] = (struct mapper_pu){map->pu[i].pu, map->pu[i].core, map->pu[i].socket};
	if (pus)
		m = mapper_create(&o->settings, pus, map->pu_count);
	if (!m)
		errmsg_set(err, "out of memory");
	free(pus);
	topology_map_free(map);
	return m;
}

static const char *const coherence_names[] = {"low", "moderate", "high"};

static json_t *apps_json(const struct mapper *m)
{
	int count;
	const struct mapper_app *app = mapper_apps(m, &count);
	json_t *apps = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(
			apps, json_pack("{s:I, s:i, s:s, s:b, s:b, s:f, s:o}", "app",
				      (json_int_t)app[i].app, "tasks", app[i].tasks, "coherence",
				      coherence_names[app[i].coherence], "high_ipc",
				      app[i].high_ipc, "high_misses", app[i].high_misses, "ipc",
				      app[i].ipc, "spc", real_or_null(app[i].spc)));
	return apps;
}

/* The tasks that should be elsewhere. */
static json_t *moves_json(const struct mapper_sample *s, const int *to, int n)
{
	json_t *moves = json_array();

	for (int i = 0; i < n; i++)
		if (to[i] != s[i].pu)
			json_array_append_new(
				moves, json_pack("{s:I, s:i, s:i}", "task", (json_int_t)s[i].task,
					       "from", s[i].pu, "to", to[i]));
	return moves;
}

static void print_interval(const struct mapper *m, int64_t interval, const struct mapper_sample *s,
	const int *to, int n)
{
	int count, moves = 0;
	const struct mapper_app *app = mapper_apps(m, &count);

	for (int i = 0; i < n; i++)
		moves += to[i] != s[i].pu;
	if (!moves)
		return;
	printf("interval %lld:", (long long)interval);
	for (int i = 0; i < count; i++) {
		printf(" app %lld shares %s, IPC %.2f", (long long)app[i].app,
			app[i].coherence == MAPPER_HIGH       ? "much"
			: app[i].coherence == MAPPER_MODERATE ? "some"
							      : "little",
			app[i].ipc);
		if (!isnan(app[i].spc))
			printf(", SPC %.0f", app[i].spc);
		fputs(i + 1 < count ? ";" : "\n", stdout);
	}
	for (int i = 0; i < n; i++)
		if (to[i] != s[i].pu)
			printf("  task %lld of app %lld: PU %d -> %d\n", (long long)s[i].task,
				(long long)s[i].app, s[i].pu, to[i]);
}

struct totals {
	int intervals;
	json_int_t moves;
	int64_t slowest_ns;
	json_t *steps;
};

static int replay(const struct options *o, struct mapper *m, const struct recording *r,
	struct totals *t, struct errmsg *err)
{
	int *to = malloc(((size_t)r->count + 1) * sizeof(*to));

	if (!to)
		return errmsg_set(err, "out of memory");
	for (int first = 0, n; first < r->count; first += n) {
		const struct mapper_sample *s = &r->samples[first];
		int64_t begin = clock_now(), took;

		n = recording_interval(r, first);
		if (mapper_step(m, s, n, to, err)) {
			free(to);
			return -1;
		}
		took = clock_now() - begin;
		t->slowest_ns = took > t->slowest_ns ? took : t->slowest_ns;
		t->intervals++;
		for (int i = 0; i < n; i++)
			t->moves += to[i] != s[i].pu;
		if (o->json)
			json_array_append_new(
				t->steps, json_pack("{s:I, s:o, s:o}", "interval",
						  (json_int_t)r->interval[first], "apps",
						  apps_json(m), "moves", moves_json(s, to, n)));
		else
			print_interval(m, r->interval[first], s, to, n);
	}
	free(to);
	return 0;
}

int cmd_map(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "On which sockets and cores the tasks of several applications belong, by counters of them that were "
		       "recorded: tasks that share data on one socket, busy ones on cores of their own. Nothing is moved."};
	struct options o = {.settings = mapper_defaults};
	struct totals t = {.steps = json_array()};
	struct recording r = {.count = 0};
	struct errmsg err = {""};
	struct mapper *m;
	char *text;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (!o.replay)
		cli_usage_error("--replay is needed: a file with the columns " RECORDING_COLUMNS);
	if (cli_regular(o.replay, &err))
		return cli_error("%s", err.text);
	text = fsio_read(o.replay, FILE_MAX, NULL, &err);
	m = text ? make_mapper(&o, &err) : NULL;
	rc = m ? recording_read(&r, o.replay, text, &err) : -1;
	if (!rc)
		rc = replay(&o, m, &r, &t, &err);
	if (rc) {
		json_decref(t.steps);
		rc = cli_error("%s", err.text);
	} else if (o.json) {
		rc = cli_print_json(json_pack("{s:i, s:I, s:f, s:o}", "intervals", t.intervals,
			"moves", t.moves, "slowest_us", (double)t.slowest_ns / NS_PER_US, "steps",
			t.steps));
	} else {
		json_decref(t.steps);
		printf("%d intervals, %lld moves, %.0f us for the longest decision\n", t.intervals,
			(long long)t.moves, (double)t.slowest_ns / NS_PER_US);
	}
	recording_free(&r);
	mapper_destroy(m);
	free(text);
	return rc;
}
