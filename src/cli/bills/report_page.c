/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as one page of HTML: what "poppa report --json" prints and what follows from it, filled
 * into page/report.html. */
#include <stdlib.h>

#include "cli/bills/report.h"
#include "cli/page/page_template.h"
#include "common/text_append.h"
#include "poppa_config.h"

#define MAX_LINES 500 /* in a table */
#define MAX_JOBS 100  /* in the list of jobs without data */
#define WORST 10      /* programs that slow down, or are slowed down, most */

/* The ids of the jobs beside which a job ran, as text. */
static json_t *beside(const struct settlement *f)
{
	char text[12 * SETTLEMENT_MAX_PARTNERS + 32] = "";

	for (int i = 0; i < f->partner_count; i++)
		text_append(text, sizeof(text), "%s%u", i ? ", " : "", f->partner[i]);
	if (f->more_partners)
		text_append(text, sizeof(text), " and %d more", f->more_partners);
	return json_string(text);
}

/* A line for each run; those of a requeued job have the same id and end one after the other. */
static json_t *job_line(const struct report *r, const struct summary_group *g)
{
	const struct bill *b = g->bill[0];
	const struct compact *compact = &r->summary->compact[b - r->bills->bill];
	json_t *line = report_job_json(b, compact);

	json_object_set_new(line, "sums", report_sums_json(&g->sums));
	json_object_set_new(line, "beside", beside(b->facts));
	json_object_set_new(
		line, "unsure", json_boolean(compact_known(compact) && !compact_sure(compact)));
	json_object_set_new(line, "price",
		json_string(b->status == BILL_NO_DATA ? b->facts->nodata
						      : bill_status_name(b->status)));
	return line;
}

/* The table of what --by says; groups are those of --json. */
static json_t *lines(const struct report *r, const json_t *groups)
{
	json_t *list = json_array();
	bool more = json_array_size(groups) > MAX_LINES;

	for (int i = 0; i < r->summary->group_count && i < MAX_LINES; i++) {
		if (r->by == SUMMARY_JOB)
			json_array_append_new(list, job_line(r, &r->summary->groups[i]));
		else
			json_array_append(list, json_array_get(groups, (size_t)i));
	}
	return json_pack("{s:o, s:b}", "lines", list, "more", more);
}

/* The programs of --json that the indices name. */
static json_t *chosen(const json_t *programs, const int *index, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append(list, json_array_get(programs, (size_t)index[i]));
	return list;
}

/* The plot of prices, and the table of all programs that have one. */
static json_t *prices(const struct summary *s, const json_t *programs)
{
	int *index = calloc((size_t)s->program_count + 1, sizeof(*index));
	int n = index ? report_programs(s, index, s->program_count) : 0;
	json_t *plot = n ? report_plot_prices(s) : NULL;

	json_object_set_new(plot, "shown", json_integer(REPORT_PLOT_PROGRAMS));
	json_object_set_new(plot, "more", json_boolean(n > REPORT_PLOT_PROGRAMS));
	json_object_set_new(
		plot, "priced_programs", chosen(programs, index, n < MAX_LINES ? n : MAX_LINES));
	free(index);
	return plot;
}

/* A table of the worst programs; key is "suffered" or "caused". */
static void add_worst(json_t *tables, const struct summary *s, const json_t *programs,
	const char *key, double (*cost)(const struct summary *, int), const char *caption)
{
	int index[WORST], n = report_worst(s, cost, index, WORST);

	if (n)
		json_array_append_new(tables, json_pack("{s:s, s:o}", "caption", caption, key,
						      chosen(programs, index, n)));
}

static json_t *worst(const struct summary *s, const json_t *programs)
{
	json_t *tables = json_array();

	add_worst(tables, s, programs, "suffered", report_suffered,
		"Slowed down most: mean over all of their time");
	add_worst(tables, s, programs, "caused", report_caused,
		"Slow their partners down most: mean over the partners' time beside them");
	return tables;
}

static json_t *without_data(const struct report *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->bills->count && json_array_size(list) < MAX_JOBS; i++)
		if (r->bills->bill[i].status == BILL_NO_DATA)
			json_array_append_new(
				list, report_job_json(&r->bills->bill[i], &r->summary->compact[i]));
	return json_pack("{s:o, s:b}", "lines", list, "more", r->summary->total.no_data > MAX_JOBS);
}

/* Leaves the first lines, those of whoever gains most. */
static void shorten_what_if(json_t *what_if)
{
	json_t *groups = json_object_get(what_if, "groups");
	size_t n = json_array_size(groups);

	json_object_set_new(what_if, "more", json_boolean(n > MAX_LINES));
	while (n > MAX_LINES)
		json_array_remove(groups, --n);
}

int report_page(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	json_t *page = report_json(r);
	const json_t *programs = json_object_get(page, "programs");

	if (!page)
		return -1;
	json_object_set_new(page, "version", json_string(POPPA_VERSION));
	json_object_set_new(page, "written", json_integer(r->made_unix));
	if (s->slot_count)
		json_object_set_new(page, "times", report_plot_time(s));
	if (s->total.jobs)
		json_object_set_new(page, r->by == SUMMARY_JOB ? "by_job" : "by_group",
			lines(r, json_object_get(page, "groups")));
	shorten_what_if(json_object_get(page, "what_if"));
	json_object_set_new(page, "prices", prices(s, programs));
	json_object_set_new(page, "heat", report_heat(s));
	json_object_set_new(page, "map", report_gains_map(r));
	json_object_set_new(page, "worst", worst(s, programs));
	if (s->reason_count)
		json_object_set_new(page, "without_data", without_data(r));
	page_template_fill(out, report_page_template, page);
	json_decref(page);
	return 0;
}
