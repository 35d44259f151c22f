/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole numbers on the command lines of sample programs. */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "common/units.h"

/* A whole number in [min, max] from the command line; ends the program with a message otherwise. */
static inline int64_t workload_number(const struct argp_state *state, const char *option,
	const char *text, int64_t min, int64_t max)
{
	struct errmsg err;
	int64_t value = 0;

	if (units_parse_int(text, min, max, &value, &err))
		argp_error(state, "--%s: %s", option, err.text);
	return value;
}
