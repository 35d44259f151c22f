/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups and adds up bills. */
#include "accounting/bill/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOUR INT64_C(3600)
#define DAY (24 * HOUR)
#define MAX_HOURS 72 /* of a span that is shown by the hour */
#define MAX_DAYS 120 /* of a span that is shown by the day; a longer one is shown by the week */
#define MAX_SLOTS 5000
/* Above this degradation the solo price is almost 0, and a price in units of it says nothing. */
#define MAX_DEGRADATION 0.99

static const char *const names[SUMMARY_KINDS] = {
	"job", "user", "account", "partition", "qos", "program", "day"};

const char *summary_by_name(enum summary_by by)
{
	return names[by];
}

enum summary_by summary_by_parse(const char *name)
{
	int by = 0;

	while (by < SUMMARY_KINDS && strcmp(name, names[by]))
		by++;
	return by;
}

double summary_discount(const struct summary_sums *sums)
{
	return sums->raw ? 1 - (double)sums->charged / (double)sums->raw : NAN;
}

double summary_degradation(const struct summary_sums *sums)
{
	return sums->priced_s > 0 ? sums->lost_s / sums->priced_s : NAN;
}

double summary_stp(const struct summary_sums *sums)
{
	return sums->priced_s > 0 ? sums->kept_s / sums->priced_s : NAN;
}

double summary_compact_stp(const struct summary_sums *sums)
{
	return sums->compared ? sums->plain_cpu_s / sums->compared_cpu_s : NAN;
}

static double stopped(const struct bill *b)
{
	return isnan(b->facts->stopped) ? 0 : b->facts->stopped;
}

static void add_compact(
	struct summary_sums *sums, const struct bill *b, const struct compact *compact)
{
	double cpu_s = (double)b->cpus * (double)b->elapsed_s;
	double saved = compact_saved_node_s(compact, b);

	if (!compact_sure(compact))
		return;
	sums->compared++;
	sums->compared_cpu_s += cpu_s;
	sums->plain_cpu_s += cpu_s * compact->progress;
	if (isnan(saved))
		return;
	sums->node_jobs++;
	sums->saved_node_s += saved;
}

static void add_bill(struct summary_sums *sums, const struct bill *b, const struct compact *compact)
{
	double elapsed = (double)b->elapsed_s;

	sums->jobs++;
	sums->priced += b->status == BILL_PRICED;
	sums->no_data += b->status == BILL_NO_DATA;
	sums->unsettled += b->status == BILL_UNSETTLED;
	sums->open += b->status == BILL_RUNNING || b->status == BILL_PENDING;
	sums->elapsed_s += (uint64_t)b->elapsed_s;
	sums->raw += bill_raw(b) * (uint64_t)b->elapsed_s;
	sums->charged += b->billing * (uint64_t)b->elapsed_s;
	sums->charged_now += b->billing_now * (uint64_t)b->elapsed_s;
	add_compact(sums, b, compact);
	if (b->status != BILL_PRICED)
		return;
	sums->priced_s += elapsed;
	sums->lost_s += elapsed * b->facts->degradation;
	sums->kept_s += elapsed * (1 - b->facts->degradation) * (1 - stopped(b));
}

/* A bill with what is known of it, and the name of its group. */
struct tagged {
	char *name;
	const struct bill *bill;
	const struct compact *compact;
};

static char *group_name(const struct bill *b, enum summary_by by)
{
	char day[16] = "running";
	const char *const name[SUMMARY_KINDS] = {
		[SUMMARY_JOB] = b->id,
		[SUMMARY_USER] = b->user,
		[SUMMARY_ACCOUNT] = b->account,
		[SUMMARY_PARTITION] = b->partition,
		[SUMMARY_QOS] = b->qos,
		[SUMMARY_PROGRAM] = b->program,
		[SUMMARY_DAY] = day,
	};
	time_t end = (time_t)b->end;
	struct tm tm;

	if (by == SUMMARY_DAY && end && localtime_r(&end, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	return strdup(name[by]);
}

static int compare_order(const struct bill *x, const struct bill *y)
{
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x > y) - (x < y);
}

static int compare_tagged(const void *a, const void *b)
{
	const struct tagged *x = a, *y = b;
	int rc = strcmp(x->name, y->name);

	return rc ? rc : compare_order(x->bill, y->bill);
}

static int compare_tagged_jobs(const void *a, const void *b)
{
	const struct tagged *x = a, *y = b;

	return compare_order(x->bill, y->bill);
}

static int compare_amounts(const void *a, const void *b)
{
	const struct summary_group *x = a, *y = b;

	if (x->sums.raw != y->sums.raw)
		return x->sums.raw < y->sums.raw ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void free_groups(struct summary_group *groups, int count)
{
	for (int i = 0; groups && i < count; i++) {
		free(groups[i].name);
		free(groups[i].bill);
	}
	free(groups);
}

/* The groups of n sorted tagged bills, one for each name, or for each bill. It takes over their
 * names. NULL without memory. */
static struct summary_group *cut(struct tagged *t, int n, bool each, int *count)
{
	struct summary_group *groups = calloc((size_t)n + 1, sizeof(*groups));

	*count = 0;
	for (int i = 0; groups && i < n;) {
		struct summary_group *g = &groups[(*count)++];
		int end = i + 1;

		while (!each && end < n && !strcmp(t[end].name, t[i].name))
			end++;
		g->name = t[i].name;
		t[i].name = NULL;
		g->bill = calloc((size_t)(end - i), sizeof(*g->bill));
		if (!g->bill) {
			free_groups(groups, *count);
			return NULL;
		}
		for (; i < end; i++) {
			g->bill[g->count++] = t[i].bill;
			add_bill(&g->sums, t[i].bill, t[i].compact);
		}
	}
	return groups;
}

/* The groups of the co-located bills, sorted by name; for SUMMARY_JOB one for each bill, sorted by
 * time. NULL without memory. */
static struct summary_group *group_bills(
	const struct bills *bills, const struct compact *compact, enum summary_by by, int *count)
{
	struct tagged *t = calloc((size_t)bills->count + 1, sizeof(*t));
	struct summary_group *groups = NULL;
	int n = 0;
	bool good = t != NULL;

	for (int i = 0; good && i < bills->count; i++) {
		if (bills->bill[i].status == BILL_PLAIN)
			continue;
		t[n].bill = &bills->bill[i];
		t[n].compact = &compact[i];
		t[n].name = group_name(t[n].bill, by);
		good = t[n].name != NULL;
		n += good;
	}
	if (good) {
		qsort(t, (size_t)n, sizeof(*t),
			by == SUMMARY_JOB ? compare_tagged_jobs : compare_tagged);
		groups = cut(t, n, by == SUMMARY_JOB, count);
	}
	for (int i = 0; t && i < n; i++)
		free(t[i].name);
	free(t);
	return groups;
}

/* v has room for three values a bill. */
static void fill_program(struct summary_program *p, double *v)
{
	const struct summary_group *g = p->group;

	for (int i = 0; i < g->count; i++) {
		const struct bill *b = g->bill[i];
		double d = fmax(b->facts->degradation, 0), alone;

		if (b->status != BILL_PRICED || d > MAX_DEGRADATION || !b->facts->raw)
			continue;
		alone = (1 - d) * (1 - stopped(b));
		v[p->priced] = 1 / alone;
		v[g->count + p->priced] = 1 - d;
		v[2 * g->count + p->priced] = (double)b->billing / ((double)b->facts->raw * alone);
		p->priced++;
	}
	p->practice = spread_of(v, p->priced);
	p->thesis = spread_of(v + g->count, p->priced);
	p->charged = spread_of(v + 2 * g->count, p->priced);
}

static int make_programs(const struct bills *bills, struct summary *s)
{
	s->by_program = group_bills(bills, s->compact, SUMMARY_PROGRAM, &s->program_count);
	s->programs = calloc((size_t)s->program_count + 1, sizeof(*s->programs));
	if (!s->by_program || !s->programs)
		return -1;
	for (int i = 0; i < s->program_count; i++) {
		double *v = calloc(3 * (size_t)s->by_program[i].count, sizeof(*v));

		if (!v)
			return -1;
		s->programs[i].group = &s->by_program[i];
		fill_program(&s->programs[i], v);
		free(v);
	}
	return 0;
}

static int compare_name(const void *name, const void *group)
{
	return strcmp(name, ((const struct summary_group *)group)->name);
}

static int find_program(const struct summary *s, const char *name)
{
	const struct summary_group *g = bsearch(name, s->by_program, (size_t)s->program_count,
		sizeof(*s->by_program), compare_name);

	return g ? (int)(g - s->by_program) : -1;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct summary_pair *x = a, *y = b;

	return x->program != y->program ? x->program - y->program : x->partner - y->partner;
}

static int make_pairs(const struct bills *bills, struct summary *s)
{
	int n = 0, kept = 0;

	s->pairs = calloc((size_t)bills->count + 1, sizeof(*s->pairs));
	if (!s->pairs)
		return -1;
	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i], *p;
		const struct settlement *f = b->facts;
		struct summary_pair *pair = &s->pairs[n];

		if (!bill_has_one_partner(b))
			continue;
		p = bills_partner(bills, b, f->partner[0]);
		pair->program = find_program(s, b->program);
		pair->partner = p ? find_program(s, p->program) : -1;
		pair->runs = 1;
		pair->beside_s = f->co * (double)b->elapsed_s;
		pair->lost_s = isnan(f->co_degradation) ? f->degradation * (double)b->elapsed_s
							: f->co_degradation * pair->beside_s;
		if (pair->partner >= 0) {
			s->programs[pair->partner].caused_s += pair->lost_s;
			s->programs[pair->partner].beside_s += pair->beside_s;
		}
		n++;
	}
	qsort(s->pairs, (size_t)n, sizeof(*s->pairs), compare_pairs);
	for (int i = 0; i < n; i++) {
		struct summary_pair *to = &s->pairs[kept - 1];

		if (!kept || compare_pairs(to, &s->pairs[i])) {
			s->pairs[kept++] = s->pairs[i];
			continue;
		}
		to->runs++;
		to->beside_s += s->pairs[i].beside_s;
		to->lost_s += s->pairs[i].lost_s;
	}
	s->pair_count = kept;
	return 0;
}

/* The local midnight, or for slots of an hour the full hour, at or before t. */
static int64_t slot_start(int64_t t, int64_t slot_s)
{
	time_t at = (time_t)t;
	struct tm tm;

	if (!localtime_r(&at, &tm))
		return t;
	tm.tm_min = tm.tm_sec = 0;
	if (slot_s >= DAY)
		tm.tm_hour = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm);
}

/* Whether a run has a start and an end; sacct may show an end without a start. */
static bool has_ended(const struct bill *b)
{
	return b->status != BILL_PLAIN && b->start && b->end;
}

static int make_slots(const struct bills *bills, struct summary *s)
{
	int64_t first = INT64_MAX, last = 0;

	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i];

		if (b->status == BILL_PLAIN || !b->start)
			continue;
		s->first = s->first && s->first < b->start ? s->first : b->start;
		s->last = s->last > b->end ? s->last : b->end;
		if (has_ended(b)) {
			first = first < b->end ? first : b->end;
			last = last > b->end ? last : b->end;
		}
	}
	if (!last)
		return 0;
	s->slot_s = last - first <= MAX_HOURS * HOUR ? HOUR
		    : last - first <= MAX_DAYS * DAY ? DAY
						     : 7 * DAY;
	first = slot_start(first, s->slot_s);
	/* Only a wrong clock makes so many slots: leave all slots out. */
	if ((last - first) / s->slot_s >= MAX_SLOTS)
		return 0;
	s->slot_count = (int)((last - first) / s->slot_s) + 1;
	s->slots = calloc((size_t)s->slot_count, sizeof(*s->slots));
	if (!s->slots)
		return -1;
	for (int i = 0; i < s->slot_count; i++)
		s->slots[i].from = first + i * s->slot_s;
	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i];
		struct summary_slot *slot;

		if (!has_ended(b))
			continue;
		slot = &s->slots[(b->end - first) / s->slot_s];
		slot->jobs++;
		slot->raw += bill_raw(b) * (uint64_t)b->elapsed_s;
		slot->charged += b->billing * (uint64_t)b->elapsed_s;
	}
	return 0;
}

static int compare_reasons(const void *a, const void *b)
{
	const struct summary_reason *x = a, *y = b;

	return x->jobs != y->jobs ? y->jobs - x->jobs : strcmp(x->word, y->word);
}

static int make_reasons(const struct bills *bills, struct summary *s)
{
	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i];
		int at = 0;

		if (b->status != BILL_NO_DATA)
			continue;
		while (at < s->reason_count && strcmp(s->reasons[at].word, b->facts->nodata))
			at++;
		if (at == s->reason_count) {
			struct summary_reason *bigger =
				reallocarray(s->reasons, (size_t)at + 1, sizeof(*bigger));

			if (!bigger)
				return -1;
			s->reasons = bigger;
			s->reasons[s->reason_count++] =
				(struct summary_reason){.word = b->facts->nodata};
		}
		s->reasons[at].jobs++;
		s->reasons[at].charged += b->billing * (uint64_t)b->elapsed_s;
	}
	if (s->reason_count)
		qsort(s->reasons, (size_t)s->reason_count, sizeof(*s->reasons), compare_reasons);
	return 0;
}

static bool has_run(const struct bill *b)
{
	return b->status == BILL_PRICED || b->status == BILL_NO_DATA || b->status == BILL_UNSETTLED;
}

static int compare_with_plain_runs(const struct bills *bills, struct summary *s)
{
	struct plain_runs *plain = plain_runs_find(bills);

	s->compact = calloc((size_t)bills->count + 1, sizeof(*s->compact));
	for (int i = 0; plain && s->compact && i < bills->count; i++)
		s->compact[i] = compact_of(plain, &bills->bill[i]);
	plain_runs_free(plain);
	return plain && s->compact ? gains_make(bills, s->compact, &s->gains) : -1;
}

int summary_make(const struct bills *bills, enum summary_by by, struct summary *s)
{
	memset(s, 0, sizeof(*s));
	if (compare_with_plain_runs(bills, s)) {
		summary_free(s);
		return -1;
	}
	for (int i = 0; i < bills->count; i++) {
		if (bills->bill[i].status == BILL_PLAIN)
			s->others++;
		else
			add_bill(&s->total, &bills->bill[i], &s->compact[i]);
		s->doubts[s->compact[i].doubt] += has_run(&bills->bill[i]);
	}
	s->groups = group_bills(bills, s->compact, by, &s->group_count);
	if (!s->groups || make_programs(bills, s) || make_pairs(bills, s) || make_slots(bills, s) ||
		make_reasons(bills, s)) {
		summary_free(s);
		return -1;
	}
	if (by != SUMMARY_JOB && by != SUMMARY_DAY)
		qsort(s->groups, (size_t)s->group_count, sizeof(*s->groups), compare_amounts);
	return 0;
}

void summary_free(struct summary *s)
{
	free_groups(s->groups, s->group_count);
	free(s->programs);
	free_groups(s->by_program, s->program_count);
	free(s->pairs);
	free(s->slots);
	free(s->reasons);
	free(s->compact);
	gains_free(&s->gains);
	memset(s, 0, sizeof(*s));
}
