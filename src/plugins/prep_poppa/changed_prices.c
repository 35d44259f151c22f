/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the ledger for prices that administrators have changed, and has them written. */
#include "plugins/compat/slurm_compat.h"

#include "src/slurmctld/locks.h"

#include "changed_prices.h"
#include "controller.h"
#include "slurmdbd_rows.h"

#define CHANGES_MS 5000 /* between two looks */

bool changed_prices_end(struct settler *w, const struct settlement *price)
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
static void begin(struct settler *w, const struct settlement *price)
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
		changed_prices_end(w, price);
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

int64_t changed_prices_due_ms(const struct settler *w)
{
	return MAX(w->changes_ms, MAX(w->ledger.retry_ms, w->database.retry_ms));
}

void changed_prices_look(struct settler *w, int64_t now_ms)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	json_t *list, *change;
	char *cluster;
	size_t n;

	if (!w->configured || now_ms < changed_prices_due_ms(w))
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
			begin(w, &s);
	}
	json_decref(list);
}
