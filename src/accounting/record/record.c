/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a record's fields. */
#include "accounting/record/record.h"

#include <math.h>

/* By enum record_lack. */
static const char *const lack_names[LACK_COUNT] = {
	"", "blocks", "progress", "steadiness", "stillness", "precision", "core"};

#define AT(member) FIELD_AT(struct ledger_record, member)
#define LIST(member) FIELD_LIST(struct ledger_record, member)
#define COUNT_AT(member) .count = offsetof(struct ledger_record, member)

static const struct field fields[] = {
	{"cluster", FIELD_TEXT, AT(cluster), .column = FIELD_KEY},
	{"job", FIELD_INT, AT(job_id), .min = 1, .max = UINT32_MAX, .column = FIELD_KEY},
	{"restart", FIELD_INT, AT(restart), .max = UINT32_MAX, .column = FIELD_KEY},
	{"node", FIELD_TEXT, AT(node), .column = FIELD_KEY},
	{"uid", FIELD_INT, AT(uid), .max = UINT32_MAX, .column = FIELD_FIXED},
	{"seq", FIELD_INT, AT(seq), .max = INT64_MAX, .column = FIELD_NEWEST},
	{"final", FIELD_BOOL, AT(final), .column = FIELD_NEWEST},
	{"lane", FIELD_INT, AT(lane), .min = -1, .max = 1024},
	{"cores", FIELD_INT, AT(cores), .max = 65535},
	{"start", FIELD_INT, AT(start_unix), .max = INT64_MAX, .column = FIELD_KEY},
	{"end", FIELD_INT, AT(end_unix), .max = INT64_MAX},
	{"co_ns", FIELD_INT, AT(co_ns), .max = INT64_MAX},
	{"solo_ns", FIELD_INT, AT(solo_ns), .max = INT64_MAX},
	{"paused_ns", FIELD_INT, AT(paused_ns), .max = INT64_MAX},
	{"turned_ns", FIELD_INT, AT(turned_ns), .max = INT64_MAX, .optional = true},
	{"unmeasured_ns", FIELD_INT, AT(unmeasured_ns), .max = INT64_MAX},
	{"blocks", FIELD_INT, AT(blocks), .max = INT64_MAX},
	{"used", FIELD_INT, AT(used), .max = INT64_MAX},
	/* Noise may make it exceed 1 (see settle.h). Above 10 it is no measurement. */
	{"degradation", FIELD_REAL, AT(degradation), .max = 10},
	{"variance", FIELD_REAL, AT(variance)},
	{"thesis_degradation", FIELD_REAL, AT(thesis_degradation)},
	{"method", FIELD_TEXT, AT(method)},
	{"backend", FIELD_TEXT, AT(backend)},
	{"partners", FIELD_INT, LIST(partner), .min = 1, .max = UINT32_MAX, COUNT_AT(partner_count),
		.items = "job ids"},
	{"sensing", FIELD_BOOL, AT(sensing), .optional = true},
	{"spin", FIELD_BOOL, AT(spin), .optional = true},
	{"unkept", FIELD_BOOL, AT(unkept), .optional = true},
	{"lack", FIELD_WORD, AT(lack), .words = lack_names, .word_count = LACK_COUNT,
		.optional = true},
	{"rough", FIELD_REAL, LIST(rough), .max = 10,
		.flag = offsetof(struct ledger_record, rough_known), .items = "numbers in range"},
	{"culprit", FIELD_INT, AT(culprit), .max = UINT32_MAX, .optional = true},
	{"partner_degradation", FIELD_REAL, LIST(partner_degradation), .max = 10,
		COUNT_AT(partner_count), .flag = offsetof(struct ledger_record, attributed),
		.items = "numbers in range or null"},
	{"partner_ns", FIELD_INT, LIST(partner_ns), .max = INT64_MAX, COUNT_AT(partner_count),
		.flag = offsetof(struct ledger_record, timed), .items = "times"},
	{"program", FIELD_TEXT, AT(program), .optional = true},
	{"node_type", FIELD_TEXT, AT(node_type), .optional = true},
	{"slow_likelihood", FIELD_REAL, LIST(slow_likelihood), .max = 1,
		.flag = offsetof(struct ledger_record, slow_known), .items = "likelihoods"},
	{"miss_line", FIELD_REAL, LIST(miss_line), .max = 1e6,
		.flag = offsetof(struct ledger_record, miss_known), .items = "numbers in range"},
	{"miss_blocks", FIELD_INT, AT(miss_blocks), .max = UINT32_MAX, .optional = true},
};

const struct field_table record_fields = {"record", fields, sizeof(fields) / sizeof(fields[0])};

bool record_has_data(const struct ledger_record *r)
{
	if (r->co_ns == 0)
		return r->solo_ns > 0 || r->unmeasured_ns == 0;
	return isfinite(r->degradation);
}

double record_lost_ns(const struct ledger_record *r)
{
	if (!record_has_data(r))
		return NAN;
	return (double)r->turned_ns + (r->co_ns ? r->degradation * (double)r->co_ns : 0);
}

void record_clip(struct ledger_record *r, int64_t run_ns)
{
	double told =
		(double)r->co_ns + (double)r->solo_ns + (double)r->paused_ns + (double)r->turned_ns;
	double scale = told > (double)run_ns ? (double)run_ns / told : 1;
	int64_t left = scale < 1 ? 0 : run_ns - (int64_t)told;

	r->co_ns = (int64_t)(scale * (double)r->co_ns);
	r->solo_ns = (int64_t)(scale * (double)r->solo_ns);
	r->paused_ns = (int64_t)(scale * (double)r->paused_ns);
	r->turned_ns = (int64_t)(scale * (double)r->turned_ns);
	if (r->unmeasured_ns > left)
		r->unmeasured_ns = left;
}

json_t *record_to_json(const struct ledger_record *r)
{
	return fields_to_json(&record_fields, r);
}

int record_from_json(const json_t *json, struct ledger_record *r, struct errmsg *err)
{
	struct ledger_record next = {.final = false};

	if (fields_from_json(&record_fields, json, &next, err))
		return -1;
	*r = next;
	return 0;
}
