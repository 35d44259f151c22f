/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells Slurm of settlements, until all of it shows them. */
#include "plugins/compat/slurm_compat.h"

#include "common/units.h"

#include "slurmdbd_rows.h"
#include "settler_impl.h"
#include "write_back.h"

#define RESEND_MS 30000   /* slurmdbd has not written what it was sent: send it again */
#define FORGET_TIMEOUTS 5 /* settle time-outs until a run that nobody knows is dropped */
#define MAX_QUEUE 1000    /* messages for slurmdbd, beyond which it is told nothing more */

bool settler_know_sizes(struct settler *w, struct item *i)
{
	int rc;

	if (!i->facts->resized || i->facts->sizes_read)
		return true;
	if (database_rests(w, i))
		return false;
	rc = rows_read_sizes(i->facts);
	database_answered(w, rc);
	switch (rc) {
	case 1:
		return true;
	case 0:
		if (i->stage == WAIT_RECORDS && !settler_too_late(w, i)) {
			item_delay(i);
			return false;
		}
		i->facts->sizes_read = true;
		return true;
	default:
		item_delay(i);
		return false;
	}
}

/*
 * A slurmctld that is killed forgets what it has not saved, and slurmdbd may never have heard of
 * it. Such a run is in nobody's bill, so there is none to correct. But it may only be on its way to
 * slurmdbd still, which an outage has made long.
 */
static void nobody_knows(struct settler *w, struct item *i)
{
	int64_t timeout_ms = w->settings.settle_timeout_ns / NS_PER_MS, now = settler_now_ms();

	if (!i->unknown_ms)
		i->unknown_ms = now;
	if (now - i->unknown_ms < timeout_ms)
		return;
	if (!i->all_told) {
		i->all_told = !rows_queue();
		return;
	}
	if (now - i->unknown_ms < FORGET_TIMEOUTS * timeout_ms)
		return;
	info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld any more: its "
		"price is in the ledger only",
		i->facts->job_id, (long long)i->facts->start);
	i->done = true;
}

/*
 * slurmctld keeps what slurmdbd is to be told in a queue that has a limit, and beyond that throws
 * news of jobs away or, if it is told to, ends. Prices need no room there: they are kept here.
 */
static bool may_tell(const struct settler *w)
{
	return !w->database.backoff_ms && rows_queue() < MAX_QUEUE;
}

static struct write_back_result write_once(struct settler *w, struct item *i)
{
	struct settlement *s = &i->settlement;
	bool tell = may_tell(w);

	return i->change ? write_back_change(i->facts, s, w->usage, i->first, tell)
			 : write_back(i->facts, s, w->usage, i->first, tell);
}

/* A refund is made when what it gives back is safe; one that was made is not waited for. */
static bool charge_is_saved(struct settler *w, struct item *i)
{
	const struct facts *f = i->facts;
	struct errmsg err = {""};
	uint64_t charged;

	if (i->shown ||
		refunds_charged(w->usage->journal, f->job_id, f->restart, f->start, &charged) ||
		usage_has_saved(w->usage, i->ended_ms, &i->due_ms, &err))
		return true;
	if (*err.text)
		settler_complain(w, err.text);
	return false;
}

void settler_write(struct settler *w, struct item *i)
{
	struct write_back_result result;
	int row = 0;

	if (!settler_know_sizes(w, i) || !charge_is_saved(w, i))
		return;
	result = write_once(w, i);
	/* The record that had the settlement is gone; what slurmdbd has is what there is. */
	if (i->shown && result.needs_row) {
		i->done = true;
		return;
	}
	if (result.needs_row) {
		if (database_rests(w, i))
			return;
		row = rows_read(i->facts, i->all_told);
		database_answered(w, row);
	}
	if (row == 1)
		result = write_once(w, i);
	if (result.needs_row && row == 0) {
		nobody_knows(w, i);
	} else {
		i->unknown_ms = 0;
		i->all_told = false;
	}
	if (!result.done) {
		item_delay(i);
		return;
	}
	if (result.refunded)
		info(ME ": job %u: %s", i->facts->job_id, i->settlement.text);
	/* A second time would refund a run twice that has no record to tell. */
	i->first = false;
	i->commented = result.commented;
	i->told = result.told;
	i->sent_ms = settler_now_ms();
	item_enter(i, CHECK);
	i->due_ms += TICK_MS;
}

void settler_check(struct settler *w, struct item *i)
{
	int rc;

	if (database_rests(w, i))
		return;
	/* One of them asks whether slurmdbd is back. */
	if (!i->told && !w->database.backoff_ms) {
		item_delay(i);
		if (!may_tell(w))
			return;
		/* The row may be a later run's by now. */
		i->facts->row_known = false;
		item_enter(i, WRITE);
		return;
	}
	rc = rows_check(i->facts, &i->settlement, i->commented);
	database_answered(w, rc);
	switch (rc) {
	case 1:
		i->done = !i->change || settler_end_change(w, &i->settlement);
		if (!i->done)
			item_delay(i);
		return;
	case 0:
		if (i->told && settler_now_ms() - i->sent_ms >= RESEND_MS) {
			/* The row may be a later run's by now. */
			i->facts->row_known = false;
			item_enter(i, WRITE);
			return;
		}
		item_delay(i);
		return;
	default:
		item_delay(i);
	}
}

void settler_keep_refunds(struct settler *w)
{
	struct errmsg err = {""};
	struct refunds_run *run;
	size_t count = 0;

	if (usage_sync(w->usage, &err))
		settler_complain(w, err.text);
	if (w->changed || !usage_trim_due(w->usage))
		return;
	for (const struct item *i = w->items; i; i = i->next)
		count++;
	run = xcalloc(count + 1, sizeof(*run));
	count = 0;
	for (const struct item *i = w->items; i; i = i->next)
		run[count++] = (struct refunds_run){i->facts->job_id, i->facts->start};
	if (usage_trim(w->usage, run, count, &err))
		settler_complain(w, err.text);
	xfree(run);
}
