/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers in JSON that may not be known. */
#pragma once

#include <math.h>
#include <jansson.h>

/* A new reference: null where the number is not known (NAN) or infinite. */
static inline json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}
