/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of the simulator. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"
#include "common/settings.h"
#include "sim/policy/policy.h"
#include "sim/world/workload.h"

#define OPTIONS_POLICIES_MOST 32

struct options {
	const char *trace, *matrix;
	const char *dump;    /* NULL = none */
	const char *history; /* NULL = starts empty */
	const struct policy *policy[OPTIONS_POLICIES_MOST];
	int policies;
	int nodes, jobs; /* jobs: 0 = all */
	bool json, help;
	bool no_share; /* the references of share_of_gain are not run */
	bool conservative, plan_by_limits, slips;
	int depth;
	double noise, cap;
	struct workload_options workload;
	struct poppa_settings settings;
};

/* Returns 0, or -1 with err that names the option and the fix. */
int options_read(int argc, char **argv, struct options *o, struct errmsg *err);

void options_help(void);
