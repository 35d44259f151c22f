/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa doctor: is this node or controller set up right. */
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/doctor/doctor.h"

static const struct argp_option option_table[] = {ASK_POPPAD_OPTIONS, CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	return ask_poppad_parse_rest(key, arg, &d->asked);
}

static void check_conf(struct doctor *d)
{
	struct errmsg err;
	char files[3 * PATH_MAX];

	d->conf_good = nodeconf_load(d->conf_path, &d->conf, &err) == 0;
	if (!d->conf_good) {
		doctor_say(d, DOCTOR_FAIL, "poppa.conf", "correct it, see poppa.conf(5)", "%s",
			err.text);
		nodeconf_defaults(&d->conf);
	} else if (access(d->conf_path, F_OK)) {
		doctor_say(d, DOCTOR_OK, "poppa.conf", NULL,
			"there is none, so defaults hold; looked for: %s",
			nodeconf_looked_for(files, sizeof(files)));
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
	struct doctor d = {.asked = {.json = false}};

	cli_parse(&argp, argc, argv, &d);
	d.conf_path = d.asked.conf ? d.asked.conf
				   : nodeconf_path(d.conf_path_buf, sizeof(d.conf_path_buf));
	d.checks = json_array();
	check_conf(&d);
	doctor_munge(&d);
	doctor_slurm(&d);
	doctor_ledger(&d);
	doctor_node(&d);
	doctor_state(&d);
	doctor_turns(&d);
	return doctor_end(&d);
}
