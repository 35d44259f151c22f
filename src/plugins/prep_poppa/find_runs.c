/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds runs to settle and the ends of those that wait in slurmctld's records of jobs, and prices
 * that administrators have changed in the ledger. */
#include "plugins/compat/slurm_compat.h"

#include "src/common/list.h"
#include "src/slurmctld/locks.h"

#include "controller.h"
#include "find_runs.h"
#include "slurmdbd_rows.h"

#define CHANGES_MS 5000 /* between two looks for changed prices */

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
	struct run_snapshot *snapshot;
	struct run *run;
	bool settled;

	/* Jobs are locked, and most are not co-located: the cheapest test comes first. */
	if (!IS_JOB_FINISHED(job) || IS_JOB_COMPLETING(job) || !run_snapshot_colocate(job))
		return 0;
	settled = run_snapshot_settled_restart(job) == (int64_t)job->restart_cnt;
	if ((settled && w->scanned) || run_store_find(&w->store, job->job_id, job->start_time))
		return 0;
	snapshot = run_snapshot_take(job);
	if (!snapshot)
		return 0;
	run = run_new(snapshot);
	if (settled) {
		run->kind = RUN_SHOWN;
		run->state = RUN_PRICED;
	}
	run_store_add(&w->store, run);
	scan->found += !settled;
	return 0;
}

void find_runs_unsettled(struct settler *w)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	struct scan scan = {.w = w};

	if (!controller_hold())
		return;
	lock_slurmctld(read_jobs);
	if (job_list) {
		list_for_each(job_list, scan_one, &scan);
		w->scanned = true;
	}
	unlock_slurmctld(read_jobs);
	controller_release();
	if (scan.found)
		info(ME ": %d finished jobs were left unsettled", scan.found);
}

static bool is_due(const struct run *run, int64_t now_ms)
{
	return run->state == RUN_ON_NODES && run->due_ms <= now_ms;
}

/* Takes the run's end only once the job has ended: before, its record shows its time limit. */
static bool has_left_nodes(struct run *run)
{
	const job_record_t *job = find_job_record(run->snapshot->job_id);

	if (!run_snapshot_is_of(run->snapshot, job))
		return true;
	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		return false;
	run_snapshot_update_end(run->snapshot, job);
	return !IS_JOB_COMPLETING(job);
}

void find_runs_ended(struct settler *w, int64_t now_ms)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	bool any = false;

	for (const struct run *run = w->store.list; run; run = run->next)
		any |= is_due(run, now_ms);
	if (!any || !controller_hold())
		return;
	lock_slurmctld(read_jobs);
	for (struct run *run = w->store.list; run; run = run->next) {
		if (!is_due(run, now_ms))
			continue;
		if (has_left_nodes(run)) {
			run->ended_ms = now_ms;
			run_store_touch(&w->store, run);
		} else {
			run_delay(run);
		}
	}
	unlock_slurmctld(read_jobs);
	controller_release();
}

bool find_runs_end_change(struct settler *w, const struct settlement *price)
{
	struct errmsg err = {""};
	bool first;

	if (!client_changed(&w->client, price, true, &first, &err))
		return true;
	settler_ledger_failed(w, err.text);
	return false;
}

/* Adds the run of a changed price. The ledger tells (first) whether nobody has begun to write it:
 * what an earlier slurmctld has begun is not refunded twice. */
static void begin_repriced(struct settler *w, const struct settlement *price)
{
	struct run_snapshot *snapshot = NULL;
	struct errmsg err = {""};
	struct run *run;
	bool first;
	int rc;

	if (run_store_find(&w->store, price->job_id, price->start_unix))
		return;
	rc = slurmdbd_rows_snapshot(price, &snapshot);
	if (rc < 1)
		settler_database_answered(w, rc);
	if (rc == 0) {
		info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld: its "
			"changed price is in the ledger only",
			price->job_id, (long long)price->start_unix);
		find_runs_end_change(w, price);
	}
	if (rc != 1)
		return;
	if (client_changed(&w->client, price, false, &first, &err)) {
		settler_ledger_failed(w, err.text);
		run_snapshot_free(snapshot);
		return;
	}
	run = run_new(snapshot);
	run->kind = RUN_REPRICED;
	run->settlement = *price;
	run->never_written = first;
	run_enter(run, RUN_PRICED);
	run_store_add(&w->store, run);
}

int64_t find_runs_changed_due_ms(const struct settler *w)
{
	return MAX(w->changes_ms, MAX(w->ledger.retry_ms, w->database.retry_ms));
}

void find_runs_changed(struct settler *w, int64_t now_ms)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	json_t *list, *change;
	char *cluster;
	size_t n;

	if (!w->configured || now_ms < find_runs_changed_due_ms(w))
		return;
	w->changes_ms = now_ms + CHANGES_MS;
	lock_slurmctld(read_conf);
	cluster = xstrdup(slurm_conf.cluster_name);
	unlock_slurmctld(read_conf);
	list = client_changes(&w->client, cluster, &err);
	xfree(cluster);
	if (!list) {
		settler_ledger_failed(w, err.text);
		return;
	}
	settler_ledger_answered(w, "");
	json_array_foreach(list, n, change)
	{
		struct settlement s;

		if (settlement_from_json(json_object_get(change, "settlement"), &s, &err))
			settler_complain(w, err.text);
		else
			begin_repriced(w, &s);
	}
	json_decref(list);
}
