/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the trials that were imported, and as how much each loss counts. */
#include "cli/partners/show_trials.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/printable.h"
#include "striping/history/job_class.h"

#define SECONDS_A_MINUTE 60.0

static bool is_of(const struct known_pairs *known, const struct imported_loss *l, const char *class)
{
	char job[PAIRS_CLASS_MAX];

	if (!known_pairs_shows(known, l->job) || !known_pairs_shows(known, l->partner))
		return false;
	job_class_named(known->pairs, l->job, job);
	return !class || !strcmp(job, class);
}

static void print_loss(const struct imported_loss *l, const char *job, const char *partner)
{
	const time_t imported = (time_t)l->imported;
	char when[32] = "-";
	struct tm tm;

	if (localtime_r(&imported, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	printf("%-16s %16s %-24s %-24s %7.1f%% %6.1f..%6.1f%% ", l->trial, when, job, partner,
		100 * l->degradation, 100 * l->low, 100 * l->high);
	if (l->weight > 0)
		printf("%7.1f\n", l->weight / SECONDS_A_MINUTE);
	else
		printf("%7s\n", "-");
}

static void show_loss(const struct imported_loss *l, json_t *list)
{
	char job[PAIRS_CLASS_MAX], partner[PAIRS_CLASS_MAX];

	plain_text(strcpy(job, l->job));
	plain_text(strcpy(partner, l->partner));
	if (!list) {
		print_loss(l, job, partner);
		return;
	}
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s, s:f, s:[f, f], s:I, s:f}", "trial", l->trial, "class",
			job, "beside", partner, "measured", l->degradation, "interval", l->low,
			l->high, "imported", (json_int_t)l->imported, "seconds", l->weight));
}

void show_trials(const struct known_pairs *known, const char *class, json_t *list)
{
	const struct imported_loss *l;
	int lines = 0;

	for (int i = 0; known->trials && (l = imported_trials_get(known->trials, i)); i++) {
		if (!is_of(known, l, class))
			continue;
		if (!list && !lines++)
			printf("\n%-16s %16s %-24s %-24s %8s %15s %7s\n", "TRIAL", "IMPORTED",
				"CLASS", "BESIDE", "MEASURED", "95%", "MINUTES");
		show_loss(l, list);
	}
}
