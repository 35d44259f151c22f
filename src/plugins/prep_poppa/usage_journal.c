/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has slurmctld save its usage before refunds, makes them, enters them in the journal, and makes
 * lost ones again. */
#include "plugins/compat/accounting_compat.h"

#include <limits.h>
#include <time.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"

#include "common/clock.h"

#include "controller.h"
#include "fairshare.h"
#include "usage_journal.h"

/* Saving takes Slurm's locks, so it may take at most a hundredth of the time. */
#define REST_FACTOR 100
#define MIN_REST_MS 1000
#define MAX_REST_MS 30000
#define TRIM_MS 60000

/* What fairshare_adjust() needs, and the lock without which slurmctld does not save its usage. */
static const slurmctld_lock_t of_slurmctld = {.conf = READ_LOCK, .part = READ_LOCK};
static const assoc_mgr_lock_t of_usage = {.assoc = WRITE_LOCK,
	.file = READ_LOCK,
	.qos = WRITE_LOCK,
	.tres = READ_LOCK,
	.user = READ_LOCK};

static void make_again(const struct refund *refund, bool assoc, bool qos, void *arg)
{
	for (int i = 0; i < refund->part_count; i++)
		fairshare_adjust(&refund->part[i], arg, assoc, qos);
}

/* The end of the last period for which running jobs were charged before the usage was saved. */
static int64_t charged_unix(const struct decay *clock, int64_t saved_unix)
{
	int64_t period = clock->period_s > 0 ? clock->period_s : 1;
	int64_t later = clock->last_unix - saved_unix;

	return later > 0 ? clock->last_unix - (later + period - 1) / period * period
			 : clock->last_unix;
}

static int make_lost_again(struct usage_journal *u)
{
	assoc_mgr_lock_t locks = of_usage;
	struct refunds_saved loaded, now;
	struct decay clock;
	int count;

	if (!controller_hold())
		return -1;
	fairshare_clock(&clock);
	u->base.saved_unix = refunds_saved_unix(u->refunds);
	u->base.charged_unix = charged_unix(&clock, u->base.saved_unix);
	if (!u->base.loaded_unix)
		u->base.loaded_unix = time(NULL);
	refunds_look(u->refunds, &loaded);
	lock_slurmctld(of_slurmctld);
	assoc_mgr_lock(&locks);
	count = refunds_lost(u->refunds, &loaded, make_again, &clock);
	assoc_mgr_unlock(&locks);
	unlock_slurmctld(of_slurmctld);
	refunds_look(u->refunds, &now);
	if (count && !refunds_same_usage(&loaded, &now) && dump_assoc_mgr_state())
		error(ME ": slurmctld cannot save its usage: should it be killed before it can, "
			 "refunds are lost");
	controller_release();
	u->followed = true;
	if (count)
		info(ME ": refunds made again that slurmctld had not saved when it was ended: %d",
			count);
	return 0;
}

int usage_journal_follow(struct usage_journal *u, struct errmsg *err)
{
	char folder[PATH_MAX];

	if (!u->refunds) {
		u->refunds = refunds_open(
			controller_state_path(NULL, folder, sizeof(folder)), clock_now_ms(), err);
		if (!u->refunds)
			return -1;
		if (refunds_damaged(u->refunds))
			error(ME ": %d lines of " REFUNDS_FILE
				 " cannot be read: refunds in them that slurmctld has not saved "
				 "are not made again; they are kept as " REFUNDS_FILE ".damaged",
				refunds_damaged(u->refunds));
	}
	return u->followed ? 0 : make_lost_again(u);
}

void usage_journal_close(struct usage_journal *u)
{
	refunds_close(u->refunds);
	u->refunds = NULL;
}

void usage_journal_forget(struct usage_journal *u)
{
	usage_journal_close(u);
	*u = (struct usage_journal){.base.loaded_unix = time(NULL)};
}

bool usage_journal_has_saved(
	struct usage_journal *u, int64_t since_ms, int64_t *due_ms, struct errmsg *err)
{
	int64_t began, rest;
	int rc;

	if (since_ms < u->saved_ms)
		return true;
	*due_ms = u->next_ms;
	if (clock_now_ms() < u->next_ms)
		return false;
	*due_ms = clock_now_ms() + MIN_REST_MS;
	if (!controller_hold())
		return false;
	/* slurmctld holds locks while it writes: what waits for a file system that stands still is
	 * this, and not slurmctld. */
	if (refunds_probe(u->refunds, err)) {
		controller_release();
		return false;
	}
	began = clock_now_ms();
	rc = dump_assoc_mgr_state();
	controller_release();
	rest = REST_FACTOR * (clock_now_ms() - began);
	rest = MIN(MAX(rest, MIN_REST_MS), MAX_REST_MS);
	*due_ms = u->next_ms = clock_now_ms() + rest;
	if (rc) {
		errmsg_set(err, "slurmctld cannot save its usage: prices wait until it can");
		return false;
	}
	u->saved_ms = began;
	return since_ms < u->saved_ms;
}

void usage_journal_keep(struct usage_journal *u, const struct refund *refund)
{
	refunds_keep(
		u->refunds, refund->job_id, refund->restart, refund->start_unix, clock_now_ms());
}

static void enter(struct usage_journal *u, const struct refund *refund)
{
	struct refunds_saved now;
	struct errmsg err = {""};

	refunds_look(u->refunds, &now);
	u->behind = true;
	if (refunds_enter(u->refunds, refund, &now, clock_now_ms(), &err))
		error(ME ": %s: should slurmctld be killed now, the refund of job %u is made twice "
			 "or not at all",
			err.text, refund->job_id);
}

void usage_journal_refund(struct usage_journal *u, struct refund *refund, const struct decay *clock)
{
	assoc_mgr_lock_t locks = of_usage;

	for (int i = 0; i < refund->part_count; i++)
		refund->part[i].end_unix =
			refunds_charged_until(&u->base, refund->part[i].end_unix);
	lock_slurmctld(of_slurmctld);
	assoc_mgr_lock(&locks);
	for (int i = 0; i < refund->part_count; i++)
		fairshare_adjust(&refund->part[i], clock, true, true);
	compat_unlock_but_file(&locks);
	unlock_slurmctld(of_slurmctld);
	enter(u, refund);
	assoc_mgr_unlock(&locks);
}

int usage_journal_sync(struct usage_journal *u, struct errmsg *err)
{
	if (!u->behind)
		return 0;
	u->behind = false;
	return refunds_sync(u->refunds, err);
}

bool usage_journal_trim_due(const struct usage_journal *u)
{
	return clock_now_ms() >= u->trim_ms;
}

int usage_journal_trim(
	struct usage_journal *u, struct refunds_run *waiting, size_t count, struct errmsg *err)
{
	u->trim_ms = clock_now_ms() + TRIM_MS;
	return refunds_trim(u->refunds, clock_now_ms(), waiting, count, err);
}
