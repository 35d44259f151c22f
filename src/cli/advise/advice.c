/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides what is advised, and prints it with what it rests on. */
#include "cli/advise/advice.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "accounting/record/fields.h"
#include "common/printable.h"
#include "common/text_append.h"

/* A wider interval of the loss than plus or minus this does not carry advice. */
#define SURE_HALF 0.1
/* A price that differs by less is the same. */
#define SAME_PRICE 0.01
#define TRIAL "run `poppa trial -- ./a -- ./b` to see what sharing costs"

static bool is_known(const struct student *s)
{
	return !isnan(s->lo);
}

/* What it costs for the same work: against plain runs where these tell, else against alone on its
 * lanes. */
static const struct student *cost_of(const struct advice *a)
{
	return is_known(&a->past.plain) ? &a->past.plain : &a->past.work;
}

static const char *duration(double seconds, char *buf, size_t size)
{
	if (seconds < 90)
		snprintf(buf, size, "%.0f s", seconds);
	else if (seconds < 5400)
		snprintf(buf, size, "%.0f min", seconds / 60);
	else
		snprintf(buf, size, "%.1f h", seconds / 3600);
	return buf;
}

/* Appends why runs tell nothing of a loss: "2 without data, 1 beside nobody". */
static void append_others(const struct past_runs *p, char *text, size_t size, const char *before)
{
	const struct {
		int runs;
		const char *what;
	} others[] = {{p->no_data, "without data"}, {p->doubtful, "not measured whole"},
		{p->alone, "beside nobody"}, {p->unsettled, "without a price yet"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].runs) {
			text_append(text, size, "%s%d %s", before, others[i].runs, others[i].what);
			before = ", ";
		}
}

static int count_others(const struct past_runs *p)
{
	return p->no_data + p->doubtful + p->alone + p->unsettled;
}

static void say_unknown(const struct advice *a, char *text, size_t size)
{
	*text = '\0';
	if (!count_others(&a->past)) {
		text_append(text, size,
			"no co-located run of yours is known under the class %s: " TRIAL,
			a->class_name);
		return;
	}
	text_append(text, size,
		"what co-located runs of yours under the class %s lost is not known (",
		a->class_name);
	append_others(&a->past, text, size, "");
	text_append(text, size, "): " TRIAL);
}

static bool costs_the_same(const struct advice *a)
{
	return fabs(cost_of(a)->mean - 1) <= SAME_PRICE;
}

/* How much later it starts co-located, seconds; NAN = not known. */
static double start_later(const struct advice *a)
{
	return a->colocated.at && a->plain.at ? (double)(a->colocated.at - a->plain.at) : NAN;
}

/* Why the evidence does not carry advice; NULL: it does. */
static const char *doubt_of(const struct advice *a)
{
	const struct past_runs *p = &a->past;

	if (p->runs == 1)
		return "one run does not show how much runs differ";
	if (!is_known(&p->loss))
		return "one run is nearly all of the evidence";
	if (p->loss.hi - p->loss.lo > 2 * SURE_HALF)
		return "your runs differ too much to tell what the next one loses";
	if (p->co_runners < 2 && !p->more_co_runners)
		return "all of your runs were beside one and the same job, and another may cost more "
		       "or less";
	if (!is_known(cost_of(a)))
		return *a->policy ? "what it would be charged is not known" : a->no_policy.text;
	if (cost_of(a)->lo < 1 - SAME_PRICE && cost_of(a)->hi > 1 + SAME_PRICE)
		return "it may be charged less for the same work, or more";
	if (costs_the_same(a) && isnan(start_later(a)))
		return "it is charged the same for the same work, and when it starts is not known";
	return NULL;
}

static void append_start(const struct advice *a, char *text, size_t size)
{
	double later = start_later(a);
	char time[32];

	if (isnan(later))
		text_append(text, size, ", and when it starts is not known");
	else if (later == 0)
		text_append(text, size, ", and it starts no earlier");
	else
		text_append(text, size, ", and it starts %s %s",
			duration(fabs(later), time, sizeof(time)), later < 0 ? "earlier" : "later");
}

/* The sentence where the evidence carries it. */
static enum verdict say_verdict(const struct advice *a, char *text, size_t size)
{
	const struct student *cost = cost_of(a);
	bool same = costs_the_same(a), less = cost->mean < 1;
	bool yes = same ? start_later(a) < 0 : less;

	*text = '\0';
	text_append(text, size, "%s: for the same work it is expected to be charged ",
		yes ? "co-locate it" : "do not co-locate it");
	if (same)
		text_append(text, size, "the same as ");
	else
		text_append(text, size, "%.0f %% %s than ", 100 * fabs(cost->mean - 1),
			less ? "less" : "more");
	text_append(text, size, "%s, beside others to take %.2f times as long as alone",
		cost == &a->past.plain
			? "your plain runs"
			: "alone on its lanes (without plain runs of it nobody knows how "
			  "fast it is there against whole nodes)",
		1 / (1 - fmin(a->past.loss.mean, 0.99)));
	append_start(a, text, size);
	return yes ? VERDICT_COLOCATE : VERDICT_DO_NOT;
}

enum verdict advice_verdict(const struct advice *a, char *text, size_t size)
{
	enum verdict v = VERDICT_UNKNOWN;
	const char *doubt = a->past.runs ? doubt_of(a) : NULL;

	if (doubt) {
		v = VERDICT_UNCERTAIN;
		snprintf(text, size,
			"this is not certain, because %s: co-locate it once more, or " TRIAL,
			doubt);
	} else if (a->past.runs) {
		v = say_verdict(a, text, size);
	} else {
		say_unknown(a, text, size);
	}
	/* What others said may be cut in the middle of a character. */
	plain_text(text);
	return v;
}

static void print_evidence(const struct advice *a)
{
	const struct past_runs *p = &a->past;
	char time[32], last[32] = "", others[256] = "";
	time_t end = (time_t)p->last;
	struct tm tm;

	append_others(p, others, sizeof(others), p->runs ? "; besides " : "");
	if (!p->runs) {
		printf("evidence   none%s%s\n", *others ? ": " : "", others);
		return;
	}
	if (localtime_r(&end, &tm))
		strftime(last, sizeof(last), "%Y-%m-%d", &tm);
	printf("evidence   %d co-located run%s of yours in %d days, %s beside %s%d different job%s, "
	       "the last on %s%s\n",
		p->runs, p->runs == 1 ? "" : "s", ADVICE_DAYS,
		duration(p->beside_s, time, sizeof(time)), p->more_co_runners ? "more than " : "",
		p->co_runners, p->co_runners == 1 ? "" : "s", last, others);
}

/* "(0.712 to 0.801 with 95 % confidence)" */
static void print_interval(const struct student *s, double scale, int digits)
{
	if (is_known(s))
		printf(" (%.*f to %.*f with 95 %% confidence)\n", digits, scale * s->lo, digits,
			scale * s->hi);
	else
		printf(" (how certain is not known)\n");
}

static void print_price(const struct advice *a)
{
	const struct past_runs *p = &a->past;

	if (!*a->policy) {
		printf("price      not known: %s\n", a->no_policy.text);
		return;
	}
	if (!p->rate.n)
		return;
	printf("price      policy %s: %.3f of what Slurm counts", a->policy, p->rate.mean);
	print_interval(&p->rate, 1, 3);
	printf("           %.3f of what the same work costs alone on its lanes", p->work.mean);
	print_interval(&p->work, 1, 3);
	if (p->plain.n) {
		printf("           %.3f of what it costs as a plain job, by %d of these runs",
			p->plain.mean, p->plain.n);
		print_interval(&p->plain, 1, 3);
	} else {
		printf("           against a plain job that is not known: no plain runs of it can be "
		       "compared\n");
	}
}

static void print_start(const char *what, const struct planned_start *s, int64_t now)
{
	time_t at = (time_t)s->at;
	char text[32] = "?";
	struct tm tm;

	if (!s->at) {
		printf("%s sbatch cannot tell: %s\n", what, s->why.text);
		return;
	}
	if (localtime_r(&at, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%s %s\n", what, s->at <= now ? "at once" : text);
}

void advice_print(const struct advice *a)
{
	char sentence[1024];

	printf("class      %s, %s\n", a->class_name, a->class_from);
	print_evidence(a);
	if (a->past.runs) {
		printf("loss       %.1f %% of its progress while it is beside others",
			100 * a->past.loss.mean);
		print_interval(&a->past.loss, 100, 1);
	} else {
		printf("loss       not known\n");
	}
	print_price(a);
	print_start("start      co-located:", &a->colocated, a->now);
	print_start("           plain:     ", &a->plain, a->now);
	advice_verdict(a, sentence, sizeof(sentence));
	printf("advice     %s\n", sentence);
}

static json_t *student_json(const struct student *s)
{
	return json_pack("{s:i, s:o, s:o, s:o}", "runs", s->n, "mean", field_real_or_null(s->mean),
		"lo", field_real_or_null(s->lo), "hi", field_real_or_null(s->hi));
}

static json_t *evidence_json(const struct past_runs *p)
{
	return json_pack("{s:i, s:i, s:f, s:f, s:i, s:b, s:o, s:i, s:i, s:i, s:i}", "days",
		ADVICE_DAYS, "runs", p->runs, "beside_s", p->beside_s, "all_s", p->all_s,
		"co_runners", p->co_runners, "more_co_runners", p->more_co_runners, "last",
		p->last ? json_integer(p->last) : json_null(), "no_data", p->no_data, "doubtful",
		p->doubtful, "alone", p->alone, "unsettled", p->unsettled);
}

static json_t *price_json(const struct advice *a)
{
	return json_pack("{s:s?, s:s?, s:o, s:o, s:o}", "policy", *a->policy ? a->policy : NULL,
		"unknown", *a->policy ? NULL : a->no_policy.text, "rate",
		student_json(&a->past.rate), "work", student_json(&a->past.work), "plain",
		student_json(&a->past.plain));
}

static json_t *start_json(const struct planned_start *s)
{
	return json_pack("{s:o, s:s?}", "at", s->at ? json_integer(s->at) : json_null(), "unknown",
		s->at ? NULL : s->why.text);
}

json_t *advice_json(const struct advice *a)
{
	static const char *const verdicts[] = {"unknown", "uncertain", "colocate", "do-not"};
	char sentence[1024];
	enum verdict v = advice_verdict(a, sentence, sizeof(sentence));

	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:{s:o, s:o}, s:s, s:s}", "class",
		a->class_name, "named", a->named, "evidence", evidence_json(&a->past), "loss",
		student_json(&a->past.loss), "price", price_json(a), "start", "colocated",
		start_json(&a->colocated), "plain", start_json(&a->plain), "verdict", verdicts[v],
		"advice", sentence);
}
