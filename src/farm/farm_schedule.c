/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The four steps of a worker that looks for a task. */
#include "farm/farm_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "common/xorshift.h"
#include "farm/farm_keys.h"

/* The paper publishes none of them. Of these, `window` and `dispatch` are large, since looking for
 * a key costs nothing here: tasks with the same key are linked. */
const struct farm_settings farm_defaults = {
	.policy = FARM_AFFINITY,
	.dispatch = 1024,
	.window = 65536,
	.gap = 64,
	.steal = 4,
	.keep = 8,
	.patience = 512,
};

/* So many keys of its last starts a worker looks for. */
#define RECENT 8
/* So many tasks of others with a key a worker passes to find one of its own. */
#define OTHERS 64
/* So many times `patience` what nobody has given out waits for what was given. */
#define GIVE_PATIENCE 16

/* Tasks in the order in which they came. */
struct list {
	struct farm_task *first, *last;
	uint64_t count;
};

struct recent {
	uint32_t key;
	uint64_t start; /* of its worker, from 1 */
};

struct worker {
	struct list allocate; /* came, and nobody has looked at their keys */
	struct list dispatch; /* given to this worker for their keys; also linked by key */
	struct list stolen;   /* from others, to be run here whatever their keys are */
	uint64_t given;       /* how many were put into dispatch */
	uint64_t starts;
	uint64_t passed;              /* starts in a row from dispatch while another list waited */
	struct recent recent[RECENT]; /* the latest first, each key once */
};

struct farm_schedule {
	struct farm_settings set;
	struct farm_keys *keys;
	struct worker *worker;
	uint32_t workers, turn;
	uint64_t waiting, random;
};

static void append(struct list *l, struct farm_task *t)
{
	t->next = NULL;
	t->before = l->last;
	if (l->last)
		l->last->next = t;
	else
		l->first = t;
	l->last = t;
	l->count++;
}

static void take_out(struct list *l, struct farm_task *t)
{
	if (t->before)
		t->before->next = t->next;
	else
		l->first = t->next;
	if (t->next)
		t->next->before = t->before;
	else
		l->last = t->before;
	l->count--;
}

static struct farm_task *take_first(struct list *l)
{
	struct farm_task *t = l->first;

	if (t)
		take_out(l, t);
	return t;
}

/* Puts a task behind those that were given to a worker. */
static void give(struct farm_schedule *s, uint32_t to, struct farm_task *t)
{
	struct worker *w = &s->worker[to];

	t->worker = to;
	t->place = w->given++;
	append(&w->dispatch, t);
	if (t->key != FARM_NO_KEY) {
		struct farm_key *k = farm_keys_at(s->keys, t->key);

		t->next_same = NULL;
		t->before_same = k->newest;
		if (k->newest)
			k->newest->next_same = t;
		else
			k->first = t;
		k->newest = t;
	}
}

static struct farm_task *take_given(struct farm_schedule *s, struct farm_task *t)
{
	if (!t)
		return NULL;
	take_out(&s->worker[t->worker].dispatch, t);
	if (t->key != FARM_NO_KEY) {
		struct farm_key *k = farm_keys_at(s->keys, t->key);

		if (t->before_same)
			t->before_same->next_same = t->next_same;
		else
			k->first = t->next_same;
		if (t->next_same)
			t->next_same->before_same = t->before_same;
		else
			k->newest = t->before_same;
	}
	return t;
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
	return farm_keys_take(s->keys, text, len);
}

void farm_schedule_over(struct farm_schedule *s, const struct farm_task *task)
{
	farm_keys_release(s->keys, task->key);
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

/* The oldest task with a key that was given to this worker. Others' are in the way only where the
 * key has changed its worker. Behind more than OTHERS of them nobody looks: a key that most tasks
 * have would make each start a search through all that wait. */
static struct farm_task *oldest_with(struct farm_schedule *s, uint32_t me, uint32_t key)
{
	struct farm_task *t = farm_keys_at(s->keys, key)->first;

	for (int i = 0; t && t->worker != me && i < OTHERS; i++)
		t = t->next_same;
	return t && t->worker == me ? t : NULL;
}

/* Step 1: of the oldest tasks, one whose key this worker has just had; else the oldest one. */
static struct farm_task *dispatched(struct farm_schedule *s, uint32_t me)
{
	struct worker *w = &s->worker[me];
	struct farm_task *first = w->dispatch.first;

	if (!first || first->passed >= s->set.patience)
		return take_given(s, first);
	for (int i = 0; i < RECENT; i++) {
		const struct recent *r = &w->recent[i];
		struct farm_task *t;

		if (!r->start || w->starts - r->start >= s->set.gap)
			break;
		t = oldest_with(s, me, r->key);
		if (!t || t->place - first->place >= s->set.window)
			continue;
		if (t != first)
			first->passed++;
		return take_given(s, t);
	}
	return take_given(s, first);
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
		give(s, to, t);
	}
	return true;
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
		while (n-- && l->count)
			append(&s->worker[me].stolen,
				allocate ? take_first(l) : take_given(s, l->first));
		return true;
	}
	return false;
}

/* A worker that has stolen tasks may be busy with a long one. */
static bool steal_back(struct farm_schedule *s, uint32_t me)
{
	for (uint32_t i = 0; i < s->workers; i++)
		if (i != me && s->worker[i].stolen.count) {
			append(&s->worker[me].stolen, take_first(&s->worker[i].stolen));
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

/* A task that was stolen, or one that nobody has given out, waits while its worker is given others
 * without end. Returns the former when it was passed over too often, and gives the latter out. The
 * latter have more patience: usually all that was given has run long before. */
static struct farm_task *waited_long(struct farm_schedule *s, uint32_t me)
{
	struct worker *w = &s->worker[me];

	if (!w->dispatch.count || (!w->stolen.count && !w->allocate.count)) {
		w->passed = 0;
		return NULL;
	}
	w->passed++;
	if (w->stolen.count && w->passed > s->set.patience) {
		w->passed = 0;
		return take_first(&w->stolen);
	}
	if (w->passed > (uint64_t)GIVE_PATIENCE * s->set.patience) {
		w->passed = 0;
		give_out(s, me);
	}
	return NULL;
}

static struct farm_task *find(struct farm_schedule *s, uint32_t me)
{
	struct worker *w = &s->worker[me];
	struct farm_task *late = waited_long(s, me);

	if (late)
		return late;
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

/* Writes down that a worker starts a task with a key. */
static void remember(struct farm_schedule *s, uint32_t worker, uint32_t key)
{
	struct recent *r = s->worker[worker].recent;
	struct farm_key *k = farm_keys_at(s->keys, key);
	int i = 0;

	k->worker = worker;
	while (i < RECENT - 1 && r[i].start && r[i].key != key)
		i++;
	memmove(&r[1], &r[0], (size_t)i * sizeof(*r));
	r[0] = (struct recent){key, s->worker[worker].starts};
}

struct farm_task *farm_schedule_next(struct farm_schedule *s, uint32_t worker)
{
	struct farm_task *t = find(s, worker);

	if (!t)
		return NULL;
	s->waiting--;
	s->worker[worker].starts++;
	if (t->key != FARM_NO_KEY)
		remember(s, worker, t->key);
	return t;
}
