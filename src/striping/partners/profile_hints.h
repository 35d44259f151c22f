/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives what profiles tell of a shared cache to the model of what classes lose side by side. */
#pragma once

#include "striping/partners/expectation.h"
#include "striping/reuse/cache_forecast.h"

static inline int profile_hint_number(void *cache, const char *class_name)
{
	return cache_forecast_class(cache, class_name);
}

static inline bool profile_hint_pair(void *cache, int profile, int partner, double *y)
{
	return cache_forecast_pair(cache, profile, partner, y);
}

/* Adds the forecast to the hints, which then need it as long as they last. Classes with a profile
 * get a number, also those that the history does not know. */
static inline void profile_hints_add(struct expectation_hints *hints, struct cache_forecast *cache)
{
	hints->name = cache_forecast_names(cache);
	hints->names = cache_forecast_classes(cache);
	hints->profile = profile_hint_number;
	hints->cache = profile_hint_pair;
	hints->cache_arg = cache;
}
