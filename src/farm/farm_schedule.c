/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The four steps of a worker that looks for a task. */
#include "farm/farm_schedule.h"

#include <stdlib.h>

#include "common/xorshift.h"
#include "farm/farm_keys.h"

const struct farm_settings farm_defaults = {
	.policy = FARM_AFFINITY,
	.dispatch = 16,
	.window = 16,
	.gap = 64,
	.steal = 4,
	.keep = 8,
	.patience = 64,
};

/* Tasks in the order in which they came. */
struct list {
	struct farm_task *first, **end;
	uint64_t count;
};

struct worker {
	struct list allocate; /* came, and nobody has looked at their keys */
	struct list dispatch; /* given to this worker for their keys */
	struct list stolen;   /* from others, to be run here whatever their keys are */
};

struct farm_schedule {
	struct farm_settings set;
	struct farm_keys *keys;
	struct worker *worker;
	uint32_t workers, turn;
	uint64_t starts, waiting, random;
};

static void append(struct list *l, struct farm_task *t)
{
	if (!l->end)
		l->end = &l->first;
	t->next = NULL;
	*l->end = t;
	l->end = &t->next;
	l->count++;
}

/* Takes the task out to which *at points. */
static struct farm_task *take(struct list *l, struct farm_task **at)
{
	struct farm_task *t = *at;

	*at = t->next;
	if (l->end == &t->next)
		l->end = at;
	t->next = NULL;
	l->count--;
	return t;
}

static struct farm_task *take_first(struct list *l)
{
	return l->count ? take(l, &l->first) : NULL;
}

struct farm_schedule *farm_schedule_create(
	uint32_t workers, const struct farm_settings *settings, uint64_t seed)
{
	struct farm_schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->set = *settings;
	s->workers = workers;
	s->random = seed | 1;
	s->worker = calloc(workers, sizeof(*s->worker));
	s->keys = farm_keys_create(seed);
	if (!s->worker || !s->keys) {
		farm_schedule_destroy(s);
		return NULL;
	}
	return s;
}

void farm_schedule_destroy(struct farm_schedule *s)
{
	if (!s)
		return;
	farm_keys_destroy(s->keys);
	free(s->worker);
	free(s);
}

uint32_t farm_schedule_key(struct farm_schedule *s, const char *text, size_t len)
{
	return farm_keys_number(s->keys, text, len);
}

uint64_t farm_schedule_waiting(const struct farm_schedule *s)
{
	return s->waiting;
}

void farm_schedule_add(struct farm_schedule *s, struct farm_task *task)
{
	append(&s->worker[s->set.policy == FARM_QUEUE ? 0 : s->turn].allocate, task);
	s->turn = (s->turn + 1) % s->workers;
	s->waiting++;
}

static uint32_t any(struct farm_schedule *s, uint32_t n)
{
	return (uint32_t)((uint64_t)xorshift_32(&s->random) * n >> 32);
}

static const struct farm_key *known(const struct farm_schedule *s, const struct farm_task *t)
{
	return t->key == FARM_NO_KEY ? NULL : farm_keys_at(s->keys, t->key);
}

/* Step 1: of the oldest tasks, one whose key this worker has just had; else the oldest one. */
static struct farm_task *dispatched(struct farm_schedule *s, uint32_t me)
{
	struct list *l = &s->worker[me].dispatch;
	struct farm_task **at = &l->first;
	uint32_t i = 0;

	if (!l->count)
		return NULL;
	for (; *at && i < s->set.window && l->first->passed < s->set.patience;
		at = &(*at)->next, i++) {
		const struct farm_key *k = known(s, *at);

		if (!k || !k->last || k->worker != me || s->starts - k->last >= s->set.gap)
			continue;
		if (i)
			l->first->passed++;
		return take(l, at);
	}
	return take_first(l);
}

/* Step 3: gives tasks to the workers that have had their keys last. Returns false where there are
 * none to give. */
static bool give_out(struct farm_schedule *s, uint32_t me)
{
	struct list *l = &s->worker[me].allocate;

	if (!l->count)
		return false;
	for (uint32_t i = 0; i < s->set.dispatch && l->count; i++) {
		struct farm_task *t = take_first(l);
		uint32_t to = me;

		if (t->key != FARM_NO_KEY) {
			struct farm_key *k = farm_keys_at(s->keys, t->key);

			/* The paper does not say who gets a key that nobody has had: here it is who
			 * meets it first. */
			if (k->worker == UINT32_MAX)
				k->worker = me;
			to = k->worker;
		}
		append(&s->worker[to].dispatch, t);
	}
	return true;
}

static void move(struct list *from, struct list *to, uint64_t n)
{
	while (n-- && from->count)
		append(to, take_first(from));
}

/* Step 4: steals from a list of others, begun at any of them. `least` is how many tasks such a list
 * has at least. */
static bool steal_from(
	struct farm_schedule *s, uint32_t me, bool allocate, uint64_t least, uint64_t n)
{
	uint32_t first = any(s, s->workers);

	for (uint32_t i = 0; i < s->workers; i++) {
		uint32_t from = (first + i) % s->workers;
		struct worker *w = &s->worker[from];
		struct list *l = allocate ? &w->allocate : &w->dispatch;

		if (from == me || l->count < least)
			continue;
		move(l, &s->worker[me].stolen, n);
		return true;
	}
	return false;
}

/* A worker that has stolen tasks may be busy with a long one. */
static bool steal_back(struct farm_schedule *s, uint32_t me)
{
	for (uint32_t i = 0; i < s->workers; i++)
		if (i != me && s->worker[i].stolen.count) {
			move(&s->worker[i].stolen, &s->worker[me].stolen, 1);
			return true;
		}
	return false;
}

static bool steal(struct farm_schedule *s, uint32_t me)
{
	uint32_t n = s->set.steal;

	return steal_from(s, me, true, (uint64_t)n + 1, n) ||
	       steal_from(s, me, false, (uint64_t)s->set.keep + 1, n) ||
	       /* Not in the paper: an idle worker takes what there is. */
	       steal_from(s, me, true, 1, 1) || steal_from(s, me, false, 1, 1) || steal_back(s, me);
}

static struct farm_task *find(struct farm_schedule *s, uint32_t me)
{
	struct worker *w = &s->worker[me];

	for (;;) {
		struct farm_task *t = dispatched(s, me);

		if (!t)
			t = take_first(&w->stolen);
		if (!t && s->set.policy != FARM_AFFINITY)
			t = take_first(s->set.policy == FARM_QUEUE ? &s->worker[0].allocate
								   : &w->allocate);
		if (t)
			return t;
		if (!give_out(s, me) && !steal(s, me))
			return NULL;
	}
}

struct farm_task *farm_schedule_next(struct farm_schedule *s, uint32_t worker)
{
	struct farm_task *t = find(s, worker);

	if (!t)
		return NULL;
	s->waiting--;
	s->starts++;
	if (t->key != FARM_NO_KEY)
		*farm_keys_at(s->keys, t->key) = (struct farm_key){s->starts, worker};
	return t;
}
