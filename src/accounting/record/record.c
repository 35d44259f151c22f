/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns ledger records into JSON and back. */
#include "accounting/record/record.h"

#include <math.h>
#include <string.h>

#include "accounting/record/fields.h"

/* By enum record_lack. */
static const char *const lack_names[LACK_COUNT] = {
	"", "blocks", "progress", "steadiness", "precision"};

bool record_has_data(const struct ledger_record *r)
{
	if (r->co_ns == 0)
		return r->solo_ns > 0 || r->unmeasured_ns == 0;
	return isfinite(r->degradation);
}

json_t *record_to_json(const struct ledger_record *r)
{
	json_t *partners = json_array(), *json;

	for (int i = 0; partners && i < r->partner_count; i++)
		json_array_append_new(partners, json_integer(r->partner[i]));
	json = json_pack("{s:s, s:I, s:I, s:s, s:I, s:I, s:b, s:i, s:i, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:o, s:o, s:o, s:s, s:s, s:o}",
		"cluster", r->cluster, "job", (json_int_t)r->job_id, "restart",
		(json_int_t)r->restart, "node", r->node, "uid", (json_int_t)r->uid, "seq",
		(json_int_t)r->seq, "final", r->final, "lane", r->lane, "cores", r->cores, "start",
		(json_int_t)r->start_unix, "end", (json_int_t)r->end_unix, "co_ns",
		(json_int_t)r->co_ns, "solo_ns", (json_int_t)r->solo_ns, "paused_ns",
		(json_int_t)r->paused_ns, "unmeasured_ns", (json_int_t)r->unmeasured_ns, "blocks",
		(json_int_t)r->blocks, "used", (json_int_t)r->used, "degradation",
		field_real_or_null(r->degradation), "variance", field_real_or_null(r->variance),
		"thesis_degradation", field_real_or_null(r->thesis_degradation), "method",
		r->method, "backend", r->backend, "partners", partners);
	if (r->sensing)
		json_object_set_new(json, "sensing", json_true());
	if (r->spin)
		json_object_set_new(json, "spin", json_true());
	if (r->lack)
		json_object_set_new(json, "lack", json_string(lack_names[r->lack]));
	if (r->attributed) {
		json_t *costs = json_array();

		for (int i = 0; costs && i < r->partner_count; i++)
			json_array_append_new(costs, field_real_or_null(r->partner_degradation[i]));
		json_object_set_new(json, "partner_degradation", costs);
	}
	return json;
}

/* Records without it, such as those of a job with one partner, are not attributed. */
static int take_attribution(const json_t *json, struct ledger_record *r, struct errmsg *err)
{
	const json_t *costs = json_object_get(json, "partner_degradation"), *item;
	size_t i;

	if (!costs)
		return 0;
	if (!json_is_array(costs) || json_array_size(costs) != (size_t)r->partner_count)
		return errmsg_set(
			err, "record: \"partner_degradation\" must be an array as \"partners\" is");
	json_array_foreach(costs, i, item)
	{
		double d = json_is_null(item) ? NAN : json_number_value(item);

		if (!(json_is_number(item) || json_is_null(item)) || fabs(d) > 10)
			return errmsg_set(err,
				"record: \"partner_degradation\" must hold numbers in range or "
				"null");
		r->partner_degradation[i] = d;
	}
	r->attributed = true;
	return 0;
}

/* A word of a later release is no reason to refuse what was measured. */
static enum record_lack lack_of(const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "lack"));

	for (int i = 1; name && i < LACK_COUNT; i++)
		if (!strcmp(name, lack_names[i]))
			return (enum record_lack)i;
	return LACK_NOTHING;
}

int record_from_json(const json_t *json, struct ledger_record *r, struct errmsg *err)
{
	static const char what[] = "record";
	struct ledger_record next = {.final = false};
	const json_t *partners, *item;
	int64_t job, restart, uid, seq, lane, cores, blocks, used;
	size_t i;

	if (!json_is_object(json))
		return errmsg_set(err, "record: not a JSON object");
	if (field_text(what, json, "cluster", next.cluster, sizeof(next.cluster), err) ||
		field_text(what, json, "node", next.node, sizeof(next.node), err) ||
		field_text(what, json, "method", next.method, sizeof(next.method), err) ||
		field_text(what, json, "backend", next.backend, sizeof(next.backend), err) ||
		field_int(what, json, "job", 1, UINT32_MAX, &job, err) ||
		field_int(what, json, "restart", 0, UINT32_MAX, &restart, err) ||
		field_int(what, json, "uid", 0, UINT32_MAX, &uid, err) ||
		field_int(what, json, "seq", 0, INT64_MAX, &seq, err) ||
		field_int(what, json, "lane", -1, 1024, &lane, err) ||
		field_int(what, json, "cores", 0, 65535, &cores, err) ||
		field_int(what, json, "start", 0, INT64_MAX, &next.start_unix, err) ||
		field_int(what, json, "end", 0, INT64_MAX, &next.end_unix, err) ||
		field_int(what, json, "co_ns", 0, INT64_MAX, &next.co_ns, err) ||
		field_int(what, json, "solo_ns", 0, INT64_MAX, &next.solo_ns, err) ||
		field_int(what, json, "paused_ns", 0, INT64_MAX, &next.paused_ns, err) ||
		field_int(what, json, "unmeasured_ns", 0, INT64_MAX, &next.unmeasured_ns, err) ||
		field_int(what, json, "blocks", 0, INT64_MAX, &blocks, err) ||
		field_int(what, json, "used", 0, INT64_MAX, &used, err) ||
		field_real(what, json, "degradation", &next.degradation, err) ||
		field_real(what, json, "variance", &next.variance, err) ||
		field_real(what, json, "thesis_degradation", &next.thesis_degradation, err))
		return -1;
	/* Noise may exceed 1, which is for the settlement to judge; this is no measurement at all.
	 */
	if (fabs(next.degradation) > 10)
		return errmsg_set(err, "record: \"degradation\" is out of range");
	if (!json_is_boolean(json_object_get(json, "final")))
		return errmsg_set(err, "record: \"final\" must be true or false");
	next.final = json_is_true(json_object_get(json, "final"));
	partners = json_object_get(json, "partners");
	if (!json_is_array(partners) || json_array_size(partners) > RECORD_MAX_PARTNERS)
		return errmsg_set(err,
			"record: \"partners\" must be an array of at most %d job ids",
			RECORD_MAX_PARTNERS);
	json_array_foreach(partners, i, item)
	{
		if (!json_is_integer(item) || json_integer_value(item) < 1 ||
			json_integer_value(item) > UINT32_MAX)
			return errmsg_set(err, "record: \"partners\" must hold job ids");
		next.partner[next.partner_count++] = (uint32_t)json_integer_value(item);
	}
	if (take_attribution(json, &next, err))
		return -1;
	next.lack = lack_of(json);
	next.spin = json_is_true(json_object_get(json, "spin"));
	next.sensing = json_is_true(json_object_get(json, "sensing"));
	next.job_id = (uint32_t)job;
	next.restart = (uint32_t)restart;
	next.uid = (uint32_t)uid;
	next.seq = (uint64_t)seq;
	next.lane = (int)lane;
	next.cores = (int)cores;
	next.blocks = (uint64_t)blocks;
	next.used = (uint64_t)used;
	*r = next;
	return 0;
}
