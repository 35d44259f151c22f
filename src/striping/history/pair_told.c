/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembers what runs have told of pairs before their price. */
#include "striping/history/pair_told.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "striping/history/aged_mean.h"
#include "striping/history/line_fields.h"

/* Of a user, so that many jobs of one keep nobody else's from telling. */
#define MAX_OF_USER 500
/* Of a run, so that one with many short partners keeps none of the user's others from telling. */
#define MAX_OF_RUN 50
#define MAX_ALL 10000
/* The price of a run comes within hours of its end. */
#define FORGET_S (90 * 86400LL)
/* No run shares for longer, s. */
#define MOST_S 1e10

struct entry {
	struct pair_told_key key;
	struct pair_told told;
	long long last; /* when it was set, unix time */
};

struct pair_told_table {
	struct entry *entry; /* sorted by pair, job, start, partner */
	size_t count, room;
};

struct pair_told_table *pair_told_new(void)
{
	return calloc(1, sizeof(struct pair_told_table));
}

void pair_told_free(struct pair_told_table *t)
{
	if (t)
		free(t->entry);
	free(t);
}

static int compare(const struct pair_told_key *a, const struct pair_told_key *b)
{
	if (a->pair != b->pair)
		return a->pair < b->pair ? -1 : 1;
	if (a->job_id != b->job_id)
		return a->job_id < b->job_id ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->partner > b->partner) - (a->partner < b->partner);
}

/* Index of the entry, or of the place where it belongs. */
static size_t find(const struct pair_told_table *t, const struct pair_told_key *key, bool *found)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&t->entry[mid].key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*found = low < t->count && !compare(&t->entry[low].key, key);
	return low;
}

struct pair_told pair_told_of(const struct pair_told_table *t, const struct pair_told_key *key)
{
	bool found;
	size_t at = find(t, key, &found);

	return found ? t->entry[at].told : (struct pair_told){.seconds = 0};
}

double pair_told_seconds(
	const struct pair_told_table *t, uint32_t job_id, long long start, uint32_t partner)
{
	double most = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct entry *e = &t->entry[i];

		if (e->key.job_id == job_id && e->key.start == start && e->key.partner == partner)
			most = fmax(most, e->told.seconds);
	}
	return most;
}

/* What an entry must be like to be dropped; one member counts. */
struct which {
	const uint64_t *pair;
	const struct entry *run;
	long long before; /* last set earlier than that */
};

static bool is_one(const struct entry *e, const struct which *w)
{
	if (w->pair)
		return e->key.pair == *w->pair;
	if (w->run)
		return e->key.job_id == w->run->key.job_id && e->key.start == w->run->key.start;
	return e->last < w->before;
}

static bool drop(struct pair_told_table *t, const struct which *w)
{
	size_t kept = 0, before = t->count;

	for (size_t i = 0; i < before; i++)
		if (!is_one(&t->entry[i], w))
			t->entry[kept++] = t->entry[i];
	t->count = kept;
	return kept < before;
}

bool pair_told_end(struct pair_told_table *t, uint32_t job_id, long long start)
{
	const struct entry run = {.key = {.job_id = job_id, .start = start}};

	return drop(t, &(struct which){.run = &run});
}

bool pair_told_drop_pair(struct pair_told_table *t, uint64_t pair)
{
	return drop(t, &(struct which){.pair = &pair});
}

/* Whether the user, or the run, has as many as may be. */
static bool is_full(const struct pair_told_table *t, const struct pair_told_key *key)
{
	size_t user = 0, run = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct pair_told_key *k = &t->entry[i].key;

		user += k->uid == key->uid;
		run += k->uid == key->uid && k->job_id == key->job_id && k->start == key->start;
	}
	return user >= MAX_OF_USER || run >= MAX_OF_RUN;
}

static int compare_uids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The user with the most entries: 0, or -1 without memory. */
static int find_most(const struct pair_told_table *t, uint32_t *uid)
{
	uint32_t *uids = malloc((t->count + 1) * sizeof(*uids));
	size_t most = 0, run = 0;

	if (!uids)
		return -1;
	for (size_t i = 0; i < t->count; i++)
		uids[i] = t->entry[i].key.uid;
	qsort(uids, t->count, sizeof(*uids), compare_uids);
	for (size_t i = 0; i < t->count; i++) {
		run = i && uids[i] == uids[i - 1] ? run + 1 : 1;
		if (run > most) {
			most = run;
			*uid = uids[i];
		}
	}
	free(uids);
	return 0;
}

/* 0, or -1 without memory. */
static int drop_oldest(struct pair_told_table *t)
{
	size_t oldest = t->count;
	uint32_t uid = 0;

	if (find_most(t, &uid))
		return -1;
	for (size_t i = 0; i < t->count; i++)
		if (t->entry[i].key.uid == uid &&
			(oldest == t->count || t->entry[i].last < t->entry[oldest].last))
			oldest = i;
	memmove(&t->entry[oldest], &t->entry[oldest + 1],
		(t->count - oldest - 1) * sizeof(*t->entry));
	t->count--;
	return 0;
}

/* One more may be entered: 0, or -1 without memory. */
static int grow(struct pair_told_table *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	struct entry *bigger;

	if (t->count < t->room)
		return 0;
	bigger = realloc(t->entry, room * sizeof(*bigger));
	if (!bigger)
		return -1;
	t->entry = bigger;
	t->room = room;
	return 0;
}

int pair_told_reserve(struct pair_told_table *t, const struct pair_told_key *key, long long now)
{
	bool found;

	find(t, key, &found);
	if (found)
		return 1;
	drop(t, &(struct which){.before = now - FORGET_S});
	if (is_full(t, key))
		return 0;
	if (t->count >= MAX_ALL && drop_oldest(t))
		return -1;
	return grow(t) ? -1 : 1;
}

void pair_told_set(struct pair_told_table *t, const struct pair_told_key *key,
	const struct pair_told *told, long long now)
{
	bool found;
	size_t at = find(t, key, &found);

	if (!found) {
		memmove(&t->entry[at + 1], &t->entry[at], (t->count - at) * sizeof(*t->entry));
		t->count++;
	}
	t->entry[at] = (struct entry){*key, *told, now};
}

void pair_told_no_later(struct pair_told_table *t, long long now)
{
	for (size_t i = 0; i < t->count; i++)
		aged_no_later(&t->entry[i].last, now);
}

/* The fields of a line: user, job, its start, partner, seconds, those lost, and when that was told.
 */
#define FIELDS 7
bool pair_told_read(struct pair_told_table *t, uint64_t pair, char *line)
{
	char *field[FIELDS];
	struct entry e = {.key = {.pair = pair}};
	bool found;

	if (line_fields(line + sizeof(PAIR_TOLD_LINE) - 1, field, FIELDS) != FIELDS ||
		!line_id(field[0], &e.key.uid) || !line_id(field[1], &e.key.job_id) ||
		!line_time(field[2], &e.key.start) || !line_id(field[3], &e.key.partner) ||
		!line_number(field[4], 1, MOST_S, &e.told.seconds) ||
		!line_number(field[5], -e.told.seconds, e.told.seconds, &e.told.lost) ||
		!line_time(field[6], &e.last))
		return false;
	find(t, &e.key, &found);
	/* By its own time none is too old. */
	if (found || pair_told_reserve(t, &e.key, INT64_MIN + FORGET_S) < 1)
		return false;
	pair_told_set(t, &e.key, &e.told, e.last);
	return true;
}

void pair_told_write(const struct pair_told_table *t, uint64_t pair, FILE *f)
{
	const struct pair_told_key first = {.pair = pair, .start = INT64_MIN};
	bool found;

	for (size_t i = find(t, &first, &found); i < t->count; i++) {
		const struct entry *e = &t->entry[i];

		if (e->key.pair != pair)
			break;
		fprintf(f,
			PAIR_TOLD_LINE "%" PRIu32 "\t%" PRIu32 "\t%lld\t%" PRIu32
				       "\t%.9g\t%.9g\t%lld\n",
			e->key.uid, e->key.job_id, e->key.start, e->key.partner, e->told.seconds,
			e->told.lost, e->last);
	}
}
