/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa profile: how a program uses caches, and which programs suit one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/profile/compare.h"
#include "cli/profile/keep.h"
#include "cli/profile/trace.h"
#include "common/printable.h"

#define OPT_CACHE CLI_OPT_FIRST
#define OPT_LANES (CLI_OPT_FIRST + 1)
#define OPT_IMPORT (CLI_OPT_FIRST + 2)
#define OPT_REMOVE (CLI_OPT_FIRST + 3)
#define OPT_PROFILES (CLI_OPT_FIRST + 4)
#define CACHE_KIB 32768
#define CACHE_KIB_MAX (1 << 30)

struct options {
	bool json, compare, list;
	const char *output, *import, *remove, *profiles;
	int64_t references, cache_kib, lanes;
	char **words; /* the command, or the files */
	int count;
};

static const struct argp_option option_table[] = {
	{"output", 'o', "FILE", 0, "Write the histogram here (standard output)", 0},
	{"references", 'n', "N", 0, "End the program after so many loads and stores", 0},
	{"compare", 'c', NULL, 0,
		"Instead of running a program, read histograms and tell which programs suit one "
		"cache",
		0},
	{"cache", OPT_CACHE, "KIB", 0, "Size of that cache (32768)", 0},
	{"lanes", OPT_LANES, "N", 0, "How many programs share it (2)", 0},
	{"import", OPT_IMPORT, "CLASS", 0,
		"Instead of running a program, give this class of jobs the histogram in a file, by "
		"which slurmctld expects what partners lose",
		0},
	{"remove", OPT_REMOVE, "CLASS", 0, "Take this class's histogram away", 0},
	{"list", 'l', NULL, 0, "List the classes that have one", 0},
	{"profiles", OPT_PROFILES, "FILE", 0,
		"The file in which they are kept (that of this slurmctld)", 0},
	CLI_JSON_OPTION, {0}};

/* Refuses what cannot be a class: of a job's name control characters are not in it. */
static const char *importable(const char *class_name)
{
	char shown[64];

	for (const char *p = class_name; *p; p++) {
		if (!iscntrl((unsigned char)*p))
			continue;
		snprintf(shown, sizeof(shown), "%s", class_name);
		cli_usage_error(
			"--import: \"%s\" has a control character: name the class as \"poppa "
			"pairs\" does",
			plain_text(shown));
	}
	return class_name;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		o->output = cli_path("--output", arg);
		return 0;
	case 'n':
		o->references = cli_int("--references", arg, 1, INT64_MAX);
		return 0;
	case 'c':
		o->compare = true;
		return 0;
	case 'l':
		o->list = true;
		return 0;
	case OPT_IMPORT:
		o->import = importable(arg);
		return 0;
	case OPT_REMOVE:
		o->remove = arg;
		return 0;
	case OPT_PROFILES:
		o->profiles = cli_path("--profiles", arg);
		return 0;
	case OPT_CACHE:
		o->cache_kib = cli_int("--cache", arg, 1, CACHE_KIB_MAX);
		return 0;
	case OPT_LANES:
		o->lanes = cli_int("--lanes", arg, 1, REUSE_GROUP_MAX);
		return 0;
	case ARGP_KEY_ARG:
		/* All that is left: argp puts the options before the words, as far as "--". */
		o->words = state->argv + state->next - 1;
		o->count = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static json_t *histogram_json(const struct reuse_histogram *h)
{
	json_t *buckets = json_array();

	for (int k = 0; buckets && k < REUSE_BUCKETS; k++)
		if (h->bucket[k].count > 0)
			json_array_append_new(
				buckets, json_pack("{s:f, s:f, s:f}", "from", reuse_bucket_from(k),
						 "references", h->bucket[k].count, "mean",
						 h->bucket[k].mean));
	return json_pack("{s:f, s:f, s:f, s:o}", "references", h->references, "instructions",
		h->instructions, "cold", h->cold, "buckets", buckets);
}

static int profile(const struct options *o)
{
	struct reuse_histogram h;
	char text[REUSE_TEXT_MAX];
	struct errmsg err;
	int rc = CLI_OK;

	if (trace_program(o->words, (uint64_t)o->references, isatty(STDERR_FILENO), &h, &err))
		return cli_error("%s", err.text);
	reuse_print(&h, text);
	if (o->output || !o->json)
		rc = cli_output("--output", o->output ? o->output : "-", text, strlen(text), 0666);
	return rc == CLI_OK && o->json ? cli_print_json(histogram_json(&h)) : rc;
}

/* What is done with the profiles that slurmctld has. */
static int keep(const struct options *o)
{
	if (o->output || o->references)
		cli_usage_error("no program is run: leave --output and --references out");
	if (o->json && !o->list)
		cli_usage_error("--json goes with --list, and not with --import and --remove");
	if (o->import && o->count != 1)
		cli_usage_error(
			"which histogram? Name one file that poppa profile wrote behind the class");
	if (!o->import && o->count)
		cli_usage_error("\"%.100s\" is one word too many", o->words[0]);
	if (o->import)
		return keep_import(o->profiles, o->import, o->words[0]);
	return o->remove ? keep_remove(o->profiles, o->remove) : keep_list(o->profiles, o->json);
}

int cmd_profile(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "-- PROGRAM [ARG...]\n--compare FILE...\n--import CLASS FILE\n"
			    "--remove CLASS\n--list",
		.doc = "Runs a program under Valgrind, some 50 times as slow, and writes how many "
		       "references lie between two to the same cache line; or compares such files."};
	struct options o = {.cache_kib = CACHE_KIB, .lanes = 2};

	cli_parse(&argp, argc, argv, &o);
	if (o.compare + o.list + !!o.import + !!o.remove > 1)
		cli_usage_error("choose one of --compare, --import, --remove and --list");
	if (o.list || o.import || o.remove)
		return keep(&o);
	if (o.profiles)
		cli_usage_error("--profiles goes with --import, --remove and --list");
	if (o.compare && (o.output || o.references))
		cli_usage_error("--compare runs no program: leave --output and --references out");
	if (!o.count)
		cli_usage_error(o.compare ? "which histograms? Name files that poppa profile wrote"
					  : "which program? Name it after --");
	if (o.compare)
		return compare_programs(o.words, o.count, (int)o.lanes, (int)o.cache_kib, o.json);
	return profile(&o);
}
