/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders the jobs of a pass by their users' turns. */
#include "accounting/settle/pass_order.h"

#include <stdlib.h>

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_key(const struct pass_job *a, const struct pass_job *b)
{
	int c = COMPARE(a->key, b->key);

	return c ? c : COMPARE(a->job_id, b->job_id);
}

static int by_user(const void *a, const void *b)
{
	const struct pass_job *x = a, *y = b;
	int c = COMPARE(x->later, y->later);

	c = c ? c : COMPARE(x->uid, y->uid);
	return c ? c : by_key(x, y);
}

static int by_rank(const void *a, const void *b)
{
	const struct pass_job *x = a, *y = b;
	int c = COMPARE(x->later, y->later);

	c = c ? c : COMPARE(x->rank, y->rank);
	return c ? c : by_key(x, y);
}

void pass_order(struct pass_job *job, size_t count)
{
	if (!count)
		return;
	qsort(job, count, sizeof(*job), by_user);
	for (size_t i = 0; i < count; i++)
		job[i].rank = i && job[i].uid == job[i - 1].uid && job[i].later == job[i - 1].later
				      ? job[i - 1].rank + 1
				      : 0;
	qsort(job, count, sizeof(*job), by_rank);
}
