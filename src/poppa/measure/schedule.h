/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When shutters open and whose turn it is: the same on all nodes of a job, secret to its user. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The wall clock (CLOCK_REALTIME) is cut into slots, each as long as a block and a period. A round
 * has one slot for each measured job, in an order that is new for each round. In its slot a job's
 * block opens at a time that is random within SCHEDULE_SPREAD of the period. At level m a job uses
 * one round of 2^m, chosen at random among those that it would use at level m-1.
 *
 * Some blocks are long (struct est_block), whatever the job's level: one round of 2^k, at random.
 * 2^k rounds last no longer than the job has been with its co-runners. So the first long blocks
 * come soon, and the next ones ever more rarely, until they are as rare as `long_gap_ns` says. As
 * many shams are long.
 *
 * Everything random is a keyed hash (SipHash-2-4) of a job's seed and a slot's or round's number.
 * So nodes that know the same seeds open their shutters for the same job at the same time without a
 * message: also at different levels, and mostly also where the job has other partners. Nobody else
 * can tell when the next block comes, no matter how many they have watched.
 */

#define SCHEDULE_MAX_JOBS 16
#define SCHEDULE_MAX_LEVEL 8
/* The share of the period in which a block may open. The rest is the least time between two. */
#define SCHEDULE_SPREAD 0.75
/* One block of so many is a sham. */
#define SCHEDULE_SHAM_EVERY 6
/* With three or more jobs, one of so many other blocks is an absence. */
#define SCHEDULE_ABSENT_EVERY 4

enum shutter_kind {
	SHUTTER_LONE,   /* all co-runners of one job are stopped */
	SHUTTER_SHAM,   /* everything is done but the stop: it shows a job that reacts */
	SHUTTER_ABSENT, /* one job alone is stopped: it shows what that job costs the others */
	SHUTTER_KINDS
};

struct schedule_seed {
	uint64_t word[2];
};

struct schedule_job {
	struct schedule_seed seed;
	bool measured; /* takes turns */
	int level;     /* 0..SCHEDULE_MAX_LEVEL */
	/* The least mean time between its long blocks; 0 = for now it has none. */
	int64_t long_gap_ns;
	/* CLOCK_REALTIME since when it counts as together with its co-runners. */
	int64_t together_ns;
};

struct schedule {
	int64_t period_ns; /* between blocks, on average over jobs of level 0; 0 = no blocks */
	int64_t block_ns;
	double spread;    /* SCHEDULE_SPREAD */
	int sham_every;   /* SCHEDULE_SHAM_EVERY; 0 = no shams */
	int absent_every; /* SCHEDULE_ABSENT_EVERY; 0 = no absences */
	int jobs;
	struct schedule_job job[SCHEDULE_MAX_JOBS];
};

struct schedule_slot {
	uint64_t number;
	int64_t opens_ns; /* CLOCK_REALTIME */
	int lone;         /* index of job[]: whose block it is */
	enum shutter_kind kind;
	bool is_long; /* never an absence */
};

/* The first block that opens later than after_ns (CLOCK_REALTIME). false: never. */
bool schedule_next(const struct schedule *s, int64_t after_ns, struct schedule_slot *out);

/* Whether there is any block at all. */
bool schedule_exists(const struct schedule *s);

/* The least time from the end of a block to the start of the next, ns. */
int64_t schedule_min_gap(const struct schedule *s);

/* The share of all blocks that are of this kind. */
double schedule_share(const struct schedule *s, enum shutter_kind kind);

/* The mean time between the blocks of one job, ns; 0 for a job that has none. */
int64_t schedule_interval(const struct schedule *s, int job);

/* The measured job whose turn it is, index of job[], in the number-th slice of turns (turns.h):
 * each round of slices has all of them, in an order of its own; -1 where there are none. */
int schedule_turn(const struct schedule *s, uint64_t number);

/* A random number for a cycle of slices, of which a job may have some alone (turns.h). */
uint64_t schedule_cycle(const struct schedule_seed *seed, uint64_t cycle);

/* The seed of one run of a job from a secret. */
struct schedule_seed schedule_seed(
	const struct schedule_seed *secret, uint32_t job_id, uint32_t restart);

/* SipHash-2-4 of two words, little-endian. */
uint64_t schedule_hash(const struct schedule_seed *key, uint64_t a, uint64_t b);
