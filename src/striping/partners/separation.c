/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether a job whose max-degradation is not kept leaves its co-runners. */
#include "striping/partners/separation.h"

void separation_beside(struct separation *s, uint32_t job_id, int64_t start)
{
	s->came_first |= start > s->start || (start == s->start && job_id > s->job_id);
	if (s->count < APART_JOBS)
		s->other[s->count++] = job_id;
}

bool separation_due(const struct separation *s)
{
	bool blind = s->probation && !s->measured && s->ran_s >= SEPARATION_BLIND_S;

	return s->may_leave && !s->distrusted && s->ran_s <= SEPARATION_WITHIN_S &&
	       s->apart.times < APART_MOST && (s->unkept || blind);
}

bool separation_leaves(const struct separation *s)
{
	bool again = s->count > 0;

	/* Once from each of them. */
	for (int i = 0; i < s->count; i++)
		again = again && apart_from(&s->apart, s->other[i]);
	return separation_due(s) && s->count > 0 && !s->came_first && !again;
}
