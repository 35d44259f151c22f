/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would have been charged under another policy, against what was, for a report's text and
 * JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/number_text.h"
#include "cli/ask/shorten_text.h"
#include "cli/bills/report.h"

#define NAME_WIDTH 24

static int64_t gain(const struct summary_sums *s)
{
	return (int64_t)(s->charged_now - s->charged);
}

static int compare_gains(const void *a, const void *b)
{
	const struct summary_group *x = *(const struct summary_group *const *)a,
				   *y = *(const struct summary_group *const *)b;

	if (gain(&x->sums) != gain(&y->sums))
		return gain(&x->sums) < gain(&y->sums) ? 1 : -1;
	/* The groups have an order of their own. */
	return (x > y) - (x < y);
}

/* The groups, those that gain most first; the caller frees the list. NULL without memory. */
static const struct summary_group **by_gain(const struct summary *s)
{
	const struct summary_group **list = calloc((size_t)s->group_count + 1, sizeof(*list));

	for (int i = 0; list && i < s->group_count; i++)
		list[i] = &s->groups[i];
	if (list)
		qsort(list, (size_t)s->group_count, sizeof(*list), compare_gains);
	return list;
}

static json_t *sums_json(const struct summary_sums *s)
{
	return json_pack("{s:i, s:i, s:I, s:I, s:I, s:i, s:o}", "jobs", s->jobs, "no_data",
		s->no_data, "charged_now", (json_int_t)s->charged_now, "charged",
		(json_int_t)s->charged, "gain", (json_int_t)gain(s), "node_jobs", s->node_jobs,
		"saved_node_s",
		s->node_jobs ? json_integer(llround(s->saved_node_s)) : json_null());
}

json_t *report_what_if(const struct report *r)
{
	const struct summary *s = r->summary;
	const struct summary_group **list;
	json_t *groups;

	if (!r->what_if)
		return json_null();
	list = by_gain(s);
	groups = list ? json_array() : NULL;
	for (int i = 0; groups && i < s->group_count; i++) {
		json_t *one = sums_json(&list[i]->sums);

		json_object_set_new(one, "name", json_string(list[i]->name));
		json_array_append_new(groups, one);
	}
	free(list);
	return json_pack("{s:s, s:o, s:o}", "policy", r->what_if, "total", sums_json(&s->total),
		"groups", groups);
}

static void put_sums(FILE *out, const char *name, const struct summary_sums *s)
{
	struct number_cell now, charged, gained, saved;

	shorten_name(out, name, NAME_WIDTH);
	fprintf(out, " %6d %7d %12s %12s %12s %12s %6d\n", s->jobs, s->no_data,
		number_hours(&now, s->charged_now), number_hours(&charged, s->charged),
		number_signed_hours(&gained, gain(s)),
		s->node_jobs ? number_signed_hours(&saved, llround(s->saved_node_s)) : "-",
		s->node_jobs);
}

void report_what_if_text(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	const struct summary_group **list = by_gain(s);

	fprintf(out, "\nWhat was charged, and what would have been under %s, in billing hours:\n\n",
		r->what_if);
	shorten_name(out, summary_by_name(r->by), NAME_WIDTH);
	fprintf(out, " %6s %7s %12s %12s %12s %12s %6s\n", "jobs", "no data", "charged now",
		"would be", "gain", "node h saved", "known");
	for (int i = 0; list && i < s->group_count; i++)
		put_sums(out, list[i]->name, &list[i]->sums);
	free(list);
	put_sums(out, "all co-located jobs", &s->total);
	fputs("\nJobs without data or without a price would gain nothing. node h saved: node hours "
	      "against compact\nplacement, of the known jobs: those with a certain figure against "
	      "plain runs and a degradation.\n",
		out);
}
