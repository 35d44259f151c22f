/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides who may ask what, and turns requests into calls of the ledger. */
#include "accounting/ledgerd/service.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/fields.h"
#include "accounting/record/origin.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/log.h"
#include "poppa_config.h"

#define MAX_UNSETTLED 1000
#define MAX_RECORDS 1000
#define MAX_CHANGES 100
#define MAX_REASON 500

static const char what[] = "request";

bool service_trusts(const struct service *s, uid_t from)
{
	return from == 0 || from == s->ledger_uid;
}

static json_t *failure(const char *text)
{
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

/* The reply to a request that is not understood. */
static json_t *malformed(struct service *s, const char *text)
{
	s->counts.malformed++;
	return failure(text);
}

/* The reply to a request that the ledger could not carry out. */
static json_t *trouble(const struct errmsg *err)
{
	plog_error("%s", err->text);
	return failure(err->text);
}

static void count_refusal(struct service *s, const char *op, uid_t from)
{
	s->counts.refused++;
	log_limit_warn(&s->refusals, "refusals", time(NULL), "refused \"%s\" of uid %u", op,
		(unsigned)from);
}

static json_t *not_allowed(struct service *s, const char *op, uid_t from)
{
	count_refusal(s, op, from);
	return failure("not allowed");
}

/* MUNGE vouches for root, but not for root's host: root of a node must not make prices. Whether a
 * node may have sent a record is decided when the job is settled. */
static bool from_controller(const struct service *s)
{
	return !s->origin || origin_controls(s->controllers, s->origin);
}

static json_t *not_from_here(struct service *s, const char *op)
{
	s->counts.misplaced++;
	log_limit_warn(&s->refusals, "refusals", time(NULL),
		"refused \"%s\" from %s: it is no controller: see LedgerControllers in poppa.conf",
		op, *s->origin ? s->origin : "an unknown address");
	return failure("prices are made and changed from the ledger's own host and those in "
		       "LedgerControllers (poppa.conf there) only");
}

#define COUNTER(name) #name, offsetof(struct service_counts, name)

/* All counts in the order of "since_start". The ledger's file keeps those of what was turned away,
 * each under a name. */
static const struct counter {
	const char *name;
	size_t offset;
	const char *kept_as; /* NULL: not kept */
} counters[] = {
	{COUNTER(requests), NULL},
	{COUNTER(refused), "not_allowed"},
	{COUNTER(records), NULL},
	{COUNTER(stale_records), NULL},
	{COUNTER(settlements), NULL},
	{COUNTER(repeated_settlements), NULL},
	{COUNTER(restored_settlements), NULL},
	{COUNTER(changes), NULL},
	{COUNTER(malformed), "malformed"},
	{COUNTER(oversized), "oversized"},
	{COUNTER(invalid), "invalid"},
	{COUNTER(replayed), "replayed"},
	{COUNTER(expired), "expired"},
	{COUNTER(misplaced), "not_from_controller"},
	{COUNTER(refused_records), "malformed_records"},
	{COUNTER(future_records), "future_records"},
	{COUNTER(foreign_records), "foreign_records"},
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static uint64_t *count_at(struct service_counts *c, size_t offset)
{
	return (uint64_t *)((char *)c + offset);
}

void service_save_counts(struct service *s)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		uint64_t now = *count_at(&s->counts, counters[i].offset);
		uint64_t *saved = count_at(&s->saved, counters[i].offset);
		struct errmsg err = {""};

		if (!counters[i].kept_as || now == *saved)
			continue;
		if (ledger_count_refusals(
			    s->ledger, counters[i].kept_as, now - *saved, time(NULL), &err))
			plog_error("%s", err.text);
		else
			*saved = now;
	}
}

void service_refused_line(struct service *s, enum wire_fault fault)
{
	switch (fault) {
	case WIRE_OVERSIZED:
		s->counts.oversized++;
		break;
	case WIRE_INVALID:
		s->counts.invalid++;
		break;
	case WIRE_REPLAYED:
		s->counts.replayed++;
		break;
	case WIRE_EXPIRED:
		s->counts.expired++;
		break;
	case WIRE_TROUBLE:
		break;
	default:
		s->counts.malformed++;
	}
}

void service_complain(struct service *s, const char *peer, const char *text)
{
	log_limit_warn(&s->bad_lines, "bad requests", time(NULL), "%s: %s", peer, text);
}

void service_log_left_out(struct service *s)
{
	log_limit_tell(&s->bad_lines);
	log_limit_tell(&s->refusals);
}

static int take_record(
	struct service *s, const json_t *json, struct ledger_record *r, struct errmsg *err)
{
	int64_t latest = (int64_t)time(NULL) + LEDGER_CLOCK_SLACK_S;

	if (record_from_json(json, r, err)) {
		s->counts.refused_records++;
		return -1;
	}
	if (r->start_unix <= latest && r->end_unix <= latest)
		return 0;
	/* The node's clock is wrong, or somebody has invented the record. */
	s->counts.future_records++;
	return errmsg_set(err,
		"record of job %u: its time lies in the future: look at the clock of node %s",
		r->job_id, r->node);
}

/* The prior of a node type, a new reference; NULL where there is none. Without it the records are
 * stored all the same, so a fault is no fault of the request. */
static json_t *prior_of(struct service *s, const json_t *node_type)
{
	const char *type = json_string_value(node_type);
	struct slow_prior prior;
	struct errmsg err = {""};
	int rc = type && *type ? ledger_prior(s->ledger, type, &prior, &err) : 0;

	if (rc < 0)
		plog_error("%s", err.text);
	return rc > 0 ? slow_prior_to_json(&prior) : NULL;
}

static json_t *answer_record(struct service *s, const json_t *request, uid_t from)
{
	const json_t *list = json_object_get(request, "records");
	size_t n = json_array_size(list), good = 0;
	struct ledger_record *records;
	struct errmsg err = {""};
	json_t *results, *reply, *prior;
	bool *stored;

	(void)from;
	if (!json_is_array(list) || n > MAX_RECORDS) {
		errmsg_set(&err, "\"records\" must be an array of at most %d records", MAX_RECORDS);
		return malformed(s, err.text);
	}
	records = calloc(n + 1, sizeof(*records));
	stored = calloc(n + 1, sizeof(*stored));
	results = json_array();
	for (size_t i = 0; records && stored && results && i < n; i++) {
		if (take_record(s, json_array_get(list, i), &records[good], &err)) {
			plog_warn("refused a record: %s", err.text);
			json_array_append_new(results, failure(err.text));
		} else {
			good++;
			json_array_append_new(results, json_pack("{s:b}", "ok", 1));
		}
	}
	if (!records || !stored || !results) {
		reply = failure("out of memory");
	} else if (ledger_put(s->ledger, records, (int)good, s->origin ? s->origin : "", stored,
			   &err)) {
		reply = trouble(&err);
	} else {
		for (size_t i = 0; i < good; i++) {
			s->counts.records += stored[i];
			s->counts.stale_records += !stored[i];
			if (stored[i] && records[i].final)
				plog_debug("job %u restart %u: final record of node %s",
					records[i].job_id, records[i].restart, records[i].node);
		}
		reply = json_pack("{s:b, s:O, s:s}", "ok", 1, "results", results, "ledger",
			ledger_id(s->ledger));
		prior = prior_of(s, json_object_get(request, "node_type"));
		if (prior)
			json_object_set_new(reply, "prior", prior);
	}
	json_decref(results);
	free(records);
	free(stored);
	return reply;
}

/* The part of a run's nodes that a request is about. part points into it. */
struct job_part {
	char after[64], upto[64];
	struct ledger_part part;
	bool more;
};

static void on_foreign(const char *node, const char *origin, void *arg)
{
	struct service *s = arg;

	s->counts.foreign_records++;
	plog_warn("a record in the name of node %s from %s is left out: %s", node,
		*origin ? origin : "an unknown address",
		"slurmctld has no such node, or not with that address, in the job (LedgerOrigin in "
		"poppa.conf)");
}

/* The part ends with "upto". Where there is none, and for all but root and LedgerUser, it has at
 * most as many nodes as fit into a reply, and p->more says whether there are others. */
static int read_part(struct service *s, const json_t *request, uid_t from, const char *cluster,
	uint32_t job, uint32_t restart, struct job_part *p, struct errmsg *err)
{
	char asked[sizeof(p->upto)];
	int rc;

	*p = (struct job_part){.more = false};
	if ((json_object_get(request, "after") &&
		    field_text(what, request, "after", p->after, sizeof(p->after), err)) ||
		(json_object_get(request, "upto") &&
			field_text(what, request, "upto", p->upto, sizeof(p->upto), err)))
		return -1;
	p->part = (struct ledger_part){p->after, *p->upto ? p->upto : NULL};
	if (*p->upto && service_trusts(s, from))
		return 0;
	strcpy(asked, p->upto);
	rc = ledger_part_end(
		s->ledger, cluster, job, restart, p->after, WIRE_NODES_AT_ONCE, p->upto, err);
	if (rc < 0)
		return -1;
	p->more = rc > 0;
	if (*asked && (!p->more || strcmp(asked, p->upto) <= 0)) {
		strcpy(p->upto, asked);
		p->more = false;
	}
	p->part.upto = *asked || p->more ? p->upto : NULL;
	return 0;
}

/* Takes out of a run's records what tells of shutters, where that may change yet: by the difference
 * of two of them the job's owner could tell which shutter was a sham, and whether it was caught.
 * What is left is a record as of a run without a shutter, so every client can read it. */
static int hide_shutters(json_t *records, struct errmsg *err)
{
	json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
	{
		struct ledger_record r;

		if (json_is_true(json_object_get(record, "final")))
			continue;
		if (record_from_json(record, &r, err))
			return -1;
		r.sensing = r.spin = r.attributed = r.timed = r.slow_known = r.rough_known = false;
		r.blocks = r.used = r.culprit = 0;
		r.degradation = r.variance = r.thesis_degradation = NAN;
		r.lack = LACK_NOTHING;
		if (json_array_set_new(records, i, record_to_json(&r)))
			return errmsg_set(err, "out of memory");
	}
	return 0;
}

static json_t *answer_job(struct service *s, const json_t *request, uid_t from)
{
	struct settlement settlement;
	int64_t job, restart, start;
	struct errmsg err = {""};
	const json_t *nodes = json_object_get(request, "nodes");
	json_t *records = NULL, *changes = NULL, *reply;
	bool foreign = false;
	struct job_part part;
	const json_t *record;
	char cluster[64];
	int settled = 0;
	size_t i;

	if (field_text(what, request, "cluster", cluster, sizeof(cluster), &err) ||
		field_int(what, request, "job", 1, UINT32_MAX, &job, &err) ||
		field_int(what, request, "restart", 0, UINT32_MAX, &restart, &err) ||
		field_int(what, request, "start", 0, INT64_MAX, &start, &err) ||
		read_part(s, request, from, cluster, (uint32_t)job, (uint32_t)restart, &part, &err))
		return malformed(s, err.text);
	if (json_is_array(nodes) && service_trusts(s, from) && !from_controller(s))
		return not_from_here(s, "job");
	if (json_is_array(nodes) && service_trusts(s, from) &&
		ledger_mark_foreign(s->ledger, cluster, (uint32_t)job, (uint32_t)restart, start,
			&part.part, nodes, on_foreign, s, &err) < 0)
		settled = -1;
	if (!settled)
		settled = ledger_settlement(s->ledger, cluster, (uint32_t)job, (uint32_t)restart,
			start, &settlement, &err);
	if (settled > 0 && settlement.changes) {
		changes = ledger_changes(s->ledger, cluster, (uint32_t)job, (uint32_t)restart,
			settlement.start_unix, &err);
		settled = changes ? settled : -1;
	}
	if (settled >= 0)
		records = ledger_records(s->ledger, cluster, (uint32_t)job, (uint32_t)restart,
			start, &part.part, &err);
	if (!records) {
		json_decref(changes);
		return trouble(&err);
	}
	json_array_foreach(records, i, record) foreign |=
		json_integer_value(json_object_get(record, "uid")) != from;
	foreign |= settled && settlement.uid != from;
	/* For a stranger it is as if the ledger did not know the job. So the owner of a job that it
	 * does not know yet gets the same answer, and is no stranger. */
	if (!service_trusts(s, from) && foreign) {
		count_refusal(s, "job", from);
		json_array_clear(records);
		json_decref(changes);
		changes = NULL;
		settled = 0;
		part.more = false;
	}
	/* What a price was made of is the owner's to see, whether it is final or not. */
	if (!service_trusts(s, from) && !settled && hide_shutters(records, &err)) {
		json_decref(changes);
		json_decref(records);
		return trouble(&err);
	}
	reply = json_pack("{s:b, s:o, s:o, s:o, s:s}", "ok", 1, "records", records, "settlement",
		settled ? settlement_to_json(&settlement) : json_null(), "changes",
		changes ? changes : json_array(), "ledger", ledger_id(s->ledger));
	if (part.more)
		json_object_set_new(reply, "more", json_string(part.upto));
	return reply;
}

typedef int (*store_fn)(struct ledger *, const struct settlement *, uint32_t by,
	struct settlement *stored, struct errmsg *);

/* Stores the request's settlement. *rc is 1, 0 where the run had one, or -1; unless it is -1,
 * *stored is the run's settlement. */
static json_t *store_settlement(struct service *s, const json_t *request, uid_t from,
	store_fn store, struct settlement *stored, int *rc)
{
	struct settlement wanted;
	struct errmsg err = {""};

	*rc = -1;
	if (settlement_from_json(json_object_get(request, "settlement"), &wanted, &err))
		return malformed(s, err.text);
	*rc = store(s->ledger, &wanted, (uint32_t)from, stored, &err);
	if (*rc < 0)
		return trouble(&err);
	return json_pack(
		"{s:b, s:o, s:b}", "ok", 1, "settlement", settlement_to_json(stored), "first", *rc);
}

static json_t *answer_settle(struct service *s, const json_t *request, uid_t from)
{
	struct settlement stored;
	int rc;
	json_t *reply = store_settlement(s, request, from, ledger_settle, &stored, &rc);

	if (rc > 0) {
		s->counts.settlements++;
		plog_info("job %u restart %u settled: %s", stored.job_id, stored.restart,
			stored.text);
	} else if (!rc) {
		s->counts.repeated_settlements++;
		plog_info("job %u restart %u: settled before, the first settlement stays",
			stored.job_id, stored.restart);
	}
	return reply;
}

static json_t *answer_restore(struct service *s, const json_t *request, uid_t from)
{
	struct settlement stored;
	int rc;
	json_t *reply = store_settlement(s, request, from, ledger_restore, &stored, &rc);

	if (rc > 0) {
		s->counts.restored_settlements++;
		plog_info("job %u restart %u: its settlement is restored: %s", stored.job_id,
			stored.restart, stored.text);
	}
	return reply;
}

static json_t *answer_change(struct service *s, const json_t *request, uid_t from)
{
	char reason[MAX_REASON];
	struct settlement wanted;
	struct errmsg err = {""};
	int rc;

	if (settlement_from_json(json_object_get(request, "settlement"), &wanted, &err) ||
		field_text(what, request, "reason", reason, sizeof(reason), &err))
		return malformed(s, err.text);
	rc = ledger_change(s->ledger, &wanted, reason, (uint32_t)from, (int64_t)time(NULL), &err);
	if (rc < 0)
		plog_error("%s", err.text);
	if (rc != 1)
		return failure(err.text);
	s->counts.changes++;
	plog_info("job %u restart %u: uid %u changes its price to %llu: %s", wanted.job_id,
		wanted.restart, (unsigned)from, (unsigned long long)wanted.charged, reason);
	return json_pack("{s:b}", "ok", 1);
}

/* Answers with what list() gives for the cluster that the request names, as the member `key`. */
static json_t *answer_list(struct service *s, const json_t *request, const char *key,
	json_t *(*list)(struct ledger *, const char *cluster, int max, struct errmsg *), int max)
{
	struct errmsg err = {""};
	char cluster[64];
	json_t *found;

	if (field_text(what, request, "cluster", cluster, sizeof(cluster), &err))
		return malformed(s, err.text);
	found = list(s->ledger, cluster, max, &err);
	if (!found)
		return trouble(&err);
	return json_pack("{s:b, s:o}", "ok", 1, key, found);
}

static json_t *answer_changes(struct service *s, const json_t *request, uid_t from)
{
	(void)from;
	return answer_list(s, request, "changes", ledger_waiting_changes, MAX_CHANGES);
}

static json_t *answer_changed(struct service *s, const json_t *request, uid_t from)
{
	bool written = json_is_true(json_object_get(request, "written"));
	struct settlement which;
	struct errmsg err = {""};
	int rc;

	(void)from;
	if (settlement_from_json(json_object_get(request, "settlement"), &which, &err))
		return malformed(s, err.text);
	rc = ledger_change_state(
		s->ledger, &which, written ? LEDGER_CHANGE_WRITTEN : LEDGER_CHANGE_TAKEN, &err);
	if (rc < 0)
		return trouble(&err);
	return json_pack("{s:b, s:b}", "ok", 1, "first", rc);
}

static json_t *answer_unsettled(struct service *s, const json_t *request, uid_t from)
{
	(void)from;
	return answer_list(s, request, "runs", ledger_unsettled, MAX_UNSETTLED);
}

static json_t *counts_json(struct service_counts *c)
{
	json_t *json = json_object();

	for (size_t i = 0; i < COUNTERS; i++)
		json_object_set_new(json, counters[i].name,
			json_integer((json_int_t)*count_at(c, counters[i].offset)));
	return json;
}

static json_t *answer_status(struct service *s, const json_t *request, uid_t from)
{
	char hash[LEDGER_HASH_SIZE];
	struct errmsg err = {""};
	json_t *rows = ledger_counts(s->ledger, &err), *refused;
	int64_t now, event;

	(void)request;
	(void)from;
	service_save_counts(s);
	refused = rows ? ledger_refusals(s->ledger, &err) : NULL;
	if (!refused) {
		json_decref(rows);
		return trouble(&err);
	}
	now = clock_wall();
	ledger_head(s->ledger, &event, hash);
	return json_pack("{s:b, s:s, s:I, s:f, s:o, s:o, s:o, s:i, s:s, s:{s:I, s:s}}", "ok", 1,
		"version", POPPA_VERSION, "uptime", (json_int_t)(now / NS_PER_S - s->started),
		"now", (double)now / NS_PER_S, "stored", rows, "since_start",
		counts_json(&s->counts), "refused", refused, "set_aside",
		ledger_count_set_aside(s->ledger), "ledger", ledger_id(s->ledger), "head", "event",
		(json_int_t)event, "hash", hash);
}

static const struct operation {
	const char *name;
	json_t *(*answer)(struct service *, const json_t *request, uid_t from);
	bool for_anybody;     /* answer() decides who may see what */
	bool from_controller; /* makes or changes prices */
} operations[] = {
	{.name = "record", .answer = answer_record},
	{.name = "job", .answer = answer_job, .for_anybody = true},
	{.name = "settle", .answer = answer_settle, .from_controller = true},
	{.name = "restore", .answer = answer_restore, .from_controller = true},
	{.name = "change", .answer = answer_change, .from_controller = true},
	{.name = "changes", .answer = answer_changes},
	{.name = "changed", .answer = answer_changed, .from_controller = true},
	{.name = "unsettled", .answer = answer_unsettled},
	{.name = "status", .answer = answer_status, .for_anybody = true},
};

json_t *service_answer(struct service *s, const json_t *request, uid_t from)
{
	const char *name = json_string_value(json_object_get(request, "op"));
	json_t *nonce = json_object_get(request, "nonce"), *reply;
	const struct operation *op = NULL;

	s->counts.requests++;
	if (!name || !json_is_string(nonce))
		return malformed(s, "\"op\" and \"nonce\" must be strings");
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, name))
			op = &operations[i];
	if (!(op && op->for_anybody) && !service_trusts(s, from))
		reply = not_allowed(s, name, from);
	else if (!op)
		reply = malformed(s, "unknown \"op\"");
	else if (op->from_controller && !from_controller(s))
		reply = not_from_here(s, name);
	else
		reply = op->answer(s, request, from);
	if (reply)
		json_object_set(reply, "nonce", nonce);
	return reply;
}
