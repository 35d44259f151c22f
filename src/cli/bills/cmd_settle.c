/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa settle: an administrator gives a settled job another price. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "cli/ask/find_ledger.h"
#include "cli/ask/sacct.h"
#include "common/units.h"

#define MAX_RESTARTS 1000
/* After so many runs in a row without a price the search for priced runs ends. A run that took no
 * time has no price, and later runs may have one. */
#define MAX_UNPRICED 8
#define MAX_REASON 499
#define DEFAULT_WAIT_S 60
#define MAX_WAIT_S 86400

struct options {
	bool json, has_restart, has_charge, has_degradation, full, dry_run;
	const char *job, *reason, *conf;
	uint32_t restart;
	uint64_t charge;
	double degradation;
	int64_t wait_s;
};

enum { OPT_RESTART = CLI_OPT_FIRST, OPT_CHARGE, OPT_FULL, OPT_REASON, OPT_WAIT, OPT_DRY_RUN };

static const struct argp_option option_table[] = {
	{"job", 'J', "ID", 0, "The job: 12, 12_3 for an array's task", 0},
	{"restart", OPT_RESTART, "N", 0,
		"Its run after the Nth requeue, instead of its latest settled one", 0},
	{"charge", OPT_CHARGE, "SU", 0, "Charge this billing, at most the raw one", 0},
	{"degradation", 'd', "D", 0,
		"Charge what the run's own policy makes of this degradation, 0 to 1", 0},
	{"full", OPT_FULL, NULL, 0, "Charge the raw billing", 0},
	{"reason", OPT_REASON, "TEXT", 0, "Why, for the log and for poppa why", 0},
	{"dry-run", OPT_DRY_RUN, NULL, 0, "Say what would be charged, and change nothing", 0},
	{"wait", OPT_WAIT, "SECONDS", 0, "Until Slurm shows it, at most so long (60)", 0},
	{"conf", 'c', "FILE", 0, "Read FILE instead of the default poppa.conf", 0}, CLI_JSON_OPTION,
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'J':
		o->job = arg;
		return 0;
	case OPT_RESTART:
		o->restart = (uint32_t)cli_int("--restart", arg, 0, UINT32_MAX);
		o->has_restart = true;
		return 0;
	case OPT_CHARGE:
		o->charge = (uint64_t)cli_int("--charge", arg, 0, INT64_MAX);
		o->has_charge = true;
		return 0;
	case 'd':
		o->degradation = cli_double("--degradation", arg, 0, 1);
		o->has_degradation = true;
		return 0;
	case OPT_FULL:
		o->full = true;
		return 0;
	case OPT_REASON:
		o->reason = arg;
		return 0;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return 0;
	case OPT_WAIT:
		o->wait_s = cli_int("--wait", arg, 0, MAX_WAIT_S);
		return 0;
	case 'c':
		o->conf = cli_path("--conf", arg);
		return 0;
	default:
		return cli_parse_rest(key, arg, &o->json);
	}
}

static void check_options(const struct options *o)
{
	if (!o->job)
		cli_usage_error("--job is needed: which job's price is to be changed");
	if (!*o->job || strspn(o->job, "0123456789_+") != strlen(o->job))
		cli_usage_error(
			"--job=%s is no job id: give 12, or 12_3 for an array's task", o->job);
	if (o->has_charge + o->has_degradation + o->full != 1)
		cli_usage_error("give one of --charge, --degradation and --full");
	if (!o->reason || !*o->reason)
		cli_usage_error("--reason is needed: it stands in the log, and the user sees it");
	if (strlen(o->reason) > MAX_REASON)
		cli_usage_error("--reason is longer than %d bytes", MAX_REASON);
	for (const char *p = o->reason; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			cli_usage_error("--reason must be one line");
}

/* slurmctld's own number of the job that a user calls 12, or 12_3. */
static int raw_id(const char *name, uint32_t *id, const struct bills *bills, struct errmsg *err)
{
	int64_t n;

	if (!units_parse_int(name, 1, UINT32_MAX, &n, err)) {
		*id = (uint32_t)n;
		return 0;
	}
	for (int i = 0; i < bills->count; i++)
		if (!strcmp(bills->by_id[i]->id, name)) {
			*id = bills->by_id[i]->job_id;
			return 0;
		}
	return errmsg_set(err, "sacct knows no job %s", name);
}

static int ask_run(const struct client *c, const char *cluster, uint32_t job, uint32_t restart,
	struct client_answer *answer, struct errmsg *err)
{
	const struct client_run run = {.cluster = cluster, .job_id = job, .restart = restart};

	return client_job(c, &run, answer, err);
}

/* Finds the settlement of the run that the options mean: 1, or 0 where there is none, or -1 with
 * err. */
static int find_settlement(const struct options *o, const struct client *c, const char *cluster,
	uint32_t job, struct settlement *s, struct errmsg *err)
{
	uint32_t first = o->has_restart ? o->restart : 0;
	uint32_t last = o->has_restart ? o->restart : MAX_RESTARTS;
	int found = 0, unpriced = 0;

	for (uint32_t restart = first; restart <= last && unpriced < MAX_UNPRICED; restart++) {
		struct client_answer answer;
		bool settled;

		if (ask_run(c, cluster, job, restart, &answer, err))
			return -1;
		settled = answer.settled;
		/* Slurm may have used the same id for an earlier job with more runs. */
		if (settled && (!found || answer.settlement.start_unix > s->start_unix)) {
			*s = answer.settlement;
			found = 1;
		}
		client_answer_free(&answer);
		unpriced = settled ? 0 : unpriced + 1;
	}
	return found;
}

/* Says why the run has no settlement; returns CLI_FAILURE. */
static int explain_none(const struct options *o, const struct bills *bills, uint32_t job)
{
	const struct bill *b = NULL;

	for (int i = 0; i < bills->count; i++)
		if (bills->by_id[i]->job_id == job)
			b = bills->by_id[i];
	if (!b)
		return cli_error("job %s is unknown to the ledger and to sacct", o->job);
	if (!b->start)
		return cli_error("job %s has not started: it has no price yet", o->job);
	if (!b->end)
		return cli_error(
			"job %s still runs: its price can be changed when it has been made, "
			"after its end",
			o->job);
	if (o->has_restart)
		return cli_error("job %s has no settled run %u", o->job, o->restart);
	return cli_error("job %s has no price in the ledger: either it was not submitted with "
			 "--colocate, or it waits for its settlement (\"poppa why %s\" tells), or "
			 "the ledger was lost (\"poppa ledger rebuild\")",
		o->job, o->job);
}

/* Puts the charge that the options ask for into *s. Returns 0, or -1 with err. */
static int decide(const struct options *o, struct settlement *s, struct errmsg *err)
{
	uint64_t before = s->charged;

	if (o->has_charge && o->charge > s->raw)
		return errmsg_set(err,
			"--charge=%llu is more than the %llu that Slurm counted (raw): a price "
			"can be lowered, and raised up to that",
			(unsigned long long)o->charge, (unsigned long long)s->raw);
	if (o->has_degradation && settlement_change_degradation(s, o->degradation, err))
		return -1;
	if (!o->has_degradation)
		settlement_change(s, o->full ? s->raw : o->charge);
	if (s->charged == before && !o->has_degradation)
		return errmsg_set(
			err, "job %s is charged %llu already", o->job, (unsigned long long)before);
	return 0;
}

/* Whether the accounting database shows the change. */
static bool is_written(const struct client *c, const struct settlement *s)
{
	struct client_answer answer;
	const json_t *last;
	struct errmsg err;
	bool written;

	if (ask_run(c, s->cluster, s->job_id, s->restart, &answer, &err))
		return false;
	last = json_array_get(answer.changes, (size_t)s->changes - 1);
	written = json_integer_value(json_object_get(last, "state")) == LEDGER_CHANGE_WRITTEN;
	client_answer_free(&answer);
	return written;
}

static bool wait_written(
	const struct options *o, const struct client *c, const struct settlement *s)
{
	time_t end = time(NULL) + o->wait_s;

	while (!is_written(c, s)) {
		if (time(NULL) >= end)
			return false;
		sleep(1);
	}
	return true;
}

static int print_result(
	const struct options *o, const struct settlement *s, uint64_t before, bool written)
{
	if (o->json)
		return cli_print_json(json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:b}", "job",
			(json_int_t)s->job_id, "restart", (json_int_t)s->restart, "raw",
			(json_int_t)s->raw, "before", (json_int_t)before, "charged",
			(json_int_t)s->charged, "degradation", field_real_or_null(s->degradation),
			"text", s->text, "written", written));
	printf("job %s: charged %llu instead of %llu, raw %llu%s\n", o->job,
		(unsigned long long)s->charged, (unsigned long long)before,
		(unsigned long long)s->raw,
		o->dry_run ? " (not changed: --dry-run)"
		: written  ? ""
			   : "; Slurm does not show it yet: slurmctld writes it when it, the "
			     "ledger and slurmdbd are up");
	return CLI_OK;
}

/* Returns an exit status, or -1 with err. */
static int settle(const struct options *o, const struct bills *bills, struct errmsg *err)
{
	char cluster[64] = "";
	struct client client;
	struct settlement s;
	bool written = false;
	uint64_t before;
	uint32_t job = 0;
	int found;

	if (raw_id(o->job, &job, bills, err) || find_ledger(o->conf, &client, cluster, err))
		return -1;
	if (geteuid() != 0 && geteuid() != client.ledger_uid)
		return errmsg_set(err, "only root and LedgerUser may change a price");
	found = find_settlement(o, &client, cluster, job, &s, err);
	if (found < 0)
		return -1;
	if (!found)
		return explain_none(o, bills, job);
	before = s.charged;
	if (decide(o, &s, err))
		return -1;
	if (!o->dry_run) {
		if (client_change(&client, &s, o->reason, err))
			return -1;
		written = wait_written(o, &client, &s);
	}
	return print_result(o, &s, before, written);
}

int cmd_settle(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Gives a run of a co-located job, which has its price, another one: in the "
		       "ledger, with who, when and why in its append-only log, and everywhere in "
		       "Slurm. For root and LedgerUser."};
	struct options o = {.wait_s = DEFAULT_WAIT_S};
	struct sacct_query query = {.all_users = true};
	struct bills bills = {.count = 0};
	struct errmsg err = {""};
	int rc;

	cli_parse(&argp, argc, argv, &o);
	check_options(&o);
	query.jobs = o.job;
	/* Where sacct fails, a plain number still names the job; only explain_none() says less. */
	if (sacct_bills(&query, &bills, &err))
		memset(&bills, 0, sizeof(bills));
	rc = settle(&o, &bills, &err);
	bills_free(&bills);
	return rc < 0 ? cli_error("%s", err.text) : rc;
}
