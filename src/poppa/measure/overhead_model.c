/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thesis' model of what shutters cost. */
#include "poppa/measure/overhead_model.h"

#include <inttypes.h>

int overhead_model(int64_t jobs, int64_t shutter_ns, int64_t period_ns, struct overhead *out,
	struct errmsg *err)
{
	double n = (double)jobs, s = (double)shutter_ns, p = (double)period_ns;
	double loop = n * (3 * s + p);

	if (jobs < 1)
		return errmsg_set(err, "%" PRId64 " jobs: at least 1 is needed", jobs);
	if (shutter_ns < 0 || period_ns < 0)
		return errmsg_set(err, "shutter length and period cannot be negative");
	if (loop <= 0)
		return errmsg_set(err, "shutter length and period are both 0: give one of them");
	if (loop > 9e18)
		return errmsg_set(err, "shutter length, period or number of jobs is too large");
	out->paused_fraction = (n - 1) * s / loop;
	out->dilation = 1 / (1 - out->paused_fraction);
	out->loop_ns = (int64_t)loop;
	return 0;
}
