/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives the two estimators one face, and holds what they share. */
#include "poppa/estimate/estimator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poppa/estimate/estimator_impl.h"

#define STATE_VERSION 2

struct estimator {
	enum estimate_method method;
	struct thesis_state thesis;
	struct robust_state *robust; /* NULL unless method is ESTIMATE_ROBUST */
};

struct estimator *estimator_new(enum estimate_method method)
{
	struct estimator *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->method = method;
	if (method == ESTIMATE_ROBUST) {
		e->robust = robust_new();
		if (!e->robust) {
			free(e);
			return NULL;
		}
	}
	return e;
}

void estimator_free(struct estimator *e)
{
	if (!e)
		return;
	free(e->robust);
	free(e);
}

enum estimate_method estimator_method(const struct estimator *e)
{
	return e->method;
}

static int clamp_count(int n)
{
	return n < 0 ? 0 : n > EST_MAX_WINDOWS ? EST_MAX_WINDOWS : n;
}

bool estimator_add(struct estimator *e, const struct est_block *block)
{
	struct est_block safe = *block;

	safe.before_n = clamp_count(safe.before_n);
	safe.during_n = clamp_count(safe.during_n);
	safe.after_n = clamp_count(safe.after_n);
	if (e->method == ESTIMATE_THESIS)
		return thesis_add(&e->thesis, &safe);
	return robust_add(e->robust, &safe);
}

void estimator_result(const struct estimator *e, struct est_result *out)
{
	if (e->method == ESTIMATE_THESIS)
		thesis_result(&e->thesis, out);
	else
		robust_result(e->robust, out);
}

json_t *estimator_save(const struct estimator *e)
{
	return json_pack("{s:i, s:s, s:o}", "version", STATE_VERSION, "method",
		estimate_method_name(e->method), "state",
		e->method == ESTIMATE_THESIS ? thesis_save(&e->thesis) : robust_save(e->robust));
}

struct estimator *estimator_load(const json_t *state)
{
	const json_t *version = json_object_get(state, "version");
	const json_t *inner = json_object_get(state, "state");
	const char *name = json_string_value(json_object_get(state, "method"));
	enum estimate_method method;
	struct estimator *e;

	if (!json_is_integer(version) || json_integer_value(version) != STATE_VERSION || !name ||
		estimate_method_parse(name, &method))
		return NULL;
	e = estimator_new(method);
	if (!e)
		return NULL;
	if (method == ESTIMATE_THESIS ? thesis_load(&e->thesis, inner)
				      : robust_load(e->robust, inner)) {
		estimator_free(e);
		return NULL;
	}
	return e;
}

double est_rate(const struct est_window *w, bool cycles)
{
	double per = cycles ? w->cycles : w->dur_ns;
	double rate = w->progress / per;

	/* The upper bound only keeps squares and sums of broken input finite. */
	if (!(w->progress >= 0) || !(per > 0) || !(rate < 1e100))
		return NAN;
	return rate > 1e-100 ? rate : 0;
}

static bool region_has_cycles(const struct est_window *w, int n)
{
	for (int i = 0; i < n; i++)
		if (w[i].progress > 0 && !(w[i].cycles > 0))
			return false;
	return true;
}

bool est_has_cycles(const struct est_block *block)
{
	return region_has_cycles(block->before, block->before_n) &&
	       region_has_cycles(block->during, block->during_n) &&
	       region_has_cycles(block->after, block->after_n);
}

double est_t95(double dof)
{
	static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
		2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
	int last = (int)(sizeof(table) / sizeof(table[0]));

	if (!(dof >= 1))
		dof = 1;
	if (dof <= last)
		return table[(int)dof - 1];
	/* First term of the expansion around the normal quantile; off by less than 0.003 here. */
	return 1.95996 + 2.3723 / dof;
}

json_t *est_save_doubles(const double *v, int count)
{
	json_t *array = json_array();

	for (int i = 0; array && i < count; i++)
		json_array_append_new(array, json_real(v[i]));
	return array;
}

json_t *est_save_counts(const uint64_t *v, int count)
{
	json_t *array = json_array();

	for (int i = 0; array && i < count; i++)
		json_array_append_new(array, json_integer((json_int_t)v[i]));
	return array;
}

static const json_t *array_of(const json_t *json, const char *key, int count)
{
	const json_t *array = json_object_get(json, key);

	return json_is_array(array) && json_array_size(array) == (size_t)count ? array : NULL;
}

int est_load_doubles(const json_t *json, const char *key, double *v, int count)
{
	const json_t *array = array_of(json, key, count), *item;
	size_t i;

	if (!array)
		return -1;
	json_array_foreach(array, i, item)
	{
		if (!json_is_number(item))
			return -1;
		v[i] = json_number_value(item);
	}
	return 0;
}

int est_load_counts(const json_t *json, const char *key, uint64_t *v, int count)
{
	const json_t *array = array_of(json, key, count), *item;
	size_t i;

	if (!array)
		return -1;
	json_array_foreach(array, i, item)
	{
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return -1;
		v[i] = (uint64_t)json_integer_value(item);
	}
	return 0;
}
