/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Changes a Horton table: items come, go, and are moved between buckets (sections 5.4.3 and 5.4.4).
 */
#include "horton/bucket.h"

#include <string.h>

/*
 * After each step here, all of this is true, so that a step that finds no place can just be left
 * out:
 * - An item is in its primary bucket, or in the bucket to which the entry of its tag there leads,
 * and nowhere twice.
 * - All items that share an entry are in one bucket, which is not their primary one.
 * - An entry is set where such an item exists, and no other entry is.
 * - Entries are in buckets of type B, and the last value of a bucket of type A has its top bit
 * clear.
 */

/* Buckets that may be looked at to find a place for one item, in each of three ways, so that an
 * insertion ends. */
#define EFFORT 40000
/* Items that are moved for one, at most. */
#define DEPTH 4

struct search {
	int effort; /* buckets that may still be looked at */
	bool last;  /* nothing else has helped: primary items and groups may move, too */
};

static bool put_elsewhere(struct horton *t, uint32_t primary, uint32_t key, uint32_t value,
	int depth, struct search *search);

static struct horton_bucket *bucket_of(const struct horton *t, uint32_t i)
{
	return &t->bucket[i];
}

static void set_entry(struct horton_bucket *b, unsigned tag, unsigned way)
{
	uint64_t all = (bucket_entries(b) & ~((uint64_t)7 << (3 * tag))) | (uint64_t)way
										   << (3 * tag);

	b->key[HORTON_SLOTS - 1] = (uint32_t)all;
	b->value[HORTON_SLOTS - 1] = (uint32_t)(all >> 32);
}

static int free_slots(const struct horton_bucket *b)
{
	int n = 0;

	for (int s = 0; s < bucket_slots(b); s++)
		n += b->key[s] == HORTON_FREE;
	return n;
}

static void set_slot(struct horton_bucket *b, int s, uint32_t key, uint32_t value)
{
	b->key[s] = key;
	b->value[s] = value;
}

static void clear_slot(struct horton_bucket *b, int s)
{
	set_slot(b, s, HORTON_FREE, 0);
}

/* Returns false where there is no room: also where the last slot alone is free, and all values have
 * their top bit set. */
static bool put(struct horton_bucket *b, uint32_t key, uint32_t value)
{
	int last = HORTON_SLOTS - 1;
	int s = bucket_find(b, HORTON_FREE);

	if (s < 0)
		return false;
	if (s == last && value & HORTON_TYPE_B) {
		for (s = 0; s < last && b->value[s] & HORTON_TYPE_B; s++)
			;
		if (s == last)
			return false;
		set_slot(b, last, b->key[s], b->value[s]);
	}
	set_slot(b, s, key, value);
	return true;
}

/* Which of a bucket's items, as a set of slots, have that primary bucket and that tag. */
static unsigned group(
	const struct horton *t, const struct horton_bucket *b, uint32_t primary, unsigned tag)
{
	unsigned slots = 0;

	for (int s = 0; s < bucket_slots(b); s++)
		if (b->key[s] != HORTON_FREE && horton_primary(t, b->key[s]) == primary &&
			horton_tag(t, b->key[s]) == tag)
			slots |= 1u << s;
	return slots;
}

/* Copies a group into another bucket, and takes it out of its own. All or none. */
static bool move_group(struct horton_bucket *from, unsigned slots, struct horton_bucket *to)
{
	struct horton_bucket before = *to;

	for (int s = 0; s < HORTON_SLOTS; s++)
		if (slots & 1u << s && !put(to, from->key[s], from->value[s])) {
			*to = before;
			return false;
		}
	for (int s = 0; s < HORTON_SLOTS; s++)
		if (slots & 1u << s)
			clear_slot(from, s);
	return true;
}

/* Moves one item that is secondary at `at` to its primary bucket, if that has room. */
static bool bring_home(struct horton *t, uint32_t at, int s)
{
	struct horton_bucket *b = bucket_of(t, at);
	uint32_t key = b->key[s], primary = horton_primary(t, key);
	struct horton_bucket *home = bucket_of(t, primary);
	unsigned tag = horton_tag(t, key);

	if (!put(home, key, b->value[s]))
		return false;
	clear_slot(b, s);
	if (!group(t, b, primary, tag))
		set_entry(home, tag, 0);
	return true;
}

/* Makes one more free slot in a bucket by moving secondary items elsewhere. Primary ones stay
 * (guideline 1), but where nothing else finds a place. */
static bool make_room(struct horton *t, uint32_t at, int depth, struct search *search)
{
	struct horton_bucket *b = bucket_of(t, at);
	const int had = free_slots(b);

	for (int s = 0; s < bucket_slots(b) && search->effort > 0; s++) {
		uint32_t key = b->key[s], primary;
		unsigned tag, way, slots;
		uint32_t targets[HORTON_WAYS + 1];
		int best = 0, room = 0, count;

		if (key == HORTON_FREE)
			continue;
		primary = horton_primary(t, key);
		if (primary == at) {
			if (!search->last || !bucket_is_b(b) ||
				!put_elsewhere(t, at, key, b->value[s], -1, search))
				continue;
			clear_slot(b, s);
			return true;
		}
		if (bring_home(t, at, s))
			return true;
		tag = horton_tag(t, key);
		way = bucket_entry(bucket_of(t, primary), tag);
		slots = group(t, b, primary, tag);
		count = __builtin_popcount(slots);
		for (unsigned i = 1; i <= HORTON_WAYS; i++) {
			int n;

			targets[i] = horton_way(t, primary, tag, i);
			--search->effort;
			if (targets[i] == at || targets[i] == primary)
				continue;
			n = free_slots(bucket_of(t, targets[i]));
			if (n >= count && n > room) {
				room = n;
				best = (int)i;
			}
		}
		if (best && move_group(b, slots, bucket_of(t, targets[best]))) {
			set_entry(bucket_of(t, primary), tag, (unsigned)best);
			return true;
		}
		if (!depth || (count > 1 && !search->last))
			continue;
		for (unsigned i = 1; i <= HORTON_WAYS && search->effort > 0; i++) {
			struct horton_bucket *target = bucket_of(t, targets[i]);

			if (i == way || targets[i] == at || targets[i] == primary)
				continue;
			while (free_slots(target) < count &&
				make_room(t, targets[i], depth - 1, search))
				;
			if (free_slots(b) > had)
				return true;
			/* What was moved meanwhile may have been this item, or have joined it. */
			if (b->key[s] != key || bucket_entry(bucket_of(t, primary), tag) != way)
				break;
			slots = group(t, b, primary, tag);
			count = __builtin_popcount(slots);
			if (move_group(b, slots, target)) {
				set_entry(bucket_of(t, primary), tag, i);
				return true;
			}
		}
	}
	return free_slots(b) > had;
}

/* Puts an item elsewhere whose primary bucket, of type B, is full. With a depth below 0 nothing
 * else is moved for it. */
static bool put_elsewhere(struct horton *t, uint32_t primary, uint32_t key, uint32_t value,
	int depth, struct search *search)
{
	struct horton_bucket *home = bucket_of(t, primary);
	unsigned tag = horton_tag(t, key), way = bucket_entry(home, tag);
	uint32_t at;
	int best = 0, room = 0;

	/* Those that share the entry are there. */
	if (way) {
		at = horton_way(t, primary, tag, way);
		if (put(bucket_of(t, at), key, value))
			return true;
		if (depth < 0 || !make_room(t, at, depth, search))
			return false;
		/* The group itself may have left. */
		way = bucket_entry(home, tag);
		if (way)
			return put(bucket_of(t, horton_way(t, primary, tag, way)), key, value);
	}
	for (unsigned i = 1; i <= HORTON_WAYS; i++) {
		int n;

		at = horton_way(t, primary, tag, i);
		--search->effort;
		n = at == primary ? 0 : free_slots(bucket_of(t, at));
		if (n > room) {
			room = n;
			best = (int)i;
		}
	}
	if (best && put(bucket_of(t, horton_way(t, primary, tag, (unsigned)best)), key, value)) {
		set_entry(home, tag, (unsigned)best);
		return true;
	}
	for (unsigned i = 1; depth >= 0 && i <= HORTON_WAYS && search->effort > 0; i++) {
		at = horton_way(t, primary, tag, i);
		if (at == primary || !make_room(t, at, depth, search) ||
			!put(bucket_of(t, at), key, value))
			continue;
		set_entry(home, tag, i);
		return true;
	}
	return false;
}

/* A primary item goes elsewhere and leaves its slot to another one. */
static bool swap(struct horton *t, uint32_t primary, uint32_t key, uint32_t value, int depth,
	struct search *search)
{
	struct horton_bucket *home = bucket_of(t, primary);

	for (int s = 0; s < bucket_slots(home) && search->effort > 0; s++)
		if (home->key[s] != HORTON_FREE && horton_primary(t, home->key[s]) == primary &&
			put_elsewhere(t, primary, home->key[s], home->value[s], depth, search)) {
			set_slot(home, s, key, value);
			return true;
		}
	return false;
}

/* Figure 5.6. A bucket of type A gets remap entries. What was in its last slot goes elsewhere, or
 * another item does. */
static bool promote(struct horton *t, uint32_t at, int depth, struct search *search)
{
	struct horton_bucket *b = bucket_of(t, at);
	int last = HORTON_SLOTS - 1;
	uint32_t key = b->key[last], value = b->value[last];

	set_slot(b, last, 0, HORTON_TYPE_B);
	/* A secondary item cannot go: its entry is in its primary bucket, and make_room has tried.
	 */
	if (key == HORTON_FREE || put(b, key, value) ||
		(horton_primary(t, key) == at && put_elsewhere(t, at, key, value, depth, search)) ||
		swap(t, at, key, value, depth, search))
		return true;
	/* No entry can be set, as no item of this bucket is elsewhere. */
	set_slot(b, last, key, value);
	return false;
}

static bool place(struct horton *t, uint32_t key, uint32_t value)
{
	uint32_t primary = horton_primary(t, key);
	struct horton_bucket *b = bucket_of(t, primary);
	struct search search = {EFFORT, false};

	if (put(b, key, value))
		return true;
	/* What moves few items comes first, and guideline 3 before a bucket is promoted. */
	for (int depth = 0; depth <= DEPTH && search.effort > 0; depth++)
		if (make_room(t, primary, depth, &search) && put(b, key, value))
			return true;
	search.effort = EFFORT;
	for (int depth = -1; depth <= DEPTH && search.effort > 0; depth++) {
		if (!bucket_is_b(b) && !promote(t, primary, depth, &search))
			continue;
		if (put(b, key, value) || put_elsewhere(t, primary, key, value, depth, &search) ||
			swap(t, primary, key, value, depth, &search))
			return true;
	}
	/* Against guideline 1: a bucket may be full of items none of which can go anywhere else. It
	 * is one secondary item more, as any of the other ways. */
	search = (struct search){EFFORT, true};
	for (int depth = 0; depth <= DEPTH && search.effort > 0; depth++)
		if (make_room(t, primary, depth, &search) && put(b, key, value))
			return true;
	return false;
}

/* Takes items home to a bucket that has room again, and makes it one of type A where that holds
 * all. */
static void tidy(struct horton *t, uint32_t at)
{
	struct horton_bucket *b = bucket_of(t, at);
	int last = HORTON_SLOTS - 1, away = 0;
	unsigned tag;
	uint32_t where = 0;
	unsigned slots = 0, only = 0;

	for (tag = 0; bucket_is_b(b) && tag < HORTON_TAGS; tag++) {
		unsigned way = bucket_entry(b, tag);

		if (!way)
			continue;
		where = horton_way(t, at, tag, way);
		slots = group(t, bucket_of(t, where), at, tag);
		while (slots && bring_home(t, where, __builtin_ctz(slots)))
			slots &= slots - 1;
		if (slots)
			only = tag;
		away += __builtin_popcount(slots);
	}
	if (!bucket_is_b(b) || away > 1)
		return;
	if (away == 1) {
		struct horton_bucket *other =
			bucket_of(t, horton_way(t, at, only, bucket_entry(b, only)));
		struct horton_bucket before = *b;
		int s = __builtin_ctz(group(t, other, at, only));

		clear_slot(b, last);
		if (put(b, other->key[s], other->value[s]))
			clear_slot(other, s);
		else
			*b = before;
		return;
	}
	clear_slot(b, last);
}

static void take_out(struct horton *t, uint32_t key, struct horton_place place)
{
	uint32_t primary = horton_primary(t, key), at = (uint32_t)(place.bucket - t->bucket);
	unsigned tag = horton_tag(t, key);

	clear_slot(place.bucket, place.slot);
	if (at != primary && !group(t, place.bucket, primary, tag))
		set_entry(bucket_of(t, primary), tag, 0);
	tidy(t, primary);
	if (at != primary)
		tidy(t, at);
}

static bool take_copy(struct horton *t, uint32_t key, uint32_t value, struct horton_bucket *b)
{
	for (int s = 0; s < bucket_slots(b); s++)
		if (b->key[s] == key && b->value[s] == value) {
			take_out(t, key, (struct horton_place){.bucket = b, .slot = s});
			return true;
		}
	return false;
}

/* The new value has its top bit set, the old one is in the last slot: the item is put once more,
 * then the old one leaves. Until then the key is there twice. */
static enum horton_result replace_elsewhere(
	struct horton *t, uint32_t key, uint32_t old, uint32_t value)
{
	struct horton_bucket *home = bucket_of(t, horton_primary(t, key));

	if (!place(t, key, value))
		return HORTON_FULL;
	/* What is not in the primary bucket has an entry there. */
	if (!take_copy(t, key, old, home))
		take_copy(t, key, old, horton_secondary(t, home, key));
	return HORTON_REPLACED;
}

enum horton_result horton_insert(struct horton *t, uint32_t key, uint32_t value)
{
	struct horton_place at;

	if (key == HORTON_FREE) {
		enum horton_result result = t->has_free_key ? HORTON_REPLACED : HORTON_NEW;

		t->has_free_key = true;
		t->free_key_value = value;
		return result;
	}
	at = horton_find(t, key);
	if (!at.bucket) {
		if (!place(t, key, value))
			return HORTON_FULL;
		t->items++;
		return HORTON_NEW;
	}
	if (at.slot == HORTON_SLOTS - 1 && value & HORTON_TYPE_B) {
		uint32_t old = at.bucket->value[at.slot];

		clear_slot(at.bucket, at.slot);
		if (put(at.bucket, key, value))
			return HORTON_REPLACED;
		set_slot(at.bucket, at.slot, key, old);
		return replace_elsewhere(t, key, old, value);
	}
	at.bucket->value[at.slot] = value;
	return HORTON_REPLACED;
}

bool horton_erase(struct horton *t, uint32_t key)
{
	struct horton_place at;

	if (key == HORTON_FREE) {
		bool there = t->has_free_key;

		t->has_free_key = false;
		return there;
	}
	at = horton_find(t, key);
	if (!at.bucket)
		return false;
	take_out(t, key, at);
	t->items--;
	return true;
}
