/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa pairs --import and --forget: the trials of which slurmctld is to know. */
#pragma once

#include <stdbool.h>

#include "cli/partners/read_trial.h"

struct trial_import {
	const char *input;  /* what poppa trial --json has printed; NULL or "-": standard input */
	const char *trials; /* the file of trials; NULL: that of this slurmctld */
	const char *class[TRIAL_PROGRAMS_MAX];
	int classes;
	bool json;
};

/* Both return an exit status. */
int import_trial(const struct trial_import *how);
int forget_trial(const char *trials, const char *id);
