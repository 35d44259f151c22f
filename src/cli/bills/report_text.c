/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A summary as text for a terminal and as CSV, and its numbers as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/number_text.h"
#include "cli/ask/shorten_text.h"
#include "cli/bills/report.h"
#include "common/text_append.h"

#define NAME_WIDTH 24
#define WORST 5

/* A program and the value by which programs are sorted. */
struct ranked {
	int index;
	double value;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->index - y->index;
}

int report_worst(
	const struct summary *s, double (*cost)(const struct summary *, int), int *index, int max)
{
	struct ranked *r = calloc((size_t)s->program_count + 1, sizeof(*r));
	int n = 0;

	for (int i = 0; r && i < s->program_count; i++) {
		double v = cost(s, i);

		if (!isnan(v))
			r[n++] = (struct ranked){i, v};
	}
	if (n)
		qsort(r, (size_t)n, sizeof(*r), compare_ranked);
	n = n < max ? n : max;
	for (int i = 0; i < n; i++)
		index[i] = r[i].index;
	free(r);
	return n;
}

static double priced_runs(const struct summary *s, int program)
{
	return s->programs[program].priced ? s->programs[program].priced : NAN;
}

int report_programs(const struct summary *s, int *index, int max)
{
	return report_worst(s, priced_runs, index, max);
}

double report_suffered(const struct summary *s, int program)
{
	return summary_degradation(&s->programs[program].group->sums);
}

double report_caused(const struct summary *s, int program)
{
	const struct summary_program *p = &s->programs[program];

	return p->beside_s > 0 ? p->caused_s / p->beside_s : NAN;
}

static void put_sums(FILE *out, const char *name, const struct summary_sums *s)
{
	struct number_cell hours, raw, charged, discount, degradation, stp, compact;

	shorten_name(out, name, NAME_WIDTH);
	fprintf(out, " %6d %7d %9s %12s %12s %8s %8s %6s %8s\n", s->jobs, s->no_data,
		number_hours(&hours, s->elapsed_s), number_hours(&raw, s->raw),
		number_hours(&charged, s->charged), number_percent(&discount, summary_discount(s)),
		number_percent(&degradation, summary_degradation(s)),
		number_real(&stp, 3, summary_stp(s)),
		number_real(&compact, 3, summary_compact_stp(s)));
}

static void put_job(FILE *out, const struct bill *b, const struct compact *compact)
{
	bool priced = b->status == BILL_PRICED;
	struct summary_sums sums = {.raw = bill_raw(b), .charged = b->billing};
	struct number_cell hours, discount, degradation, end, progress;

	shorten_name(out, b->id, 12);
	fputc(' ', out);
	shorten_name(out, b->user, 10);
	fputc(' ', out);
	shorten_name(out, b->name, 20);
	fprintf(out, " %-16s %8s %10llu %10llu %8s %8s %8s%c %s\n",
		number_time(&end, b->end, TIME_MINUTE),
		number_hours(&hours, (uint64_t)b->elapsed_s), (unsigned long long)sums.raw,
		(unsigned long long)sums.charged,
		number_percent(&discount, summary_discount(&sums)),
		number_percent(&degradation, priced ? b->facts->degradation : NAN),
		number_real(&progress, 3, compact->progress),
		compact_known(compact) && !compact_sure(compact) ? '?' : ' ',
		b->status == BILL_NO_DATA ? b->facts->nodata : bill_status_name(b->status));
}

static void put_worst(FILE *out, const struct summary *s, const char *title,
	double (*cost)(const struct summary *, int))
{
	int index[WORST], n = report_worst(s, cost, index, WORST);

	if (!n)
		return;
	fprintf(out, "\n%s\n", title);
	for (int i = 0; i < n; i++) {
		struct number_cell c;

		fputs("  ", out);
		shorten_name(out, s->by_program[index[i]].name, NAME_WIDTH);
		fprintf(out, " %8s\n", number_percent(&c, cost(s, index[i])));
	}
}

static void put_table(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;

	if (r->by == SUMMARY_JOB) {
		shorten_name(out, "job", 12);
		fprintf(out, " %-10s %-20s %-16s %8s %10s %10s %8s %8s %8s\n", "user", "name",
			"ended", "hours", "raw", "charged", "discount", "D", "vs plain");
		for (int i = 0; i < s->group_count; i++)
			put_job(out, s->groups[i].bill[0],
				&s->compact[s->groups[i].bill[0] - r->bills->bill]);
		fputc('\n', out);
	}
	shorten_name(out, r->by == SUMMARY_JOB ? "" : summary_by_name(r->by), NAME_WIDTH);
	fprintf(out, " %6s %7s %9s %12s %12s %8s %8s %6s %8s\n", "jobs", "no data", "hours", "raw",
		"charged", "discount", "mean D", "STP", "vs plain");
	for (int i = 0; r->by != SUMMARY_JOB && i < s->group_count; i++)
		put_sums(out, s->groups[i].name, &s->groups[i].sums);
	put_sums(out, "all co-located jobs", &s->total);
}

/* How many jobs have no figure against plain runs that can be counted on, and why. */
static void put_doubts(FILE *out, const struct summary *s)
{
	const char *between = "No certain figure against plain runs: ";
	struct number_cell c;

	for (int i = COMPACT_NONE + 1; i < COMPACT_DOUBTS; i++) {
		if (!s->doubts[i])
			continue;
		fprintf(out, "%s%s (%s)", between, compact_doubt_name(i),
			number_count(&c, s->doubts[i], "job"));
		between = ", ";
	}
	if (*between == ',')
		fputc('\n', out);
}

static void put_compact(FILE *out, const struct summary *s)
{
	const struct gains *g = &s->gains;
	struct number_cell c, see;

	fputs("vs plain: the same against the median run of the same user and name without "
	      "--colocate, in CPU\nseconds; 1 is as much as one after the other on whole nodes. "
	      "\"?\" marks an uncertain figure.\n",
		out);
	if (g->all.pairs)
		fprintf(out,
			"Against plain runs, %s made in the time that they shared: STP %.3f, "
			"SEE %s.\n",
			number_count(&c, g->all.pairs, "pair"), g->all.stp,
			number_real(&see, 3, g->see));
	put_doubts(out, s);
}

void report_text(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;
	struct number_cell c, count;

	fprintf(out, "Co-located jobs, %s\n", r->span);
	if (r->what_if)
		fprintf(out,
			"This is what would have been charged under %s, and not what was charged.\n",
			r->what_if);
	fputc('\n', out);
	if (!s->total.jobs) {
		fprintf(out, "There are none among %s.\n", number_count(&c, s->others, "job"));
		return;
	}
	put_table(r, out);
	fprintf(out,
		"\nraw and charged of a line of sums are billing times hours%s.\nSTP: what a run "
		"alone on the same lane takes, over what it took.\n",
		r->what_if ? "" : ", as \"sreport -t Hours -T billing\" has them");
	put_compact(out, s);
	if (r->what_if)
		report_what_if_text(r, out);
	if (s->total.unsettled || s->total.open)
		fprintf(out, "Without a price yet: %d ended, %d not ended.\n", s->total.unsettled,
			s->total.open);
	for (int i = 0; i < s->reason_count; i++)
		fprintf(out, "%s%s (%s, %s billing hours)%s",
			i ? ", " : "No discount for want of data: ", s->reasons[i].word,
			number_count(&count, s->reasons[i].jobs, "job"),
			number_hours(&c, s->reasons[i].charged),
			i + 1 < s->reason_count ? "" : "\n");
	put_worst(out, s, "Slowed down most (mean D):", report_suffered);
	put_worst(out, s, "Slow their partners down most (mean D of the partners beside them):",
		report_caused);
}

/* A field of text: quoted where CSV wants it. A text that a spreadsheet would take for a formula
 * gets an apostrophe in front. */
static void csv_text(FILE *out, const char *text, bool last)
{
	bool formula = *text && strchr("=+-@\t\r", *text),
	     quote = formula || strpbrk(text, ",\"\r\n");

	if (quote)
		fputc('"', out);
	if (formula)
		fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	if (quote)
		fputc('"', out);
	fputs(last ? "\r\n" : ",", out);
}

/* A field with a number; empty where it is not known. */
static void csv_real(FILE *out, double v, bool last)
{
	if (!isnan(v))
		fprintf(out, "%.6g", v);
	fputs(last ? "\r\n" : ",", out);
}

/* A list becomes one text, with blanks between its items. */
static void csv_value(FILE *out, const json_t *v, bool last)
{
	char text[256] = "";
	const json_t *item;
	size_t i;

	if (json_is_string(v)) {
		csv_text(out, json_string_value(v), last);
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, item)
		{
			text_append(text, sizeof(text), "%s%lld", i ? " " : "",
				(long long)json_integer_value(item));
		}
		csv_text(out, text, last);
	} else {
		csv_real(out, json_is_number(v) ? json_number_value(v) : NAN, last);
	}
}

/* The price of a job, or the names of its columns where b is NULL. */
static void csv_price(FILE *out, const struct bill *b)
{
	struct settlement none;
	json_t *price, *value;
	const char *key;
	size_t left;

	settlement_clear(&none);
	price = b ? bill_price_json(b, SETTLEMENT_CSV) : settlement_show(&none, SETTLEMENT_CSV);
	left = json_object_size(price);
	json_object_foreach(price, key, value)
	{
		if (b)
			csv_value(out, value, !--left);
		else
			csv_text(out, key, !--left);
	}
	json_decref(price);
}

/* With --what-if: what was charged, and the policy of what would have been. */
static void csv_what_if(const struct report *r, FILE *out, uint64_t charged_now)
{
	if (!r->what_if)
		return;
	fprintf(out, "%llu,", (unsigned long long)charged_now);
	csv_text(out, r->what_if, false);
}

static void csv_job(const struct report *r, FILE *out, const struct bill *b)
{
	const char *const texts[] = {b->id, b->user, b->account, b->partition, b->qos, b->name,
		b->state, bill_status_name(b->status)};
	const struct compact *compact = &r->summary->compact[b - r->bills->bill];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		csv_text(out, texts[i], false);
	fprintf(out, "%lld,%lld,%lld,%llu,%llu,", (long long)b->start, (long long)b->end,
		(long long)b->elapsed_s, (unsigned long long)bill_raw(b),
		(unsigned long long)b->billing);
	csv_what_if(r, out, b->billing_now);
	csv_real(out, compact->progress, false);
	fprintf(out, "%d,", compact->runs);
	csv_real(out, compact->apart, false);
	csv_text(out, compact_doubt_name(compact->doubt), false);
	csv_price(out, b);
}

static void csv_sums(
	const struct report *r, FILE *out, const char *name, const struct summary_sums *s)
{
	csv_text(out, name, false);
	fprintf(out, "%d,%d,%d,%d,%d,%llu,%llu,%llu,", s->jobs, s->priced, s->no_data, s->unsettled,
		s->open, (unsigned long long)s->elapsed_s, (unsigned long long)s->raw,
		(unsigned long long)s->charged);
	csv_what_if(r, out, s->charged_now);
	csv_real(out, summary_discount(s), false);
	csv_real(out, summary_degradation(s), false);
	csv_real(out, summary_stp(s), false);
	fprintf(out, "%d,", s->compared);
	csv_real(out, summary_compact_stp(s), true);
}

void report_csv(const struct report *r, FILE *out)
{
	const struct summary *s = r->summary;

	if (r->by == SUMMARY_JOB) {
		fprintf(out,
			"job,user,account,partition,qos,name,state,status,start,end,elapsed_s,raw,"
			"charged,%sprogress,plain_runs,apart,doubt,",
			r->what_if ? "charged_now,what_if," : "");
		csv_price(out, NULL);
	} else {
		fprintf(out,
			"%s,jobs,priced,no_data,unsettled,open,elapsed_s,raw_billing_s,"
			"charged_billing_s,%sdiscount,degradation,stp,compared,stp_compact\r\n",
			summary_by_name(r->by), r->what_if ? "charged_now_billing_s,what_if," : "");
	}
	for (int i = 0; i < s->group_count; i++) {
		if (r->by == SUMMARY_JOB)
			csv_job(r, out, s->groups[i].bill[0]);
		else
			csv_sums(r, out, s->groups[i].name, &s->groups[i].sums);
	}
}
