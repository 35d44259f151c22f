/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets the sources of connections take turns. */
#include "accounting/ledgerd/line_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "accounting/record/origin.h"
#include "common/clock.h"
#include "common/units.h"

#define BUCKETS 1024
#define SUSPICIONS 65536
#define SUSPECT_S 60
#define KEY_SIZE (ORIGIN_SIZE + 2)

TAILQ_HEAD(waiters, waiter);
TAILQ_HEAD(sources, source);

struct source {
	struct source *next; /* of the same bucket */
	char key[KEY_SIZE];
	enum standing standing;
	uid_t uid;                 /* of a STRANGER */
	struct waiters line, idle; /* the oldest first */
	int idle_count;
	struct sources *in; /* where it waits for its turn; NULL: no line of it waits */
	TAILQ_ENTRY(source) turn, rest;
};

struct line_order {
	struct source *bucket[BUCKETS];
	struct sources line[STANDINGS]; /* those with a line that waits */
	struct sources enough;          /* STRANGERs that had enough in that second */
	int64_t enough_s;
	struct sources idle[STANDINGS]; /* those with a connection that is not in line */
	int last; /* the standing of who had the last turn before suspects and strangers */
	struct askers askers;
	uint64_t seed;
	/* Until when an address is suspect, s, by its hash. Nobody can choose an address that has
	 * the hash of another one; if it happens, that one waits for a little. */
	int32_t suspect[SUSPICIONS];
};

static int64_t now_s(void)
{
	return clock_now() / NS_PER_S;
}

static uint64_t hash(const struct line_order *t, const char *key)
{
	uint64_t h = t->seed;

	for (const char *p = key; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x9e3779b97f4a7c15);
	return h >> 32;
}

struct line_order *line_order_new(void)
{
	struct line_order *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != (ssize_t)sizeof(t->seed))
		t->seed = (uint64_t)clock_now();
	for (int i = 0; i < STANDINGS; i++) {
		TAILQ_INIT(&t->line[i]);
		TAILQ_INIT(&t->idle[i]);
	}
	TAILQ_INIT(&t->enough);
	return t;
}

void line_order_free(struct line_order *t)
{
	free(t);
}

static struct source *find(const struct line_order *t, const char *key)
{
	struct source *source = t->bucket[hash(t, key) % BUCKETS];

	while (source && strcmp(source->key, key))
		source = source->next;
	return source;
}

static struct source *find_or_make(
	struct line_order *t, const char *key, enum standing standing, uid_t uid)
{
	struct source *source = find(t, key), **bucket = &t->bucket[hash(t, key) % BUCKETS];

	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	snprintf(source->key, sizeof(source->key), "%s", key);
	source->standing = standing;
	source->uid = uid;
	TAILQ_INIT(&source->line);
	TAILQ_INIT(&source->idle);
	source->next = *bucket;
	*bucket = source;
	return source;
}

static void free_source(struct line_order *t, struct source *source)
{
	struct source **at = &t->bucket[hash(t, source->key) % BUCKETS];

	while (*at != source)
		at = &(*at)->next;
	*at = source->next;
	free(source);
}

static void rest(struct line_order *t, struct waiter *w)
{
	struct source *source = w->source;

	TAILQ_INSERT_TAIL(&source->idle, w, entry);
	if (!source->idle_count++)
		TAILQ_INSERT_TAIL(&t->idle[source->standing], source, rest);
}

static void end_rest(struct line_order *t, struct waiter *w)
{
	struct source *source = w->source;

	TAILQ_REMOVE(&source->idle, w, entry);
	if (!--source->idle_count)
		TAILQ_REMOVE(&t->idle[source->standing], source, rest);
}

static void wait_in(struct source *source, struct sources *list)
{
	source->in = list;
	TAILQ_INSERT_TAIL(list, source, turn);
}

static void end_wait(struct source *source)
{
	TAILQ_REMOVE(source->in, source, turn);
	source->in = NULL;
}

static void out_of_line(struct waiter *w)
{
	struct source *source = w->source;

	TAILQ_REMOVE(&source->line, w, entry);
	w->in_line = false;
	if (TAILQ_EMPTY(&source->line))
		end_wait(source);
}

static int join(
	struct line_order *t, struct waiter *w, const char *key, enum standing standing, uid_t uid)
{
	struct source *source = find_or_make(t, key, standing, uid);

	if (source == w->source && source)
		return 0;
	line_order_leave(t, w);
	if (!source) {
		errno = ENOMEM;
		return -1;
	}
	w->source = source;
	rest(t, w);
	return 0;
}

int line_order_join_address(
	struct line_order *t, struct waiter *w, const char *origin, bool controls)
{
	enum standing standing = controls ? FROM_CONTROLLER : NEW;
	char key[KEY_SIZE];

	if (!controls && t->suspect[hash(t, origin) % SUSPICIONS] > now_s())
		standing = SUSPECT;
	snprintf(key, sizeof(key), "@%s", origin);
	return join(t, w, key, standing, 0);
}

int line_order_join_user(struct line_order *t, struct waiter *w, uid_t uid, bool trusted)
{
	char key[KEY_SIZE] = "trusted";

	if (!trusted)
		snprintf(key, sizeof(key), "%u", (unsigned)uid);
	return join(t, w, key, trusted ? TRUSTED : STRANGER, uid);
}

void line_order_leave(struct line_order *t, struct waiter *w)
{
	struct source *source = w->source;

	if (!source)
		return;
	if (w->in_line)
		out_of_line(w);
	else
		end_rest(t, w);
	w->source = NULL;
	if (!source->in && !source->idle_count)
		free_source(t, source);
}

enum standing line_order_standing(const struct waiter *w)
{
	return w->source ? w->source->standing : NEW;
}

void line_order_suspect(struct line_order *t, const char *origin)
{
	char key[KEY_SIZE];
	struct source *source;

	t->suspect[hash(t, origin) % SUSPICIONS] = (int32_t)(now_s() + SUSPECT_S);
	snprintf(key, sizeof(key), "@%s", origin);
	source = find(t, key);
	if (!source || source->standing != NEW)
		return;
	if (source->idle_count) {
		TAILQ_REMOVE(&t->idle[NEW], source, rest);
		TAILQ_INSERT_TAIL(&t->idle[SUSPECT], source, rest);
	}
	source->standing = SUSPECT;
	if (source->in) {
		end_wait(source);
		wait_in(source, &t->line[SUSPECT]);
	}
}

void line_order_count(struct line_order *t, uid_t uid)
{
	askers_count(&t->askers, uid);
}

bool line_order_had_enough(struct line_order *t, uid_t uid)
{
	return askers_had_enough(&t->askers, uid, LINE_ORDER_MAX_ANSWERS_PER_S);
}

void line_order_line_up(struct line_order *t, struct waiter *w)
{
	struct source *source = w->source;

	end_rest(t, w);
	w->in_line = true;
	TAILQ_INSERT_TAIL(&source->line, w, entry);
	if (!source->in)
		wait_in(source, &t->line[source->standing]);
}

/* The first connection of the first of these sources, which is then the last of them. */
static struct waiter *take(struct line_order *t, struct sources *list)
{
	struct source *source = TAILQ_FIRST(list);
	struct waiter *w = TAILQ_FIRST(&source->line);

	out_of_line(w);
	if (source->in) {
		end_wait(source);
		wait_in(source, list);
	}
	rest(t, w);
	return w;
}

/* In a new second nobody had enough yet. Of a second's STRANGERs each one is put aside once. */
static void forgive(struct line_order *t)
{
	struct source *source;

	if (t->enough_s == now_s())
		return;
	t->enough_s = now_s();
	while ((source = TAILQ_FIRST(&t->enough))) {
		end_wait(source);
		wait_in(source, &t->line[STRANGER]);
	}
}

struct waiter *line_order_next(struct line_order *t)
{
	struct source *source;

	for (int i = 0; i < SUSPECT; i++) {
		t->last = (t->last + 1) % SUSPECT;
		if (!TAILQ_EMPTY(&t->line[t->last]))
			return take(t, &t->line[t->last]);
	}
	if (!TAILQ_EMPTY(&t->line[SUSPECT]))
		return take(t, &t->line[SUSPECT]);
	forgive(t);
	while ((source = TAILQ_FIRST(&t->line[STRANGER]))) {
		if (!line_order_had_enough(t, source->uid))
			return take(t, &t->line[STRANGER]);
		end_wait(source);
		wait_in(source, &t->enough);
	}
	return NULL;
}

bool line_order_urgent(const struct line_order *t)
{
	return !TAILQ_EMPTY(&t->line[TRUSTED]) || !TAILQ_EMPTY(&t->line[FROM_CONTROLLER]) ||
	       !TAILQ_EMPTY(&t->line[NEW]);
}

bool line_order_waiting(const struct line_order *t)
{
	return line_order_urgent(t) || !TAILQ_EMPTY(&t->line[SUSPECT]) ||
	       !TAILQ_EMPTY(&t->line[STRANGER]) || !TAILQ_EMPTY(&t->enough);
}

struct waiter *line_order_surplus(const struct line_order *t, const struct waiter *w)
{
	(void)t;
	if (w->source->standing == TRUSTED || w->source->idle_count <= LINE_ORDER_MAX_IDLE)
		return NULL;
	return TAILQ_FIRST(&w->source->idle);
}

struct waiter *line_order_victim(const struct line_order *t)
{
	static const enum standing last[] = {STRANGER, SUSPECT}, others[] = {NEW, FROM_CONTROLLER};
	const struct source *source;

	for (int i = 0; i < 2; i++) {
		source = TAILQ_FIRST(&t->idle[last[i]]);
		if (source)
			return TAILQ_FIRST(&source->idle);
		source = TAILQ_FIRST(&t->line[last[i]]);
		if (!source && last[i] == STRANGER)
			source = TAILQ_FIRST(&t->enough);
		if (source)
			return TAILQ_FIRST(&source->line);
	}
	for (int i = 0; i < 2; i++) {
		source = TAILQ_FIRST(&t->idle[others[i]]);
		if (source)
			return TAILQ_FIRST(&source->idle);
	}
	return NULL;
}
