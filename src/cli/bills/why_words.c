/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts into sentences how a price came about. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ask/number_text.h"
#include "cli/bills/why.h"
#include "common/text_append.h"
#include "common/units.h"
#include "striping/submit/colocate_option.h"

#define PERCENT(v) (100 * (v))

/* Why there is no degradation, and what the owner or the site can do about it. */
static const struct reason {
	const char *word, *why;
} reasons[] = {
	{"no-record",
		"no node of the job sent what it had measured in time: slurmd had not told poppad "
		"of the job, as before it is restarted with prep/poppa, or poppad was not running "
		"there or could not reach the ledger; \"poppa doctor\" on the node tells which"},
	{"too-few-blocks",
		"there were too few measurements for a degradation: the time beside other jobs "
		"was too short for the site's shutter period"},
	{"no-progress",
		"a progress counter worked for this job, but it counted nothing in most of the "
		"measurements: the program waits most of the time, or what it publishes as "
		"progress comes too seldom"},
	{"no-core", "in most of the measurements its tasks waited for a processor and made no "
		    "progress: something else ran on its cores, or it has more tasks than cores"},
	{"unsteady", "most of the measurements contradict themselves: the job's progress changes "
		     "too much within the few milliseconds of one"},
	{"uncertain", "the measurements contradict each other so much that the true degradation "
		      "could be anywhere within more than 25 points above or below"},
	{"no-signal",
		"no progress counter worked for this job: the nodes have no hardware counters "
		"and the program publishes no progress itself (poppa_heartbeat(3))"},
	{"unmeasured", "poppad never saw the job's tasks running, or could not measure it"},
	{"shutter-sensing",
		"the job ran differently whenever it was measured, which looks as if it "
		"sensed the shutters: its measurements are worth nothing"},
	{"no-time", "it ran for less than a second"},
	{"resized",
		"its size changed while it ran, and slurmdbd does not tell of each of its sizes"},
};

static void say(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(json_t *list, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_string(text));
}

bool why_waits(const struct bill *b)
{
	return b->status == BILL_PENDING ||
	       (!b->end && (!b->start || !strncmp(b->state, "PENDING", 7)));
}

static const char *when(struct number_cell *c, int64_t unix_s)
{
	return unix_s ? number_time(c, unix_s, TIME_SECOND) : "(not yet)";
}

static void say_run(json_t *list, const struct why *w)
{
	const struct bill *b = w->bill;
	bool never = w->status == BILL_NEVER;
	size_t asked = strlen(w->job);
	struct number_cell from, to;
	char run[32] = "";

	if (w->restart)
		snprintf(run, sizeof(run), ", run %u", w->restart + 1);
	/* Each task of an array and each part of a heterogeneous job has a bill of its own. */
	if (!strncmp(b->id, w->job, asked) && (b->id[asked] == '_' || b->id[asked] == '+'))
		say(list,
			"%s is %s: this is about %s alone. \"poppa report --by job -j %s\" has a line "
			"for each.",
			w->job, b->id[asked] == '_' ? "an array" : "a heterogeneous job", b->id,
			w->job);
	if (never || why_waits(b)) {
		say(list, "Job %s (%s%s) of %s, account %s, in partition %s %s%s%s%s.", b->id,
			b->name, run, b->user, b->account, b->partition,
			never ? "ended as " : "has not started", never ? b->state : "",
			never ? " before it started, on " : "", never ? when(&to, b->end) : "");
		return;
	}
	say(list, "Job %s (%s%s) of %s, account %s, in partition %s %s from %s to %s (%lld s)%s%s.",
		b->id, b->name, run, b->user, b->account, b->partition, b->end ? "ran" : "runs",
		when(&from, b->start), b->end ? when(&to, b->end) : "now", (long long)b->elapsed_s,
		b->end ? " and ended as " : "", b->end ? b->state : "");
}

static void say_site(json_t *list, const struct why *w)
{
	if (w->by_site)
		say(list, "Its user did not ask for --colocate: the site co-locates jobs of its "
			  "partition or QOS that do not say anything. --colocate=no keeps a job "
			  "out of that.");
}

/* That this run, or one before it, was ended because the job's limit was not kept. */
static void say_apart(json_t *list, const struct why *w)
{
	const struct apart *a = &w->apart;
	char ids[APART_TEXT_MAX] = "";

	if (!a->times || (a->restart > w->restart && !why_waits(w->bill)))
		return;
	for (int i = 0; i < a->count; i++)
		text_append(ids, sizeof(ids), "%s%u", i ? ", " : "", a->job[i]);
	say(list,
		"%s was ended and the job requeued, because its max-degradation could not be kept, "
		"or what it lost could not be measured, beside %s %s. It is not placed beside %s "
		"again.",
		a->restart == w->restart && !why_waits(w->bill) ? "This run" : "An earlier run",
		a->count > 1 ? "jobs" : "job", ids, a->count > 1 ? "them" : "that job");
	if (a->times >= APART_MOST)
		say(list,
			"That was the last time: from now on only partners do of which it is known "
			"that they suit it.");
}

/* "13 (lammps)"; the name is there only where sacct shows the caller that job, too. */
static void say_partners(json_t *list, const struct why *w)
{
	const struct settlement *f = w->bill->facts;
	char names[1024] = "";

	for (int i = 0; i < f->partner_count; i++) {
		const struct bill *p = bills_partner(w->bills, w->bill, f->partner[i]);

		text_append(names, sizeof(names), "%s%u%s%.100s%s", i ? ", " : "", f->partner[i],
			p ? " (" : "", p ? p->name : "", p ? ")" : "");
	}
	if (f->more_partners)
		text_append(names, sizeof(names), " and %d more", f->more_partners);
	if (!*names && f->co > 0)
		say(list, "For %.0f %% of its time at least one other job shared its nodes.",
			PERCENT(f->co));
	else if (!*names)
		say(list, "No other job shared its nodes.");
	else if (isnan(f->co))
		say(list, "Jobs that shared its nodes: %s.", names);
	else
		say(list, "For %.0f %% of its time at least one other job shared its nodes: %s.",
			PERCENT(f->co), names);
}

/* What --colocate asked for stands before the first blank of what sacct shows. */
static bool kept_off(const char *option)
{
	char text[COLOCATE_TEXT_MAX];
	struct colocate request;
	struct errmsg err;

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(option, " "), option);
	return !colocate_parse(text, &request, &err) && colocate_keeps_off(&request);
}

static void say_alone(json_t *list, const struct bill *b)
{
	if (b->option && kept_off(b->option))
		say(list,
			"It asked for --colocate=%.*s, which can keep other jobs off its nodes. "
			"What it kept empty is not in its price, which counts its own lanes.",
			(int)strcspn(b->option, " "), b->option);
}

/* What it lost side by side, where it took no turns. */
static void say_beside(json_t *list, const struct settlement *f, const char *interval)
{
	char progress[64] = "no less progress";
	/* The job lost something, and ran alone for a part of its time. */
	bool partly = !(f->degradation <= 0) && !isnan(f->co_degradation) && f->co < 0.995;

	if (!(f->degradation <= 0))
		snprintf(progress, sizeof(progress), "%.1f %% less progress",
			PERCENT(partly ? f->co_degradation : f->degradation));
	say(list,
		"By short measurements with its co-runners stopped (counter backend %s) it made %s "
		"beside them than alone%s its degradation is D = %.4f%s.",
		f->backend, progress,
		partly ? ". Over the whole run, in which time alone counts as no loss," : ":",
		f->degradation, interval);
}

static void say_degradation(json_t *list, const struct settlement *f)
{
	char interval[128] = "";

	if (f->changes && f->degradation > 0 && isnan(f->hi)) {
		say(list, "An administrator set its degradation to D = %.4f.", f->degradation);
		return;
	}
	if (!(f->co > 0)) {
		say(list, "It lost nothing to co-runners: D = 0.");
		return;
	}
	if (!isnan(f->hi))
		snprintf(interval, sizeof(interval),
			"; the true value is between %.3f and %.3f with 95 %% confidence", f->lo,
			f->hi);
	if (f->turned > 0) {
		say(list,
			"For %.1f %% of the run it was held for the turns of its co-runners, as all of "
			"them make more progress one after the other than side by side, or as one "
			"of them would have lost more than its max-degradation. It lost all of this "
			"time. With what it lost side by side, by short "
			"measurements with its co-runners stopped (counter backend %s), its "
			"degradation is D = %.4f%s.",
			PERCENT(f->turned), f->backend, f->degradation, interval);
	} else {
		say_beside(list, f, interval);
	}
	for (int i = 0; i < f->partner_count; i++)
		if (!isnan(f->partner_cost[i]))
			say(list, "Of this, %.3f comes from job %u.", f->partner_cost[i],
				f->partner[i]);
	if (f->spin)
		say(list, "Its tasks may wait for each other in a loop, which looks like progress: "
			  "the true degradation is then rather higher than measured.");
	if (f->degradation < 0)
		say(list, "A degradation below 0 is within the noise of the measurement and counts "
			  "as 0.");
}

static void say_nodes(json_t *list, const struct why *w)
{
	for (int i = 0; i < w->ledger.record_count; i++) {
		const struct ledger_record *r = &w->ledger.records[i];
		char blocks[96] = "", turned[64] = "";

		/* Until its record is final the ledger keeps these from the job's owner. */
		if (r->final || r->blocks)
			snprintf(blocks, sizeof(blocks), "; %llu measurements, %llu of them of use",
				(unsigned long long)r->blocks, (unsigned long long)r->used);
		if (r->turned_ns)
			snprintf(turned, sizeof(turned), "%.1f s held for turns, ",
				(double)r->turned_ns / NS_PER_S);
		say(list,
			"Node %s: %.1f s beside co-runners, %.1f s alone, %.1f s held stopped, "
			"%s%.1f s not measured%s.",
			r->node, (double)r->co_ns / NS_PER_S, (double)r->solo_ns / NS_PER_S,
			(double)r->paused_ns / NS_PER_S, turned,
			(double)r->unmeasured_ns / NS_PER_S, blocks);
	}
}

static void say_limit(json_t *list, int64_t extended, const char *bound)
{
	if (extended > 0)
		say(list,
			"The end of its time limit was moved by %lld s for what it lost to others.",
			(long long)extended);
	if (!strcmp(bound, "most"))
		say(list, "It was not moved further: five times the limit is the most.");
	else if (*bound)
		say(list, "It was not moved further because of a bound of Slurm's: %s.", bound);
}

static void say_limit_now(json_t *list, const struct time_limit_state *s)
{
	struct number_cell until;

	say_limit(list, s->extended, s->bound);
	if (s->refused > time(NULL))
		say(list,
			"It keeps other jobs from being measured, so nothing is added to its time "
			"limit until %s, or longer if it goes on to do so.",
			when(&until, s->refused));
}

static void say_stopped(json_t *list, const struct settlement *f)
{
	if (f->stopped > 0)
		say(list,
			"For %.2f %% of its time it was held stopped so that others could be "
			"measured: nobody pays for that (Z = %.4f).",
			PERCENT(f->stopped), f->stopped);
}

static void say_culprit(json_t *list, const struct settlement *f)
{
	if (f->culprit)
		say(list,
			"Job %u ran while it was to stand still, could not be stopped, or has left "
			"something running after its end: what this job would have done without it "
			"cannot be measured.",
			f->culprit);
}

static void say_missing(json_t *list, const struct settlement *f)
{
	say_stopped(list, f);
	say_limit(list, f->extended, f->bound);
	if (f->nodes)
		say(list,
			"Only %d of its %d nodes have data: what it used on the others is charged "
			"in full.",
			f->with_data, f->nodes);
	if (f->unmeasured > 0)
		say(list, "%.0f %% of its time was not measured and is charged in full.",
			PERCENT(f->unmeasured));
	say_culprit(list, f);
}

/* "This is uncertain: ...", of the job's figure or of its partner's. */
static void say_doubt(json_t *list, const struct compact *c, const char *whose)
{
	if (compact_known(c) && !compact_sure(c))
		say(list, "%s is uncertain: %s.", whose, compact_doubt_why(c->doubt));
}

static void say_stp(json_t *list, const struct why *w)
{
	const struct compact *p = &w->of_partner;

	if (!w->partner)
		return;
	if (!compact_known(p)) {
		say(list, "Its partner %u cannot be compared with plain runs: %s.",
			w->partner->job_id, compact_doubt_why(p->doubt));
		return;
	}
	if (isnan(w->stp))
		return;
	say(list,
		"Job %u made %.2f times that of its own (%d plain run%s). So their STP is %.2f in "
		"the time that they shared%s: 1 is as much as one after the other on whole nodes.",
		w->partner->job_id, p->progress, p->runs, p->runs == 1 ? "" : "s", w->stp,
		compact_sure(p) && compact_sure(&w->compact) ? "" : ", which is uncertain");
	say_doubt(list, p, "That of the partner");
}

/* What it and its partner made against runs of the same work without --colocate. */
static void say_compact(json_t *list, const struct why *w)
{
	const struct compact *c = &w->compact;
	char apart[64] = "";

	if (!compact_known(c)) {
		say(list, "It cannot be compared with plain runs: %s.",
			compact_doubt_why(c->doubt));
		return;
	}
	if (c->runs > 1)
		snprintf(apart, sizeof(apart), "median of %d runs, %.0f %% apart", c->runs,
			PERCENT(c->apart));
	else
		snprintf(apart, sizeof(apart), "1 run");
	say(list,
		"Against plain runs: the same name without --colocate took %.0f s with as many CPUs "
		"(%s), so it made %.2f times their progress.",
		c->run_s, apart, c->progress);
	say_doubt(list, c, "This");
	say_stp(list, w);
}

static void say_calculation(json_t *list, const struct why *w)
{
	const struct settlement *f = w->bill->facts;
	const struct explain *e = &w->explain;
	bool exact = w->facts.degradation_off == 0;

	if (!w->has_policy) {
		say(list,
			"The price was made by policy %s, which this release of poppa cannot work "
			"out: billing %llu instead of %llu.",
			f->policy, (unsigned long long)f->charged, (unsigned long long)f->raw);
		return;
	}
	say(list, "Slurm counted a billing of %llu for each second (raw). Policy %s charges %s:",
		(unsigned long long)f->raw, f->policy, e->formula);
	say(list, "%s = %.2f", e->numbers, e->product);
	if (w->policy.upper && e->degradation > f->degradation)
		say(list,
			"D is here the end of the interval that favours the user, as the policy's "
			"estimate=upper wants it.");
	if (e->capped)
		say(list, "The policy takes at most %.6g %% off for a degradation.",
			PERCENT(w->policy.cap));
	if (e->floored)
		say(list, "The policy lets a degradation bring no charge below %llu: %.2f counts.",
			(unsigned long long)w->policy.floor, e->amount);
	if (!w->fits)
		say(list,
			"These facts give a billing between %llu and %llu, but %llu is charged: "
			"please show this to the administrators.",
			(unsigned long long)e->least, (unsigned long long)e->most,
			(unsigned long long)f->charged);
	else if (!exact && llround(e->amount) != (long long)f->charged)
		say(list,
			"The charge was made with more digits than sacct shows; anything from "
			"%llu to %llu agrees with them.",
			(unsigned long long)e->least, (unsigned long long)e->most);
}

/* Says when and why administrators changed the price, as the ledger knows it. */
static void say_changes(json_t *list, const struct why *w)
{
	const json_t *change;
	struct number_cell at;
	size_t i;

	json_array_foreach(w->ledger.changes, i, change)
	{
		const json_t *old = json_object_get(change, "old");
		const json_t *new = json_object_get(change, "settlement");
		const char *reason = json_string_value(json_object_get(change, "reason"));

		say(list, "On %s an administrator changed its price from %lld to %lld: \"%s\".",
			when(&at, json_integer_value(json_object_get(change, "time"))),
			(long long)json_integer_value(json_object_get(old, "charged")),
			(long long)json_integer_value(json_object_get(new, "charged")),
			reason ? reason : "");
	}
	if (!json_array_size(w->ledger.changes))
		say(list, "An administrator has changed its price; the ledger knows when and why.");
}

/* The earlier sizes of a resized job: Slurm bills each of them by itself. */
static void say_sizes(json_t *list, const struct settlement *f)
{
	for (int i = 0; i < f->size_count; i++)
		say(list,
			"Before it was resized, for %lld seconds, Slurm counted a billing of %llu: "
			"%llu of it are charged, the same share.",
			(long long)f->size[i].seconds, (unsigned long long)f->size[i].raw,
			(unsigned long long)settlement_share(f->size[i].raw, f->charged, f->raw));
}

static void say_charge(json_t *list, const struct why *w)
{
	const struct bill *b = w->bill;
	const struct settlement *f = b->facts;
	struct number_cell at;

	if (f->changes)
		say_changes(list, w);
	if (f->charged < f->raw)
		say(list,
			"So a billing of %llu is charged for each of the %lld seconds instead of "
			"%llu: %.1f %% less.",
			(unsigned long long)f->charged, (long long)b->elapsed_s,
			(unsigned long long)f->raw, PERCENT(settlement_discount(f)));
	else
		say(list, "So the full billing of %llu is charged for each of the %lld seconds.",
			(unsigned long long)f->raw, (long long)b->elapsed_s);
	say_sizes(list, f);
	if (b->billing != f->charged)
		say(list,
			"sacct shows a billing of %llu now: either it has not been told yet, or "
			"somebody has changed it since.",
			(unsigned long long)b->billing);
	if (w->ledger.settled)
		say(list, "The price was made on %s, by version %d of the formulas.",
			when(&at, w->ledger.settlement.settled_unix), w->ledger.settlement.version);
}

static void say_no_data(json_t *list, const struct why *w)
{
	const struct settlement *f = w->bill->facts;
	const char *why = "the settlement gives this word as the reason";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strcmp(reasons[i].word, f->nodata))
			why = reasons[i].why;
	if (f->partner_count)
		say_partners(list, w);
	say_alone(list, w->bill);
	say(list, "It has no discount (%s): %s.", f->nodata, why);
	say_culprit(list, f);
	say_nodes(list, w);
	say_stopped(list, f);
	say_limit(list, f->extended, f->bound);
	if (f->stopped > 0) {
		/* The ledger has more digits than the comment. */
		double z = w->ledger.settled && !isnan(w->ledger.settlement.stopped)
				   ? w->ledger.settlement.stopped
				   : f->stopped;

		say(list,
			"Without data nobody guesses: the job pays what Slurm counted for the rest "
			"of its time, raw x (1 - Z):");
		say(list, "%llu x (1 - %.6g) = %.2f", (unsigned long long)f->raw, z,
			(double)f->raw * (1 - z));
	} else {
		say(list, "Without data nobody guesses: the job pays what Slurm counted.");
	}
	say_charge(list, w);
}

/* Says why a job has not started, as Slurm has it. */
static void say_waiting(json_t *list, const struct squeue_job *q)
{
	if (!q->id)
		return;
	if (!strcmp(q->reason, "JobHeldUser"))
		say(list, "It is held: its owner lets it go by \"scontrol release %s\".", q->id);
	else if (!strcmp(q->reason, "JobHeldAdmin"))
		say(list, "An administrator holds it, and only an administrator can let it go.");
	else if (!strcmp(q->reason, "Dependency"))
		say(list, "It waits for other jobs: %.1000s.", q->dependency);
	else if (!strcmp(q->reason, "DependencyNeverSatisfied"))
		say(list,
			"It waits for other jobs in vain, and never starts unless that is changed: "
			"%.1000s.",
			q->dependency);
	else if (!strcmp(q->reason, "BeginTime"))
		say(list, "It waits for the time from which it may start.");
	else
		say(list, "Slurm gives as the reason: %.1000s.", q->reason);
}

static void say_unpriced(json_t *list, const struct why *w)
{
	if (why_waits(w->bill)) {
		say_waiting(list, &w->waiting);
		if (*w->patient_until)
			say(list,
				"Lanes that are free now bring too little, or both jobs would lose there: it "
				"waits for a better partner or an empty node until %s at most, and then "
				"shares (stripe_wait).",
				w->patient_until);
		if (*w->behind)
			say(list,
				"A lane is free, but it and its partner there are expected to end later "
				"than their limits say, as these count progress: it waits until job %s "
				"has started, which comes before it and would have to wait longer.",
				w->behind);
		say(list, "%s price is made after it has run.",
			w->status == BILL_PLAIN ? "If it was submitted with --colocate, its"
						: "Its");
		return;
	}
	switch (w->status) {
	case BILL_PLAIN:
		say(list, "It was not submitted with --colocate, or sacct does not know of it yet. "
			  "Jobs that did not opt in are never stopped, measured or repriced.");
		say(list, "Slurm charges a billing of %llu for each of the %lld seconds.",
			(unsigned long long)w->bill->billing, (long long)w->bill->elapsed_s);
		break;
	case BILL_NEVER:
		say(list, "It used nothing, so nothing is charged and there is no price.");
		break;
	case BILL_RUNNING:
		say(list,
			"Its price is made when it has left its nodes; until then Slurm counts "
			"the full billing of %llu for each second. \"poppa top\" on one of its "
			"nodes shows what is measured now.",
			(unsigned long long)w->bill->billing);
		say_limit_now(list, &w->limit);
		break;
	default:
		say_nodes(list, w);
		say(list, "Its price has not been made yet: it waits for the last records of its "
			  "nodes, for at most poppa_settle_timeout, and for the ledger.");
		say(list,
			"Until then the full billing of %llu for each second stands. Tell the "
			"administrators if it stays so for hours.",
			(unsigned long long)w->bill->billing);
	}
}

json_t *why_sentences(const struct why *w)
{
	const struct settlement *f = w->bill->facts;
	json_t *list = json_array();

	if (!list)
		return NULL;
	say_run(list, w);
	say_site(list, w);
	say_apart(list, w);
	if (w->status == BILL_PRICED) {
		say_partners(list, w);
		say_alone(list, w->bill);
		say_degradation(list, f);
		say_nodes(list, w);
		say_missing(list, f);
		say_compact(list, w);
		/* A price that an administrator set need not follow from what was measured. */
		if (!f->changes || w->fits)
			say_calculation(list, w);
		say_charge(list, w);
	} else if (w->status == BILL_NO_DATA) {
		say_no_data(list, w);
		say_compact(list, w);
	} else {
		say_unpriced(list, w);
	}
	if (*w->no_ledger.text && w->refused)
		say(list, "(The ledger has more details for the job's owner and for root.)");
	else if (w->asked && *w->no_ledger.text)
		say(list, "(The ledger has more details and did not give them: %s.)",
			w->no_ledger.text);
	return list;
}
