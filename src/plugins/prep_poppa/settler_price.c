/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the price of a run of its records, and puts it into the ledger. */
#include "plugins/compat/slurm_compat.h"

#include <time.h>

#include "src/slurmctld/locks.h"

#include "accounting/settle/settle.h"
#include "common/units.h"
#include "striping/submit/colocate_option.h"
#include "striping/partners/pairs.h"

#include "addresses.h"
#include "serving.h"
#include "settler_impl.h"

#define NEW_LEDGER_MS 330000 /* until all nodes have noticed that the ledger was lost */

bool settler_too_late(const struct settler *w, const struct item *i)
{
	int64_t since = i->ended_ms > w->ledger_back_ms ? i->ended_ms : w->ledger_back_ms;

	/* What a lost ledger had acknowledged of such a run comes again, in the nodes' own time. */
	if (w->ledger_new_ms && i->ended_ms < w->ledger_new_ms &&
		settler_now_ms() - w->ledger_new_ms < NEW_LEDGER_MS)
		return false;
	return settler_now_ms() - since >= w->settings.settle_timeout_ns / NS_PER_MS;
}

/* It comes after those that have waited meanwhile, should it be this run alone that is refused. */
static void ledger_failed_for(struct settler *w, struct item *i, const char *why)
{
	ledger_failed(w, why);
	item_delay(i);
	if (i->due_ms < w->ledger.retry_ms + TICK_MS)
		i->due_ms = w->ledger.retry_ms + TICK_MS;
}

/* The history's class of a job, or "" without it. */
static void class_of(const char *colocate, uint32_t uid, const char *name, char *buf)
{
	struct colocate wish;
	struct errmsg err;

	buf[0] = '\0';
	if (!colocate_parse(colocate, &wish, &err))
		pairs_class(wish.class_name, uid, name, buf);
}

/* Enters what the run tells about its pair into the history that partner choice reads. */
static void learn(struct settler *w, const struct facts *f, const struct client_answer *answer)
{
	slurmctld_lock_t read_jobs = {.conf = READ_LOCK, .job = READ_LOCK};
	char mine[PAIRS_CLASS_MAX], other[PAIRS_CLASS_MAX] = "", path[PATH_MAX];
	struct settle_job job = facts_settle_job(f);
	struct errmsg err = {""};
	const job_record_t *partner;
	struct settle_pair pair;

	if (!settle_pair(&job, answer->records, answer->record_count, &pair))
		return;
	class_of(f->colocate, f->uid, f->name, mine);
	if (!serving_begin())
		return;
	lock_slurmctld(read_jobs);
	partner = find_job_record(pair.partner);
	if (partner && facts_colocate(partner))
		class_of(facts_colocate(partner), partner->user_id, partner->name, other);
	snprintf(path, sizeof(path), "%s/" PAIRS_FILE, slurm_conf.state_save_location);
	unlock_slurmctld(read_jobs);
	serving_end();
	if (*mine && *other &&
		pairs_record(path, mine, other, pair.degradation, pair.seconds, time(NULL), &err))
		settler_complain(w, err.text);
}

static void make_price(struct settler *w, struct item *i, const struct client_answer *answer)
{
	struct settle_job job = facts_settle_job(i->facts);
	char *qos = facts_qos_name(i->facts);
	struct settlement wanted;
	struct errmsg err = {""};

	settle_decide(&job, answer->records, answer->record_count,
		price_rules_choose(&w->rules, i->facts->partition, qos), time(NULL), &wanted);
	xfree(qos);
	if (client_settle(&w->client, &wanted, &i->settlement, &i->first, &err)) {
		ledger_failed_for(w, i, err.text);
		return;
	}
	if (i->first)
		learn(w, i->facts, answer);
	items_changed(w, i);
	item_enter(i, WRITE);
}

/* The price that this run had when slurmctld was ended last, and that the ledger has lost since. */
static void bring_back(struct settler *w, struct item *i)
{
	struct errmsg err = {""};
	bool first;

	if (client_restore(&w->client, &i->settlement, &i->settlement, &first, &err)) {
		ledger_failed_for(w, i, err.text);
		return;
	}
	i->first = false;
	item_enter(i, WRITE);
}

void settler_look_at_records(struct settler *w, struct item *i)
{
	struct settle_job job;
	struct client_run run = {.cluster = i->facts->cluster,
		.job_id = i->facts->job_id,
		.restart = i->facts->restart,
		.start_unix = i->facts->start};
	struct client_answer answer;
	struct errmsg err = {""};
	int rc;

	if (!w->configured) {
		item_delay(i);
		return;
	}
	if (!settler_know_sizes(w, i))
		return;
	job = facts_settle_job(i->facts);
	if (settler_now_ms() < w->ledger.retry_ms) {
		i->due_ms = w->ledger.retry_ms;
		return;
	}
	run.nodes = addresses_of(i->facts);
	rc = client_job(&w->client, &run, &answer, &err);
	json_decref(run.nodes);
	if (rc) {
		ledger_failed_for(w, i, err.text);
		return;
	}
	ledger_answered(w, answer.ledger);
	if (!answer.settled && i->priced) {
		bring_back(w, i);
	} else if (answer.settled) {
		i->settlement = answer.settlement;
		i->first = false;
		items_changed(w, i);
		item_enter(i, WRITE);
	} else if (settle_complete(&job, answer.records, answer.record_count) ||
		   settler_too_late(w, i)) {
		make_price(w, i, &answer);
	} else {
		item_delay(i);
	}
	client_answer_free(&answer);
}
