/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes a histogram of reuse distances, which poppa profile --compare reads, and what follows. */
#include <math.h>
#include <stdlib.h>

#include "fuzz.h"
#include "striping/reuse/forecast.h"
#include "striping/reuse/shared_cache.h"

/* Whatever can be read gives a curve by which programs lose something, or nothing. */
static void check_curve(const struct reuse_histogram *h, const struct miss_line *line)
{
	const struct shared_cache cache = {1000, 200};
	struct cache_curve curve;
	const struct cache_curve *others[] = {&curve, &curve};
	double y;

	MUST(cache_curve_make(&curve, &cache, h, line));
	y = shared_cache_forecast(&curve, others, 2);
	MUST(y >= 0 && isfinite(y));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forecast_machine machine = {.levels = 1, .level = {{1000, 200}}};
	char *text = fuzz_text(data, size), printed[REUSE_TEXT_MAX];
	struct reuse_histogram h, again;
	struct miss_rate_member m[] = {{.h = &h}, {.h = &again}};
	struct errmsg err;

	if (!reuse_parse("input", text, &h, &err)) {
		double r;

		MUST(!reuse_parse("printed", reuse_print(&h, printed), &again, &err));
		r = miss_rate_alone(&h, 1000);
		MUST(r >= 0 && r <= 1);
		r = forecast_group(&machine, m, 2, MISS_COMB, NULL);
		MUST(r >= 0 && r <= 1 && m[0].rate > 0);
		check_curve(&h, NULL);
		check_curve(&h, &(struct miss_line){0.05, 10000});
		check_curve(&h, &(struct miss_line){100, 1});
	} else {
		MUST(*err.text);
	}
	free(text);
	return 0;
}
