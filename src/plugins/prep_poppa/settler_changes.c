/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for prices that administrators have changed, and has them written. */
#include "plugins/compat/slurm_compat.h"

#include "src/slurmctld/locks.h"

#include "slurmdbd_rows.h"
#include "settler_impl.h"

#define CHANGES_MS 5000 /* between two looks */

bool settler_end_change(struct settler *w, const struct settlement *price)
{
	struct errmsg err = {""};
	bool first;

	if (!client_changed(&w->client, price, true, &first, &err))
		return true;
	ledger_failed(w, err.text);
	return false;
}

/* One that slurmctld had begun to write before it was ended is not refunded twice. */
static void begin_change(struct settler *w, const struct settlement *price)
{
	struct errmsg err = {""};
	struct facts *f = NULL;
	struct item *i;
	bool first;
	int rc;

	if (items_find(w, price->job_id, price->start_unix))
		return;
	rc = rows_facts(price, &f);
	if (rc < 1)
		database_answered(w, rc);
	if (rc == 0) {
		info(ME ": job %u: neither slurmctld nor slurmdbd knows its run of %lld: its "
			"changed price is in the ledger only",
			price->job_id, (long long)price->start_unix);
		settler_end_change(w, price);
	}
	if (rc != 1)
		return;
	if (client_changed(&w->client, price, false, &first, &err)) {
		ledger_failed(w, err.text);
		facts_free(f);
		return;
	}
	i = item_new(f);
	i->settlement = *price;
	i->change = true;
	i->first = first;
	item_enter(i, WRITE);
	items_add(w, i);
}

int64_t settler_changes_due_ms(const struct settler *w)
{
	int64_t due = w->changes_ms;

	if (due < w->ledger.retry_ms)
		due = w->ledger.retry_ms;
	return due < w->database.retry_ms ? w->database.retry_ms : due;
}

void settler_look_at_changes(struct settler *w, int64_t now_ms)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	json_t *list, *change;
	char *cluster;
	size_t n;

	if (!w->configured || now_ms < settler_changes_due_ms(w))
		return;
	w->changes_ms = now_ms + CHANGES_MS;
	lock_slurmctld(read_conf);
	cluster = xstrdup(slurm_conf.cluster_name);
	unlock_slurmctld(read_conf);
	list = client_changes(&w->client, cluster, &err);
	xfree(cluster);
	if (!list) {
		ledger_failed(w, err.text);
		return;
	}
	ledger_answered(w, "");
	json_array_foreach(list, n, change)
	{
		struct settlement s;

		if (settlement_from_json(json_object_get(change, "settlement"), &s, &err))
			settler_complain(w, err.text);
		else
			begin_change(w, &s);
	}
	json_decref(list);
}
