/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How slurmctld has called poppa-mail: the job, and whether its price is to be waited for. */
#pragma once

#include <stdbool.h>

#include "common/errmsg.h"

struct mail_call {
	bool priced;  /* of the end of a run that was co-located: its price is to be added */
	char run[32]; /* the run, as "poppa job" takes it; "" where slurmctld names none */
};

/*
 * Checks the arguments that slurmctld gave ("-s SUBJECT USER", in argv from 1 on) and reads the
 * environment that goes with them. A job's name is in the subject: control characters, with which
 * it could end the header, become "?" in place. Returns 0; or -1 with err where a recipient could
 * be taken for an option.
 */
int mail_call_read(int argc, char **argv, struct mail_call *call, struct errmsg *err);
