/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what poppa trial --json prints. */
#pragma once

#include <stddef.h>

#include "common/errmsg.h"
#include "striping/history/imported_trial.h"

#define TRIAL_PROGRAMS_MAX 16
#define TRIAL_LOSSES_MAX (TRIAL_PROGRAMS_MAX * (TRIAL_PROGRAMS_MAX - 1))
#define TRIAL_COMMAND_MAX 64

/* What one program lost beside another one; the numbers are those of the programs, from 0. */
struct trial_loss {
	int job, partner;
	double degradation, low, high; /* NAN: not known */
};

struct trial {
	char id[TRIAL_ID_MAX]; /* the same for the same measurement */
	int programs;
	char command[TRIAL_PROGRAMS_MAX][TRIAL_COMMAND_MAX]; /* to be shown: cut, and plain */
	struct trial_loss loss[TRIAL_LOSSES_MAX];
	int losses;
};

/* Reads the text; 0, or -1 with err, which says what is wrong with it. */
int read_trial(const char *text, size_t length, struct trial *t, struct errmsg *err);
