/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the classes that imported trials mean, and adds what they have measured. */
#include "striping/history/pairs_trials.h"

#include "striping/history/job_class.h"

int pairs_add_trials(struct pairs *p, struct imported_trials *trials)
{
	struct imported_loss *loss;

	for (int i = 0; (loss = imported_trials_get(trials, i)); i++) {
		char job[PAIRS_CLASS_MAX], partner[PAIRS_CLASS_MAX];

		job_class_named(p, loss->job, job);
		job_class_named(p, loss->partner, partner);
		if (pairs_add_loss(p, job, partner, loss))
			return -1;
	}
	return 0;
}
