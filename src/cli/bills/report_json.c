/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as JSON. */

#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "cli/bills/report.h"

json_t *report_sums_json(const struct summary_sums *s)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:i, s:o}",
		"jobs", s->jobs, "priced", s->priced, "no_data", s->no_data, "unsettled",
		s->unsettled, "open", s->open, "elapsed_s", (json_int_t)s->elapsed_s, "raw",
		(json_int_t)s->raw, "charged", (json_int_t)s->charged, "discount",
		field_real_or_null(summary_discount(s)), "degradation",
		field_real_or_null(summary_degradation(s)), "stp",
		field_real_or_null(summary_stp(s)), "compared", s->compared, "stp_compact",
		field_real_or_null(summary_compact_stp(s)));
}

json_t *report_compact_json(const struct compact *c)
{
	return json_pack("{s:o, s:i, s:o, s:o, s:s}", "progress", field_real_or_null(c->progress),
		"plain_runs", c->runs, "plain_s", field_real_or_null(c->run_s), "apart",
		field_real_or_null(c->apart), "doubt", compact_doubt_name(c->doubt));
}

json_t *report_job_json(const struct bill *b, const struct compact *compact)
{
	json_t *json = json_pack(
		"{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "id",
		b->id, "job", (json_int_t)b->job_id, "user", b->user, "account", b->account,
		"partition", b->partition, "qos", b->qos, "name", b->name, "state", b->state,
		"status", bill_status_name(b->status), "start", (json_int_t)b->start, "end",
		(json_int_t)b->end, "elapsed_s", (json_int_t)b->elapsed_s, "raw",
		(json_int_t)bill_raw(b), "charged", (json_int_t)b->billing);
	json_t *price = bill_price_json(b, SETTLEMENT_REPORT);

	json_object_update(json, price);
	json_decref(price);
	json_object_set_new(json, "compact", report_compact_json(compact));
	return json;
}

static json_t *groups_json(const struct report *r)
{
	const struct summary *s = r->summary;
	json_t *list = json_array();

	for (int i = 0; list && i < s->group_count; i++) {
		json_t *one;

		if (r->by == SUMMARY_JOB) {
			one = report_job_json(s->groups[i].bill[0],
				&s->compact[s->groups[i].bill[0] - r->bills->bill]);
		} else {
			one = report_sums_json(&s->groups[i].sums);
			json_object_set_new(one, "name", json_string(s->groups[i].name));
		}
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *spread_json(const struct spread *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < 5; i++)
		json_array_append_new(list, field_real_or_null(s->at[i]));
	return list;
}

static json_t *programs_json(const struct summary *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < s->program_count; i++) {
		const struct summary_program *p = &s->programs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "name",
				      p->group->name, "jobs", p->group->count, "priced", p->priced,
				      "suffered", field_real_or_null(report_suffered(s, i)),
				      "caused", field_real_or_null(report_caused(s, i)), "practice",
				      spread_json(&p->practice), "thesis", spread_json(&p->thesis),
				      "ours", spread_json(&p->charged)));
	}
	return list;
}

static json_t *pairs_json(const struct summary *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < s->pair_count; i++) {
		const struct summary_pair *p = &s->pairs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s?, s:i, s:o, s:o}", "program",
				      s->by_program[p->program].name, "partner",
				      p->partner < 0 ? NULL : s->by_program[p->partner].name,
				      "runs", p->runs, "beside_s", field_real_or_null(p->beside_s),
				      "degradation", field_real_or_null(p->lost_s / p->beside_s)));
	}
	return list;
}

static json_t *slots_json(const struct summary *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < s->slot_count; i++)
		json_array_append_new(list,
			json_pack("{s:I, s:i, s:I, s:I}", "from", (json_int_t)s->slots[i].from,
				"jobs", s->slots[i].jobs, "raw", (json_int_t)s->slots[i].raw,
				"charged", (json_int_t)s->slots[i].charged));
	return list;
}

static json_t *reasons_json(const struct summary *s)
{
	json_t *list = json_array();

	for (int i = 0; list && i < s->reason_count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:i, s:I}", "reason", s->reasons[i].word, "jobs",
				s->reasons[i].jobs, "charged", (json_int_t)s->reasons[i].charged));
	return list;
}

static json_t *doubts_json(const struct summary *s)
{
	json_t *list = json_array();

	for (int i = COMPACT_NONE + 1; list && i < COMPACT_DOUBTS; i++)
		if (s->doubts[i])
			json_array_append_new(
				list, json_pack("{s:s, s:i}", "reason", compact_doubt_name(i),
					      "jobs", s->doubts[i]));
	return list;
}

/* Null where no pair can be compared. */
static json_t *compact_json(const struct summary *s)
{
	const struct gains *g = &s->gains;

	if (!g->all.pairs)
		return json_null();
	return json_pack("{s:i, s:i, s:o, s:i, s:o}", "pairs", g->all.pairs, "unsure", g->unsure,
		"stp", field_real_or_null(g->all.stp), "see_pairs", g->see_pairs, "see",
		field_real_or_null(g->see));
}

json_t *report_json(const struct report *r)
{
	const struct summary *s = r->summary;

	return json_pack("{s:s, s:I, s:I, s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o}",
		"span", r->span, "first", (json_int_t)s->first, "last", (json_int_t)s->last, "by",
		summary_by_name(r->by), "total", report_sums_json(&s->total), "others", s->others,
		"malformed", r->bills->malformed, "groups", groups_json(r), "programs",
		programs_json(s), "pairs", pairs_json(s), "slots", slots_json(s), "nodata",
		reasons_json(s), "compact", compact_json(s), "doubts", doubts_json(s), "gains",
		report_gains(r), "what_if", report_what_if(r));
}
