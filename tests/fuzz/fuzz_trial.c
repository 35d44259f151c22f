/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes what poppa pairs --import reads: the JSON of a trial, from a file or a pipe. */
#include <math.h>
#include <string.h>

#include "cli/partners/read_trial.h"
#include "fuzz.h"

/* What can be imported is in range, and of two programs of the trial. */
static void check(const struct trial *t)
{
	struct imported_trials *kept = imported_trials_new();

	MUST(kept && strlen(t->id) == TRIAL_ID_MAX - 1);
	MUST(t->programs >= 2 && t->programs <= TRIAL_PROGRAMS_MAX);
	MUST(t->losses <= TRIAL_LOSSES_MAX);
	for (int i = 0; i < t->losses; i++) {
		const struct trial_loss *l = &t->loss[i];
		struct imported_loss loss = {.job = "a",
			.partner = "b",
			.degradation = l->degradation,
			.low = l->low,
			.high = l->high};

		MUST(l->job >= 0 && l->job < t->programs && l->partner >= 0 &&
			l->partner < t->programs && l->job != l->partner);
		if (isnan(l->degradation) || isnan(l->low) || isnan(l->high))
			continue;
		strcpy(loss.trial, t->id);
		MUST(!imported_trials_add(kept, &loss, NULL));
		MUST(imported_loss_seconds(&loss) > 0 &&
			imported_loss_seconds(&loss) <= TRIAL_MOST_S);
	}
	imported_trials_free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trial t;
	struct errmsg err = {""};

	if (read_trial((const char *)data, size, &t, &err))
		MUST(*err.text);
	else
		check(&t);
	return 0;
}
