/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps over the times at which nodes change their partners, with the size of each group. */
#include "striping/partners/partner_times.h"

#include <stdlib.h>

/* A node comes to a group or leaves it. */
struct event {
	time_t when;
	int by;    /* +1 or -1 */
	int group; /* in struct sweep; EMPTY for nodes without a partner */
};
#define EMPTY (-1)

struct group {
	uint64_t id;
	bool named;
	int size;
};

struct sweep {
	const struct poppa_settings *s;
	int need, want;
	time_t alone;
	struct group *group;
	int groups;
	int empty;
};

static int by_id(const void *x, const void *y)
{
	const struct vacancy *a = x, *b = y;

	if (a->c.shared != b->c.shared)
		return b->c.shared - a->c.shared;
	return a->c.group < b->c.group ? -1 : a->c.group > b->c.group;
}

static int by_when(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	return a->when < b->when ? -1 : a->when > b->when;
}

/* Takes in event[0..count), which are all events of one moment. Returns whether the job can have
 * sets of nodes since then that it could not have before. */
static bool serves(struct sweep *w, const struct event *event, int count)
{
	bool more_empty = false, found = false;

	for (int i = 0; i < count; i++) {
		int *size = event[i].group == EMPTY ? &w->empty : &w->group[event[i].group].size;

		*size += event[i].by;
		more_empty = more_empty || event[i].group == EMPTY;
	}
	if (more_empty && w->empty >= w->need && event->when >= w->alone)
		return true;
	for (int i = 0; !found && i < (more_empty ? w->groups : count); i++) {
		int k = more_empty ? i : event[i].group;

		found = (more_empty || event[i].by > 0) &&
			node_choice_serves(w->s, w->group[k].size, w->group[k].named, w->empty,
				w->need, w->want);
	}
	return found;
}

static int find_events(struct sweep *w, const struct vacancy *v, int count, struct event *event)
{
	int events = 0;

	for (int i = 0; i < count; i++) {
		int group = EMPTY;

		if (v[i].c.shared) {
			if (!w->groups || w->group[w->groups - 1].id != v[i].c.group)
				w->group[w->groups++] =
					(struct group){.id = v[i].c.group, .named = v[i].c.named};
			group = w->groups - 1;
		}
		event[events++] = (struct event){v[i].c.when, 1, group};
		if (v[i].until)
			event[events++] = (struct event){v[i].until, -1, group};
	}
	return events;
}

int partner_times_starts(const struct poppa_settings *s, struct vacancy *v, int count, int need,
	int want, time_t alone, time_t *start, int max)
{
	struct sweep w = {.s = s, .need = need, .want = want, .alone = alone};
	struct event *event = calloc((size_t)count * 2 + 1, sizeof(*event));
	int events, found = 0;

	w.group = calloc((size_t)count + 1, sizeof(*w.group));
	if (!event || !w.group) {
		free(event);
		free(w.group);
		return -1;
	}
	if (count)
		qsort(v, (size_t)count, sizeof(*v), by_id);
	events = find_events(&w, v, count, event);
	if (alone)
		event[events++] = (struct event){alone, 0, EMPTY};
	qsort(event, (size_t)events, sizeof(*event), by_when);
	for (int i = 0, n; i < events; i += n) {
		for (n = 1; i + n < events && event[i + n].when == event[i].when;)
			n++;
		if (serves(&w, event + i, n))
			start[found < max ? found++ : max - 1] = event[i].when;
	}
	free(event);
	free(w.group);
	return found;
}
