/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a document on how fair the charges of a simulated population are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/fairness.h"

#define RUNS 200
/* What is asked for, as shares of the solo price. */
#define MAX_DISTANCE 0.005
#define MAX_CHARGE 1.005

static const double lengths_s[] = {300, 1800};

static const uint64_t other_seeds[] = {1001, 20001, 300001, 4000001};

static const char *const names[] = {
	"state of practice", "oracle", "thesis' estimate", "ours (robust)"};

static const char introduction[] =
	"# Fairness of the charges\n"
	"\n"
	"Written by `tests/gen/fairness_table docs/results/fairness.md`, which gives the same "
	"numbers on "
	"every machine. The population\n"
	"is made by `tests/gen/fairness.c`: runs of 2 or 4 jobs with 1 to 5 phases, 3 to 10 % "
	"noise, caches "
	"that refill in 0.2 to 1 ms,\n"
	"wild windows and late wake-ups, P = 200 ms; a third of the runs without contention, the "
	"others with "
	"degradations of phases up\n"
	"to 0.4. Charges are shares of the solo price, what the job would have cost alone, as in "
	"figure 3.12 "
	"of the thesis; policy\n"
	"`thesis` for all but the state of practice, which is what Slurm charges by itself.\n"
	"\n"
	"- *distance*: mean of |charge - the oracle's charge|, in points of the solo price.\n"
	"- *overcharged*: jobs that pay more than 0.5 % above the solo price.\n"
	"- *highest*: what the worst off pays. In the thesis: 103.8 % by POPPA, 99.8 % by the "
	"oracle, with mean "
	"discounts of 7.4 % and\n"
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
		"highest "
		"%% | overcharged | no estimate |\n"
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

/* Whether what is said above hangs on which population it is. */
static int write_others(FILE *out)
{
	fprintf(out,
		"\n## Other populations, runs of %.0f s\n\n"
		"What is asked for is a distance of at most 0.5 points, and nobody above 100.5 "
		"%%.\n\n"
		"| first seed | jobs | distance, thesis | distance, ours | highest %%, thesis | "
		"highest %%, ours | both |\n"
		"| --: | --: | --: | --: | --: | --: | --- |\n",
		lengths_s[0]);
	for (size_t i = 0; i < sizeof(other_seeds) / sizeof(other_seeds[0]); i++) {
		struct fairness scheme[FAIRNESS_SCHEMES];
		const struct fairness *thesis = &scheme[FAIRNESS_THESIS];
		const struct fairness *ours = &scheme[FAIRNESS_ROBUST];

		if (make_population(other_seeds[i], lengths_s[0], scheme))
			return -1;
		fprintf(out, "| %llu | %d | %.2f | %.2f | %.2f | %.2f | %s |\n",
			(unsigned long long)other_seeds[i], ours->jobs,
			100 * thesis->distance / thesis->jobs, 100 * ours->distance / ours->jobs,
			100 * thesis->highest, 100 * ours->highest,
			ours->distance / ours->jobs <= MAX_DISTANCE && ours->highest <= MAX_CHARGE
				? "met"
				: "NOT MET");
	}
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
