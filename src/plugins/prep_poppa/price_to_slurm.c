/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells Slurm of prices, until all of it shows them. */
#include "plugins/compat/slurm_compat.h"

#include "common/clock.h"
#include "common/units.h"

#include "controller.h"
#include "price_to_slurm.h"
#include "slurmdbd_rows.h"
#include "write_back.h"

#define RESEND_MS 30000   /* slurmdbd has not written what it was sent: send it again */
#define FORGET_TIMEOUTS 5 /* settle time-outs until a run that nobody knows is dropped */
#define MAX_QUEUE 1000    /* messages for slurmdbd, beyond which it is told nothing more */

/*
 * A slurmctld that is killed forgets what it has not saved, and slurmdbd may never have heard of
 * that. Such a run is in nobody's bill, so there is nothing to correct. But news of it may still be
 * on the way to slurmdbd, which takes long after an outage: so this waits before it gives up.
 */
static enum outcome nobody_knows(const struct settler *w, struct run *run)
{
	int64_t timeout_ms = w->settings.settle_timeout_ns / NS_PER_MS, now = clock_now_ms();

	if (!run->unknown_ms)
		run->unknown_ms = now;
	if (now - run->unknown_ms < timeout_ms)
		return RUN_AGAIN;
	if (!run->all_told) {
		run->all_told = !slurmdbd_rows_queue();
		return RUN_AGAIN;
	}
	if (now - run->unknown_ms < FORGET_TIMEOUTS * timeout_ms)
		return RUN_AGAIN;
	info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld any more: its "
		"price is in the ledger only",
		run->snapshot->job_id, (long long)run->snapshot->start);
	return RUN_OVER;
}

/*
 * slurmctld has a queue of messages for slurmdbd. Beyond a limit slurmctld throws news of jobs away
 * or, if configured so, ends. So prices are kept here while the queue is long.
 */
static bool may_tell(const struct settler *w)
{
	return !w->database.backoff_ms && slurmdbd_rows_queue() < MAX_QUEUE;
}

static struct write_back_result write_once(struct settler *w, struct run *run)
{
	const struct write_back_order order = {.change = run->kind == RUN_REPRICED,
		.never_written = run->never_written,
		.tell = may_tell(w)};

	return write_back(run->snapshot, &run->settlement, w->usage, order);
}

/*
 * A refund waits until the charge that it gives back is saved: else a kill could undo the charge
 * and keep the refund. A refund that was made before is not waited for.
 */
static bool charge_is_saved(struct settler *w, struct run *run)
{
	const struct run_snapshot *snapshot = run->snapshot;
	struct errmsg err = {""};
	uint64_t charged;

	if (run->kind == RUN_SHOWN ||
		refunds_charged(w->usage->refunds, snapshot->job_id, snapshot->restart,
			snapshot->start, &charged) ||
		usage_journal_has_saved(w->usage, run->ended_ms, &run->due_ms, &err))
		return true;
	if (*err.text)
		settler_complain(w, err.text);
	return false;
}

enum outcome price_to_slurm_write(struct settler *w, struct run *run)
{
	struct write_back_result result;
	enum outcome outcome = RUN_AGAIN;
	int row = 0;

	if (!charge_is_saved(w, run))
		return RUN_LATER;
	result = write_once(w, run);
	if (result.needs_row) {
		/* The record that showed the price is gone; what slurmdbd has is what there is. */
		if (run->kind == RUN_SHOWN)
			return RUN_OVER;
		if (settler_database_rests(w, run))
			return RUN_LATER;
		row = slurmdbd_rows_read(run->snapshot, run->all_told);
		settler_database_answered(w, row);
		if (row == 1)
			result = write_once(w, run);
	}
	if (result.needs_row && row == 0) {
		outcome = nobody_knows(w, run);
	} else {
		run->unknown_ms = 0;
		run->all_told = false;
	}
	if (!result.done)
		return outcome;
	if (result.refunded)
		info(ME ": job %u: %s", run->snapshot->job_id, run->settlement.text);
	run->never_written = false;
	run->commented = result.commented;
	run->told_ms = result.told ? clock_now_ms() : 0;
	return RUN_NEXT;
}

/* The row is looked up again, since the job's next run may get a row in the meantime. */
static enum outcome write_again(struct run *run)
{
	run->snapshot->row.known = false;
	return RUN_BACK;
}

enum outcome price_to_slurm_check(struct settler *w, struct run *run)
{
	int rc;

	if (settler_database_rests(w, run))
		return RUN_LATER;
	/* In an outage one of the runs asks whether slurmdbd is back, told or not. */
	if (!run->told_ms && !w->database.backoff_ms)
		return may_tell(w) ? write_again(run) : RUN_AGAIN;
	rc = slurmdbd_rows_check(run->snapshot, &run->settlement, run->commented);
	settler_database_answered(w, rc);
	if (rc == 1)
		return RUN_NEXT;
	if (rc == 0 && run->told_ms && clock_now_ms() - run->told_ms >= RESEND_MS)
		return write_again(run);
	return RUN_AGAIN;
}
