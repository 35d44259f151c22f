/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes measured curves and recorded counters, which poppa gpu and poppa map read, and what is
 * decided by them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/recording.h"
#include "fuzz.h"
#include "gpu/gpu_decide.h"

#define PUS 8

static void check_curves(const struct gpu_curves *c)
{
	MUST(c->count > 0);
	for (size_t i = 0; i < c->count; i++) {
		const struct gpu_program *p = &c->programs[i];
		struct gpu_decision d;

		MUST(p->count > 0);
		for (size_t k = 1; k < p->count; k++)
			MUST(p->points[k].units > p->points[k - 1].units);
		MUST(gpu_decide(p, GPU_TIME, 0.02, &d));
		MUST(d.point >= p->points && d.point < p->points + p->count);
		if (gpu_decide(p, GPU_EDP, 0, &d))
			MUST(!isnan(d.point->joules));
	}
}

/* Each task has one of the PUs, whatever its counters say. */
static void check_recording(const struct recording *r)
{
	struct mapper_pu pus[PUS];
	struct mapper *m;
	struct errmsg err;
	int *to = calloc((size_t)r->count + 1, sizeof(*to));

	for (int i = 0; i < PUS; i++)
		pus[i] = (struct mapper_pu){i, i / 2, i / 4};
	m = mapper_create(&mapper_defaults, pus, PUS);
	MUST(m && to);
	for (int first = 0, n; first < r->count; first += n) {
		n = recording_interval(r, first);
		MUST(n > 0);
		if (mapper_step(m, &r->samples[first], n, to, &err))
			break;
		for (int i = 0; i < n; i++)
			MUST(to[i] >= 0 && to[i] < PUS);
	}
	mapper_destroy(m);
	free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct errmsg err = {""};
	struct gpu_curves curves;
	struct recording r;

	if (!gpu_curves_parse(&curves, "input", text, &gpu_power_default, &err)) {
		check_curves(&curves);
		gpu_curves_release(&curves);
	} else {
		MUST(*err.text);
	}
	err.text[0] = '\0';
	if (!recording_read(&r, "input", text, &err))
		check_recording(&r);
	else
		MUST(*err.text);
	recording_free(&r);
	free(text);
	return 0;
}
