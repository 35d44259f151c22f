/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa advise: what --colocate would bring for a job that is not submitted yet. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/advise/advice.h"
#include "cli/advise/price_in_force.h"
#include "cli/ask/cli.h"
#include "cli/ask/sacct.h"
#include "common/printable.h"
#include "striping/history/class_name.h"
#include "striping/submit/colocate_option.h"

#define OPT_CLASS CLI_OPT_FIRST
#define TEXT_OF_2(x) #x
#define TEXT_OF(x) TEXT_OF_2(x)

struct options {
	bool json;
	const char *class_name; /* NULL = by the job's name */
};

/* The job's kind, and what of it is ours to free. */
struct wanted {
	struct past_kind kind;
	char *name;
};

static const struct argp_option option_table[] = {
	{"class", OPT_CLASS, "NAME", 0,
		"Look for runs of this class or name, instead of those of the job's name", 0},
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	if (key != OPT_CLASS)
		return cli_parse_rest(key, arg, &o->json);
	if (!*arg)
		cli_usage_error("--class: the name is empty");
	o->class_name = arg;
	return 0;
}

/* How many words, with the command's name, are this command's own. The rest is sbatch's. */
static int own_words(int argc, char **argv)
{
	static const char *const own[] = {"--json", "-j", "--help", "--usage", "-?"};
	int at = 1;

	while (at < argc) {
		bool is_own = !strncmp(argv[at], "--class=", 8);

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			is_own |= !strcmp(argv[at], own[i]);
		if (!strcmp(argv[at], "--class") && at + 1 < argc)
			at += 2;
		else if (is_own || !strcmp(argv[at], "--class"))
			at++;
		else
			break;
	}
	return at;
}

/* Whether there is a run of that kind. */
static bool has_runs(const struct bills *bills, const struct past_kind *kind)
{
	for (int i = 0; i < bills->count; i++)
		if (past_runs_are(kind, &bills->bill[i]))
			return true;
	return false;
}

/* The kind that is looked for: of --class the class of that name, or where there is none jobs of
 * that name; else the class that --colocate names, or the job's name. 0, or -1 without memory. */
static int choose_kind(const struct options *o, const struct sbatch_job *job, const char *user,
	const struct bills *bills, struct wanted *w, struct advice *a)
{
	static const char *const from[] = {"by its name", "by SBATCH_JOB_NAME",
		"by the name in its script", "by the name of its script"};
	struct colocate asked = {.spread = false};
	struct errmsg ignored;

	if (job->colocate)
		colocate_parse(job->colocate, &asked, &ignored);
	a->named = o->class_name || *asked.class_name;
	w->name = strdup(o->class_name       ? o->class_name
			 : *asked.class_name ? asked.class_name
					     : job->name);
	if (!w->name)
		return -1;
	w->kind = (struct past_kind){user, plain_text(w->name), a->named};
	a->class_from = o->class_name       ? "by --class"
			: *asked.class_name ? "by class: of --colocate"
					    : from[job->named_by];
	if (o->class_name && !has_runs(bills, &w->kind))
		a->named = w->kind.named = false;
	class_copy(w->name, a->class_name, sizeof(a->class_name));
	if (!a->named)
		class_generalize(a->class_name);
	return 0;
}

/* Fills in what the runs tell, and the price. 0, or -1 without memory. */
static int add_up(const struct bills *bills, const struct past_kind *kind,
	const struct sbatch_job *job, struct advice *a)
{
	struct plain_runs *plain = plain_runs_find(bills);
	struct price_policy policy;
	int rc = plain ? past_runs_make(bills, kind, NULL, NULL, &a->past) : -1;

	/* Without --qos it is most likely the QOS of the last run: users have a default. */
	if (!rc && !price_in_force(job->partition, job->qos ? job->qos : a->past.qos, &policy,
			   &a->no_policy)) {
		price_policy_format(&policy, a->policy);
		rc = past_runs_make(bills, kind, plain, &policy, &a->past);
	}
	plain_text(a->no_policy.text);
	plain_runs_free(plain);
	return rc;
}

static int read_bills(const char *user, struct bills *bills)
{
	static const char since[] = "now-" TEXT_OF(ADVICE_DAYS) "days";
	const struct sacct_query query = {.start = since, .user = user};
	struct errmsg err;

	return sacct_bills(&query, bills, &err) ? cli_error("%s", err.text) : CLI_OK;
}

static int advise(const struct options *o, const struct sbatch_job *job, const char *user)
{
	struct wanted wanted = {.name = NULL};
	struct advice a = {.now = time(NULL)};
	struct bills bills;
	int rc = read_bills(user, &bills);

	if (rc)
		return rc;
	if (bills.malformed)
		cli_error("%d row%s of sacct %s left out: %s", bills.malformed,
			bills.malformed == 1 ? "" : "s", bills.malformed == 1 ? "is" : "are",
			bills.first.text);
	if (choose_kind(o, job, user, &bills, &wanted, &a) ||
		add_up(&bills, &wanted.kind, job, &a)) {
		rc = cli_error("out of memory");
	} else {
		planned_start_ask(job, true, &a.colocated);
		planned_start_ask(job, false, &a.plain);
		if (o->json)
			rc = cli_print_json(advice_json(&a));
		else
			advice_print(&a);
	}
	free(wanted.name);
	bills_free(&bills);
	return rc;
}

int cmd_advise(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc = "[--] [SBATCH-OPTION...] SCRIPT",
		.doc = "What co-location would bring for this job, by your own earlier runs of its "
		       "class: what it loses, what it is charged, when it starts. Nothing is "
		       "submitted. Options of this command come first, then sbatch's."};
	const struct passwd *pw = getpwuid(geteuid());
	struct options o = {.json = false};
	int own = own_words(argc, argv), rc;
	struct sbatch_job job;
	struct errmsg err;
	char *user;

	cli_parse(&argp, own, argv, &o);
	own += own < argc && !strcmp(argv[own], "--");
	rc = sbatch_job_read(argc - own, argv + own, &job, &err);
	if (rc == CLI_USAGE)
		cli_usage_error("%s", err.text);
	if (rc)
		return cli_error("%s", err.text);
	user = pw ? strdup(pw->pw_name) : NULL;
	rc = user ? advise(&o, &job, user) : cli_error("user %u has no name", (unsigned)geteuid());
	free(user);
	sbatch_job_free(&job);
	return rc;
}
