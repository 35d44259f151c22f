/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as one page: tables, and plots from report_plot.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bills/report.h"
#include "poppa_config.h"

#define MAX_LINES 500 /* of the table by user, account, ... */
#define MAX_JOBS 100  /* of those without data */
#define WORST 10

static const char style[] =
	":root{color-scheme:light "
	"dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--stripe:#f6f8fa;--raw:#a8b1bb;--raw-edge:#6e7781;--charged:#0550ae;--thesis:#9a6700;--link:#0550ae}@media "
	"screen and "
	"(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9aa4af;--line:#30363d;--stripe:#151b23;--raw:#4d5866;--raw-edge:#8b96a3;--charged:#58a6ff;--thesis:#d29922;--link:#79c0ff}}*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 "
	"system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif}main{max-width:60rem;margin:0 "
	"auto;padding:1.5rem 1rem 3rem}h1{font-size:1.7rem;line-height:1.2;margin:.2em "
	"0}h2{font-size:1.2rem;margin:2.4em 0 .4em;border-bottom:1px solid "
	"var(--line);padding-bottom:.2em}p{max-width:46rem}.soft{color:var(--soft)}dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.8rem;margin:1.2rem "
	"0}dl div{border:1px solid var(--line);border-radius:6px;padding:.6rem "
	".8rem}dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}.scroll{overflow-x:auto}.scroll:focus-visible{outline:2px "
	"solid "
	"var(--link)}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;margin:.6rem "
	"0}caption{text-align:left;color:var(--soft);padding:.2rem 0 .4rem}caption "
	"span{display:inline-block;position:sticky;left:0;max-width:calc(100vw - "
	"2rem)}th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid "
	"var(--line);vertical-align:top}td{white-space:nowrap}td.text{white-space:normal;overflow-wrap:anywhere;min-width:6rem}th{font-weight:600}th[scope=row],th:first-child,td.text,th.text{text-align:left}th[scope=row]{font-weight:400;overflow-wrap:anywhere;min-width:8rem;max-width:18rem}.jobs "
	"th[scope=row],.jobs td.text{min-width:3.5rem}tbody "
	"tr:nth-child(even){background:var(--stripe)}tfoot th[scope=row],tfoot "
	"td{font-weight:600}svg{display:block;width:100%;min-width:640px;height:auto}svg "
	"text{fill:var(--soft);font-size:12px}svg .end{text-anchor:end}svg "
	".middle{text-anchor:middle}svg "
	".axis{font-style:italic}.grid{stroke:var(--line)}.one{stroke:var(--fg);stroke-dasharray:4 "
	"3}.whisker{stroke:var(--soft)}.median{stroke:var(--bg);stroke-width:2}.of-raw{stroke:var(--fg)}svg "
	".raw{fill:var(--raw);stroke:var(--raw-edge)}svg .charged{fill:var(--charged)}svg "
	".thesis{fill:var(--thesis)}.box{display:inline-block;width:.9em;height:.9em;vertical-align:-.1em;margin:0 "
	".2em 0 .8em}.nowrap{white-space:nowrap}.sides{display:grid;gap:0 "
	"2rem;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr))}.key{margin:.2rem "
	"0}.key>:first-child,.key .nowrap .box{margin-left:0}.key "
	".nowrap{margin-right:.8em}.box.raw{background:var(--raw);border:1px solid "
	"var(--raw-edge)}.box.charged{background:var(--charged)}.box.thesis{background:var(--thesis)}.heat "
	"td{text-align:center;border:1px solid var(--bg);min-width:3.4rem}.heat thead "
	"th{vertical-align:bottom;text-align:center;overflow-wrap:break-word;max-width:6.5rem;font-weight:400}.heat "
	"tbody tr:nth-child(even){background:none}.heat "
	".mean{font-weight:600}.h0{background:#eef1f4;color:#1b1f24}.h1{background:#fff1c9;color:#1b1f24}.h2{background:#ffdf85;color:#1b1f24}.h3{background:#ffb86b;color:#1b1f24}.h4{background:#f58a52;color:#1b1f24}.h5{background:#b93426;color:#fff}.h6{background:#7d1128;color:#fff}@media "
	"screen and "
	"(prefers-color-scheme:dark){.h0{background:#1c232c;color:#e6edf3}.h1{background:#332f17;color:#f3ecd0}.h2{background:#4d3d0e;color:#fff}.h3{background:#6b4408;color:#fff}.h4{background:#8f4a0c;color:#fff}.h5{background:#f0764f;color:#12161b}.h6{background:#ffb3a7;color:#12161b}}.heat "
	"td,.box,svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}@media "
	"print{body{font-size:10pt}main{max-width:none;padding:0}svg{min-width:0}.scroll{overflow:visible}section,tr,svg{break-inside:avoid}section.long{break-inside:auto}h2{break-after:avoid}thead{display:table-header-group}tfoot{display:table-row-group}.sides,.heat{break-inside:avoid}th,td{padding:.15rem "
	".35rem}table{font-size:8.5pt}.heat td{min-width:0}.heat th[scope],.heat thead "
	"th{overflow-wrap:anywhere;min-width:0}}";

void report_escape(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* Hours of a table that people read: 1,234,567.8 */
static const char *hours(struct report_cell *c, uint64_t seconds)
{
	struct report_cell plain;
	size_t whole = strcspn(report_hours(&plain, seconds), "."), to = 0;

	for (size_t i = 0; plain.text[i]; i++) {
		if (i && i < whole && (whole - i) % 3 == 0)
			c->text[to++] = ',';
		c->text[to++] = plain.text[i];
	}
	c->text[to] = '\0';
	return c->text;
}

static void tile(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, value);
}

static void put_head(const struct report *r, FILE *out)
{
	const struct summary_sums *t = &r->summary->total;
	struct report_cell c, from, to;

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"generator\" content=\"poppa %s\">\n"
		"<title>Charges of co-located "
		"jobs</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n"
		"<h1>Charges of co-located jobs</h1>\n<p class=\"soft\">Jobs ",
		POPPA_VERSION, style);
	report_escape(out, r->span);
	if (t->jobs)
		fprintf(out,
			"; they ran from <span class=\"nowrap\">%s</span> to "
			"<span class=\"nowrap\">%s</span>",
			report_time(&from, r->summary->first, REPORT_MINUTE),
			report_time(&to, r->summary->last, REPORT_MINUTE));
	fprintf(out, ". Written <span class=\"nowrap\">%s</span>.</p>\n",
		report_time(&c, r->made_unix, REPORT_MINUTE));
	if (!t->jobs) {
		fprintf(out, "<p>There are none among %d jobs.</p>\n", r->bills->count);
		return;
	}
	fputs("<dl>\n", out);
	snprintf(c.text, sizeof(c.text), "%d", t->jobs);
	tile(out, "Co-located jobs", c.text);
	tile(out, "Raw, billing hours", report_short(&c, (double)t->raw / 3600));
	tile(out, "Charged, billing hours", report_short(&c, (double)t->charged / 3600));
	tile(out, "Discount", report_percent(&c, summary_discount(t)));
	tile(out, "Mean degradation", report_percent(&c, summary_degradation(t)));
	tile(out, "STP, against alone on a lane", report_real(&c, 3, summary_stp(t)));
	if (r->summary->compared) {
		tile(out, "STP, against compact runs", report_real(&c, 3, r->summary->stp));
		tile(out, "SEE", report_real(&c, 3, r->summary->see));
	}
	snprintf(c.text, sizeof(c.text), "%d", t->no_data);
	tile(out, "Without data", c.text);
	if (t->unsettled) {
		snprintf(c.text, sizeof(c.text), "%d", t->unsettled);
		tile(out, "Ended, no price yet", c.text);
	}
	if (t->open) {
		snprintf(c.text, sizeof(c.text), "%d", t->open);
		tile(out, "Not ended", c.text);
	}
	fputs("</dl>\n", out);
}

void report_open_table(FILE *out, const char *caption, const char *class, const char *heads)
{
	fprintf(out,
		"<div class=\"scroll\" role=\"region\" aria-label=\"%s\" "
		"tabindex=\"0\"><table%s%s%s>\n"
		"<caption><span>%s</span></caption>\n<thead><tr>%s</tr></thead>\n<tbody>\n",
		caption, *class ? " class=\"" : "", class, *class ? "\"" : "", caption, heads);
}

void report_close_table(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

void report_row_name(FILE *out, const char *name)
{
	fputs("<tr><th scope=\"row\">", out);
	report_escape(out, name);
	fputs("</th>", out);
}

static void put_sums(FILE *out, const struct summary_sums *s)
{
	struct report_cell spent, raw, charged, discount, degradation, stp;

	fprintf(out,
		"<td>%d</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>"
		"<td>%s</td></tr>\n",
		s->jobs, s->no_data, hours(&spent, s->elapsed_s), hours(&raw, s->raw),
		hours(&charged, s->charged), report_percent(&discount, summary_discount(s)),
		report_percent(&degradation, summary_degradation(s)),
		report_real(&stp, 3, summary_stp(s)));
}

static void put_time(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	struct report_cell when, raw, charged;

	if (!s->slot_count)
		return;
	fputs("<section class=\"long\"><h2>Charged against raw over time</h2>\n", out);
	report_plot_time(s, out);
	fputs("<details><summary>The numbers</summary>\n", out);
	report_open_table(out, "Billing hours by the time at which jobs ended", "",
		"<th scope=\"col\">from</th><th scope=\"col\">jobs</th><th scope=\"col\">raw</th>"
		"<th scope=\"col\">charged</th>");
	for (int i = 0; i < s->slot_count; i++)
		if (s->slots[i].jobs)
			fprintf(out,
				"<tr><th "
				"scope=\"row\">%s</th><td>%d</td><td>%s</td><td>%s</td></tr>\n",
				report_time(&when, s->slots[i].from, REPORT_MINUTE),
				s->slots[i].jobs, hours(&raw, s->slots[i].raw),
				hours(&charged, s->slots[i].charged));
	report_close_table(out);
	fputs("</details></section>\n", out);
}

/* How much, of one job or of all of them. */
static void put_amounts(FILE *out, const struct summary_sums *s)
{
	struct report_cell spent, raw, charged, discount, degradation;

	fprintf(out, "<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>",
		hours(&spent, s->elapsed_s), hours(&raw, s->raw), hours(&charged, s->charged),
		report_percent(&discount, summary_discount(s)),
		report_percent(&degradation, summary_degradation(s)));
}

/* Beside whom it ran, and why it has no discount. */
static void put_remark(FILE *out, const struct bill *b)
{
	const struct bill_facts *f = &b->facts;

	fputs("<td class=\"text\">", out);
	for (int i = 0; i < f->partner_count; i++)
		fprintf(out, "%s%u", i ? ", " : "", f->partner[i]);
	if (f->more_partners)
		fprintf(out, " and %d more", f->more_partners);
	fputs("</td><td class=\"text\">", out);
	report_escape(out, b->status == BILL_NO_DATA ? f->nodata : bill_status_name(b->status));
	fputs("</td></tr>\n", out);
}

/* A line for each run; those of a requeued job have the same id and end one after the other. */
static void put_jobs(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	int shown = s->group_count < MAX_LINES ? s->group_count : MAX_LINES;
	struct report_cell end;

	fputs("<section class=\"long\"><h2>By job</h2>\n", out);
	report_open_table(out,
		shown < s->group_count ? "Raw and charged in billing hours; only the first lines "
					 "are here"
				       : "Raw and charged in billing hours",
		"jobs",
		"<th scope=\"col\">job</th><th scope=\"col\" class=\"text\">user</th>"
		"<th scope=\"col\" class=\"text\">name</th><th scope=\"col\">ended</th>"
		"<th scope=\"col\">hours</th><th scope=\"col\">raw</th>"
		"<th scope=\"col\">charged</th><th scope=\"col\">discount</th>"
		"<th scope=\"col\">D</th><th scope=\"col\" class=\"text\">beside</th>"
		"<th scope=\"col\" class=\"text\">price</th>");
	for (int i = 0; i < shown; i++) {
		const struct bill *b = s->groups[i].bill[0];

		report_row_name(out, b->id);
		fputs("<td class=\"text\">", out);
		report_escape(out, b->user);
		fputs("</td><td class=\"text\">", out);
		report_escape(out, b->name);
		fprintf(out, "</td><td>%s</td>", report_time(&end, b->end, REPORT_MINUTE));
		put_amounts(out, &s->groups[i].sums);
		put_remark(out, b);
	}
	fputs("</tbody><tfoot>\n", out);
	report_row_name(out, "all");
	fputs("<td></td><td></td><td></td>", out);
	put_amounts(out, &s->total);
	fputs("<td></td><td></td></tr></tfoot></table></div></section>\n", out);
}

static void put_groups(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	char heads[700], caption[128];
	int shown = s->group_count < MAX_LINES ? s->group_count : MAX_LINES;

	snprintf(heads, sizeof(heads),
		"<th scope=\"col\">%s</th><th scope=\"col\">jobs</th><th scope=\"col\">no data</th>"
		"<th scope=\"col\">hours</th><th scope=\"col\">raw</th><th "
		"scope=\"col\">charged</th>"
		"<th scope=\"col\">discount</th><th scope=\"col\">mean D</th>"
		"<th scope=\"col\">STP</th>",
		summary_by_name(r->by));
	snprintf(caption, sizeof(caption),
		"Raw and charged in billing hours, as sreport has them%s",
		shown < s->group_count ? "; only the first lines are here" : "");
	fprintf(out, "<section class=\"long\"><h2>By %s</h2>\n", summary_by_name(r->by));
	report_open_table(out, caption, "", heads);
	for (int i = 0; i < shown; i++) {
		report_row_name(out, s->groups[i].name);
		put_sums(out, &s->groups[i].sums);
	}
	fputs("</tbody><tfoot>\n", out);
	report_row_name(out, "all");
	put_sums(out, &s->total);
	fputs("</tfoot></table></div></section>\n", out);
}

/* The median and the range of a price. */
static void put_spread(FILE *out, const struct summary_spread *p)
{
	fprintf(out, "<td>%.3f</td><td class=\"soft\">%.3f to %.3f</td>", p->at[2], p->at[0],
		p->at[4]);
}

static void put_prices(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	int *index = calloc((size_t)s->program_count + 1, sizeof(*index));
	int n = index ? report_programs(s, index, s->program_count) : 0;

	if (n) {
		fputs("<section class=\"long\"><h2>Prices by program</h2>\n"
		      "<p>In units of what the run would have cost alone on its lane. State of practice "
		      "is what Slurm counts: a job that is slowed down pays for longer. The thesis' "
		      "policy pays it for the delay instead. Both follow from the measured degradation; "
		      "charged is what sacct shows.</p>\n",
			out);
		if (n > REPORT_PLOT_PROGRAMS)
			fprintf(out,
				"<p class=\"soft\">The plot has the %d programs with the most "
				"runs, the table all of them.</p>\n",
				REPORT_PLOT_PROGRAMS);
		report_plot_prices(s, out);
		report_open_table(out,
			"Median, and least to most, over the runs with a degradation", "",
			"<th scope=\"col\">program</th><th scope=\"col\">runs</th>"
			"<th scope=\"col\" colspan=\"2\">state of practice</th>"
			"<th scope=\"col\" colspan=\"2\">thesis</th>"
			"<th scope=\"col\" colspan=\"2\">charged</th>");
		for (int i = 0; i < n && i < MAX_LINES; i++) {
			const struct summary_program *p = &s->programs[index[i]];

			report_row_name(out, p->group->name);
			fprintf(out, "<td>%d</td>", p->priced);
			put_spread(out, &p->practice);
			put_spread(out, &p->thesis);
			put_spread(out, &p->charged);
			fputs("</tr>\n", out);
		}
		report_close_table(out);
		fputs("</section>\n", out);
	}
	free(index);
}

static void put_worst(FILE *out, const struct summary *s, const char *caption,
	double (*cost)(const struct summary *, int))
{
	int index[WORST], n = report_worst(s, cost, index, WORST);
	struct report_cell c;

	if (!n)
		return;
	report_open_table(out, caption, "",
		"<th scope=\"col\">program</th><th scope=\"col\">jobs</th>"
		"<th scope=\"col\">mean D</th>");
	for (int i = 0; i < n; i++) {
		report_row_name(out, s->by_program[index[i]].name);
		fprintf(out, "<td>%d</td><td>%s</td></tr>\n", s->by_program[index[i]].count,
			report_percent(&c, cost(s, index[i])));
	}
	report_close_table(out);
}

static void put_no_data(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	struct report_cell c;
	int shown = 0;

	if (!s->reason_count)
		return;
	fputs("<section class=\"long\"><h2>Jobs without data</h2>\n<p>They pay what Slurm counted, "
	      "but for time held stopped: without a measurement there is no discount. \"poppa "
	      "why\" explains the "
	      "reasons.</p>\n",
		out);
	report_open_table(out, "By reason", "",
		"<th scope=\"col\">reason</th><th scope=\"col\">jobs</th>"
		"<th scope=\"col\">billing hours</th>");
	for (int i = 0; i < s->reason_count; i++) {
		report_row_name(out, s->reasons[i].word);
		fprintf(out, "<td>%d</td><td>%s</td></tr>\n", s->reasons[i].jobs,
			hours(&c, s->reasons[i].charged));
	}
	report_close_table(out);
	report_open_table(out,
		s->total.no_data > MAX_JOBS ? "The first of these jobs" : "These jobs", "",
		"<th scope=\"col\">job</th><th scope=\"col\" class=\"text\">user</th>"
		"<th scope=\"col\" class=\"text\">name</th><th scope=\"col\">ended</th>"
		"<th scope=\"col\" class=\"text\">reason</th>");
	for (int i = 0; i < r->bills->count && shown < MAX_JOBS; i++) {
		const struct bill *b = &r->bills->bill[i];

		if (b->status != BILL_NO_DATA)
			continue;
		shown++;
		report_row_name(out, b->id);
		fputs("<td class=\"text\">", out);
		report_escape(out, b->user);
		fputs("</td><td class=\"text\">", out);
		report_escape(out, b->name);
		fprintf(out, "</td><td>%s</td><td class=\"text\">",
			report_time(&c, b->end, REPORT_MINUTE));
		report_escape(out, b->facts.nodata);
		fputs("</td></tr>\n", out);
	}
	report_close_table(out);
	fputs("</section>\n", out);
}

void report_html(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;

	put_head(r, out);
	put_time(r, out);
	if (s->total.jobs && r->by == SUMMARY_JOB)
		put_jobs(r, out);
	else if (s->total.jobs)
		put_groups(r, out);
	put_prices(r, out);
	report_heat(s, out);
	if (s->total.priced) {
		fputs("<section class=\"long\"><h2>Sufferers and offenders</h2>\n"
		      "<div class=\"sides\">\n",
			out);
		put_worst(out, s, "Slowed down most: mean over all of their time", report_suffered);
		put_worst(out, s,
			"Slow their partners down most: mean over the partners' time beside them",
			report_caused);
		fputs("</div></section>\n", out);
	}
	put_no_data(r, out);
	fputs("<section class=\"long\"><h2>What the words mean</h2>\n"
	      "<p>A billing hour is an hour of billing 1, in the unit of the site's "
	      "TRESBillingWeights. D, degradation, is the share of its progress that a job lost to "
	      "its co-runners; time alone counts as no loss. STP is equation 2.2 of A. Breslow's "
	      "thesis: what a run takes alone over what it took, here against a run alone on the "
	      "same lane, which is the solo run that the measurements know.",
		out);
	if (s->compared)
		fprintf(out,
			" Against compact runs, STP and SEE (2.3) are means over %d pairs whose "
			"programs their users ran without --colocate, too; they hold as far as "
			"runs of the same name do the same work.",
			s->compared);
	fputs("</p></section>\n</main>\n</body>\n</html>\n", out);
}
