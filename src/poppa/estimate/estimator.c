/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes the calls on to the estimator that was chosen. */
#include "poppa/estimate/estimator.h"

#include <stdlib.h>

#include "poppa/estimate/estimator_impl.h"

#define STATE_VERSION 5

struct estimator {
	enum estimate_method method;
	struct thesis_state thesis;  /* of ESTIMATE_THESIS and ESTIMATE_UNFILTERED */
	struct robust_state *robust; /* NULL unless method is ESTIMATE_ROBUST */
};

struct estimator *estimator_new(enum estimate_method method, const struct slow_prior *prior)
{
	struct estimator *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->method = method;
	if (method == ESTIMATE_ROBUST && !(e->robust = robust_new(prior))) {
		free(e);
		return NULL;
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
	safe.beyond_n = clamp_count(safe.beyond_n);
	safe.after_n = clamp_count(safe.after_n);
	if (e->robust)
		return robust_add(e->robust, &safe);
	return thesis_add(&e->thesis, &safe, e->method == ESTIMATE_THESIS);
}

int estimator_long_windows(const struct estimator *e)
{
	return e->method == ESTIMATE_ROBUST ? robust_long_windows(e->robust) : 0;
}

const struct slow_prior *estimator_prior(const struct estimator *e)
{
	return e->method == ESTIMATE_ROBUST ? robust_prior(e->robust) : NULL;
}

uint64_t estimator_likelihood(const struct estimator *e, double likelihood[SLOW_HYPOTHESES])
{
	return e->method == ESTIMATE_ROBUST ? robust_likelihood(e->robust, likelihood) : 0;
}

void estimator_result(const struct estimator *e, struct est_result *out)
{
	if (e->robust)
		robust_result(e->robust, out);
	else
		thesis_result(&e->thesis, out);
}

json_t *estimator_save(const struct estimator *e)
{
	return json_pack("{s:i, s:s, s:o}", "version", STATE_VERSION, "method",
		estimate_method_name(e->method), "state",
		e->robust ? robust_save(e->robust) : thesis_save(&e->thesis));
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
	e = estimator_new(method, NULL);
	if (e && (e->robust ? robust_load(e->robust, inner) : thesis_load(&e->thesis, inner))) {
		estimator_free(e);
		return NULL;
	}
	return e;
}
