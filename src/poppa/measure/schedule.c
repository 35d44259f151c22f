/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out slots, turns and levels from the jobs' seeds. */
#include "poppa/measure/schedule.h"

#include <math.h>

#include "common/units.h"

/* What a random number is for: the second word that is hashed. */
enum purpose {
	ORDER = 1,
	JITTER,
	SHAM,
	SEED,
	ABSENT,
	LEVEL, /* these are followed by one for each level */
	LONG = 1024,
	LONG_SHAM = 2048,
	TURN = 4096,
	ALONE
};

/* No block is long so soon after the jobs have met, as they are only starting. */
#define LONG_FIRST (2 * NS_PER_S)
#define LONG_MAX_LEVEL 24 /* one round of 2^24, at least */

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t *v)
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* Aumasson and Bernstein, SipHash: a fast short-input PRF (2012). */
uint64_t schedule_hash(const struct schedule_seed *key, uint64_t a, uint64_t b)
{
	const uint64_t k0 = key->word[0], k1 = key->word[1];
	const uint64_t word[] = {a, b, UINT64_C(16) << 56};
	uint64_t v[] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
		k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};

	for (int i = 0; i < 3; i++) {
		v[3] ^= word[i];
		sip_round(v);
		sip_round(v);
		v[0] ^= word[i];
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct schedule_seed schedule_seed(
	const struct schedule_seed *secret, uint32_t job_id, uint32_t restart)
{
	const uint64_t run = (uint64_t)job_id << 32 | restart;

	return (struct schedule_seed){
		{schedule_hash(secret, run, SEED), schedule_hash(secret, ~run, SEED)}};
}

static int count_measured(const struct schedule *s)
{
	int n = 0;

	for (int i = 0; i < s->jobs; i++)
		n += s->job[i].measured;
	return n;
}

/* The job with the place-th highest number in this round. Nodes that have the same jobs agree on
 * it. Nodes that share one of two jobs agree in two rounds out of three. */
static int turn(const struct schedule *s, uint64_t round, int place, enum purpose purpose)
{
	uint64_t rank[SCHEDULE_MAX_JOBS];

	for (int i = 0; i < s->jobs; i++)
		rank[i] = schedule_hash(&s->job[i].seed, round, purpose);
	for (int i = 0; i < s->jobs; i++) {
		int before = 0;

		if (!s->job[i].measured)
			continue;
		for (int o = 0; o < s->jobs; o++)
			before += s->job[o].measured &&
				  (rank[o] > rank[i] || (rank[o] == rank[i] && o < i));
		if (before == place)
			return i;
	}
	return -1;
}

/* Whether a round is the one of 2^highest that is chosen for a purpose. Two neighbouring groups of
 * 2^(l-1) rounds make one of 2^l; a random bit decides which of them gives its chosen round to it.
 */
static bool chosen(const struct schedule_job *j, uint64_t round, enum purpose purpose, int highest)
{
	for (int level = 1; level <= highest; level++) {
		uint64_t group = round >> level, half = round >> (level - 1) & 1;

		if ((schedule_hash(&j->seed, group, purpose + (uint64_t)level) & 1) != half)
			return false;
	}
	return true;
}

/* Whether a job's round is chosen for a purpose: at random one in `every`; 0 = none. */
static bool one_of(const struct schedule_job *j, uint64_t round, enum purpose purpose, int every)
{
	return every && schedule_hash(&j->seed, round, purpose) % (uint64_t)every == 0;
}

/* With one co-runner, its cost is the whole cost, so nobody needs to be absent. */
static int absent_every(const struct schedule *s)
{
	return s->jobs > 2 ? s->absent_every : 0;
}

static enum shutter_kind kind_of(const struct schedule *s, int job, uint64_t round)
{
	if (one_of(&s->job[job], round, SHAM, s->sham_every))
		return SHUTTER_SHAM;
	if (one_of(&s->job[job], round, ABSENT, absent_every(s)))
		return SHUTTER_ABSENT;
	return SHUTTER_LONE;
}

double schedule_share(const struct schedule *s, enum shutter_kind kind)
{
	double sham = s->sham_every ? 1.0 / s->sham_every : 0;
	double absent = absent_every(s) ? (1 - sham) / absent_every(s) : 0;

	return kind == SHUTTER_SHAM ? sham : kind == SHUTTER_ABSENT ? absent : 1 - sham - absent;
}

static int64_t slot_ns(const struct schedule *s)
{
	return s->period_ns + s->block_ns;
}

/*
 * Whether a job's block in this round, at that time, is long, and of which kind it is then. Of 2^k
 * rounds one has a long block and another one a long sham. Nodes on which the job has been beside
 * others for about as long agree on nearly all rounds; a node that takes fewer takes a subset.
 */
static bool is_long(
	const struct schedule *s, int job, uint64_t round, int64_t at, enum shutter_kind *kind)
{
	const struct schedule_job *j = &s->job[job];
	int64_t together = at - j->together_ns, round_ns = slot_ns(s) * count_measured(s);
	int k = 0;

	if (!j->long_gap_ns || together < LONG_FIRST)
		return false;
	while (k < LONG_MAX_LEVEL && round_ns << k < j->long_gap_ns &&
		round_ns << (k + 1) <= together)
		k++;
	*kind = SHUTTER_LONE;
	if (chosen(j, round, LONG, k))
		return true;
	*kind = SHUTTER_SHAM;
	return s->sham_every && chosen(j, round, LONG_SHAM, k);
}

bool schedule_exists(const struct schedule *s)
{
	return s->jobs > 1 && s->period_ns > 0 && count_measured(s) > 0;
}

bool schedule_next(const struct schedule *s, int64_t after_ns, struct schedule_slot *out)
{
	int n = count_measured(s), highest = 0;
	uint64_t slot, end;

	if (!schedule_exists(s) || after_ns < 0)
		return false;
	for (int i = 0; i < s->jobs; i++)
		if (s->job[i].level > highest)
			highest = s->job[i].level;
	slot = (uint64_t)(after_ns / slot_ns(s));
	/* The job of the highest level has a round within the next two groups of rounds. */
	end = slot + ((uint64_t)n << (highest + 1)) + (uint64_t)n;
	for (; slot <= end; slot++) {
		uint64_t round = slot / (uint64_t)n, random;
		int lone = turn(s, round, (int)(slot % (uint64_t)n), ORDER);
		const struct schedule_job *j = &s->job[lone];
		bool usual = chosen(j, round, LEVEL, j->level), now_long;
		enum shutter_kind kind;
		int64_t opens;

		if (!usual && !j->long_gap_ns)
			continue;
		random = schedule_hash(&j->seed, slot, JITTER);
		opens = (int64_t)slot * slot_ns(s) + (int64_t)(ldexp((double)(random >> 11), -53) *
							       s->spread * (double)s->period_ns);
		if (opens <= after_ns)
			continue;
		now_long = is_long(s, lone, round, opens, &kind);
		if (!now_long && !usual)
			continue;
		if (!now_long)
			kind = kind_of(s, lone, round);
		*out = (struct schedule_slot){slot, opens, lone, kind, now_long};
		return true;
	}
	return false;
}

int64_t schedule_min_gap(const struct schedule *s)
{
	return (int64_t)((1 - s->spread) * (double)s->period_ns);
}

int64_t schedule_interval(const struct schedule *s, int job)
{
	return s->job[job].measured ? (slot_ns(s) * count_measured(s)) << s->job[job].level : 0;
}

int schedule_turn(const struct schedule *s, uint64_t number)
{
	uint64_t n = (uint64_t)count_measured(s);

	return n ? turn(s, number / n, (int)(number % n), TURN) : -1;
}

uint64_t schedule_cycle(const struct schedule_seed *seed, uint64_t cycle)
{
	return schedule_hash(seed, cycle, ALONE);
}
