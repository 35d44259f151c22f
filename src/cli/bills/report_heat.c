/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of what programs cost each other in a report's page (figure 3.11 of the thesis). */
#include <math.h>

#include "cli/bills/report.h"

#define HEAT_PROGRAMS 14
#define NAME_COLUMNS 24 /* of a program's name at its line and its column */

static int heat_of(double d)
{
	static const double from[] = {0.02, 0.05, 0.10, 0.20, 0.30, 0.45};
	int i = 0;

	while (i < 6 && d >= from[i])
		i++;
	return i;
}

static void heat_cell(FILE *out, const char *class, double lost_s, double beside_s, int runs)
{
	double d = lost_s / beside_s;

	if (!(beside_s > 0))
		fputs("<td></td>", out);
	else if (runs)
		fprintf(out, "<td class=\"h%d\" title=\"%d runs, %.1f hours beside it\">%.1f</td>",
			heat_of(d), runs, beside_s / 3600, 100 * d);
	else
		fprintf(out, "<td class=\"h%d%s\">%.1f</td>", heat_of(d), class, 100 * d);
}

/* The programs with the most time in pairs. */
struct heat {
	int program[HEAT_PROGRAMS + 1];
	int count;
	bool others; /* there are partners that the list of jobs does not have */
};

static double pair_time(const struct summary *s, int program)
{
	double t = s->programs[program].beside_s;

	for (int i = 0; i < s->pair_count; i++)
		if (s->pairs[i].program == program)
			t += s->pairs[i].beside_s;
	return t > 0 ? t : NAN;
}

static void put_name(FILE *out, const char *scope, const char *name)
{
	fprintf(out, "<th scope=\"%s\" title=\"", scope);
	report_escape(out, name);
	fputs("\">", out);
	report_cut(out, name, NAME_COLUMNS, "…", report_escape);
	fputs("</th>", out);
}

/* A line of the map: what this partner costs each program; -2 is the mean over all partners. */
static void heat_row(FILE *out, const struct summary *s, const struct heat *h, int partner)
{
	double lost = 0, beside = 0;

	if (partner >= 0) {
		fputs("<tr>", out);
		put_name(out, "row", s->by_program[partner].name);
	} else {
		fprintf(out, "<tr%s><th scope=\"row\">%s</th>",
			partner == -2 ? " class=\"mean\"" : "",
			partner == -2 ? "mean suffered" : "jobs not shown here");
	}
	for (int i = 0; i < h->count; i++) {
		double l = 0, b = 0;
		int runs = 0;

		for (int k = 0; k < s->pair_count; k++) {
			const struct summary_pair *p = &s->pairs[k];

			if (p->program != h->program[i] || (partner != -2 && p->partner != partner))
				continue;
			l += p->lost_s;
			b += p->beside_s;
			runs += p->runs;
		}
		heat_cell(out, " mean", l, b, partner == -2 ? 0 : runs);
		lost += l;
		beside += b;
	}
	heat_cell(out, " mean", lost, beside, 0);
	fputs("</tr>\n", out);
}

void report_heat(const struct summary *s, FILE *out)
{
	static const char *const key[] = {"below 2 %", "2 to 5 %", "5 to 10 %", "10 to 20 %",
		"20 to 30 %", "30 to 45 %", "45 % and more"};
	struct heat h = {.count = 0};
	bool more;

	/* One more than is shown tells whether there are more. */
	h.count = report_worst(s, pair_time, h.program, HEAT_PROGRAMS + 1);
	more = h.count > HEAT_PROGRAMS;
	h.count -= more;
	if (!h.count)
		return;
	fputs("<section class=\"long\"><h2>Degradation by pair</h2>\n<p>", out);
	if (more)
		fprintf(out, "Of the %d programs that were in pairs for longest. ", HEAT_PROGRAMS);
	fputs("How much of its progress a job of the column's program lost, in percent of the "
	      "time beside one job of the line's program. Runs with several partners are not in "
	      "it.</p>\n"
	      "<div class=\"scroll\" role=\"region\" aria-label=\"Degradation by pair\" "
	      "tabindex=\"0\"><table class=\"heat\">\n"
	      "<caption><span>Degradation in percent: who suffers (columns) beside whom "
	      "(lines)</span></caption>\n"
	      "<thead><tr><th scope=\"col\">beside</th>",
		out);
	for (int i = 0; i < h.count; i++)
		put_name(out, "col", s->by_program[h.program[i]].name);
	fputs("<th scope=\"col\">mean caused</th></tr></thead>\n<tbody>\n", out);
	heat_row(out, s, &h, -2);
	for (int i = 0; i < h.count; i++)
		heat_row(out, s, &h, h.program[i]);
	for (int i = 0; i < s->pair_count && !h.others; i++)
		h.others = s->pairs[i].partner < 0;
	if (h.others)
		heat_row(out, s, &h, -1);
	report_close_table(out);
	fputs("<p class=\"key\">", out);
	for (int i = 0; i < 7; i++)
		fprintf(out, "<span class=\"nowrap\"><span class=\"box h%d\"></span> %s</span> ", i,
			key[i]);
	fputs("</p></section>\n", out);
}
