/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms in which "poppa report" shows a summary. */
#pragma once

#include <stdio.h>
#include <jansson.h>

#include "accounting/bill/summary.h"
#include "cli/partners/known_pairs.h"

struct report {
	const struct bills *bills;
	const struct summary *summary;
	enum summary_by by;
	const char *span;                /* which jobs were asked for, in words */
	int64_t made_unix;               /* seconds since 1970 */
	const struct known_pairs *known; /* the pair history; NULL = none is to be read */
	const char *what_if; /* the policy under which the bills are charged here; NULL = as they
				were charged */
};

/* The plot of prices has at most so many programs. */
#define REPORT_PLOT_PROGRAMS 12

/* These write a table with totals for a terminal, and all rows for a spreadsheet (RFC 4180). */
void report_text(const struct report *r, FILE *out);
void report_csv(const struct report *r, FILE *out);
/* The whole report, sums, and one job as JSON: new references, NULL without memory. */
json_t *report_json(const struct report *r);
json_t *report_sums_json(const struct summary_sums *s);
json_t *report_job_json(const struct bill *b, const struct compact *compact);
/* What is known of a job's progress against plain runs; a new reference. */
json_t *report_compact_json(const struct compact *c);
/* What pairs of classes made against plain runs, and with a pair history what is expected of them;
 * a new reference, NULL without memory. */
json_t *report_gains(const struct report *r);
/* What would have been charged under r->what_if against what was charged, for the groups of r->by,
 * those that gain most first; and node time saved. A new reference: JSON null without r->what_if,
 * NULL without memory. report_what_if_text() writes the same as a table. */
json_t *report_what_if(const struct report *r);
void report_what_if_text(const struct report *r, FILE *out);
/* Writes one page that needs no network and no scripts. Returns 0, or -1 without memory. */
int report_page(const struct report *r, FILE *out);

/* page/report.html with src/cli/page/page.css in it, as the build embeds them. */
extern const char report_page_template[];
/*
 * What the page's plots and map show, with the places, for page/report.html, which draws them; new
 * references. They show charged against raw over time, the prices of at most REPORT_PLOT_PROGRAMS
 * programs, the degradation of each pair (NULL without pairs), and the gains of each pair of
 * classes, measured and expected (NULL where nothing is known of them).
 */
json_t *report_plot_time(const struct summary *s);
json_t *report_plot_prices(const struct summary *s);
json_t *report_heat(const struct summary *s);
json_t *report_gains_map(const struct report *r);

/* Writes the indices of the programs that have priced runs, those with the most runs first, at most
 * max; returns how many. */
int report_programs(const struct summary *s, int *index, int max);

/* Degradation that a program suffered, and that it caused to its partners. */
double report_suffered(const struct summary *s, int program); /* NAN without a priced run */
double report_caused(const struct summary *s, int program);   /* NAN without a partner's */
/* Writes the indices of the programs for which cost is known, the highest cost first, at most max;
 * returns how many. */
int report_worst(
	const struct summary *s, double (*cost)(const struct summary *, int), int *index, int max);
