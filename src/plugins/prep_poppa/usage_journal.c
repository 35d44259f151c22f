/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has slurmctld save its usage before refunds, journals them, and makes lost ones again. */
#include "plugins/compat/slurm_compat.h"

#include <limits.h>
#include <time.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"

#include "fairshare.h"
#include "serving.h"
#include "settler_impl.h"
#include "usage_journal.h"

/* Saving takes Slurm's locks: at most a hundredth of the time. */
#define REST_FACTOR 100
#define MIN_REST_MS 1000
#define MAX_REST_MS 30000
#define TRIM_MS 60000

/* Of what was charged for the size, what is in the usage. */
static struct refund_part charged_part(const struct usage *u, const struct refund_part *p)
{
	struct refund_part part = *p;

	part.end_unix = refunds_charged_until(&u->base, p->end_unix);
	return part;
}

static void make_again(const struct refund *refund, bool assoc, bool qos, void *arg)
{
	for (int i = 0; i < refund->part_count; i++)
		fairshare_adjust(&refund->part[i], arg, assoc, qos);
}

/* The period's end up to which running jobs had been charged when the usage was saved. */
static int64_t charged_unix(const struct decay *clock, int64_t saved_unix)
{
	int64_t period = clock->period_s > 0 ? clock->period_s : 1;
	int64_t later = clock->last_unix - saved_unix;

	return later > 0 ? clock->last_unix - (later + period - 1) / period * period
			 : clock->last_unix;
}

static int make_lost_again(struct usage *u)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK, .part = READ_LOCK};
	assoc_mgr_lock_t assoc_locks = {
		.assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
	struct refunds_saved loaded;
	struct decay clock;
	int count;

	if (!serving_begin())
		return -1;
	fairshare_clock(&clock);
	u->base.saved_unix = refunds_saved_unix(u->journal);
	u->base.charged_unix = charged_unix(&clock, u->base.saved_unix);
	if (!u->base.loaded_unix)
		u->base.loaded_unix = time(NULL);
	lock_slurmctld(locks);
	assoc_mgr_lock(&assoc_locks);
	refunds_look(u->journal, &loaded);
	count = refunds_lost(u->journal, &loaded, make_again, &clock);
	assoc_mgr_unlock(&assoc_locks);
	unlock_slurmctld(locks);
	serving_end();
	u->followed = true;
	if (count)
		info(ME ": refunds made again that slurmctld had not saved when it was ended: %d",
			count);
	return 0;
}

int usage_follow(struct usage *u, struct errmsg *err)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	char *folder;

	if (!u->journal) {
		lock_slurmctld(read_conf);
		folder = xstrdup(slurm_conf.state_save_location);
		unlock_slurmctld(read_conf);
		u->journal = refunds_open(folder, settler_now_ms(), err);
		xfree(folder);
		if (!u->journal)
			return -1;
		if (refunds_damaged(u->journal))
			error(ME ": %d lines of " REFUNDS_FILE
				 " cannot be read: refunds in them that slurmctld has not saved "
				 "are not made again; they are kept as " REFUNDS_FILE ".damaged",
				refunds_damaged(u->journal));
	}
	return u->followed ? 0 : make_lost_again(u);
}

void usage_close(struct usage *u)
{
	refunds_close(u->journal);
	u->journal = NULL;
}

void usage_forget(struct usage *u)
{
	usage_close(u);
	*u = (struct usage){.base.loaded_unix = time(NULL)};
}

bool usage_has_saved(struct usage *u, int64_t since_ms, int64_t *due_ms, struct errmsg *err)
{
	int64_t began, rest;
	int rc;

	if (since_ms < u->saved_ms)
		return true;
	began = settler_now_ms();
	*due_ms = u->next_ms;
	if (began < u->next_ms)
		return false;
	*due_ms = began + MIN_REST_MS;
	if (!serving_begin())
		return false;
	rc = dump_assoc_mgr_state();
	serving_end();
	rest = REST_FACTOR * (settler_now_ms() - began);
	if (rest < MIN_REST_MS)
		rest = MIN_REST_MS;
	*due_ms = u->next_ms = settler_now_ms() + (rest < MAX_REST_MS ? rest : MAX_REST_MS);
	if (rc) {
		errmsg_set(err, "slurmctld cannot save its usage: prices wait until it can");
		return false;
	}
	u->saved_ms = began;
	return since_ms < u->saved_ms;
}

void usage_keep(struct usage *u, const struct refund *refund)
{
	refunds_keep(
		u->journal, refund->job_id, refund->restart, refund->start_unix, settler_now_ms());
}

void usage_look(const struct usage *u)
{
	struct refunds_saved saved;

	refunds_look(u->journal, &saved);
}

void usage_refund(struct usage *u, struct refund *refund, const struct decay *clock)
{
	struct errmsg err = {""};
	struct refunds_saved saved;

	refunds_look(u->journal, &saved);
	for (int i = 0; i < refund->part_count; i++) {
		refund->part[i] = charged_part(u, &refund->part[i]);
		fairshare_adjust(&refund->part[i], clock, true, true);
	}
	u->behind = true;
	if (refunds_enter(u->journal, refund, &saved, settler_now_ms(), &err))
		error(ME ": %s: should slurmctld be killed now, the refund of job %u is made twice "
			 "or not at all",
			err.text, refund->job_id);
}

int usage_sync(struct usage *u, struct errmsg *err)
{
	if (!u->behind)
		return 0;
	u->behind = false;
	return refunds_sync(u->journal, err);
}

bool usage_trim_due(const struct usage *u)
{
	return settler_now_ms() >= u->trim_ms;
}

int usage_trim(struct usage *u, struct refunds_run *waiting, size_t count, struct errmsg *err)
{
	u->trim_ms = settler_now_ms() + TRIM_MS;
	return refunds_trim(u->journal, settler_now_ms(), waiting, count, err);
}
