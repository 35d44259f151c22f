/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the factors of pairs, and what corrects their product, with COMB of the whole group. */
#include "sim/balance/overlap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "striping/reuse/forecast.h"
#include "striping/reuse/group_overlap.h"

#define PARTNERS_MAX 3
#define MOST_PROGRAMS 16

/* A cache, and what is known of the programs on it. */
struct bench {
	const struct reuse_histogram *profile;
	int programs;
	struct forecast_machine machine;
	struct cache_forecast *forecast;
	double pair[MOST_PROGRAMS][MOST_PROGRAMS]; /* y of COMB, and of the curves */
	double curve_pair[MOST_PROGRAMS][MOST_PROGRAMS];
};

/* By which factors speeds are off, over many groups. */
struct off {
	double sum, most;
	int count;
};

static void add(struct off *o, double y, double truth)
{
	double factor = exp(fabs(y - truth));

	o->sum += factor;
	o->most = fmax(o->most, factor);
	o->count++;
}

/* What a program loses beside others, by forecast_group(). */
static double comb(const struct bench *b, int one, const int *others, int count)
{
	struct miss_rate_member m[PARTNERS_MAX + 1] = {{.h = &b->profile[one]}};
	struct miss_rate_member alone = m[0];

	for (int i = 0; i < count; i++)
		m[i + 1] = (struct miss_rate_member){.h = &b->profile[others[i]]};
	forecast_group(&b->machine, &alone, 1, MISS_COMB, NULL);
	forecast_group(&b->machine, m, count + 1, MISS_COMB, NULL);
	return log(alone.rate / m[0].rate);
}

/* By the curves, as placement looks them up: the product of pairs and its factor, with its bounds.
 */
static double corrected(const struct bench *b, int one, const int *others, int count)
{
	const struct cache_curve *curve[PARTNERS_MAX];
	double pairs = 0, factor;

	for (int i = 0; i < count; i++) {
		curve[i] = cache_forecast_curve(b->forecast, others[i]);
		pairs += b->curve_pair[one][others[i]];
	}
	factor = exp(pairs -
		     shared_cache_forecast(cache_forecast_curve(b->forecast, one), curve, count));
	return pairs - log(fmin(fmax(factor, 1 / GROUP_OVERLAP_MOST), GROUP_OVERLAP_MOST));
}

static void look_at_group(const struct bench *b, int one, const int *others, int count,
	struct off *product, struct off *with_factor)
{
	double truth = comb(b, one, others, count), pairs = 0;

	for (int i = 0; i < count; i++)
		pairs += b->pair[one][others[i]];
	add(product, pairs, truth);
	add(with_factor, corrected(b, one, others, count), truth);
}

/* All groups with so many partners, each set of them once; some of them may be the same. */
static void look_at_groups(
	const struct bench *b, int count, struct off *product, struct off *with_factor)
{
	int others[PARTNERS_MAX] = {0}, i;

	do {
		for (int one = 0; one < b->programs; one++)
			look_at_group(b, one, others, count, product, with_factor);
		for (i = count - 1; i >= 0 && others[i] == b->programs - 1; i--)
			;
		if (i >= 0) {
			others[i]++;
			for (int k = i + 1; k < count; k++)
				others[k] = others[i];
		}
	} while (i >= 0);
}

static struct bench *bench_new(
	const struct reuse_histogram *profile, int programs, double lines, double miss_cycles)
{
	const struct shared_cache cache = {lines, miss_cycles};
	struct profiles *p = profiles_new();
	struct bench *b = calloc(1, sizeof(*b));

	if (!p || !b || programs > MOST_PROGRAMS)
		abort();
	for (int i = 0; i < programs; i++) {
		const char name[] = {(char)('a' + i), '\0'};

		if (profiles_set(p, name, &profile[i], 0, NULL))
			abort();
	}
	*b = (struct bench){.profile = profile,
		.programs = programs,
		.machine = {.levels = 1, .level = {{lines, miss_cycles}}},
		.forecast = cache_forecast_new(p, &cache, NULL, NULL)};
	profiles_free(p);
	if (!b->forecast)
		abort();
	for (int i = 0; i < programs; i++)
		for (int j = 0; j < programs; j++) {
			b->pair[i][j] = comb(b, i, &j, 1);
			if (!cache_forecast_pair(b->forecast, i, j, &b->curve_pair[i][j]))
				abort();
		}
	return b;
}

static void print_off(const struct off *o)
{
	printf(" %.3f | %.2f |", o->sum / o->count, o->most);
}

void overlap_print(const struct reuse_histogram *profile, int programs, const int *size_kb,
	int sizes, double miss_cycles)
{
	puts("\n## Partners one by one and together\n\n"
	     "How slow each program is beside all others, and beside groups of them, on one cache "
	     "alone: by which factor speeds are off\nthose of COMB, on average and at most.\n\n"
	     "| cache | pairs, curves | at most | 3 programs, product of pairs | at most | "
	     "corrected | at most | 4 programs, product | at most | corrected | at most |\n"
	     "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |");
	for (int s = 0; s < sizes; s++) {
		struct bench *b =
			bench_new(profile, programs, size_kb[s] * 1024.0 / REUSE_LINE, miss_cycles);
		struct off product, with_factor;

		printf("| %d KB |", size_kb[s]);
		for (int partners = 1; partners <= PARTNERS_MAX; partners++) {
			product = with_factor = (struct off){.count = 0};
			look_at_groups(b, partners, &product, &with_factor);
			if (partners > 1)
				print_off(&product);
			print_off(&with_factor);
		}
		putchar('\n');
		cache_forecast_free(b->forecast);
		free(b);
	}
}
