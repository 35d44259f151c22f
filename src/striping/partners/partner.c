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
	       !(r->not_count && b->name && colocate_excludes(r, b->name));
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

/* Degradation of the i-th job beside all the rest. *known: the history knows all its pairs. */
static double degradation_of(const struct partner *me, const struct partner *const *others,
	int count, int i, const struct pairs *pairs, bool *known)
{
	const struct partner *job = nth(me, others, i);
	double guess = pairs ? pairs_mean(pairs) : 0, left = 1;

	*known = true;
	for (int k = 0; k <= count; k++) {
		double d = guess;

		if (k == i)
			continue;
		if (!pairs ||
			!pairs_expect(pairs, job->class_name, nth(me, others, k)->class_name, &d))
			*known = false;
		left *= 1 - d;
	}
	return 1 - left;
}

bool partner_compatible(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	if (!count)
		return true;
	for (int i = 0; i < count; i++)
		if (!accepts(me, others[i]) || !accepts(others[i], me))
			return false;
	for (int i = 0; i <= count; i++) {
		double limit = nth(me, others, i)->request->max_degradation, d;
		bool known;

		if (!(limit > 0))
			continue;
		d = degradation_of(me, others, count, i, pairs, &known);
		if (!known || d > limit)
			return false;
	}
	return true;
}

double partner_loss(const struct partner *me, const struct partner *const *others, int count,
	const struct pairs *pairs)
{
	double loss = 0;
	bool known;

	for (int i = 0; count && i <= count; i++)
		loss += degradation_of(me, others, count, i, pairs, &known);
	return loss;
}
