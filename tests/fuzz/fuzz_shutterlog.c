/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the shutter log's reader, and the estimators with whatever blocks it delivers. */
#include <math.h>
#include <stdio.h>

#include "fuzz.h"
#include "poppa/estimate/shutterlog.h"

#define METHODS 3

static void check_block(const struct est_block *b)
{
	MUST(b->before_n >= 0 && b->before_n <= EST_MAX_WINDOWS);
	MUST(b->during_n > 0 && b->during_n <= EST_MAX_WINDOWS);
	MUST(b->after_n >= 0 && b->after_n <= EST_MAX_WINDOWS);
	for (int i = 0; i < b->during_n; i++)
		MUST(b->during[i].dur_ns > 0);
}

static int take_block(uint32_t job, uint64_t block, const struct est_block *b, void *arg)
{
	struct estimator **e = arg;

	(void)job;
	(void)block;
	check_block(b);
	for (int i = 0; i < METHODS; i++)
		estimator_add(e[i], b);
	return 0;
}

static void take_prior(uint32_t job, const struct slow_prior *prior, void *arg)
{
	(void)job;
	(void)arg;
	MUST(slow_prior_valid(prior));
}

static void check_result(const struct estimator *e)
{
	struct est_result r, again;
	struct estimator *copy;
	json_t *state;

	estimator_result(e, &r);
	MUST(r.used <= r.blocks);
	MUST(!isinf(r.degradation) && !isinf(r.variance));
	MUST(r.used || isnan(r.degradation));
	if (!isnan(r.lo) || !isnan(r.hi)) {
		MUST(r.lo <= r.hi);
		MUST(r.variance >= 0);
	}
	state = estimator_save(e);
	MUST(state);
	copy = estimator_load(state);
	MUST(copy);
	estimator_result(copy, &again);
	MUST(again.blocks == r.blocks && again.used == r.used);
	MUST(isnan(r.degradation) == isnan(again.degradation));
	estimator_free(copy);
	json_decref(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct estimator *e[METHODS] = {estimator_new(ESTIMATE_ROBUST, NULL),
		estimator_new(ESTIMATE_THESIS, NULL), estimator_new(ESTIMATE_UNFILTERED, NULL)};
	struct shutterlog_count count = {0, 0};
	struct errmsg err = {""};
	FILE *in;
	int rc;

	in = fopen(fuzz_file(data, size), "r");
	MUST(in && e[0] && e[1]);
	rc = shutterlog_read(in, "input", take_block, take_prior, NULL, e, &count, &err);
	fclose(in);
	MUST(rc == 0 || rc == -1);
	MUST((rc == -1) == (*err.text != '\0'));
	MUST(count.malformed <= count.rows);
	for (int i = 0; i < METHODS; i++) {
		check_result(e[i]);
		estimator_free(e[i]);
	}
	return 0;
}
