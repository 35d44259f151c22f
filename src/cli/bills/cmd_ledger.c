/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa ledger: verifies, copies and exports the ledger's file, and brings lost prices back. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accounting/ledgerd/ledger_file.h"
#include "cli/ask/cli.h"
#include "cli/ask/number_text.h"
#include "cli/bills/ledger_rebuild.h"
#include "common/nodeconf.h"

/* The default of --since for rebuild, in a form that sacct understands. */
#define REBUILD_SINCE "now-30days"

struct options {
	bool json;
	const char *conf, *file, *since;
	struct ledger_anchor head;
	const char *argument[3];
	int arguments;
	json_t *faults;
};

enum { OPT_SINCE = CLI_OPT_FIRST, OPT_CONF, OPT_HEAD };

static const struct argp_option option_table[] = {
	{"file", 'f', "FILE", 0, "The ledger's file, instead of ledger.sqlite in StateDir", 0},
	{"conf", OPT_CONF, "FILE", 0, "Read this poppa.conf", 0},
	{"since", OPT_SINCE, "DATE", 0,
		"export, rebuild: only from this day on, such as 2026-01-31", 0},
	{"head", OPT_HEAD, "EVENT:HASH", 0,
		"check: the log has this event, as an earlier check or poppa-ledgerd's log told",
		0},
	CLI_JSON_OPTION, {0}};

/* Reads "EVENT:HASH", such as "12:9f86d0...". */
static void read_head(struct options *o, const char *arg)
{
	const char *colon = strchr(arg, ':');
	char number[32];

	if (!colon || colon - arg >= (ptrdiff_t)sizeof(number) ||
		strlen(colon + 1) != LEDGER_HASH_SIZE - 1 ||
		strspn(colon + 1, "0123456789abcdef") != LEDGER_HASH_SIZE - 1)
		cli_usage_error(
			"--head=%s is no EVENT:HASH, such as \"poppa ledger check\" prints", arg);
	snprintf(number, sizeof(number), "%.*s", (int)(colon - arg), arg);
	o->head.event = cli_int("the event of --head", number, 1, INT64_MAX);
	strcpy(o->head.hash, colon + 1);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'f':
		o->file = cli_path("--file", arg);
		return 0;
	case OPT_CONF:
		o->conf = cli_path("--conf", arg);
		return 0;
	case OPT_SINCE:
		o->since = arg;
		return 0;
	case OPT_HEAD:
		read_head(o, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->arguments == 2)
			return cli_parse_rest(key, arg, &o->json);
		o->argument[o->arguments++] = arg;
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

/* The first second of a day in local time, seconds since 1970. */
static int64_t parse_day(const char *text)
{
	struct tm day = {.tm_isdst = -1};
	const char *end = strptime(text, "%Y-%m-%d", &day);

	if (!end || *end)
		cli_usage_error("--since=%s is no day: write it like 2026-01-31", text);
	return (int64_t)mktime(&day);
}

static void on_fault(const char *line, void *arg)
{
	struct options *o = arg;

	if (o->json)
		json_array_append_new(o->faults, json_string(line));
	else
		printf("%s\n", line);
}

static json_t *refusals_json(const struct ledger_check *found)
{
	json_t *all = json_object();

	for (int i = 0; all && i < found->refusal_count; i++) {
		const struct ledger_refusal *r = &found->refusal[i];

		json_object_set_new(all, r->kind,
			json_pack("{s:I, s:I, s:I}", "count", (json_int_t)r->count, "first",
				(json_int_t)r->first_unix, "last", (json_int_t)r->last_unix));
	}
	return all;
}

static void print_refusals(const struct ledger_check *found)
{
	for (int i = 0; i < found->refusal_count; i++) {
		const struct ledger_refusal *r = &found->refusal[i];
		struct number_cell last;

		printf("turned away: %lld %s, the last on %s\n", (long long)r->count, r->kind,
			number_time(&last, r->last_unix, TIME_SECOND));
	}
}

static int check(struct options *o, const char *path)
{
	struct ledger_check found;
	struct errmsg err = {""};

	o->faults = json_array();
	if (ledger_file_check(path, o->head.event ? &o->head : NULL, &found, on_fault, o, &err)) {
		json_decref(o->faults);
		return cli_error("%s", err.text);
	}
	if (o->json) {
		cli_print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:o}",
			"file", path, "schema", (json_int_t)found.schema, "records",
			(json_int_t)found.records, "foreign_records",
			(json_int_t)found.foreign_records, "settlements",
			(json_int_t)found.settlements, "changes", (json_int_t)found.changes,
			"events", (json_int_t)found.events, "faults", (json_int_t)found.faults,
			"lines", o->faults, "hash", found.hash, "refused", refusals_json(&found)));
	} else {
		json_decref(o->faults);
		print_refusals(&found);
		printf("%s: schema %lld, %lld records, %lld settlements, %lld changes, %lld "
		       "events, %lld faults\n",
			path, (long long)found.schema, (long long)found.records,
			(long long)found.settlements, (long long)found.changes,
			(long long)found.events, (long long)found.faults);
		if (found.head)
			printf("head %lld:%s\n", (long long)found.head, found.hash);
	}
	return found.faults ? CLI_FAILURE : CLI_OK;
}

int cmd_ledger(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "check\nbackup TO\nexport\nrebuild",
		.doc = "Verifies the ledger, copies it to the file TO, prints it as lines of JSON, "
		       "or brings prices that it has lost back from Slurm's accounting; poppa-ledgerd "
		       "may run meanwhile."};
	struct options o = {.json = false};
	char path[PATH_MAX], conf_path[PATH_MAX];
	struct errmsg err = {""};
	struct nodeconf conf;
	const char *what;
	int rc;

	cli_parse(&argp, argc, argv, &o);
	if (!o.argument[0])
		cli_usage_error("which action? Choose one of check, backup TO, export, rebuild");
	what = o.argument[0];
	if (strcmp(what, "check") && strcmp(what, "backup") && strcmp(what, "export") &&
		strcmp(what, "rebuild"))
		cli_usage_error(
			"\"%s\" is no action: choose one of check, backup TO, export, rebuild",
			what);
	if (!strcmp(what, "backup") != (o.arguments == 2))
		cli_usage_error("backup needs the file to write, the other actions take none");
	if (o.arguments == 2)
		cli_path("backup TO", o.argument[1]);
	if (!strcmp(what, "rebuild")) {
		if (o.file)
			cli_usage_error(
				"rebuild works on the running poppa-ledgerd, not on a file");
		if (o.since)
			parse_day(o.since);
		return ledger_rebuild(o.since ? o.since : REBUILD_SINCE, o.conf, o.json);
	}
	if (nodeconf_load(
		    o.conf ? o.conf : nodeconf_path(conf_path, sizeof(conf_path)), &conf, &err))
		return cli_error("%s", err.text);
	if (o.file)
		snprintf(path, sizeof(path), "%s", o.file);
	else
		nodeconf_ledger(&conf, path);
	if (!strcmp(what, "check"))
		return check(&o, path);
	if (!strcmp(what, "backup"))
		rc = ledger_file_backup(path, o.argument[1], &err);
	else
		rc = ledger_file_export(path, o.since ? parse_day(o.since) : 0, stdout, &err);
	return rc ? cli_error("%s", err.text) : CLI_OK;
}
