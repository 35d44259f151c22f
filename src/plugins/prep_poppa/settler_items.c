/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs that wait for their settlement, and when each is to be looked at. */
#include "plugins/compat/slurm_compat.h"

#include "settler_impl.h"

struct item *item_new(struct facts *f)
{
	struct item *i = xmalloc(sizeof(*i));

	i->facts = f;
	i->tick_ms = TICK_MS;
	i->due_ms = settler_now_ms() + TICK_MS;
	return i;
}

void item_free(struct item *i)
{
	facts_free(i->facts);
	xfree(i);
}

void item_delay(struct item *i)
{
	i->due_ms = settler_now_ms() + i->tick_ms;
	i->tick_ms = i->tick_ms * 2 < MAX_TICK_MS ? i->tick_ms * 2 : MAX_TICK_MS;
}

void item_enter(struct item *i, enum stage stage)
{
	i->stage = stage;
	i->tick_ms = TICK_MS;
	i->due_ms = settler_now_ms();
}

struct item *items_find(const struct settler *w, uint32_t job_id, time_t start)
{
	for (struct item *i = w->items; i; i = i->next)
		if (i->facts->job_id == job_id && i->facts->start == start)
			return i;
	return NULL;
}

void items_add(struct settler *w, struct item *i)
{
	i->next = w->items;
	w->items = i;
	w->changed |= !i->change;
}

void items_drop_done(struct settler *w)
{
	for (struct item **at = &w->items; *at;) {
		struct item *i = *at;

		if (!i->done) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		w->changed |= !i->change;
		item_free(i);
	}
}

void items_free(struct item **list)
{
	for (struct item *i = *list, *next; i; i = next) {
		next = i->next;
		item_free(i);
	}
	*list = NULL;
}
