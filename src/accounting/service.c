/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns requests into calls of the ledger. */
#include "accounting/service.h"

#include <stdlib.h>
#include <string.h>

#include "accounting/fields.h"
#include "common/log.h"
#include "poppa_config.h"

#define MAX_UNSETTLED 1000
#define MAX_RECORDS 1000

static const char what[] = "request";

static bool trusted(const struct service *s, uid_t from)
{
	return from == 0 || from == s->ledger_uid;
}

static json_t *failure(const char *text)
{
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *not_allowed(struct service *s, const char *op, uid_t from)
{
	s->counts.refused++;
	plog_warn("refused \"%s\" of uid %u", op, (unsigned)from);
	return failure("not allowed");
}

static json_t *answer_record(struct service *s, const json_t *request)
{
	const json_t *list = json_object_get(request, "records");
	size_t n = json_array_size(list), good = 0;
	struct ledger_record *records;
	struct errmsg err = {""};
	json_t *results, *reply;
	bool *stored;

	if (!json_is_array(list) || n > MAX_RECORDS) {
		s->counts.malformed++;
		return failure("\"records\" must be an array of at most 1000 records");
	}
	records = calloc(n + 1, sizeof(*records));
	stored = calloc(n + 1, sizeof(*stored));
	results = json_array();
	for (size_t i = 0; records && stored && results && i < n; i++) {
		if (record_from_json(json_array_get(list, i), &records[good], &err)) {
			s->counts.refused_records++;
			plog_warn("refused a record: %s", err.text);
			json_array_append_new(results, failure(err.text));
		} else {
			good++;
			json_array_append_new(results, json_pack("{s:b}", "ok", 1));
		}
	}
	if (!records || !stored || !results) {
		reply = failure("out of memory");
	} else if (ledger_put(s->ledger, records, (int)good, stored, &err)) {
		plog_error("%s", err.text);
		reply = failure(err.text);
	} else {
		for (size_t i = 0; i < good; i++) {
			s->counts.records += stored[i];
			s->counts.stale_records += !stored[i];
			if (stored[i] && records[i].final)
				plog_debug("job %u restart %u: final record of node %s",
					records[i].job_id, records[i].restart, records[i].node);
		}
		reply = json_pack("{s:b, s:O}", "ok", 1, "results", results);
	}
	json_decref(results);
	free(records);
	free(stored);
	return reply;
}

static json_t *answer_job(struct service *s, const json_t *request, uid_t from)
{
	struct ledger_record *records = NULL;
	struct settlement settlement;
	int64_t job, restart, start;
	struct errmsg err = {""};
	json_t *list, *reply;
	char cluster[64];
	int count = 0, settled;
	bool foreign = false;

	if (field_text(what, request, "cluster", cluster, sizeof(cluster), &err) ||
		field_int(what, request, "job", 1, UINT32_MAX, &job, &err) ||
		field_int(what, request, "restart", 0, UINT32_MAX, &restart, &err) ||
		field_int(what, request, "start", 0, INT64_MAX, &start, &err)) {
		s->counts.malformed++;
		return failure(err.text);
	}
	settled = ledger_settlement(
		s->ledger, cluster, (uint32_t)job, (uint32_t)restart, start, &settlement, &err);
	if (settled < 0 || ledger_records(s->ledger, cluster, (uint32_t)job, (uint32_t)restart,
				   start, &records, &count, &err)) {
		plog_error("%s", err.text);
		return failure(err.text);
	}
	for (int i = 0; i < count; i++)
		foreign |= records[i].uid != from;
	foreign |= settled && settlement.uid != from;
	/* A stranger must not learn whether there is anything either. */
	if (!trusted(s, from) && (foreign || (!count && !settled))) {
		free(records);
		return not_allowed(s, "job", from);
	}
	list = json_array();
	for (int i = 0; list && i < count; i++)
		json_array_append_new(list, record_to_json(&records[i]));
	reply = json_pack("{s:b, s:o, s:o}", "ok", 1, "records", list, "settlement",
		settled ? settlement_to_json(&settlement) : json_null());
	free(records);
	return reply;
}

static json_t *answer_settle(struct service *s, const json_t *request, uid_t from)
{
	struct settlement wanted, stored;
	struct errmsg err = {""};
	int rc;

	if (settlement_from_json(json_object_get(request, "settlement"), &wanted, &err)) {
		s->counts.malformed++;
		return failure(err.text);
	}
	rc = ledger_settle(s->ledger, &wanted, (uint32_t)from, &stored, &err);
	if (rc < 0) {
		plog_error("%s", err.text);
		return failure(err.text);
	}
	if (rc) {
		s->counts.settlements++;
		plog_info("job %u restart %u settled: %s", stored.job_id, stored.restart,
			stored.text);
	} else {
		s->counts.repeated_settlements++;
		plog_info("job %u restart %u: settled before, the first settlement stays",
			stored.job_id, stored.restart);
	}
	return json_pack(
		"{s:b, s:o, s:b}", "ok", 1, "settlement", settlement_to_json(&stored), "first", rc);
}

static json_t *answer_unsettled(struct service *s, const json_t *request)
{
	struct errmsg err = {""};
	char cluster[64];
	json_t *runs;

	if (field_text(what, request, "cluster", cluster, sizeof(cluster), &err)) {
		s->counts.malformed++;
		return failure(err.text);
	}
	runs = ledger_unsettled(s->ledger, cluster, MAX_UNSETTLED, &err);
	if (!runs) {
		plog_error("%s", err.text);
		return failure(err.text);
	}
	return json_pack("{s:b, s:o}", "ok", 1, "runs", runs);
}

static json_t *answer_status(struct service *s)
{
	const struct service_counts *c = &s->counts;
	struct errmsg err = {""};
	json_t *rows = ledger_counts(s->ledger, &err);
	struct timespec now;

	if (!rows) {
		plog_error("%s", err.text);
		return failure(err.text);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	return json_pack("{s:b, s:s, s:I, s:f, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}}",
		"ok", 1, "version", POPPA_VERSION, "uptime", (json_int_t)(now.tv_sec - s->started),
		"now", (double)now.tv_sec + (double)now.tv_nsec / 1e9, "stored", rows,
		"since_start", "requests", (json_int_t)c->requests, "refused",
		(json_int_t)c->refused, "malformed", (json_int_t)c->malformed, "records",
		(json_int_t)c->records, "stale_records", (json_int_t)c->stale_records,
		"refused_records", (json_int_t)c->refused_records, "settlements",
		(json_int_t)c->settlements, "repeated_settlements",
		(json_int_t)c->repeated_settlements);
}

json_t *service_answer(struct service *s, const json_t *request, uid_t from)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	json_t *nonce = json_object_get(request, "nonce"), *reply;

	s->counts.requests++;
	if (!op || !json_is_string(nonce)) {
		s->counts.malformed++;
		return failure("\"op\" and \"nonce\" must be strings");
	}
	if (!strcmp(op, "status"))
		reply = answer_status(s);
	else if (!strcmp(op, "job"))
		reply = answer_job(s, request, from);
	else if (!trusted(s, from))
		reply = not_allowed(s, op, from);
	else if (!strcmp(op, "record"))
		reply = answer_record(s, request);
	else if (!strcmp(op, "settle"))
		reply = answer_settle(s, request, from);
	else if (!strcmp(op, "unsettled"))
		reply = answer_unsettled(s, request);
	else {
		s->counts.malformed++;
		reply = failure("unknown \"op\"");
	}
	if (reply)
		json_object_set(reply, "nonce", nonce);
	return reply;
}
