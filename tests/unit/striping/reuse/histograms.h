/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms that are made up, for tests. */
#pragma once

#include "striping/reuse/histogram.h"

/* A program all of whose references but the cold ones are so far apart; of 1000 references. */
static inline struct reuse_histogram at_distance(double distance, double cold)
{
	struct reuse_histogram h = {.references = 1000, .instructions = 3000, .cold = cold};

	h.bucket[reuse_bucket_of((uint64_t)distance)] =
		(struct reuse_bucket){1000 - cold, distance};
	return h;
}
