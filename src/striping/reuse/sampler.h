/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a histogram of reuse distances from a program's references, in bounded memory. */
#pragma once

#include <stdint.h>

#include "striping/reuse/histogram.h"

struct reuse_sampler;

/* NULL without memory. The caller frees it with reuse_sampler_free(). seed: which references are
 * chosen, where not all can be. */
struct reuse_sampler *reuse_sampler_new(uint64_t seed);
void reuse_sampler_free(struct reuse_sampler *s);

/* The next reference, by its address / REUSE_LINE. */
void reuse_sampler_add(struct reuse_sampler *s, uint64_t line);

/* References so far. */
uint64_t reuse_sampler_references(const struct reuse_sampler *s);

/*
 * What was seen so far. A line is cold once: the references that nothing came after are as many as
 * those that nothing was before, and are counted in place of them (Berg and Hagersten, ISPASS
 * 2004). instructions: executed meanwhile.
 */
void reuse_sampler_result(
	const struct reuse_sampler *s, uint64_t instructions, struct reuse_histogram *h);
