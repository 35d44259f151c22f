/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A binary heap of events. */
#include "sim/events.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

void events_add(struct sim *s, double when, enum event_kind kind, int job)
{
	struct event new = {when, s->event_order++, kind, job, s->run[job].version};
	int at = s->events;

	if (s->events == s->event_room) {
		int room = s->event_room ? s->event_room * 2 : 1024;
		struct event *list = realloc(s->event, (size_t)room * sizeof(*list));

		if (!list) {
			s->out_of_memory = 1;
			return;
		}
		s->event = list;
		s->event_room = room;
	}
	s->events++;
	for (; at && before(&new, &s->event[(at - 1) / 2]); at = (at - 1) / 2)
		s->event[at] = s->event[(at - 1) / 2];
	s->event[at] = new;
}

static struct event take(struct sim *s)
{
	struct event first = s->event[0], last = s->event[--s->events];
	int at = 0;

	for (int child; (child = 2 * at + 1) < s->events; at = child) {
		if (child + 1 < s->events && before(&s->event[child + 1], &s->event[child]))
			child++;
		if (!before(&s->event[child], &last))
			break;
		s->event[at] = s->event[child];
	}
	s->event[at] = last;
	return first;
}

/* Patience is of a job that waits; turns are of one start; the others of one pace. */
static bool is_void(const struct sim *s, const struct event *e)
{
	const struct run *r = &s->run[e->job];

	switch (e->kind) {
	case EVENT_WAKE:
		return r->state != RUN_WAITING;
	case EVENT_TURNS:
	case EVENT_REQUEUE:
	case EVENT_LEARN:
		return r->state != RUN_RUNNING;
	default:
		return r->state != RUN_RUNNING || r->version != e->version;
	}
}

bool events_next(struct sim *s, double until, struct event *out)
{
	while (s->events && s->event[0].when <= until) {
		*out = take(s);
		if (!is_void(s, out))
			return true;
	}
	return false;
}
