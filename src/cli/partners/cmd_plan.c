/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa plan: who would share with whom, if these jobs came one after the other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/partners/plan.h"
#include "common/printable.h"

#define LANES 2
#define OPT_QUEUE CLI_OPT_FIRST

struct options {
	bool json, queue;
	struct known_pairs_from from;
	const char *input; /* "-": standard input */
	int nodes;
};

static const struct argp_option option_table[] = {KNOWN_PAIRS_HISTORY_OPTION,
	{"input", 'i', "FILE", 0, "The same as FILE", 0},
	{"nodes", 'n', "N", 0, "So many nodes there are (enough for all)", 0},
	{"queue", OPT_QUEUE, NULL, 0,
		"The co-located jobs that run and wait in the cluster, by squeue, instead of FILE",
		0},
	KNOWN_PAIRS_PROFILES_OPTION, KNOWN_PAIRS_TRIALS_OPTION, KNOWN_PAIRS_SETTINGS_OPTION,
	CLI_JSON_OPTION, {0}};

static void set_input(struct options *o, const char *path)
{
	if (o->input)
		cli_usage_error("the jobs are in one file: name it once, as FILE or with --input");
	o->input = path;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (known_pairs_option(key, arg, &o->from))
		return 0;
	switch (key) {
	case 'i':
		set_input(o, cli_path("--input", arg));
		return 0;
	case 'n':
		o->nodes = (int)cli_int("--nodes", arg, 1, PLAN_NODES);
		return 0;
	case OPT_QUEUE:
		o->queue = true;
		return 0;
	case ARGP_KEY_ARG:
		set_input(o, cli_path("FILE", arg));
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
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
	if (!o->joiners++)
		o->joined_by = i;
	o->alone -= nodes;
	j->alone -= nodes;
	p->shared += nodes;
	p->made += both * nodes;
}

/* What job i may have: the room for it is the caller's. */
struct choice {
	struct lane_offer *offer;
	struct lane_partner *partner;
	int offers;
	long lanes; /* on so many nodes */
	int empty;  /* of which so many are empty, or as many as it could use */
};

static void add_offer(struct choice *c, const struct lane_offer *f)
{
	c->offer[c->offers++] = *f;
	c->lanes += f->nodes;
}

static void make_offers(const struct plan *p, int i, struct choice *c)
{
	const struct planned *j = &p->job[i];

	for (int k = 0; k < i; k++) {
		const struct planned *o = &p->job[k];

		if (!o->alone)
			continue;
		c->partner[k] = (struct lane_partner){
			o->number, o->nodes, o->pace / outlook_typical(p->outlook, o->number)};
		add_offer(c, &(struct lane_offer){.partner = &c->partner[k],
				     .partners = 1,
				     .lanes = LANES,
				     .mine = j->number,
				     .nodes = o->alone,
				     .id = k});
	}
	c->empty = p->most ? (int)(p->most - p->nodes) : PLAN_NODES;
	if (c->empty)
		add_offer(
			c, &(struct lane_offer){
				   .lanes = LANES, .mine = j->number, .nodes = c->empty, .id = i});
}

static void wait(struct plan *p, struct planned *j, char *why)
{
	j->waits = true;
	j->alone = 0;
	j->why_waits = why;
	p->waiting++;
}

/* Gives job i the best of the offers, which are in order. */
static void take(struct plan *p, int i, const struct plan_offers *o)
{
	struct planned *j = &p->job[i];
	bool behind = false;
	int want = j->nodes;

	for (int k = 0; k < o->count && want; k++) {
		int nodes = o->of[k].nodes < want ? o->of[k].nodes : want;

		want -= nodes;
		if (k == o->empty) {
			p->nodes += nodes;
			j->why_alone = plan_why_alone(p, o);
			continue;
		}
		behind |= (o->empty >= 0 && k > o->empty) || o->of[k].yield.slow;
		share(p, i, o->of[k].id, nodes);
	}
	if (json_array_size(j->beside))
		j->why_shares = plan_why_shares(j, behind);
}

/* Whether the job waits for others than these lanes, as slurmctld has it: not where there are empty
 * nodes enough, nor where nobody shares anyway. */
static bool hopes(
	const struct plan *p, const struct planned *j, const struct choice *c, double lack)
{
	return p->known->settings.stripe_wait_ns > 0 && lack > 0 && c->empty < j->nodes;
}

/* Places job i beside those before it, and on empty nodes, or has it wait. c: with room for i + 1
 * offers. */
static void place(struct plan *p, int i, struct choice *c)
{
	struct planned *j = &p->job[i];
	const struct lane_wish wish = lane_wish(&p->known->settings, j->nodes, true);
	struct plan_offers o = {.of = c->offer, .empty = -1, .wish = &wish};

	make_offers(p, i, c);
	if (c->lanes < j->nodes) {
		wait(p, j, plan_why_few(j, c->lanes));
		return;
	}
	o.count = c->offers;
	o.lack = lane_yield_order(p->outlook, &wish, c->offer, c->offers);
	for (int k = 0; k < o.count; k++)
		if (!c->offer[k].partners)
			o.empty = k;
	if (hopes(p, j, c, o.lack))
		wait(p, j, plan_why_waits(p, &o));
	else
		take(p, i, &o);
}

/* 0, or -1 without memory. */
static int place_all(struct plan *p)
{
	struct choice c = {.offer = malloc(((size_t)p->jobs + 1) * sizeof(*c.offer)),
		.partner = malloc(((size_t)p->jobs + 1) * sizeof(*c.partner))};
	const bool room = c.offer && c.partner;

	for (int i = 0; room && i < p->jobs; i++) {
		c.offers = c.empty = 0;
		c.lanes = 0;
		place(p, i, &c);
	}
	free(c.offer);
	free(c.partner);
	return room ? 0 : -1;
}

static void print_job(const struct plan *p, int i, const char *why)
{
	const struct planned *j = &p->job[i];
	const json_t *part;
	size_t k;

	printf("%3d  %-24s %d node%s\n", i + 1, j->class, j->nodes, j->nodes > 1 ? "s" : "");
	json_array_foreach(j->beside, k, part)
		printf("       %lld beside job %lld, %s: both make %.2f\n",
			(long long)json_integer_value(json_object_get(part, "nodes")),
			(long long)json_integer_value(json_object_get(part, "job")),
			json_string_value(json_object_get(part, "class")),
			json_number_value(json_object_get(part, "both")));
	printf("       %s\n", why);
}

static json_t *job_json(const struct planned *j, const char *why)
{
	return json_pack("{s:s, s:i, s:b, s:i, s:O, s:s}", "class", j->class, "nodes", j->nodes,
		"waits", j->waits, "alone", j->alone, "beside", j->beside, "why", why);
}

static void print_sum(const struct plan *p)
{
	printf("%ld nodes, %ld of them with two jobs", p->nodes, p->shared);
	if (p->shared)
		printf(", where they make %.3f of what they would compact",
			p->made / (double)p->shared);
	if (p->waiting)
		printf("; %d job%s", p->waiting, p->waiting > 1 ? "s wait" : " waits");
	puts("");
}

static int print(const struct plan *p, bool json)
{
	json_t *list = json ? json_array() : NULL;

	for (int i = 0; i < p->jobs; i++) {
		char *why = plan_why(p, &p->job[i]);

		if (!why) {
			json_decref(list);
			return cli_error("out of memory");
		}
		if (json)
			json_array_append_new(list, job_json(&p->job[i], why));
		else
			print_job(p, i, why);
		free(why);
	}
	if (json)
		return cli_print_json(json_pack("{s:o, s:I, s:I, s:o, s:i}", "jobs", list, "nodes",
			(json_int_t)p->nodes, "shared_nodes", (json_int_t)p->shared, "both",
			p->shared ? json_real(p->made / (double)p->shared) : json_null(), "waiting",
			p->waiting));
	print_sum(p);
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

static int read_jobs(struct plan *p, const struct options *o, struct errmsg *err)
{
	if (o->queue)
		return plan_read_queue(p, err);
	return plan_read_file(p, o->input && strcmp(o->input, "-") ? o->input : NULL, err);
}

static int run(struct plan *p, const struct options *o)
{
	struct errmsg err;

	p->job = calloc(PLAN_JOBS, sizeof(*p->job));
	if (!p->job)
		return cli_error("out of memory");
	if (read_jobs(p, o, &err) || !may_see(p, &err))
		return cli_error("%s", err.text);
	if (solve(p) || place_all(p))
		return cli_error("out of memory");
	return print(p, o->json);
}

static void free_plan(struct plan *p)
{
	for (int i = 0; i < p->jobs; i++) {
		json_decref(p->job[i].beside);
		free(p->job[i].why_waits);
		free(p->job[i].why_shares);
		free(p->job[i].why_alone);
	}
	free(p->job);
	outlook_free(p->outlook);
}

int cmd_plan(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "[FILE]",
		.doc = "Who would share nodes with whom, and what that would bring, if these jobs "
		       "came one after the other, and why. FILE has one a line: CLASS [NODES], or "
		       "UID|NODES|NAME; \"-\", as without FILE, is standard input."};
	struct options o = {.json = false};
	struct known_pairs known;
	struct plan plan = {.known = &known};
	struct errmsg err;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (o.queue && o.input)
		cli_usage_error(
			"the jobs are those in a file or those of --queue: name one of them");
	plan.most = o.nodes;
	if (known_pairs_load(&known, &o.from, &err))
		return cli_error("%s", err.text);
	rc = run(&plan, &o);
	free_plan(&plan);
	known_pairs_free(&known);
	return rc;
}
