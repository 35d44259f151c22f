/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes what prep/poppa finds in StateSaveLocation after a crash: the pair history, in which users
 * choose the names, trials, profiles, and the runs that wait for their price. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "accounting/settle/waiting_runs.h"
#include "common/fsio.h"
#include "fuzz.h"
#include "striping/history/imported_trial.h"
#include "striping/history/pairs_trials.h"
#include "striping/history/pairs.h"
#include "striping/reuse/profiles.h"

static void try_pairs(const char *path)
{
	struct pairs *p, *again;
	struct errmsg err = {""};
	char copy[64];
	double mean;
	int bad = 0;

	p = pairs_load(path, &bad, &err);
	MUST(p && bad >= 0);
	mean = pairs_mean(p);
	MUST(isfinite(mean));
	snprintf(copy, sizeof(copy), "/dev/shm/fuzz-state.%d", (int)getpid());
	MUST(!pairs_save(p, copy, &err));
	again = pairs_load(copy, &bad, &err);
	MUST(again && !bad);
	MUST(fabs(pairs_mean(again) - mean) <= 1e-6);
	unlink(copy);
	pairs_free(again);
	pairs_free(p);
}

/* Trials are read from what is no link. Whatever they are, what is expected with them is a number,
 * and the history cannot be saved. */
static void try_trials(const uint8_t *data, size_t size)
{
	struct imported_trials *t, *again;
	struct errmsg err = {""};
	struct pairs *p;
	double mean;
	char copy[64];
	int bad = 0;

	snprintf(copy, sizeof(copy), "/dev/shm/fuzz-trials.%d", (int)getpid());
	MUST(!fsio_write(copy, data, size, 0600, 0, &err));
	t = imported_trials_load(copy, &bad, &err);
	MUST(t && bad >= 0);
	p = pairs_load(copy, &bad, &err);
	MUST(p && !pairs_add_trials(p, t));
	mean = pairs_mean(p);
	MUST(mean >= -1 && mean <= 1);
	MUST(!imported_trials_count(t) || pairs_save(p, copy, &err));
	MUST(!imported_trials_save(t, copy, &err));
	again = imported_trials_load(copy, &bad, &err);
	MUST(again && !bad && imported_trials_count(again) == imported_trials_count(t));
	unlink(copy);
	imported_trials_free(again);
	imported_trials_free(t);
	pairs_free(p);
}

static void try_profiles(const char *path)
{
	struct profiles *p, *again;
	struct errmsg err = {""};
	char copy[64];
	int bad = 0;

	p = profiles_load(path, &bad, &err);
	MUST(p && bad >= 0);
	snprintf(copy, sizeof(copy), "/dev/shm/fuzz-profiles.%d", (int)getpid());
	MUST(!profiles_save(p, copy, &err));
	again = profiles_load(copy, &bad, &err);
	MUST(again && !bad && profiles_count(again) == profiles_count(p));
	unlink(copy);
	profiles_free(again);
	profiles_free(p);
}

static void try_waiting(const char *path)
{
	struct errmsg err = {""};
	int damaged = 0;
	json_t *runs = waiting_read(path, &damaged, &err), *run;
	size_t i;

	MUST(runs && damaged >= 0);
	json_array_foreach(runs, i, run) MUST(json_is_object(run));
	json_decref(runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);

	try_pairs(path);
	try_trials(data, size);
	try_profiles(path);
	try_waiting(path);
	return 0;
}
