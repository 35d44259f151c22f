/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a document on how fair the charges of a simulated population are. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/fairness.h"

#define RUNS 200
/* What is asked for, as shares of the solo price. */
#define MAX_DISTANCE 0.005
#define MAX_CHARGE 1.005

static const double lengths_s[] = {300, 1800};

/* Of no meaning but that they are none of the first population's, nor of the tests'. */
static const uint64_t other_seeds[] = {1001, 20001, 300001, 4000001, 50000001, 600000001, 7001,
	80001, 900001, 10000001, 110000001, 12001, 130001, 1400001};

static const char *const names[] = {"state of practice", "oracle", "thesis' estimate",
	"ours (robust)", "ours, `estimate=upper`"};

static const char introduction[] =
	"# Fairness of the charges\n"
	"\n"
	"Written by `tests/gen/fairness_table docs/results/fairness.md`, which gives the same "
	"numbers on every machine. The population\n"
	"is made by `tests/gen/fairness.c`: runs of 2 or 4 jobs with 1 to 5 phases, 3 to 10 % "
	"noise, caches that refill in 0.2 to 1 ms,\n"
	"wild windows and late wake-ups, P = 200 ms; a third of the runs without contention, the "
	"others with degradations of phases up\n"
	"to 0.4. Charges are shares of the solo price, what the job would have cost alone, as in "
	"figure 3.12 of the thesis; policy\n"
	"`thesis` for all but the state of practice, which is what Slurm charges by itself.\n"
	"\n"
	"- *distance*: mean of |charge - the oracle's charge|, in points of the solo price.\n"
	"- *overcharged*: jobs that pay more than 0.5 % above the solo price.\n"
	"- *highest*: what the worst off pays. In the thesis: 103.8 % by POPPA, 99.8 % by the "
	"oracle, with mean discounts of 7.4 % and\n"
	"  11.5 %, which is a distance of the means of 4.1 points.\n";

static int make_population(
	uint64_t first_seed, double length_s, struct fairness scheme[FAIRNESS_SCHEMES])
{
	fairness_clear(scheme);
	for (int run = 0; run < RUNS; run++)
		if (fairness_add_run(first_seed + (uint64_t)run, length_s, scheme))
			return -1;
	return 0;
}

static int write_part(FILE *out, double length_s)
{
	struct fairness scheme[FAIRNESS_SCHEMES];

	if (make_population(1, length_s, scheme))
		return -1;
	fprintf(out,
		"\n## Runs of %.0f s: %d jobs\n\n"
		"| scheme | mean charge %% | mean discount %% | distance, points | lowest %% | "
		"highest %% | overcharged | no estimate |\n"
		"| --- | --: | --: | --: | --: | --: | --: | --: |\n",
		length_s, scheme[0].jobs);
	for (int i = 0; i < FAIRNESS_SCHEMES; i++) {
		const struct fairness *f = &scheme[i];

		fprintf(out, "| %s | %.2f | %.2f | %.2f | %.1f | %.2f | %d | %d |\n", names[i],
			100 * f->sum / f->jobs, 100 - 100 * f->sum / f->jobs,
			100 * f->distance / f->jobs, 100 * f->lowest, 100 * f->highest,
			f->overcharged, f->unknown);
	}
	return 0;
}

static void write_row(FILE *out, const char *name, const struct fairness *scheme)
{
	const struct fairness *thesis = &scheme[FAIRNESS_THESIS];
	const struct fairness *ours = &scheme[FAIRNESS_ROBUST];
	const struct fairness *upper = &scheme[FAIRNESS_UPPER];
	bool met = ours->distance / ours->jobs <= MAX_DISTANCE && ours->highest <= MAX_CHARGE;

	fprintf(out, "| %s | %d | %.2f | %.2f | %d | %.2f | %.2f | %d | %.2f | %.2f | %d | %s |\n",
		name, ours->jobs, 100 * thesis->distance / thesis->jobs, 100 * thesis->highest,
		thesis->overcharged, 100 * ours->distance / ours->jobs, 100 * ours->highest,
		ours->overcharged, 100 * upper->distance / upper->jobs, 100 * upper->highest,
		upper->overcharged, met ? "met" : "NOT MET");
}

/* Whether what is said above hangs on which population it is. */
static int write_others(FILE *out)
{
	struct fairness all[FAIRNESS_SCHEMES];

	fprintf(out,
		"\n## Other populations, runs of %.0f s\n\n"
		"What is asked for is a distance of at most 0.5 points, and nobody above 100.5 "
		"%%: columns *ours*. With the\n"
		"point estimate a job can pay too much by the noise of its own run; that is so "
		"where the true D is about 0.005 to 0.02,\n"
		"which 300 s of shutters cannot always tell from 0. With a smaller D no price is "
		"above 100.5 %%, since nobody pays more than raw.\n"
		"`estimate=upper` of `poppa_price` charges by the end of the interval that "
		"favours the user: hardly anybody pays\n"
		"more than the solo price, and everybody else less than the oracle's price.\n\n"
		"| first seed | jobs | thesis: distance | highest %% | overcharged | ours: "
		"distance | highest %% | overcharged | upper: distance | highest %% | overcharged "
		"| ours: both |\n"
		"| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |\n",
		lengths_s[0]);
	fairness_clear(all);
	for (size_t i = 0; i < sizeof(other_seeds) / sizeof(other_seeds[0]); i++) {
		struct fairness scheme[FAIRNESS_SCHEMES];
		char name[32];

		if (make_population(other_seeds[i], lengths_s[0], scheme))
			return -1;
		snprintf(name, sizeof(name), "%llu", (unsigned long long)other_seeds[i]);
		write_row(out, name, scheme);
		for (int k = 0; k < FAIRNESS_SCHEMES; k++)
			fairness_merge(&all[k], &scheme[k]);
	}
	write_row(out, "**all**", all);
	return 0;
}

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "we") : stdout;
	int rc = 0;

	if (argc > 2) {
		fprintf(stderr, "Usage: fairness_table [FILE]\n");
		return 2;
	}
	if (!out) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fputs(introduction, out);
	for (size_t i = 0; !rc && i < sizeof(lengths_s) / sizeof(lengths_s[0]); i++)
		rc = write_part(out, lengths_s[i]);
	if (!rc)
		rc = write_others(out);
	if (rc)
		fprintf(stderr, "out of memory\n");
	if (fclose(out) && !rc) {
		fprintf(stderr, "cannot write: %s\n", strerror(errno));
		rc = -1;
	}
	return rc ? 1 : 0;
}
