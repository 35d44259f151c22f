/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeats figures 12 to 16 of TR-17-04 by simulation. tests/sim/balance-set calls it. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "sim/balance/chip.h"
#include "sim/balance/overlap.h"
#include "sim/balance/program.h"
#include "striping/reuse/balance_set.h"
#include "striping/reuse/forecast.h"
#include "striping/reuse/sampler.h"

#define GROUPS 70 /* of 4 out of 8 */
#define SIZES 4
#define METHODS 3
#define CHOICES 2000 /* of groups, under each policy */
#define PROFILED 4000000
#define CYCLES 3000000

static const int size_kb[SIZES] = {48, 96, 192, 384};

enum schedule { SCHEDULE_DEFAULT, SCHEDULE_PERF, SCHEDULE_FAIR, SCHEDULES };

/* One L2 cache: what was expected of each group and what came. */
struct table {
	double expected[METHODS][1 << PROGRAMS]; /* by members */
	struct chip_result came[1 << PROGRAMS];
	double threshold;
	double miss_rate[SCHEDULES], ipc[SCHEDULES], share[SCHEDULES][PROGRAMS];
};

static struct reuse_histogram profile[PROGRAMS];
static uint64_t seed = 1;

static void make_profiles(void)
{
	for (int i = 0; i < PROGRAMS; i++) {
		struct reuse_sampler *s = reuse_sampler_new(seed);
		struct program p;

		if (!s)
			abort();
		program_start(&p, i, seed);
		for (int n = 0; n < PROFILED; n++)
			reuse_sampler_add(s, program_reference(&p));
		reuse_sampler_result(s, (uint64_t)(PROFILED / p.kind->rate), &profile[i]);
		reuse_sampler_free(s);
	}
}

/* Misses of the L2 cache per reference that it gets. */
static double expect(const int *member, int size_bytes, enum miss_rate_method method)
{
	const struct forecast_machine machine = {.hit_cycles = L1_CYCLES - 1,
		.levels = 2,
		.level = {{L1_BYTES / REUSE_LINE, L2_CYCLES},
			{(double)size_bytes / REUSE_LINE, MEMORY_CYCLES}}};
	struct miss_rate_member m[CONTEXTS];
	double miss_rate[FORECAST_LEVELS_MAX];

	for (int i = 0; i < CONTEXTS; i++)
		m[i].h = &profile[member[i]];
	forecast_group(&machine, m, CONTEXTS, method, miss_rate);
	return miss_rate[0] > 0 ? miss_rate[1] / miss_rate[0] : 0;
}

static double came(const struct chip_result *r)
{
	return r->l1_misses ? (double)r->l2_misses / (double)r->l1_misses : 0;
}

static void members_of(uint32_t members, int member[CONTEXTS])
{
	for (int p = 0, i = 0; p < PROGRAMS; p++)
		if (members >> p & 1)
			member[i++] = p;
}

/* What of a table the scheduler knows. */
static double expected_rate(const int *member, int size, void *arg)
{
	const struct table *t = arg;
	uint32_t members = 0;

	for (int i = 0; i < size; i++)
		members |= UINT32_C(1) << member[i];
	return t->expected[MISS_COMB][members];
}

static struct balance_set *groups_of(struct table *t)
{
	struct errmsg err;
	struct balance_set *set = balance_set_new(PROGRAMS, CONTEXTS, expected_rate, t, &err);

	if (!set) {
		fprintf(stderr, "balance: %s\n", err.text);
		exit(1);
	}
	return set;
}

/* Each chosen group runs for the same time. The default scheduler chooses all groups as often. */
static void play(struct table *t, enum schedule schedule)
{
	struct balance_set *set = groups_of(t);
	uint64_t instructions = 0, cycles = 0, gets = 0, misses = 0;
	int chosen[PROGRAMS] = {0};

	t->threshold = balance_set_threshold(set);
	for (int i = 0; i < (schedule == SCHEDULE_DEFAULT ? GROUPS : CHOICES); i++) {
		const struct balance_group *g =
			schedule == SCHEDULE_DEFAULT
				? balance_set_group(set, i)
				: balance_set_next(set,
					  schedule == SCHEDULE_PERF ? BALANCE_PERF : BALANCE_FAIR,
					  t->threshold);
		const struct chip_result *r = &t->came[g->members];

		instructions += r->instructions;
		cycles += r->cycles;
		gets += r->l1_misses;
		misses += r->l2_misses;
		for (int p = 0; p < PROGRAMS; p++)
			chosen[p] += g->members >> p & 1;
	}
	balance_set_free(set);
	t->miss_rate[schedule] = (double)misses / (double)gets;
	t->ipc[schedule] = (double)instructions / (double)cycles;
	for (int p = 0; p < PROGRAMS; p++)
		t->share[schedule][p] = (double)chosen[p] /
					(schedule == SCHEDULE_DEFAULT ? GROUPS : CHOICES) /
					CONTEXTS;
}

static void fill(struct table *t, int size_bytes, enum replacement replacement)
{
	for (uint32_t members = 0; members < 1 << PROGRAMS; members++) {
		int member[CONTEXTS];

		if (__builtin_popcount(members) != CONTEXTS)
			continue;
		members_of(members, member);
		for (int m = 0; m < METHODS; m++)
			t->expected[m][members] =
				expect(member, size_bytes, (enum miss_rate_method)m);
		chip_run(
			member, (uint64_t)size_bytes, replacement, CYCLES, seed, &t->came[members]);
	}
	for (int s = 0; s < SCHEDULES; s++)
		play(t, (enum schedule)s);
}

/* By which factor a method is off, on average over the groups; *mean: what it expects. */
static double off_by(const struct table *t, int method, double *mean)
{
	double sum = 0;

	*mean = 0;
	for (uint32_t members = 0; members < 1 << PROGRAMS; members++) {
		double e = t->expected[method][members], c = came(&t->came[members]);

		if (__builtin_popcount(members) != CONTEXTS)
			continue;
		sum += fmax(e / c, c / e) / GROUPS;
		*mean += e / GROUPS;
	}
	return sum;
}

static double mean_came(const struct table *t)
{
	double sum = 0;

	for (uint32_t members = 0; members < 1 << PROGRAMS; members++)
		if (__builtin_popcount(members) == CONTEXTS)
			sum += came(&t->came[members]) / GROUPS;
	return sum;
}

/* Standard deviation from an equal share, in points of per cent. */
static double unfairness(const double *share)
{
	double sum = 0;

	for (int p = 0; p < PROGRAMS; p++)
		sum += (share[p] - 1.0 / PROGRAMS) * (share[p] - 1.0 / PROGRAMS);
	return 100 * sqrt(sum / PROGRAMS);
}

static const char *const replacement_name[] = {
	[REPLACE_OLDEST] = "the oldest", [REPLACE_RANDOM] = "a random one"};
static struct table tables[2][SIZES];

static void print_programs(void)
{
	puts("| program | what it does | references per instruction | misses of its own: 8 KB | 48 "
	     "KB | 96 KB | 192 KB | 384 KB |\n"
	     "| --- | --- | --: | --: | --: | --: | --: | --: |");
	for (int i = 0; i < PROGRAMS; i++) {
		printf("| %s | %s | %.2f | %.1f %% |", program_kinds[i].name, program_kinds[i].what,
			program_kinds[i].rate,
			100 * miss_rate_alone(&profile[i], (double)L1_BYTES / REUSE_LINE));
		for (int s = 0; s < SIZES; s++)
			printf(" %.1f %% |", 100 * miss_rate_alone(&profile[i],
							   size_kb[s] * 1024.0 / REUSE_LINE));
		putchar('\n');
	}
}

static void print_expectations(void)
{
	double sum[2][METHODS] = {{0}};

	puts("\n## Expected against simulated miss rates (figure 12)\n\n"
	     "Of the L2 cache, means over all 70 groups of four; *off by* is the mean of the factors "
	     "between expected and\nsimulated, whichever is greater above. The TR has 1.06 for both "
	     "of its methods.\n\n"
	     "| L2 cache | gives up | simulated | COMB | off by | COMB, n - 1 | off by | AVG | off by "
	     "|\n"
	     "| --: | --- | --: | --: | --: | --: | --: | --: | --: |");
	for (int r = REPLACE_RANDOM; r >= REPLACE_OLDEST; r--)
		for (int s = 0; s < SIZES; s++) {
			printf("| %d KB | %s | %.1f %% |", size_kb[s], replacement_name[r],
				100 * mean_came(&tables[r][s]));
			for (int m = 0; m < METHODS; m++) {
				double mean, off = off_by(&tables[r][s], m, &mean);

				printf(" %.1f %% | %.3f |", 100 * mean, off);
				sum[r][m] += off / SIZES;
			}
			putchar('\n');
		}
	for (int r = REPLACE_RANDOM; r >= REPLACE_OLDEST; r--) {
		printf("| **all** | %s | |", replacement_name[r]);
		for (int m = 0; m < METHODS; m++)
			printf(" | **%.3f** |", sum[r][m]);
		putchar('\n');
	}
}

static void print_policies(void)
{
	puts("\n## Policies (figures 13, 14 and 15)\n\n"
	     "The threshold is the least with which each program is in an admissible group. Misses "
	     "are of the L2 cache, per\nreference that it gets; gains are against the default "
	     "scheduler. *Unfairness* is the standard deviation from an equal\nshare of the time, "
	     "12.5 % for each program.\n\n"
	     "| L2 cache | gives up | threshold | misses: default | PERF | FAIR | IPC: default | PERF "
	     "| FAIR | unfairness: PERF | FAIR |\n"
	     "| --: | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |");
	for (int r = REPLACE_RANDOM; r >= REPLACE_OLDEST; r--)
		for (int s = 0; s < SIZES; s++) {
			const struct table *t = &tables[r][s];

			printf("| %d KB | %s | %.1f %% | %.1f %% |", size_kb[s],
				replacement_name[r], 100 * t->threshold,
				100 * t->miss_rate[SCHEDULE_DEFAULT]);
			for (int p = SCHEDULE_PERF; p < SCHEDULES; p++)
				printf(" %.1f %% (%+.0f %%) |", 100 * t->miss_rate[p],
					100 * (t->miss_rate[p] / t->miss_rate[SCHEDULE_DEFAULT] -
						      1));
			printf(" %.3f |", t->ipc[SCHEDULE_DEFAULT]);
			for (int p = SCHEDULE_PERF; p < SCHEDULES; p++)
				printf(" %.3f (%+.0f %%) |", t->ipc[p],
					100 * (t->ipc[p] / t->ipc[SCHEDULE_DEFAULT] - 1));
			printf(" %.1f | %.1f |\n", unfairness(t->share[SCHEDULE_PERF]),
				unfairness(t->share[SCHEDULE_FAIR]));
		}
}

/* The sizes are the TR's: best and worst fairness there. */
static void print_shares(void)
{
	printf("\n## Shares of the time (figure 16)\n\n"
	       "Where the L2 cache gives up a random line.\n\n| policy, L2 cache |");
	for (int p = 0; p < PROGRAMS; p++)
		printf(" %s |", program_kinds[p].name);
	printf("\n| --- |");
	for (int p = 0; p < PROGRAMS; p++)
		printf(" --: |");
	putchar('\n');
	for (int s = 0; s < SIZES; s += 2)
		for (int policy = SCHEDULE_PERF; policy < SCHEDULES; policy++) {
			printf("| %s, %d KB |", policy == SCHEDULE_PERF ? "PERF" : "FAIR",
				size_kb[s]);
			for (int p = 0; p < PROGRAMS; p++)
				printf(" %.1f %% |",
					100 * tables[REPLACE_RANDOM][s].share[policy][p]);
			putchar('\n');
		}
}

/* Columns: size, simulated, COMB, AVG, then misses and IPC under each policy. Per cent but for IPC.
 */
static int write_chart(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -1;
	for (int s = 0; s < SIZES; s++) {
		const struct table *t = &tables[REPLACE_RANDOM][s];
		double comb, avg;

		off_by(t, MISS_COMB, &comb);
		off_by(t, MISS_AVG, &avg);
		fprintf(f, "%d %.2f %.2f %.2f", size_kb[s], 100 * mean_came(t), 100 * comb,
			100 * avg);
		for (int p = 0; p < SCHEDULES; p++)
			fprintf(f, " %.2f", 100 * t->miss_rate[p]);
		for (int p = 0; p < SCHEDULES; p++)
			fprintf(f, " %.4f", t->ipc[p]);
		fputc('\n', f);
	}
	return fclose(f);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seed", required_argument, NULL, 's'},
		{"chart", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
	const char *chart = NULL;
	struct errmsg err;
	int64_t number;
	int key;

	while ((key = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (key == 'c') {
			chart = optarg;
		} else if (key != 's') {
			return 2;
		} else if (units_parse_int(optarg, 0, INT64_MAX, &number, &err)) {
			fprintf(stderr, "balance: --seed: %s\n", err.text);
			return 2;
		} else {
			seed = (uint64_t)number;
		}
	}
	make_profiles();
	for (int r = 0; r < 2; r++)
		for (int s = 0; s < SIZES; s++) {
			fill(&tables[r][s], size_kb[s] * 1024, (enum replacement)r);
			fprintf(stderr, "balance: %d of %d caches\n", r * SIZES + s + 1, 2 * SIZES);
		}
	print_programs();
	print_expectations();
	print_policies();
	print_shares();
	overlap_print(profile, PROGRAMS, size_kb, SIZES, MEMORY_CYCLES);
	if (chart && write_chart(chart)) {
		fprintf(stderr, "balance: cannot write %s: %s\n", chart, strerror(errno));
		return 1;
	}
	return 0;
}
