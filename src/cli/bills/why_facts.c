/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathers what is known of a run and its price. */
#include <ctype.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "cli/ask/find_ledger.h"
#include "cli/ask/scontrol.h"
#include "cli/bills/report.h"
#include "cli/bills/why.h"
#include "common/tags.h"
#include "common/units.h"
#include "striping/submit/colocate_option.h"

/* Half of the last digit that the facts in SystemComment have. */
#define FACT_OFF 0.00005
#define INTERVAL_OFF 0.0005

static bool is_own(const struct bill *b)
{
	const struct passwd *pw = getpwuid(geteuid());

	return pw && !strcmp(pw->pw_name, b->user);
}

/* Whether the ledger can know anything of the run: nodes send records when it ends. Of a requeued
 * job sacct does not say for each run that it was co-located, so a second row is reason enough. */
static bool worth_asking(const struct why *w)
{
	int rows = 0;

	for (int i = 0; i < w->bills->count; i++)
		rows += w->bills->bill[i].job_id == w->bill->job_id;
	return w->bill->end && (w->status != BILL_PLAIN || rows > 1);
}

static void ask_ledger(struct why *w, const char *conf_path)
{
	struct client_run run = {.job_id = w->bill->job_id, .restart = w->restart};
	char cluster[64] = "";
	struct client client;

	w->asked = true;
	if (find_ledger(conf_path, &client, cluster, &w->no_ledger))
		return;
	/* poppa-ledgerd counts whom it turns away, and administrators look at that: the command
	 * does not ask where it would be turned away. */
	w->refused = !is_own(w->bill) && geteuid() != 0 && geteuid() != client.ledger_uid;
	if (w->refused) {
		errmsg_set(&w->no_ledger, "not allowed");
		return;
	}
	run.cluster = cluster;
	run.start_unix = w->bill->run_start;
	client_job(&client, &run, &w->ledger, &w->no_ledger);
	/* What is shown adds up as the price has counted it. */
	for (int i = 0; i < w->ledger.record_count; i++)
		record_clip(&w->ledger.records[i],
			NS_PER_S * (w->bill->elapsed_s + settlement_earlier_s(w->bill->facts)));
}

/* Reads what follows a key in the job's option, as slurmctld shows it: what is of these characters.
 */
static void read_value(const char *option, const char *key, const char *of, char *out, size_t size)
{
	const char *at = strstr(option, key);
	size_t len = at ? strspn(at + strlen(key), of) : 0;

	if (len && len < size)
		memcpy(out, at + strlen(key), len);
}

/* Reads from there for what it waits. */
static void read_waits(struct why *w, const char *option)
{
	read_value(option, " " COLOCATE_WAITS, "0123456789-T:", w->patient_until,
		sizeof(w->patient_until));
	read_value(option, " " COLOCATE_BEHIND, "0123456789", w->behind, sizeof(w->behind));
}

/* Cuts off the fields that follow SystemComment, of which each has a name that begins with a
 * capital, and the blanks before them. */
static void end_comment(char *comment)
{
	char *at = comment, *name;

	while ((at = strpbrk(at, " \n"))) {
		name = at + strspn(at, " ");
		if (*name == '\n' || !*name ||
			(isupper((unsigned char)*name) && name[strcspn(name, " =")] == '=')) {
			*at = '\0';
			return;
		}
		at = name;
	}
}

/* Reads from slurmctld's SystemComment what became of the limit of a running job. */
static void read_limit(struct why *w, const char *comment)
{
	char *text = tags_get(comment, TIME_LIMIT_TAG);

	if (text && (time_limit_parse(text, &w->limit) || w->limit.restart != w->restart))
		w->limit = (struct time_limit_state){0};
	free(text);
}

static void read_lane(struct why *w, const char *option)
{
	read_value(option, " lane=", "0123456789,", w->lane, sizeof(w->lane));
	w->shape = colocate_shape_shown(option);
}

/* Whether the word stands in what slurmctld or sacct shows of --colocate. No key or value of that
 * has a blank before it. */
static bool is_by_site(const char *option)
{
	static const char word[] = " " COLOCATE_BY_SITE;
	const char *at = strstr(option, word);

	return at && strchr(" ;\n", at[strlen(word)]);
}

/* sacct shows --colocate only together with the price; until then slurmctld knows of it. */
static bool slurmctld_knows(struct why *w)
{
	static const char option[] = "SystemComment=colocate: ";
	struct errmsg ignored;
	char what[32], *text, *comment;
	struct apart apart;
	bool found;

	snprintf(what, sizeof(what), "job=%u", w->bill->job_id);
	text = scontrol_show(what, 1, &ignored);
	comment = text ? strstr(text, option) : NULL;
	found = comment;
	if (found) {
		comment += strcspn(comment, "=") + 1;
		end_comment(comment);
		if (why_waits(w->bill))
			read_waits(w, comment);
		else if (!w->bill->end)
			read_limit(w, comment);
		/* Of an earlier run sacct knows better. */
		if (!*w->lane)
			read_lane(w, comment);
		w->by_site = is_by_site(comment);
		apart_read(comment, &apart);
		if (apart.times)
			w->apart = apart;
	}
	free(text);
	return found;
}

void why_ask_squeue(struct why *w)
{
	const struct squeue_job *q = &w->waiting;

	if (squeue_waiting(w->job, &w->waiting) || w->bill)
		return;
	w->own = (struct bill){.job_id = (uint32_t)strtoul(q->id, NULL, 10),
		.id = q->id,
		.cluster = "",
		.user = q->user,
		.account = q->account,
		.partition = q->partition,
		.qos = q->qos,
		.name = q->name,
		.state = "PENDING",
		.status = BILL_PLAIN,
		.facts = w->bills->no_facts};
	w->bill = &w->own;
}

static enum bill_status status_without_price(const struct bill *b)
{
	if (why_waits(b))
		return BILL_PENDING;
	return b->end ? BILL_UNSETTLED : BILL_RUNNING;
}

static void work_out(struct why *w)
{
	const struct settlement *f = w->bill->facts;
	const struct settlement *s = &w->ledger.settlement;
	struct errmsg err;

	w->has_policy = !price_policy_parse(f->policy, &w->policy, &err);
	w->facts = (struct explain_facts){.raw = f->raw,
		.degradation = f->degradation,
		.hi = f->hi,
		.stopped = f->stopped,
		.degradation_off = FACT_OFF,
		.hi_off = INTERVAL_OFF,
		.stopped_off = FACT_OFF};
	/* The ledger has more digits than the comment. */
	if (w->ledger.settled && s->raw == f->raw && s->charged == f->charged &&
		fabs(s->degradation - f->degradation) <= 2 * FACT_OFF &&
		isnan(s->stopped) == isnan(f->stopped))
		w->facts = (struct explain_facts){.raw = s->raw,
			.degradation = s->degradation,
			.hi = s->hi,
			.stopped = s->stopped};
	if (!w->has_policy)
		return;
	explain_price(&w->policy, &w->facts, &w->explain);
	w->fits = f->charged >= w->explain.least && f->charged <= w->explain.most;
}

/* slurmdbd may have no comment for an earlier run of a requeued job that was settled after the next
 * run had begun. The ledger has its price, and the text of the comment. */
static void take_price_of_ledger(struct why *w)
{
	struct errmsg err;

	w->own = *w->bill;
	w->own.facts = &w->own_facts;
	if (bill_facts_parse(w->ledger.settlement.text, &w->own_facts, &err))
		return;
	w->own.status = w->status = *w->own_facts.nodata ? BILL_NO_DATA : BILL_PRICED;
	w->bill = &w->own;
}

void why_gather(struct why *w, bool ask, const char *conf_path)
{
	bool plain = w->bill->status == BILL_PLAIN, left;

	w->status = w->bill->never_started ? BILL_NEVER : w->bill->status;
	apart_parse(w->bill->apart, &w->apart);
	if (w->bill->option) {
		read_lane(w, w->bill->option);
		w->by_site = is_by_site(w->bill->option);
	}
	if (w->status == BILL_NEVER)
		return;
	/* Whom a job has left stands in slurmdbd only with the price of its next run. */
	left = !strcmp(w->bill->state, "REQUEUED") && !w->apart.times;
	if (ask && (plain || !w->bill->end || left) && slurmctld_knows(w) && plain)
		w->status = status_without_price(w->bill);
	if (ask && worth_asking(w))
		ask_ledger(w, conf_path);
	if (w->ledger.settled && w->status != BILL_PRICED && w->status != BILL_NO_DATA)
		take_price_of_ledger(w);
	/* The ledger has nothing to tell of a job that did not opt in. */
	if (w->status == BILL_PLAIN)
		w->no_ledger.text[0] = '\0';
	if (w->status == BILL_PRICED)
		work_out(w);
}

bool why_compares(const struct why *w)
{
	return w->status == BILL_PRICED || w->status == BILL_NO_DATA;
}

int why_compare(struct why *w, const struct bills *plain)
{
	struct plain_runs *runs = plain_runs_find(plain);

	if (!runs)
		return -1;
	w->compact = compact_of(runs, w->bill);
	w->partner = bills_only_partner(w->bills, w->bill);
	w->stp = NAN;
	if (w->partner) {
		w->of_partner = compact_of(runs, w->partner);
		w->stp = compact_stp(&w->compact, w->bill, &w->of_partner, w->partner);
	}
	plain_runs_free(runs);
	return 0;
}

static json_t *compact_json(const struct why *w)
{
	json_t *json = why_compares(w) ? report_compact_json(&w->compact) : json_null();

	if (why_compares(w))
		json_object_set_new(json, "stp", field_real_or_null(w->stp));
	return json;
}

static json_t *nodes_json(const struct why *w)
{
	json_t *list = json_array();

	for (int i = 0; list && i < w->ledger.record_count; i++)
		json_array_append_new(list, record_to_json(&w->ledger.records[i]));
	return list;
}

static json_t *calculation_json(const struct why *w)
{
	const struct explain *e = &w->explain;

	if (w->status != BILL_PRICED || !w->has_policy)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:b, s:b, s:I, s:I, s:b}", "formula", e->formula,
		"numbers", e->numbers, "product", field_real_or_null(e->product), "amount",
		field_real_or_null(e->amount), "capped", e->capped, "floored", e->floored, "least",
		(json_int_t)e->least, "most", (json_int_t)e->most, "fits", w->fits);
}

static json_t *price_json(const struct why *w)
{
	struct settlement shown = *w->bill->facts;
	json_t *json;

	if (w->status != BILL_PRICED && w->status != BILL_NO_DATA)
		return json_null();
	if (w->ledger.settled) {
		shown.version = w->ledger.settlement.version;
		shown.settled_unix = w->ledger.settlement.settled_unix;
	}
	json = settlement_show(&shown, SETTLEMENT_WHY);
	json_object_set_new(json, "calculation", calculation_json(w));
	return json;
}

json_t *why_json(const struct why *w)
{
	const struct bill *b = w->bill;

	return json_pack("{s:I, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, "
			 "s:I, s:b, s:o, s:o, s:o, s:s?, s:o}",
		"job", (json_int_t)b->job_id, "id", b->id, "restart", (json_int_t)w->restart,
		"cluster", b->cluster, "user", b->user, "account", b->account, "partition",
		b->partition, "qos", b->qos, "name", b->name, "state", b->state, "status",
		bill_status_name(w->status), "start", (json_int_t)b->start, "end",
		(json_int_t)b->end, "elapsed_s", (json_int_t)b->elapsed_s, "billing",
		(json_int_t)b->billing, "by_site", w->by_site, "price", price_json(w), "compact",
		compact_json(w), "nodes", nodes_json(w), "no_ledger",
		*w->no_ledger.text ? w->no_ledger.text : NULL, "sentences", why_sentences(w));
}
