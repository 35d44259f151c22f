/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa plan: who would share with whom, if these jobs came one after the other. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/partners/known_pairs.h"
#include "common/printable.h"
#include "common/units.h"
#include "striping/partners/lane_yield.h"

#define MAX_JOBS 10000
#define MAX_NODES 1000000
#define LANES 2

struct options {
	bool json;
	struct known_pairs_from from;
	const char *input;
};

static const struct argp_option option_table[] = {KNOWN_PAIRS_HISTORY_OPTION,
	{"input", 'i', "FILE", 0, "The jobs, one a line: CLASS [NODES] (standard input)", 0},
	KNOWN_PAIRS_PROFILES_OPTION, KNOWN_PAIRS_SETTINGS_OPTION, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (known_pairs_option(key, arg, &o->from))
		return 0;
	switch (key) {
	case 'i':
		o->input = cli_path("--input", arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

struct planned {
	char class[PAIRS_CLASS_MAX];   /* to be shown, once its number is known */
	char variant[PAIRS_CLASS_MAX]; /* the same for so many nodes */
	int number;                    /* of that, in the outlook */
	int nodes;                     /* on each of which it has one of two lanes */
	int alone;                     /* so many of them have no partner yet */
	double pace;                   /* at which it goes, as outlook_speed() */
	json_t *beside;
};

struct plan {
	const struct known_pairs *known;
	struct outlook *outlook;
	struct planned *job;
	int jobs;
	/* So many nodes are in use; what is made on those with two jobs, and how many these are. */
	long nodes, shared;
	double made;
};

/* One line; false with err where it is wrong. An empty one is none. */
static bool read_line(struct plan *p, char *line, struct errmsg *err)
{
	char *save = NULL, *class = strtok_r(line, " \t\n", &save);
	char *nodes = strtok_r(NULL, " \t\n", &save), *more = strtok_r(NULL, " \t\n", &save);
	struct planned *j;
	struct errmsg why;
	int64_t n = 1;

	if (!class || *class == '#')
		return true;
	if (strlen(class) >= PAIRS_CLASS_MAX || more ||
		(nodes && units_parse_int(nodes, 1, MAX_NODES, &n, &why))) {
		errmsg_set(err, "a job is CLASS [NODES], with 1 to %d nodes: 1000/weather 4",
			MAX_NODES);
		return false;
	}
	if (p->jobs == MAX_JOBS) {
		errmsg_set(err, "more than %d jobs", MAX_JOBS);
		return false;
	}
	j = &p->job[p->jobs++];
	*j = (struct planned){.nodes = (int)n, .alone = (int)n, .beside = json_array()};
	known_pairs_class(p->known, class, j->class);
	strcpy(j->variant, j->class);
	if (!j->class[class_base(j->class)])
		class_add_variant(j->variant, (unsigned int)n, "");
	return true;
}

static int read_jobs(struct plan *p, const char *path, struct errmsg *err)
{
	FILE *in = path ? fopen(path, "r") : stdin;
	const char *name = path ? path : "standard input";
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (!in)
		return errmsg_set(err, "%s: %s", name, strerror(errno));
	for (int number = 1; !rc && getline(&line, &room, in) >= 0; number++) {
		struct errmsg why;

		if (!read_line(p, line, &why))
			rc = errmsg_set(err, "%s, line %d: %s", name, number, why.text);
	}
	if (!rc && ferror(in))
		rc = errmsg_set(err, "%s: %s", name, strerror(errno));
	if (!rc && !p->jobs)
		rc = errmsg_set(err, "no job: name one a line, CLASS [NODES]");
	free(line);
	if (path)
		fclose(in);
	return rc;
}

static int solve(struct plan *p)
{
	struct outlook_demand *demand = malloc((size_t)p->jobs * sizeof(*demand));

	for (int i = 0; demand && i < p->jobs; i++)
		demand[i] = (struct outlook_demand){p->job[i].variant, p->job[i].nodes};
	if (demand)
		p->outlook = outlook_new(p->known->expected, demand, p->jobs);
	free(demand);
	if (p->outlook)
		outlook_weigh_users(p->outlook, p->known->pairs);
	for (int i = 0; p->outlook && i < p->jobs; i++) {
		p->job[i].number = outlook_class(p->outlook, p->job[i].variant);
		p->job[i].pace = outlook_alone(p->outlook, p->job[i].number);
		plain_text(p->job[i].class);
	}
	return p->outlook ? 0 : -1;
}

static void share(struct plan *p, int i, int other, int nodes)
{
	struct planned *j = &p->job[i], *o = &p->job[other];
	double both = outlook_worth(p->outlook, j->number, o->number);

	json_array_append_new(j->beside, json_pack("{s:i, s:s, s:i, s:f}", "job", other + 1,
						 "class", o->class, "nodes", nodes, "both", both));
	o->pace = fmin(o->pace, outlook_speed(p->outlook, o->number, j->number));
	j->pace = fmin(j->pace, outlook_speed(p->outlook, j->number, o->number));
	o->alone -= nodes;
	j->alone -= nodes;
	p->shared += nodes;
	p->made += both * nodes;
}

/* Places job i beside those before it, and on empty nodes. There are always enough of these. */
static int place(struct plan *p, int i)
{
	struct lane_offer *offer = malloc(((size_t)i + 1) * sizeof(*offer));
	struct lane_partner *partner = malloc(((size_t)i + 1) * sizeof(*partner));
	struct planned *j = &p->job[i];
	int offers = 0, want = j->nodes;
	const struct lane_wish wish = lane_wish(&p->known->settings, want, true);

	if (!offer || !partner) {
		free(offer);
		free(partner);
		return -1;
	}
	for (int k = 0; k < i; k++) {
		const struct planned *o = &p->job[k];

		if (!o->alone)
			continue;
		partner[k] = (struct lane_partner){
			o->number, o->nodes, o->pace / outlook_typical(p->outlook, o->number)};
		offer[offers++] = (struct lane_offer){.partner = &partner[k],
			.partners = 1,
			.lanes = LANES,
			.mine = j->number,
			.nodes = o->alone,
			.id = k};
	}
	offer[offers++] =
		(struct lane_offer){.lanes = LANES, .mine = j->number, .nodes = MAX_NODES, .id = i};
	lane_yield_order(p->outlook, &wish, offer, offers);
	for (int k = 0; k < offers && want; k++) {
		int take = offer[k].nodes < want ? offer[k].nodes : want;

		want -= take;
		if (!offer[k].partners)
			p->nodes += take;
		else
			share(p, i, offer[k].id, take);
	}
	free(offer);
	free(partner);
	return 0;
}

static void print_text(const struct plan *p)
{
	for (int i = 0; i < p->jobs; i++) {
		const struct planned *j = &p->job[i];
		const json_t *part;
		size_t k;

		printf("%3d  %-24s %d node%s\n", i + 1, j->class, j->nodes,
			j->nodes > 1 ? "s" : "");
		json_array_foreach(j->beside, k, part)
			printf("       %lld beside job %lld, %s: both make %.2f\n",
				(long long)json_integer_value(json_object_get(part, "nodes")),
				(long long)json_integer_value(json_object_get(part, "job")),
				json_string_value(json_object_get(part, "class")),
				json_number_value(json_object_get(part, "both")));
	}
	printf("%ld nodes, %ld of them with two jobs", p->nodes, p->shared);
	if (p->shared)
		printf(", where they make %.3f of what they would compact",
			p->made / (double)p->shared);
	puts("");
}

static int print(const struct plan *p, bool json)
{
	json_t *list = json_array();

	for (int i = 0; json && i < p->jobs; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:i, s:i, s:O}", "class", p->job[i].class, "nodes",
				      p->job[i].nodes, "alone", p->job[i].alone, "beside",
				      p->job[i].beside));
	if (json)
		return cli_print_json(json_pack("{s:o, s:I, s:I, s:o}", "jobs", list, "nodes",
			(json_int_t)p->nodes, "shared_nodes", (json_int_t)p->shared, "both",
			p->shared ? json_real(p->made / (double)p->shared) : json_null()));
	json_decref(list);
	print_text(p);
	return CLI_OK;
}

/* Whether the caller may see all the classes: a plan tells how well they suit each other. */
static bool may_see(const struct plan *p, struct errmsg *err)
{
	for (int i = 0; i < p->jobs; i++)
		if (!known_pairs_shows(p->known, p->job[i].class)) {
			errmsg_set(
				err, "\"%s\" is another user's class", plain_text(p->job[i].class));
			return false;
		}
	return true;
}

static int run(struct plan *p, const struct options *o)
{
	struct errmsg err;

	p->job = calloc(MAX_JOBS, sizeof(*p->job));
	if (!p->job)
		return cli_error("out of memory");
	if (read_jobs(p, o->input, &err) || !may_see(p, &err))
		return cli_error("%s", err.text);
	if (solve(p))
		return cli_error("out of memory");
	for (int i = 0; i < p->jobs; i++)
		if (place(p, i))
			return cli_error("out of memory");
	return print(p, o->json);
}

int cmd_plan(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Who would share nodes with whom, and what that would bring, if these jobs "
		       "came one after the other on a cluster with empty nodes for all."};
	struct options o = {.json = false};
	struct known_pairs known;
	struct plan plan = {.known = &known};
	struct errmsg err;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (known_pairs_load(&known, &o.from, &err))
		return cli_error("%s", err.text);
	rc = run(&plan, &o);
	for (int i = 0; i < plan.jobs; i++)
		json_decref(plan.job[i].beside);
	free(plan.job);
	outlook_free(plan.outlook);
	known_pairs_free(&known);
	return rc;
}
