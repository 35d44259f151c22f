/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of given rates with noise, for tests. */
#pragma once

#include <stdint.h>

#include "common/xorshift.h"
#include "poppa/estimate/estimator.h"

#define FIRST_RANDOM 88172645463325252u

static uint64_t random_state = FIRST_RANDOM;

static inline double noise(double sd)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		sum += xorshift_share(&random_state);
	}
	return sd * (sum - 6);
}

static inline struct est_block noisy_block(double co, double solo, double sd)
{
	struct est_block b = {.before_n = 4, .during_n = 4, .after_n = 4};

	for (int k = 0; k < 4; k++) {
		b.before[k] = (struct est_window){co * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
		b.during[k] = (struct est_window){solo * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
		b.after[k] = (struct est_window){co * 800e3 * (1 + noise(sd)), 0, 800e3, 0};
	}
	return b;
}
