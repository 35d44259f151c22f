/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds runs to settle, and the ends of those that wait, in slurmctld's records of jobs. */
#include "plugins/compat/slurm_compat.h"

#include "src/common/list.h"
#include "src/slurmctld/locks.h"

#include "serving.h"
#include "settler_impl.h"

SLURM_WEAK(job_list)

struct scan {
	struct settler *w;
	int found;
};

static int scan_one(void *x, void *arg)
{
	const job_record_t *job = x;
	struct scan *scan = arg;
	struct settler *w = scan->w;
	struct facts *f;
	struct item *i;
	bool settled;

	/* Jobs are locked, and most are none of ours: what costs least comes first. */
	if (!IS_JOB_FINISHED(job) || IS_JOB_COMPLETING(job) || !facts_colocate(job))
		return 0;
	settled = facts_settled_restart(job) == (int64_t)job->restart_cnt;
	/* Whether the database has heard of a settled job is asked once a start. */
	if ((settled && w->scanned) || items_find(w, job->job_id, job->start_time))
		return 0;
	f = facts_take(job);
	if (!f)
		return 0;
	i = item_new(f);
	if (settled) {
		i->shown = true;
		i->stage = WRITE;
	}
	items_add(w, i);
	scan->found += !settled;
	return 0;
}

void settler_scan(struct settler *w)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	struct scan scan = {.w = w};

	if (!serving_begin())
		return;
	lock_slurmctld(read_jobs);
	if (job_list) {
		list_for_each(job_list, scan_one, &scan);
		w->scanned = true;
	}
	unlock_slurmctld(read_jobs);
	serving_end();
	if (scan.found)
		info(ME ": %d finished jobs were left unsettled", scan.found);
}

void settler_look_at_nodes(struct settler *w, int64_t now_ms)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	bool any = false;

	for (struct item *i = w->items; i; i = i->next)
		any |= i->stage == WAIT_NODES && i->due_ms <= now_ms;
	if (!any || !serving_begin())
		return;
	lock_slurmctld(read_jobs);
	for (struct item *i = w->items; i; i = i->next) {
		const job_record_t *job;

		if (i->stage != WAIT_NODES || i->due_ms > now_ms)
			continue;
		job = find_job_record(i->facts->job_id);
		if (facts_same_run(i->facts, job)) {
			bool runs = IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job);

			/* The end of one that runs is when it will have to end. */
			if (!runs)
				facts_update_end(i->facts, job);
			if (runs || IS_JOB_COMPLETING(job)) {
				item_delay(i);
				continue;
			}
		}
		i->ended_ms = now_ms;
		item_enter(i, WAIT_RECORDS);
		items_changed(w, i); /* its end is known now */
	}
	unlock_slurmctld(read_jobs);
	serving_end();
}
