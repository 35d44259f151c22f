/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Algorithm 4 of the thesis, a filtered ratio of sums, and the same without its filter. */
#include <math.h>

#include "poppa/estimate/blockrate.h"
#include "poppa/estimate/estimator_impl.h"
#include "poppa/estimate/estimator_state.h"
#include "statistics/statistics.h"

/*
 * delta of Algorithm 4, in instructions per cycle. Where a backend has no cycles, the rate is
 * progress per nanosecond and the number stays: above 1 GHz, 0.05 instructions per ns is stricter
 * than 0.05 IPC. Of slower events (a heartbeat a microsecond) this condition always holds, and the
 * other two decide.
 */
#define THESIS_DELTA 0.05

static double mean_rate(const struct est_window *w, int n, bool cycles)
{
	double sum = 0;
	int count = 0;

	for (int i = 0; i < n; i++) {
		double rate = blockrate_window(&w[i], cycles);

		if (isnan(rate))
			continue;
		sum += rate;
		count++;
	}
	return count ? sum / count : NAN;
}

bool thesis_add(struct thesis_state *t, const struct est_block *block, bool filter)
{
	bool cycles = blockrate_has_cycles(block);
	double before = mean_rate(block->before, block->before_n, cycles);
	double during = mean_rate(block->during, block->during_n, cycles);
	double after = mean_rate(block->after, block->after_n, cycles);
	double co = 0.5 * (before + after);

	t->blocks++;
	if (isnan(co) || isnan(during))
		return false;
	if (filter && (fabs(before - after) >= THESIS_DELTA || before >= during || after >= during))
		return false;
	t->used++;
	t->sum_co += co;
	t->sum_solo += during;
	t->sum_co2 += co * co;
	t->sum_solo2 += during * during;
	t->sum_cross += co * during;
	return true;
}

void thesis_result(const struct thesis_state *t, struct est_result *out)
{
	double n = (double)t->used, ratio, residual, half;

	*out = (struct est_result){t->blocks, t->used, NAN, NAN, NAN, NAN, NAN, false};
	/* A job that never progressed alone has no degradation. The filter lets no such block in.
	 */
	if (!(t->sum_solo > 0))
		return;
	ratio = t->sum_co / t->sum_solo;
	out->degradation = 1 - ratio;
	if (t->used < 2)
		return;
	/* Variance of a ratio of sums, to first order; the thesis itself gives no interval. */
	residual = t->sum_co2 - 2 * ratio * t->sum_cross + ratio * ratio * t->sum_solo2;
	out->variance = fmax(residual, 0) * n / (n - 1) / (t->sum_solo * t->sum_solo);
	half = statistics_t95(n - 1) * sqrt(out->variance);
	out->noise = half;
	out->lo = out->degradation - half;
	out->hi = out->degradation + half;
}

static const struct state_field fields[] = {
	{"counts", offsetof(struct thesis_state, blocks), 2, false},
	{"sums", offsetof(struct thesis_state, sum_co), 5, true}};

json_t *thesis_save(const struct thesis_state *t)
{
	json_t *json = json_object();

	state_save(fields, STATE_COUNT(fields), t, json);
	return json;
}

int thesis_load(struct thesis_state *t, const json_t *json)
{
	return state_load(fields, STATE_COUNT(fields), json, t) || t->used > t->blocks ? -1 : 0;
}
