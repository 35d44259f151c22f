/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of what programs cost each other in a report's page (figure 3.11 of the thesis). */
#include <math.h>

#include "cli/bills/report.h"

#define HEAT_PROGRAMS 14

/* Lines of the map that do not stand for one program. */
enum { ALL_PARTNERS = -2, PARTNERS_NOT_LISTED = -1 };

/* The class of a cell, by the colours of src/cli/page/page.css. */
static const char *level(double degradation)
{
	static const double from[] = {0.02, 0.05, 0.10, 0.20, 0.30, 0.45};
	static const char *const class[] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6"};
	int i = 0;

	while (i < 6 && degradation >= from[i])
		i++;
	return class[i];
}

/* runs is 0 for a mean. A pair that never ran has an empty cell. */
static json_t *cell(double lost_s, double beside_s, int runs)
{
	if (!(beside_s > 0))
		return json_object();
	return json_pack("{s:s, s:f, s:i, s:f}", "level", level(lost_s / beside_s), "percent",
		100 * (lost_s / beside_s), "runs", runs, "hours", beside_s / 3600);
}

static double pair_time(const struct summary *s, int program)
{
	double t = s->programs[program].beside_s;

	for (int i = 0; i < s->pair_count; i++)
		if (s->pairs[i].program == program)
			t += s->pairs[i].beside_s;
	return t > 0 ? t : NAN;
}

/* A line of the map: what this partner costs each of the programs. */
static json_t *row(const struct summary *s, const int *program, int count, int partner)
{
	json_t *cells = json_array();
	double lost = 0, beside = 0;

	for (int i = 0; i < count; i++) {
		double l = 0, b = 0;
		int runs = 0;

		for (int k = 0; k < s->pair_count; k++) {
			const struct summary_pair *p = &s->pairs[k];

			if (p->program != program[i] ||
				(partner != ALL_PARTNERS && p->partner != partner))
				continue;
			l += p->lost_s;
			b += p->beside_s;
			runs += p->runs;
		}
		json_array_append_new(cells, cell(l, b, partner == ALL_PARTNERS ? 0 : runs));
		lost += l;
		beside += b;
	}
	json_array_append_new(cells, cell(lost, beside, 0));
	if (partner < 0)
		return json_pack("{s:b, s:o}", partner == ALL_PARTNERS ? "mean" : "rest", true,
			"cells", cells);
	return json_pack(
		"{s:{s:s}, s:o}", "program", "name", s->by_program[partner].name, "cells", cells);
}

json_t *report_heat(const struct summary *s)
{
	/* One more than is shown tells whether there are more. */
	int program[HEAT_PROGRAMS + 1],
		count = report_worst(s, pair_time, program, HEAT_PROGRAMS + 1);
	json_t *columns, *rows;
	bool more = count > HEAT_PROGRAMS, rest = false;

	count -= more;
	if (!count)
		return NULL;
	columns = json_array();
	rows = json_pack("[o]", row(s, program, count, ALL_PARTNERS));
	for (int i = 0; i < count; i++) {
		json_array_append_new(
			columns, json_pack("{s:s}", "name", s->by_program[program[i]].name));
		json_array_append_new(rows, row(s, program, count, program[i]));
	}
	for (int i = 0; i < s->pair_count && !rest; i++)
		rest = s->pairs[i].partner < 0;
	if (rest)
		json_array_append_new(rows, row(s, program, count, PARTNERS_NOT_LISTED));
	return json_pack("{s:b, s:i, s:o, s:o}", "more", more, "shown", HEAT_PROGRAMS, "columns",
		columns, "rows", rows);
}
