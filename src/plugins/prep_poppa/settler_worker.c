/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides what is next for each run that waits, and when the files of all of them are written. */
#include "plugins/compat/slurm_compat.h"

#include <string.h>

#include "common/clock.h"

#include "addresses.h"
#include "arrivals.h"
#include "controller.h"
#include "find_runs.h"
#include "price_to_ledger.h"
#include "price_to_slurm.h"
#include "settler_worker.h"
#include "slurmdbd_rows.h"
#include "time_limits.h"

#define SCAN_MS 30000 /* between looks for jobs that were left unsettled */

/* Lives as long as slurmctld, which may stop the plugin and start it again. */
static struct usage_journal of_slurmctld;

/*
 * slurmctld's record has the last size of a resized job only: asks slurmdbd for the earlier ones.
 * RUN_NEXT: they are known, or slurmdbd never hears of them and the run is settled without them.
 */
static enum outcome look_for_earlier_sizes(struct settler *w, struct run *run)
{
	struct run_snapshot *snapshot = run->snapshot;
	int rc;

	if (!run_snapshot_resized(snapshot) || snapshot->sizes_known)
		return RUN_NEXT;
	if (settler_database_rests(w, run))
		return RUN_LATER;
	rc = slurmdbd_rows_read_sizes(snapshot);
	settler_database_answered(w, rc);
	if (rc < 0 || (rc == 0 && run->state == RUN_AWAITS_RECORDS && !settler_too_late(w, run)))
		return RUN_AGAIN;
	snapshot->sizes_known = true;
	return RUN_NEXT;
}

static enum outcome check_price(struct settler *w, struct run *run)
{
	enum outcome outcome = price_to_slurm_check(w, run);

	if (outcome == RUN_NEXT && run->kind == RUN_REPRICED &&
		!find_runs_end_change(w, &run->settlement))
		return RUN_AGAIN;
	return outcome;
}

/* The state machine: the one place that takes a run from state to state once it has one. */
static void advance(struct settler *w, struct run *run)
{
	enum outcome outcome = RUN_LATER;

	/* find_runs_ended() has looked at all of them at once. */
	if (run->state == RUN_ON_NODES && run->ended_ms)
		run_enter(run, RUN_AWAITS_RECORDS);
	switch (run->state) {
	case RUN_AWAITS_RECORDS:
		outcome = w->configured ? look_for_earlier_sizes(w, run) : RUN_AGAIN;
		if (outcome == RUN_NEXT)
			outcome = price_to_ledger(w, run);
		break;
	case RUN_PRICED:
		outcome = look_for_earlier_sizes(w, run);
		if (outcome == RUN_NEXT)
			outcome = price_to_slurm_write(w, run);
		break;
	case RUN_WRITTEN:
		outcome = check_price(w, run);
		break;
	case RUN_ON_NODES:
	case RUN_DONE:
		break;
	}
	switch (outcome) {
	case RUN_AGAIN:
		run_delay(run);
		break;
	case RUN_LATER:
		break;
	case RUN_NEXT:
		run_enter(run, run->state + 1);
		/* slurmdbd takes a moment. */
		if (run->state == RUN_WRITTEN)
			run->due_ms += TICK_MS;
		break;
	case RUN_BACK:
		run_enter(run, run->state - 1);
		break;
	case RUN_OVER:
		run_enter(run, RUN_DONE);
		break;
	}
}

/*
 * A run may end twice: a slurmctld that is killed after the first end may have forgotten it, and
 * then counts on until it misses the job. Until the run has a price, the later end counts.
 */
static void end_again(struct settler *w, struct run *run, struct run_snapshot *snapshot)
{
	if (run->state >= RUN_PRICED || run_has_price(run)) {
		run_snapshot_free(snapshot);
		return;
	}
	run_snapshot_free(run->snapshot);
	run->snapshot = snapshot;
	run->state = RUN_ON_NODES;
	run->ended_ms = 0;
	run_store_touch(&w->store, run);
}

static void take_arrived(struct settler *w)
{
	struct run *list = arrivals_take(), *next, *known;

	for (; list; list = next) {
		next = list->next;
		known = run_store_find(&w->store, list->snapshot->job_id, list->snapshot->start);
		if (known) {
			end_again(w, known, list->snapshot);
			xfree(list);
		} else {
			run_store_add(&w->store, list);
		}
	}
}

static void save(struct settler *w)
{
	struct errmsg err = {""};

	if (!w->store.changed)
		return;
	if (run_store_save(&w->store, &err))
		settler_complain(w, err.text);
	else
		arrivals_drop_file();
}

static void save_when_due(struct settler *w)
{
	if (clock_now_ms() >= w->store.save_ms)
		save(w);
	arrivals_let_end(!w->store.changed, false);
}

/* slurmctld ends, and waits for this if anything has arrived. */
static void save_last(struct settler *w)
{
	if (!arrivals_status().holding)
		return;
	arrivals_load(&w->store);
	take_arrived(w);
	save(w);
	arrivals_let_end(!w->store.changed, true);
}

/*
 * Another controller is in charge: what this one knows grows stale, and the state file belongs to
 * the other. Once this one is in charge again, it begins like a new process.
 */
static void stand_by(struct settler *w)
{
	arrivals_unload(&w->store);
	run_store_clear(&w->store);
	usage_journal_forget(w->usage);
	pairs_batch_forget(&w->pairs);
	w->scanned = false;
	w->scan_ms = 0;
}

/* Brings refunds to the disk, and forgets those that nobody can ask for again. */
static void keep_refunds(struct settler *w)
{
	struct errmsg err = {""};
	struct refunds_run *run;
	size_t count = 0;

	if (usage_journal_sync(w->usage, &err))
		settler_complain(w, err.text);
	if (w->store.changed || !usage_journal_trim_due(w->usage))
		return;
	for (const struct run *r = w->store.list; r; r = r->next)
		count++;
	run = xcalloc(count + 1, sizeof(*run));
	count = 0;
	for (const struct run *r = w->store.list; r; r = r->next)
		run[count++] = (struct refunds_run){r->snapshot->job_id, r->snapshot->start};
	if (usage_journal_trim(w->usage, run, count, &err))
		settler_complain(w, err.text);
	xfree(run);
}

void settler_worker_round(struct settler *w, bool (*stopped)(const void *arg), const void *arg)
{
	int64_t now = clock_now_ms();
	struct errmsg err = {""};

	if (!controller_serves()) {
		save_last(w);
		stand_by(w);
		return;
	}
	if (usage_journal_follow(w->usage, &err)) {
		if (*err.text)
			settler_complain(w, err.text);
		return;
	}
	arrivals_load(&w->store);
	take_arrived(w);
	save_when_due(w);
	settler_follow_settings(w);
	if (now >= w->scan_ms) {
		find_runs_unsettled(w);
		w->scan_ms = w->scanned ? now + SCAN_MS : now + TICK_MS;
	}
	if (!w->scanned)
		return;
	find_runs_ended(w, now);
	find_runs_changed(w, now);
	for (struct run *run = w->store.list; run && !stopped(arg) && controller_serves();
		run = run->next)
		if (run->due_ms <= clock_now_ms())
			advance(w, run);
	run_store_drop_done(&w->store);
	if (!stopped(arg) && controller_serves())
		time_limits_pass(w, stopped, arg);
	if (controller_serves()) {
		save_when_due(w);
		price_to_ledger_plain_runs(w);
		price_to_ledger_save_pairs(w, false);
	}
	keep_refunds(w);
}

int64_t settler_worker_next_ms(const struct settler *w)
{
	int64_t now = clock_now_ms(), next = now + MAX_TICK_MS;

	if (!w->scanned)
		return now + ROUND_MS;
	next = MIN(next, w->scan_ms);
	if (w->configured)
		next = MIN(next, MIN(find_runs_changed_due_ms(w), time_limits_due_ms(w)));
	if (w->store.changed)
		next = MIN(next, w->store.save_ms);
	if (w->pairs.pairs)
		next = MIN(next, w->pairs_ms);
	for (const struct run *run = w->store.list; run; run = run->next)
		next = MIN(next, run->due_ms);
	return MAX(next, now + ROUND_MS);
}

void settler_worker_begin(struct settler *w, const struct nodeconf *host)
{
	struct errmsg err = {""};

	w->conf = *host;
	w->configured = false;
	if (w->usage)
		return;
	w->usage = &of_slurmctld;
	settings_defaults(&w->settings);
	price_rules_parse(&w->settings, &w->rules, &err);
}

void settler_worker_end(struct settler *w)
{
	if (w->store.loaded && controller_hold()) {
		take_arrived(w);
		save(w);
		price_to_ledger_save_pairs(w, true);
		if (!w->store.changed)
			arrivals_drop_file();
		controller_release();
	}
	arrivals_let_end(!w->store.changed, true);
	arrivals_unload(&w->store);
	run_store_clear(&w->store);
	pairs_batch_forget(&w->pairs);
	addresses_forget();
	usage_journal_close(&of_slurmctld);
	xfree(w->settings_text);
	memset(w, 0, sizeof(*w));
}
