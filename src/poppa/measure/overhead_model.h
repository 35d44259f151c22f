/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What shutters cost: the thesis' model of the time jobs spend stopped. */
#pragma once

#include <stdint.h>

#include "common/errmsg.h"

struct overhead {
	double paused_fraction; /* Z, share of the wall time that a job is held stopped (3.9) */
	double dilation;        /* T/T_i = 1/(1-Z), run time against that without shutters (3.10) */
	int64_t loop_ns;        /* n(3S+P), after which every job has run alone once */
};

/*
 * Equations 3.9 and 3.10 for n co-located jobs, shutter length S and period P (ns). Returns 0, or
 * -1 with err for n < 1, S < 0, P < 0 or S = P = 0.
 */
int overhead_model(int64_t jobs, int64_t shutter_ns, int64_t period_ns, struct overhead *out,
	struct errmsg *err);
