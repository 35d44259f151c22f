/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the curves of all classes that have a profile. */
#include "striping/reuse/cache_forecast.h"

#include <stdlib.h>
#include <string.h>

struct known {
	char name[PROFILE_NAME_MAX];
	struct cache_curve curve;
};

struct cache_forecast {
	int classes;
	const char *name[PROFILES_MAX];
	struct known class[]; /* sorted by name */
};

struct shared_cache cache_forecast_cache(const struct poppa_settings *settings)
{
	return (struct shared_cache){
		(double)settings->stripe_cache / REUSE_LINE, (double)settings->stripe_miss_cycles};
}

struct cache_forecast *cache_forecast_new(const struct profiles *p,
	const struct shared_cache *cache, cache_forecast_cost_fn cost, void *arg)
{
	const int count = profiles_count(p);
	struct cache_forecast *f = malloc(sizeof(*f) + (size_t)count * sizeof(f->class[0]));

	if (!f)
		return NULL;
	f->classes = 0;
	for (int i = 0; i < count; i++) {
		const struct profile *profile = profiles_get(p, i);
		struct known *k = &f->class[f->classes];

		struct miss_line line;
		bool known = cost &&
			     cost(arg, profile->class_name, &line.base_cycles, &line.miss_cycles);

		if (!cache_curve_make(&k->curve, cache, &profile->h, known ? &line : NULL))
			continue;
		strcpy(k->name, profile->class_name);
		f->name[f->classes++] = k->name;
	}
	return f;
}

void cache_forecast_free(struct cache_forecast *f)
{
	free(f);
}

int cache_forecast_classes(const struct cache_forecast *f)
{
	return f ? f->classes : 0;
}

const char *const *cache_forecast_names(const struct cache_forecast *f)
{
	return f ? f->name : NULL;
}

static int compare_class(const void *name, const void *class)
{
	return strcmp(name, ((const struct known *)class)->name);
}

int cache_forecast_class(const struct cache_forecast *f, const char *name)
{
	const struct known *found =
		f ? bsearch(name, f->class, (size_t)f->classes, sizeof(*found), compare_class)
		  : NULL;

	return found ? (int)(found - f->class) : -1;
}

const struct cache_curve *cache_forecast_curve(const struct cache_forecast *f, int class_number)
{
	return class_number < 0 ? NULL : &f->class[class_number].curve;
}

bool cache_forecast_pair(const struct cache_forecast *f, int job, int partner, double *y)
{
	const struct cache_curve *one = cache_forecast_curve(f, job),
				 *other = cache_forecast_curve(f, partner);

	if (!one || !other)
		return false;
	*y = shared_cache_forecast(one, &other, 1);
	return true;
}
