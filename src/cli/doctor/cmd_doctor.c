/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa doctor: is this node or controller set up right. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/doctor/doctor.h"
#include "common/printable.h"

static const char *const verdict_names[] = {"OK", "WARN", "FAIL"};
static const char *const verdict_keys[] = {"ok", "warn", "fail"};

static const struct argp_option option_table[] = {DAEMON_OPTIONS, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	if (daemon_parse_option(key, arg, &d->asked) == 0)
		return 0;
	return cli_parse_rest(key, arg, &d->json);
}

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *check, const char *mend,
	const char *fmt, ...)
{
	char detail[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	plain_text(detail);
	d->count[verdict]++;
	json_array_append_new(
		d->checks, json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "status",
				   verdict_keys[verdict], "detail", detail, "mend", mend));
	if (d->json)
		return;
	printf("%-4s  %-22s %s", verdict_names[verdict], check, detail);
	if (mend)
		printf(" -> %s", mend);
	putchar('\n');
}

static void check_conf(struct doctor *d)
{
	struct errmsg err;

	d->conf_good = nodeconf_load(d->conf_path, &d->conf, &err) == 0;
	if (!d->conf_good) {
		doctor_say(d, DOCTOR_FAIL, "poppa.conf", "correct it, see poppa.conf(5)", "%s",
			err.text);
		nodeconf_defaults(&d->conf);
	} else if (access(d->conf_path, F_OK)) {
		doctor_say(d, DOCTOR_OK, "poppa.conf", NULL, "no %s: defaults hold", d->conf_path);
	} else {
		doctor_say(d, DOCTOR_OK, "poppa.conf", NULL, "%s is good", d->conf_path);
	}
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Checks whether this node or controller is set up right: one line a check, "
		       "with what to do where it is not. Run as root it sees more. Exit status 1 "
		       "when a check fails; warnings do not count."};
	struct doctor d = {.json = false};

	cli_parse(&argp, argc, argv, &d);
	d.conf_path = d.asked.conf;
	if (!d.conf_path)
		d.conf_path = nodeconf_path(d.conf_path_buf, sizeof(d.conf_path_buf));
	d.checks = json_array();
	check_conf(&d);
	doctor_munge(&d);
	doctor_slurm(&d);
	doctor_ledger(&d);
	doctor_node(&d);
	doctor_state(&d);
	json_decref(d.status);
	if (d.json) {
		int rc = cli_print_json(json_pack("{s:o, s:i, s:i, s:i}", "checks", d.checks,
			verdict_keys[DOCTOR_OK], d.count[DOCTOR_OK], verdict_keys[DOCTOR_WARN],
			d.count[DOCTOR_WARN], verdict_keys[DOCTOR_FAIL], d.count[DOCTOR_FAIL]));

		return rc ? rc : d.count[DOCTOR_FAIL] ? CLI_FAILURE : CLI_OK;
	}
	json_decref(d.checks);
	return d.count[DOCTOR_FAIL] ? CLI_FAILURE : CLI_OK;
}
