/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what earlier runs of one kind lost and what they would be charged now. */
#include "accounting/bill/past_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/price.h"

/* What the runs give to each mean, and whom they were beside. */
struct gathered {
	struct student_value *loss, *rate, *work, *plain;
	uint32_t *partner;
	int losses, rates, plains, partners;
};

bool past_runs_are(const struct past_kind *kind, const struct bill *b)
{
	if (!b->option || strcmp(b->user, kind->user))
		return false;
	/* A class that the option names is another text than the job's name. */
	if ((b->program != b->name) != kind->named)
		return false;
	return kind->named ? !strcmp(b->program, kind->name) : compact_alike(b->name, kind->name);
}

static double seconds_of(const struct bill *b)
{
	/* Slurm's row of a resized job has the time of the last size only. */
	return (double)(b->facts->size_count ? b->end - b->run_start : b->elapsed_s);
}

/* Whether the measured degradation is that of the whole run. A node without data counts as one
 * without a loss, and so does time that nobody measured; tasks that wait for each other in a loop
 * seem to make progress. */
static bool is_whole(const struct settlement *f)
{
	return !f->nodes && isnan(f->unmeasured) && !f->spin;
}

/* Whether the run tells of the loss; else it is counted for why it does not. */
static bool tells(const struct bill *b, struct past_runs *out)
{
	int *why = NULL;

	if (b->earlier_size || b->status == BILL_NEVER || b->status == BILL_PENDING)
		return false;
	if (b->status == BILL_NO_DATA)
		why = &out->no_data;
	else if (b->status != BILL_PRICED)
		why = &out->unsettled;
	else if (!is_whole(b->facts))
		why = &out->doubtful;
	else if (!(b->facts->co > 0) || isnan(b->facts->co_degradation) || !(seconds_of(b) > 0))
		why = &out->alone;
	if (why)
		++*why;
	return !why;
}

/* What is charged at this degradation, as a share of what Slurm counts; or, for `work`, as a share
 * of what the same work would be charged alone on its lanes without a discount. */
static double share(const struct price_policy *policy, const struct settlement *f,
	double degradation, double hi, bool work)
{
	struct price_steps p = price_steps(policy, f->raw, degradation, hi, f->stopped);
	double pace = (1 - fmin(fmax(degradation, 0), 1)) * (1 - p.stopped);

	return p.amount / (double)f->raw / (work ? pace : 1);
}

/* The value of a run, with what its own interval makes of it; `of` is 1 or what it is a share of.
 */
static struct student_value priced(
	const struct price_policy *policy, const struct bill *b, bool work, double of)
{
	const struct settlement *f = b->facts;

	return (struct student_value){share(policy, f, f->degradation, f->hi, work) / of,
		seconds_of(b),
		fabs(share(policy, f, f->lo, f->lo, work) - share(policy, f, f->hi, f->hi, work)) /
			2 / of};
}

static void add_price(const struct bill *b, const struct plain_runs *plain,
	const struct price_policy *policy, struct gathered *g)
{
	struct compact c = {.doubt = COMPACT_NO_RUN};

	/* Nothing is a share of nothing, and what made no progress has done no work. */
	if (!b->facts->raw || b->facts->degradation >= 1 || b->facts->stopped >= 1)
		return;
	g->rate[g->rates] = priced(policy, b, false, 1);
	g->work[g->rates++] = priced(policy, b, true, 1);
	if (plain)
		c = compact_of(plain, b);
	if (compact_sure(&c) && c.progress > 0)
		g->plain[g->plains++] = priced(policy, b, false, c.progress);
}

static void add_run(const struct bill *b, const struct plain_runs *plain,
	const struct price_policy *policy, struct gathered *g, struct past_runs *out)
{
	const struct settlement *f = b->facts;
	double seconds = seconds_of(b), beside = f->co * seconds;

	/* What is uncertain of the whole run is uncertain of the time beside others, the more so
	 * the less that was. */
	g->loss[g->losses++] =
		(struct student_value){f->co_degradation, beside, (f->hi - f->lo) / 2 / f->co};
	out->beside_s += beside;
	out->all_s += seconds;
	for (int i = 0; i < f->partner_count; i++)
		g->partner[g->partners++] = f->partner[i];
	out->more_co_runners |= f->more_partners > 0;
	if (b->end >= out->last) {
		out->last = b->end;
		out->qos = b->qos;
	}
	if (policy)
		add_price(b, plain, policy, g);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int count_different(uint32_t *id, int n)
{
	int different = 0;

	qsort(id, (size_t)n, sizeof(*id), compare_ids);
	for (int i = 0; i < n; i++)
		different += !i || id[i] != id[i - 1];
	return different;
}

static int make_room(struct gathered *g, int runs)
{
	size_t n = (size_t)runs + 1;

	g->loss = calloc(n, sizeof(*g->loss));
	g->rate = calloc(n, sizeof(*g->rate));
	g->work = calloc(n, sizeof(*g->work));
	g->plain = calloc(n, sizeof(*g->plain));
	g->partner = calloc(n * SETTLEMENT_MAX_PARTNERS, sizeof(*g->partner));
	return g->loss && g->rate && g->work && g->plain && g->partner ? 0 : -1;
}

/* No degradation and no price is beyond these bounds, however little is known. */
static struct student bounded(struct student s, double low, double high)
{
	s.lo = isnan(s.lo) ? NAN : fmax(s.lo, low);
	s.hi = isnan(s.hi) ? NAN : fmin(s.hi, high);
	return s;
}

int past_runs_make(const struct bills *bills, const struct past_kind *kind,
	const struct plain_runs *plain, const struct price_policy *policy, struct past_runs *out)
{
	struct gathered g = {.losses = 0};
	int of_kind = 0, rc;

	*out = (struct past_runs){.runs = 0};
	for (int i = 0; i < bills->count; i++)
		of_kind += past_runs_are(kind, &bills->bill[i]);
	rc = make_room(&g, of_kind);
	for (int i = 0; !rc && i < bills->count; i++)
		if (past_runs_are(kind, &bills->bill[i]) && tells(&bills->bill[i], out))
			add_run(&bills->bill[i], plain, policy, &g, out);
	if (!rc) {
		out->runs = g.losses;
		out->co_runners = count_different(g.partner, g.partners);
		out->loss = bounded(student_of(g.loss, g.losses), -1, 1);
		out->rate = bounded(student_of(g.rate, g.rates), 0, 1);
		out->work = bounded(student_of(g.work, g.rates), 0, INFINITY);
		out->plain = bounded(student_of(g.plain, g.plains), 0, INFINITY);
	}
	free(g.loss);
	free(g.rate);
	free(g.work);
	free(g.plain);
	free(g.partner);
	return rc;
}
