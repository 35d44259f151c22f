/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the profiles tell of classes that share a cache: by how much partners slow each other down.
 */
#pragma once

#include <stdbool.h>

#include "common/settings.h"
#include "striping/reuse/profiles.h"
#include "striping/reuse/shared_cache.h"

/* Made once for all classes with a profile, and not changed any more, so threads that only read
 * need no lock. */
struct cache_forecast;

/* The cache that jobs share by the settings stripe_cache and stripe_miss_cycles; of no lines where
 * profiles are not used. */
struct shared_cache cache_forecast_cache(const struct poppa_settings *settings);

/* What a miss costs a class, where that is known (struct miss_line has the units); else false. */
typedef bool (*cache_forecast_cost_fn)(
	void *arg, const char *class_name, double *base_cycles, double *miss_cycles);

/*
 * Of a cache without lines it has no class. cost tells what is known of classes; NULL: of none.
 * Takes half a millisecond for each profile. p and arg stay the caller's and are not needed
 * afterwards. NULL without memory. cache_forecast_free() takes NULL.
 */
struct cache_forecast *cache_forecast_new(const struct profiles *p,
	const struct shared_cache *cache, cache_forecast_cost_fn cost, void *arg);
void cache_forecast_free(struct cache_forecast *f);

/* How many classes it has, their names in order, and the number of one; -1: it is not among these.
 * In what follows f may be NULL, which has none. */
int cache_forecast_classes(const struct cache_forecast *f);
const char *const *cache_forecast_names(const struct cache_forecast *f);
int cache_forecast_class(const struct cache_forecast *f, const char *name);

/* The curve of a class; NULL of -1. */
const struct cache_curve *cache_forecast_curve(const struct cache_forecast *f, int class_number);

/* What a class is expected to lose beside another one by the cache alone, as y = -log(1 - D); false
 * where one of them has no profile. Takes a microsecond. */
bool cache_forecast_pair(const struct cache_forecast *f, int job, int partner, double *y);
