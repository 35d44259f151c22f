/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs that wait for their settlement, and when each is to be looked at. */
#include "plugins/compat/slurm_compat.h"

#include <string.h>

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

static struct item **bucket_of(struct settler *w, uint32_t job_id, time_t start)
{
	return &w->bucket[(job_id * 31 + (uint32_t)start) % ITEM_BUCKETS];
}

struct item *items_find(struct settler *w, uint32_t job_id, time_t start)
{
	for (struct item *i = *bucket_of(w, job_id, start); i; i = i->same_bucket)
		if (i->facts->job_id == job_id && i->facts->start == start)
			return i;
	return NULL;
}

void items_add(struct settler *w, struct item *i)
{
	struct item **bucket = bucket_of(w, i->facts->job_id, i->facts->start);

	i->next = w->items;
	w->items = i;
	i->same_bucket = *bucket;
	*bucket = i;
	items_changed(w, i);
}

/* Changes of prices are found in the ledger again. */
void items_changed(struct settler *w, struct item *i)
{
	i->unsaved = !i->change;
	w->changed |= !i->change;
}

static void drop(struct settler *w, struct item *i)
{
	struct item **at = bucket_of(w, i->facts->job_id, i->facts->start);

	while (*at != i)
		at = &(*at)->same_bucket;
	*at = i->same_bucket;
	if (!i->change) {
		if (!w->gone)
			w->gone = json_array();
		if (json_array_append_new(w->gone, waiting_gone(i->facts->job_id, i->facts->start)))
			w->state.ours = false; /* all is written, then */
		w->changed = true;
	}
	item_free(i);
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
		drop(w, i);
	}
}

void items_free(struct settler *w)
{
	for (struct item *i = w->items, *next; i; i = next) {
		next = i->next;
		item_free(i);
	}
	w->items = NULL;
	memset(w->bucket, 0, sizeof(w->bucket));
	json_decref(w->gone);
	w->gone = NULL;
}
