/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which jobs may share a node, and what sharing costs them. */
#include "striping/partners/partner.h"

#include <stddef.h>

static bool is_job(const struct partner *p, uint32_t id)
{
	return p->id == id || (p->array_id && p->array_id == id);
}

static bool accepts(const struct partner *a, const struct partner *b)
{
	const struct colocate *r = a->request;

	return !r->spread && (!r->with || is_job(b, r->with)) &&
	       !(r->not_count && b->name && colocate_excludes(r, b->name)) &&
	       !(a->apart && apart_from(a->apart, b->id));
}

uint64_t partner_group(uint32_t id)
{
	uint64_t x = (id ^ (uint64_t)id >> 31) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 29;
}

bool partner_named(const struct partner *a, const struct partner *b)
{
	return (a->request->with && is_job(b, a->request->with)) ||
	       (b->request->with && is_job(a, b->request->with));
}

/* The i-th of all the jobs, of which 0 is me. */
static const struct partner *nth(
	const struct partner *me, const struct partner *const *others, int i)
{
	return i ? others[i - 1] : me;
}

/* What is to be said of a degradation. */
enum view {
	EXPECTED, /* its mean; what is not known is the history's mean */
	LEAST,    /* what it is certainly not below; 0 without evidence */
	MOST,     /* what it is certainly not above, and without evidence the mean; 0 if unknown */
};

/* Degradation of a job of one class beside one of another. *known: the history knows the pair, or
 * for LEAST has evidence of it. */
static double degradation_beside(const struct partner *job, const struct partner *other,
	const struct pairs *pairs, enum view view, bool *known)
{
	double d = 0, low, high;

	*known = view != EXPECTED && pairs &&
		 pairs_certain(pairs, job->class_name, other->class_name, &low, &high);
	if (*known)
		return view == LEAST ? low : high;
	if (view == LEAST || !pairs)
		return 0;
	*known = pairs_expect(pairs, job->class_name, other->class_name, &d);
	if (!*known && view == EXPECTED)
		d = pairs_mean(pairs);
	return d;
}

/* Degradation of the i-th job beside all the rest. *known: that is so for all its pairs. */
static double degradation_of(const struct partner *me, const struct partner *const *others,
	int count, int i, const struct pairs *pairs, enum view view, bool *known)
{
	double left = 1;

	*known = true;
	for (int k = 0; k <= count; k++) {
		bool pair_known;

		if (k == i)
			continue;
		left *= 1 - degradation_beside(nth(me, others, i), nth(me, others, k), pairs, view,
				    &pair_known);
		*known = *known && pair_known;
	}
	return 1 - left;
}

/* tries: me may be beside some that the history does not know. */
static bool may_share(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs, bool tries)
{
	for (int i = 0; i < count; i++)
		if (!accepts(me, others[i]) || !accepts(others[i], me))
			return false;
	for (int i = 0; count && i <= count; i++) {
		double limit = nth(me, others, i)->request->max_degradation, d;
		bool known;

		if (!(limit > 0))
			continue;
		d = degradation_of(me, others, count, i, pairs, MOST, &known);
		if (d > limit || (!known && (i || !tries)))
			return false;
	}
	return true;
}

bool partner_compatible(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	return may_share(me, others, count, pairs, false);
}

bool partner_on_probation(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	return me->may_leave && may_share(me, others, count, pairs, true);
}

double partner_degradation(const struct partner *me, const struct partner *const *others, int count,
	int i, const struct pairs *pairs)
{
	bool known;

	return degradation_of(me, others, count, i, pairs, EXPECTED, &known);
}

double partner_loss(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	double loss = 0;

	for (int i = 0; count && i <= count; i++)
		loss += partner_degradation(me, others, count, i, pairs);
	return loss;
}

void partner_certain(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs, double *own, double *rest)
{
	bool known;

	*own = count ? degradation_of(me, others, count, 0, pairs, LEAST, &known) : 0;
	*rest = 0;
	for (int i = 1; i <= count; i++)
		*rest += 1 - degradation_of(me, others, count, i, pairs, LEAST, &known);
}
