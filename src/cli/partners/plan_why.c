/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says in plain words what has decided where a planned job is. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/partners/plan.h"

/* So many partners are named. */
#define NAMED 3

static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *text(const char *fmt, ...)
{
	char *out = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&out, fmt, ap) < 0)
		out = NULL;
	va_end(ap);
	return out;
}

/* What a lane brings less what it costs, as a share of a lane: what offers are compared by. */
static double brings(const struct lane_offer *f)
{
	return (double)-f->yield.price / 100;
}

char *plan_why_few(const struct planned *j, long free)
{
	const char *plural = j->nodes > 1 ? "s" : "";

	if (!free)
		return text("it needs %d node%s, and no lane is free", j->nodes, plural);
	return text("it needs %d node%s, and only %ld ha%s a free lane", j->nodes, plural, free,
		free > 1 ? "ve" : "s");
}

/* Whether the offer has a fault, and how many have it. */
static bool has(const struct lane_offer *f, enum lane_fault fault)
{
	return f->partners && f->yield.fault == fault;
}

/* The offer with this fault that misses the wish the least; *count: out, how many have it. */
static const struct lane_offer *nearest(
	const struct plan_offers *o, enum lane_fault fault, int *count)
{
	const struct lane_offer *best = NULL;

	*count = 0;
	for (int i = 0; i < o->count; i++) {
		const struct lane_offer *f = &o->of[i];

		if (!has(f, fault))
			continue;
		++*count;
		if (!best ||
			(fault == LANE_GAINS_LITTLE && f->yield.together > best->yield.together) ||
			(fault == LANE_HURTS && f->yield.each > best->yield.each))
			best = f;
	}
	return best;
}

static int with_partners(const struct plan_offers *o)
{
	return o->count - (o->empty >= 0);
}

static void put_fault(FILE *out, const struct plan *p, const struct plan_offers *o,
	const struct lane_offer *f, int count)
{
	const char *class = p->job[f->id].class;
	const struct lane_yield *y = &f->yield;

	if (count == 1)
		fprintf(out, "beside %s ", class);
	else
		fprintf(out, "beside %s, at best %s, ",
			count == with_partners(o) ? "all that are there" : "others", class);
	if (y->fault == LANE_GAINS_LITTLE)
		fprintf(out,
			"both would make %.2f of one after the other, less than %.2f "
			"(stripe_gain_min)",
			y->together, o->wish->together);
	else
		fprintf(out,
			"%s would go at %.2f of the speed on whole nodes, less than %.2f "
			"(stripe_victim_max)",
			y->hurts_itself ? "it" : "that one", y->each, o->wish->each);
}

/* Which limits keep the job from lanes beside others. */
static void put_faults(FILE *out, const struct plan *p, const struct plan_offers *o)
{
	int little, hurts;
	const struct lane_offer *one = nearest(o, LANE_GAINS_LITTLE, &little);
	const struct lane_offer *other = nearest(o, LANE_HURTS, &hurts);

	if (one)
		put_fault(out, p, o, one, little);
	if (one && other)
		fputs(", and ", out);
	if (other)
		put_fault(out, p, o, other, hurts);
}

/* Closes the memory stream whose text is in *out. */
static char *finish(FILE *f, char **out)
{
	if (!fclose(f))
		return *out;
	free(*out);
	return NULL;
}

/* The best lane beside somebody that no limit keeps the job from, from the offer `first` on.
 * *nodes: out, how many nodes have such lanes or are empty. */
static const struct lane_offer *best_allowed(const struct plan_offers *o, int first, long *nodes)
{
	const struct lane_offer *best = NULL;

	*nodes = 0;
	for (int i = first; i < o->count; i++) {
		const struct lane_offer *f = &o->of[i];

		if (has(f, LANE_GAINS_LITTLE) || has(f, LANE_HURTS))
			continue;
		*nodes += f->nodes;
		if (f->partners && (!best || f->yield.price < best->yield.price))
			best = f;
	}
	return best;
}

char *plan_why_waits(const struct plan *p, const struct plan_offers *o)
{
	long nodes;
	const struct lane_offer *best = best_allowed(o, 0, &nodes);
	char *out = NULL;
	size_t size;
	FILE *f;

	if (nodes >= o->wish->need)
		return text(
			"the best free lanes, beside %s, bring %s%.2f of a lane, and it waits for "
			"%.2f",
			p->job[best->id].class, o->lack < LANE_LACK_MOST ? "" : "at most ",
			LANE_ENOUGH - o->lack, LANE_ENOUGH);
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	if (nodes)
		fprintf(f, "it needs %d nodes, and only %ld suit%s: ", o->wish->need, nodes,
			nodes > 1 ? "" : "s");
	put_faults(f, p, o);
	return finish(f, &out);
}

char *plan_why_alone(const struct plan *p, const struct plan_offers *o)
{
	const struct lane_offer *best;
	char *out = NULL;
	size_t size;
	FILE *f;
	long nodes;

	if (!with_partners(o))
		return text("no other job has a lane free");
	if (o->empty + 1 == o->count)
		return text("no more jobs have a lane free");
	best = best_allowed(o, o->empty + 1, &nodes);
	if (best && best->yield.price >= o->of[o->empty].yield.price)
		return text(
			"an empty node brings %.2f of a lane, and a lane beside %s brings %.2f, "
			"with what that one loses",
			brings(&o->of[o->empty]), p->job[best->id].class, brings(best));
	if (best)
		return text(
			"beside %s it would be slower than on its other nodes, and it waits for "
			"the slowest",
			p->job[best->id].class);
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	put_faults(f, p, o);
	return finish(f, &out);
}

char *plan_why_shares(const struct planned *j, bool behind)
{
	double made = 0, nodes = 0;
	char *out = NULL;
	size_t size, k;
	const json_t *part;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	json_array_foreach(j->beside, k, part)
	{
		double n = json_number_value(json_object_get(part, "nodes"));

		nodes += n;
		made += n * json_number_value(json_object_get(part, "both"));
		if (k < NAMED)
			fprintf(f, "%s%s", k ? ", " : "",
				json_string_value(json_object_get(part, "class")));
	}
	if (k > NAMED)
		fprintf(f, " and %zu more", k - NAMED);
	fprintf(f, ": together %.2f of one after the other", made / nodes);
	if (behind)
		fputs(", as nothing better is free", f);
	return finish(f, &out);
}

char *plan_why(const struct plan *p, const struct planned *j)
{
	char *out = NULL;
	size_t size;
	FILE *f;

	if (j->waits)
		return j->why_waits ? text("waits: %s", j->why_waits) : NULL;
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	if (j->why_shares)
		fprintf(f, "shares with %s", j->why_shares);
	if (j->why_alone)
		fprintf(f, "%salone%s: %s", j->why_shares ? "; on the other nodes " : "",
			j->joiners ? " at first" : "", j->why_alone);
	if (j->joiners)
		fprintf(f, "; then job %d, %s, comes beside it", j->joined_by + 1,
			p->job[j->joined_by].class);
	if (j->joiners > 1)
		fprintf(f, ", and %d more", j->joiners - 1);
	return finish(f, &out);
}
