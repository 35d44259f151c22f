/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of the PUs' time others used while a trial ran. */
#pragma once

#include <stdint.h>

#include "trial/runner.h"

struct busy_watch {
	int64_t began_ns; /* clock_now() */
	int64_t busy_ns;  /* of the PUs since the boot, whoever used them; -1: the kernel does not
			     tell */
	int64_t used_ns;  /* by the trial and its programs */
};

struct busy_watch busy_watch(const struct runner_pus *pus, const struct runner_stage *stage);

/* The part of the PUs' time that processes of others have used since then; NAN = not known. */
double busy_others(const struct busy_watch *from, const struct runner_pus *pus,
	const struct runner_stage *stage);
