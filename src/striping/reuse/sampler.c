/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches the lines of chosen references until they are referenced again. */
#include "striping/reuse/sampler.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/xorshift.h"

/* Lines that are watched at a time. Up to so many lines of a program, all is exact. */
#define WATCHES 65536
#define SLOTS (2 * WATCHES)
#define NONE UINT32_MAX

struct watch {
	uint64_t line, since; /* the number of the reference */
	double weight;        /* so many references are spoken for */
	uint32_t next;        /* in the same slot, or of the unused ones */
};

struct reuse_sampler {
	struct watch watch[WATCHES];
	uint32_t slot[SLOTS], unused;
	uint64_t references, random;
	uint64_t interval; /* one reference in so many is chosen, on average */
	uint64_t skip;     /* references until the next is chosen */
	double count[REUSE_BUCKETS],
		distance[REUSE_BUCKETS]; /* sums of weights, and of distances */
};

struct reuse_sampler *reuse_sampler_new(uint64_t seed)
{
	struct reuse_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	memset(s->slot, 0xff, sizeof(s->slot));
	for (uint32_t i = 0; i < WATCHES; i++)
		s->watch[i].next = i + 1 < WATCHES ? i + 1 : NONE;
	s->interval = 1;
	s->random = seed | 1;
	return s;
}

void reuse_sampler_free(struct reuse_sampler *s)
{
	free(s);
}

static uint32_t *slot_of(struct reuse_sampler *s, uint64_t line)
{
	return &s->slot[line * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SLOTS - 1)];
}

/* Takes the watch out of its slot. */
static void end_watch(struct reuse_sampler *s, uint32_t *link)
{
	struct watch *w = &s->watch[*link];
	uint32_t number = *link;

	*link = w->next;
	w->next = s->unused;
	s->unused = number;
}

/* From now on half as many references are chosen, and those that are watched are thinned alike:
 * each that stays speaks for twice as many. */
static void thin_out(struct reuse_sampler *s)
{
	s->interval *= 2;
	for (size_t i = 0; i < SLOTS; i++)
		for (uint32_t *link = &s->slot[i]; *link != NONE;) {
			if (xorshift_next(&s->random) >> 63) {
				end_watch(s, link);
				continue;
			}
			s->watch[*link].weight *= 2;
			link = &s->watch[*link].next;
		}
}

static void begin_watch(struct reuse_sampler *s, uint64_t line)
{
	uint32_t *slot = slot_of(s, line), number;

	while (s->unused == NONE)
		thin_out(s);
	number = s->unused;
	s->unused = s->watch[number].next;
	s->watch[number] = (struct watch){line, s->references, (double)s->interval, *slot};
	*slot = number;
}

void reuse_sampler_add(struct reuse_sampler *s, uint64_t line)
{
	for (uint32_t *link = slot_of(s, line); *link != NONE; link = &s->watch[*link].next) {
		struct watch *w = &s->watch[*link];

		if (w->line == line) {
			uint64_t distance = s->references - w->since - 1;
			int bucket = reuse_bucket_of(distance);

			s->count[bucket] += w->weight;
			s->distance[bucket] += w->weight * (double)distance;
			end_watch(s, link);
			break;
		}
	}
	if (!s->skip--) {
		begin_watch(s, line);
		/* Evenly from 0 to twice the interval less 2, so that no rhythm of the program's is
		 * met. */
		s->skip = xorshift_next(&s->random) % (2 * s->interval - 1);
	}
	s->references++;
}

uint64_t reuse_sampler_references(const struct reuse_sampler *s)
{
	return s->references;
}

void reuse_sampler_result(
	const struct reuse_sampler *s, uint64_t instructions, struct reuse_histogram *h)
{
	double sum = 0, scale;

	memset(h, 0, sizeof(*h));
	h->references = (double)s->references;
	h->instructions = (double)instructions;
	for (size_t i = 0; i < SLOTS; i++)
		for (uint32_t n = s->slot[i]; n != NONE; n = s->watch[n].next)
			h->cold += s->watch[n].weight;
	sum = h->cold;
	for (int k = 0; k < REUSE_BUCKETS; k++)
		sum += s->count[k];
	/* By chance the chosen ones speak for a little more or less than there were. */
	scale = sum > 0 ? h->references / sum : 0;
	h->cold *= scale;
	for (int k = 0; k < REUSE_BUCKETS; k++)
		if (s->count[k] > 0)
			h->bucket[k] = (struct reuse_bucket){
				s->count[k] * scale, s->distance[k] / s->count[k]};
}
