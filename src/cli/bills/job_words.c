/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of "poppa job": its lanes, its bill in short, and what to do next time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/bills/job.h"
#include "common/text_append.h"

#define PERCENT(v) (100 * (v))
/* Runs that are shorter are no evidence of what their processors do. */
#define SHORT_S 60
#define IDLE_CPU 0.5
#define IDLE_MEM 0.25
#define SMALL_MEM (UINT64_C(1) << 30)
#define MUCH_LOSS 0.25

double job_cpu_efficiency(const struct why *w, const struct job_usage *u)
{
	const struct bill *b = w->bill;

	/* sacct adds up the processor time of all sizes of a resized job, and the time of one. */
	if (!b->cpus || b->elapsed_s <= 0 || b->facts->size_count)
		return NAN;
	return u->cpu_s / ((double)b->elapsed_s * b->cpus);
}

static void say_beside(const struct settlement *f, char *buf, size_t size)
{
	for (int i = 0; i < f->partner_count; i++)
		text_append(buf, size, "%s%u",
			i                      ? ", "
			: f->partner_count > 1 ? " beside jobs "
					       : " beside job ",
			f->partner[i]);
	if (f->more_partners)
		text_append(buf, size, " and %d more", f->more_partners);
}

static void say_loss(const struct settlement *f, char *buf, size_t size)
{
	if (!(f->co > 0)) {
		text_append(buf, size, "No other job shared its nodes, so it lost nothing");
	} else if (!(f->degradation > 0)) {
		text_append(buf, size, "It lost nothing that could be measured");
		say_beside(f, buf, size);
	} else {
		text_append(buf, size, "It lost %.1f %% of its time", PERCENT(f->degradation));
		if (!isnan(f->hi))
			text_append(buf, size, " (between %.1f and %.1f %% with 95 %% confidence)",
				PERCENT(f->lo), PERCENT(f->hi));
		say_beside(f, buf, size);
	}
}

static void say_charge(const struct bill *b, char *buf, size_t size)
{
	const struct settlement *f = b->facts;

	if (f->charged < f->raw)
		text_append(buf, size,
			": a billing of %llu is charged for each of its %lld seconds instead of %llu, "
			"%.1f %% less.",
			(unsigned long long)f->charged, (long long)b->elapsed_s,
			(unsigned long long)f->raw, PERCENT(settlement_discount(f)));
	else
		text_append(buf, size,
			": the full billing of %llu is charged for each of its %lld seconds.",
			(unsigned long long)f->raw, (long long)b->elapsed_s);
}

char *job_bill_text(const struct why *w, char *buf, size_t size)
{
	const struct bill *b = w->bill;

	*buf = '\0';
	switch (w->status) {
	case BILL_PRICED:
		say_loss(b->facts, buf, size);
		say_charge(b, buf, size);
		break;
	case BILL_NO_DATA:
		text_append(buf, size, "What it lost could not be measured (%s)", b->facts->nodata);
		say_charge(b, buf, size);
		break;
	case BILL_PLAIN:
		text_append(buf, size, "%s",
			why_waits(b)
				? "If it was submitted with --colocate, it is made after it has run."
				: "It was not co-located: it was never stopped, measured or "
				  "repriced.");
		break;
	case BILL_PENDING:
		text_append(buf, size, "Its price is made after it has run.");
		break;
	case BILL_RUNNING:
		text_append(buf, size, "Its price is made when it has left its nodes.");
		break;
	case BILL_UNSETTLED:
		text_append(buf, size,
			"Its price has not been made yet; until then the full billing of %llu for each "
			"second stands.",
			(unsigned long long)b->billing);
		break;
	case BILL_NEVER:
		text_append(buf, size, "It never started, so nothing is charged.");
		break;
	}
	if (w->status == BILL_PRICED || w->status == BILL_NO_DATA || w->status == BILL_UNSETTLED)
		text_append(buf, size, " \"poppa why %s\" explains it.", b->id);
	return buf;
}

/* Reasons for no discount about which the owner can do something. */
static const char *no_data_advice(const char *word)
{
	if (!strcmp(word, "no-signal") || !strcmp(word, "no-progress"))
		return "let the program publish its progress (poppa_heartbeat(3), "
		       "poppa-heartbeat-mpi(7)): then it can be measured";
	if (!strcmp(word, "no-core"))
		return "give it no more tasks than cores: they waited for each other's processors";
	if (!strcmp(word, "too-few-blocks") || !strcmp(word, "no-time"))
		return "nothing to change: it was too short beside others to be measured";
	return NULL;
}

char *job_advice(const struct why *w, const struct job_usage *u, char *buf, size_t size)
{
	const struct bill *b = w->bill;
	double cpu = job_cpu_efficiency(w, u), mem = u->rss * (double)(u->tasks ? u->tasks : 1);
	const char *no_data = w->status == BILL_NO_DATA ? no_data_advice(b->facts->nodata) : NULL;

	if (w->status == BILL_NEVER)
		snprintf(buf, size, "none: it never started");
	else if (why_waits(b))
		snprintf(buf, size, "\"poppa why %s\" says what it waits for", b->id);
	else if (!b->end && w->status == BILL_RUNNING)
		snprintf(buf, size, "\"poppa top\" on one of its nodes shows what is measured now");
	else if (w->status == BILL_UNSETTLED)
		snprintf(buf, size, "look again in some minutes");
	else if (b->end && b->elapsed_s >= SHORT_S && cpu < IDLE_CPU)
		snprintf(buf, size,
			"ask for fewer CPUs, or find out what they wait for: on average %.1f of %u worked",
			cpu * b->cpus, b->cpus);
	else if (no_data)
		snprintf(buf, size, "%s", no_data);
	else if (w->status == BILL_PRICED && b->facts->degradation >= MUCH_LOSS)
		snprintf(buf, size,
			"it lost much beside others: --colocate=max-degradation:%d sets a limit to that "
			"(poppa-colocate(7))",
			(int)PERCENT(MUCH_LOSS));
	else if (u->rss > 0 && u->mem > SMALL_MEM && mem < IDLE_MEM * u->mem)
		snprintf(buf, size, "ask for less memory: its tasks used at most %.0f %% of it",
			ceil(PERCENT(mem / u->mem)));
	else if (w->status == BILL_PLAIN)
		snprintf(buf, size,
			"\"poppa advise SCRIPT\" tells what --colocate would bring for it");
	else
		snprintf(buf, size, "nothing to change");
	return buf;
}
