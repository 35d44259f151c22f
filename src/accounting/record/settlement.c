/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns settlements into JSON and back. */
#include "accounting/record/settlement.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/fields.h"
#include "common/units.h"

json_t *settlement_to_json(const struct settlement *s)
{
	json_t *json = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:s, s:i, s:s}",
		"cluster", s->cluster, "job", (json_int_t)s->job_id, "restart",
		(json_int_t)s->restart, "start", (json_int_t)s->start_unix, "end",
		(json_int_t)s->end_unix, "uid", (json_int_t)s->uid, "settled",
		(json_int_t)s->settled_unix, "raw", (json_int_t)s->raw, "charged",
		(json_int_t)s->charged, "degradation", field_real_or_null(s->degradation), "lo",
		field_real_or_null(s->lo), "hi", field_real_or_null(s->hi), "stopped",
		field_real_or_null(s->stopped), "policy", s->policy, "version", s->version, "text",
		s->text);

	if (s->changes)
		json_object_set_new(json, "changes", json_integer(s->changes));
	return json;
}

int settlement_from_json(const json_t *json, struct settlement *s, struct errmsg *err)
{
	static const char what[] = "settlement";
	struct settlement next = {.stopped = NAN};
	int64_t job, restart, uid, raw, charged, version = 1, changes = 0;

	if (!json_is_object(json))
		return errmsg_set(err, "settlement: not a JSON object");
	if (field_text(what, json, "cluster", next.cluster, sizeof(next.cluster), err) ||
		field_text(what, json, "policy", next.policy, sizeof(next.policy), err) ||
		field_text(what, json, "text", next.text, sizeof(next.text), err) ||
		field_int(what, json, "job", 1, UINT32_MAX, &job, err) ||
		field_int(what, json, "restart", 0, UINT32_MAX, &restart, err) ||
		field_int(what, json, "start", 1, INT64_MAX, &next.start_unix, err) ||
		field_int(what, json, "end", 1, INT64_MAX, &next.end_unix, err) ||
		field_int(what, json, "uid", 0, UINT32_MAX, &uid, err) ||
		field_int(what, json, "settled", 1, INT64_MAX, &next.settled_unix, err) ||
		field_int(what, json, "raw", 0, INT64_MAX, &raw, err) ||
		field_int(what, json, "charged", 0, INT64_MAX, &charged, err) ||
		(json_object_get(json, "changes") &&
			field_int(what, json, "changes", 0, INT32_MAX, &changes, err)) ||
		/* Prices of the first releases do not tell it. */
		(json_object_get(json, "version") &&
			field_int(what, json, "version", 1, INT32_MAX, &version, err)) ||
		(json_object_get(json, "stopped") &&
			field_real(what, json, "stopped", &next.stopped, err)) ||
		field_real(what, json, "degradation", &next.degradation, err) ||
		field_real(what, json, "lo", &next.lo, err) ||
		field_real(what, json, "hi", &next.hi, err))
		return -1;
	if (charged > raw)
		return errmsg_set(err, "settlement: \"charged\" is more than \"raw\"");
	next.job_id = (uint32_t)job;
	next.restart = (uint32_t)restart;
	next.uid = (uint32_t)uid;
	next.version = (int)version;
	next.changes = (int)changes;
	next.raw = (uint64_t)raw;
	next.charged = (uint64_t)charged;
	*s = next;
	return 0;
}

/* Whether a key=value fact of the text is one of the names, a list that ends with NULL. */
static bool is_one_of(const char *fact, const char *const *names)
{
	size_t len = strcspn(fact, "=");

	for (; *names; names++)
		if (strlen(*names) == len && !strncmp(fact, *names, len))
			return true;
	return false;
}

/* The text without some facts, with `first` before and the new charge and count in their places. */
static void rewrite_text(struct settlement *s, const char *first, const char *const *without)
{
	static const char *const charged[] = {"charged", NULL}, *const changed[] = {
									"changed", NULL};
	char old[SETTLEMENT_MAX_TEXT], *save = NULL;
	size_t used;

	strcpy(old, s->text);
	used = (size_t)snprintf(s->text, sizeof(s->text), "%s", first);
	for (char *fact = strtok_r(old, " ", &save); fact && used < sizeof(s->text);
		fact = strtok_r(NULL, " ", &save)) {
		const char *blank = used ? " " : "";

		if (is_one_of(fact, without) || is_one_of(fact, changed))
			continue;
		if (is_one_of(fact, charged))
			used += (size_t)snprintf(s->text + used, sizeof(s->text) - used,
				"%scharged=%llu", blank, (unsigned long long)s->charged);
		else
			used += (size_t)snprintf(
				s->text + used, sizeof(s->text) - used, "%s%s", blank, fact);
	}
	if (used < sizeof(s->text))
		snprintf(s->text + used, sizeof(s->text) - used, " changed=%d", s->changes);
}

void settlement_change(struct settlement *s, uint64_t charged)
{
	static const char *const nothing[] = {NULL};

	s->charged = charged;
	s->changes++;
	rewrite_text(s, "", nothing);
}

int settlement_change_degradation(struct settlement *s, double degradation, struct errmsg *err)
{
	static const char *const measured[] = {"d", "ci", "dco", "nodata", NULL};
	struct price_policy policy;
	char first[32];

	if (price_policy_parse(s->policy, &policy, err))
		return -1;
	if (isnan(s->stopped))
		s->stopped = 0;
	s->degradation = degradation;
	s->lo = s->hi = NAN;
	s->charged = price_charge(&policy, s->raw, degradation, degradation, s->stopped);
	s->changes++;
	snprintf(first, sizeof(first), "d=%.4f", degradation);
	rewrite_text(s, first, measured);
	return 0;
}

/* "RAW:SECONDS" */
static int read_size(char *text, struct settlement_size *size)
{
	char *colon = strchr(text, ':');
	struct errmsg why;
	int64_t raw;

	if (!colon)
		return -1;
	*colon = '\0';
	if (units_parse_int(text, 0, INT64_MAX, &raw, &why) ||
		units_parse_int(colon + 1, 1, INT32_MAX, &size->seconds, &why))
		return -1;
	size->raw = (uint64_t)raw;
	return 0;
}

int settlement_sizes_parse(const char *list, struct settlement_size sizes[SETTLEMENT_MAX_SIZES])
{
	char copy[SETTLEMENT_MAX_TEXT], *save = NULL;
	int n = 0;

	if ((size_t)snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(list, " "), list) >=
		sizeof(copy))
		return -1;
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (n == SETTLEMENT_MAX_SIZES || read_size(p, &sizes[n++]))
			return -1;
	return n ? n : -1;
}

/* What follows key, " NAME=", in the text, or NULL. */
static const char *value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

int settlement_sizes(const char *text, struct settlement_size sizes[SETTLEMENT_MAX_SIZES])
{
	const char *list = value_of(text, " earlier=");

	return list ? settlement_sizes_parse(list, sizes) : 0;
}

int64_t settlement_earlier_s(const char *text)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	int n = settlement_sizes(text, sizes);
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += sizes[i].seconds;
	return sum;
}

uint64_t settlement_raw(const char *text)
{
	const char *raw = value_of(text, " raw=");

	return raw ? strtoull(raw, NULL, 10) : 0;
}

uint64_t settlement_share(uint64_t raw, uint64_t charged_of_last, uint64_t raw_of_last)
{
	double share;

	if (charged_of_last >= raw_of_last)
		return raw;
	share = (double)raw * ((double)charged_of_last / (double)raw_of_last);
	return (uint64_t)llround(share);
}
