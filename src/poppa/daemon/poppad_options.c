/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads poppad's command line. */
#include "poppa/daemon/poppad.h"

#include <argp.h>
#include <errno.h>

#include "poppa_config.h"

enum { OPT_REPAIR = 256, OPT_SYSLOG, OPT_COUNTERS };

const char *argp_program_version = "poppad " POPPA_VERSION;

static const struct argp_option option_table[] = {
	{"node", 'N', "NAME", 0, "Slurm's name of this node (default: the host name)", 0},
	{"conf", 'c', "FILE", 0, "Read this poppa.conf", 0},
	{"foreground", 'f', NULL, 0, "Stay in the foreground (always the case)", 0},
	{"verbose", 'v', NULL, 0, "Log details", 0},
	{"syslog", OPT_SYSLOG, NULL, 0, "Log to syslog instead of standard error", 0},
	{"repair", OPT_REPAIR, NULL, 0, "Resume what an earlier poppad left stopped, and exit", 0},
	{"counters", OPT_COUNTERS, NULL, 0,
		"Print as JSON which counter backends this host can use, and exit", 0},
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'N':
		o->node = arg;
		return 0;
	case 'c':
		o->conf = arg;
		return 0;
	case 'f':
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_SYSLOG:
		o->syslog = true;
		return 0;
	case OPT_COUNTERS:
		o->counters = true;
		return 0;
	case OPT_REPAIR:
		o->repair = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is too much: only options are taken", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void poppad_options(int argc, char **argv, struct options *o)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Stops co-located jobs for some milliseconds each now and then, seldom "
		       "for up to a quarter of a second, and finds out how much they slow each "
		       "other down."};

	argp_parse(&argp, argc, argv, 0, NULL, o);
}
