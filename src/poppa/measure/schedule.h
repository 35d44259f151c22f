/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When shutters open and whose turn each one is: alike on all nodes of a job, secret to its user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The wall clock (CLOCK_REALTIME) is cut into slots, each as long as a block and a period. Of n
 * measured jobs each has one slot in a round of n, in an order that is new for each round. In its
 * slot a job's block opens at a time that is random within SCHEDULE_SPREAD of the period. At level
 * m one round of each 2^m is used, chosen at random among them and so that those of level m+1 are
 * among those of level m.
 *
 * Everything random is a keyed hash (SipHash-2-4) of a job's seed and a slot's or round's number.
 * So nodes that know the same seeds open their shutters for the same job at the same time without a
 * message, also where they are at different levels, and for the most part where the job has other
 * partners; and nobody else can tell when the next one comes, however many have been watched.
 */

#define SCHEDULE_MAX_JOBS 16
#define SCHEDULE_MAX_LEVEL 8
/* Share of the period in which a block may open. The rest is the least time between two. */
#define SCHEDULE_SPREAD 0.75
/* One of so many of a job's blocks stops nobody. */
#define SCHEDULE_SHAM_EVERY 6
/* With three and more jobs, in one of so many of the rest the job is absent. */
#define SCHEDULE_ABSENT_EVERY 4

enum shutter_kind {
	SHUTTER_LONE,   /* all co-runners of one job are stopped */
	SHUTTER_SHAM,   /* all is done but the stop: a job that reacts shows itself */
	SHUTTER_ABSENT, /* one job alone is stopped: what it costs each of the others */
	SHUTTER_KINDS
};

struct schedule_seed {
	uint64_t word[2];
};

struct schedule_job {
	struct schedule_seed seed;
	bool measured; /* takes turns */
	int level;     /* 0..SCHEDULE_MAX_LEVEL */
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
};

/* The first block that opens later than after_ns (CLOCK_REALTIME). false: never. */
bool schedule_next(const struct schedule *s, int64_t after_ns, struct schedule_slot *out);

/* Whether there is any block at all. */
bool schedule_exists(const struct schedule *s);

/* Least time from the end of a block to the start of the next, ns; also what a clock that was set
 * back must not undercut. */
int64_t schedule_min_gap(const struct schedule *s);

/* Share of all blocks that are of this kind. */
double schedule_share(const struct schedule *s, enum shutter_kind kind);

/* Mean time between the blocks of one job, ns; 0 for one that has none. */
int64_t schedule_interval(const struct schedule *s, int job);

/* The seed of one run of a job from a secret. */
struct schedule_seed schedule_seed(
	const struct schedule_seed *secret, uint32_t job_id, uint32_t restart);

/* SipHash-2-4 of two words, little-endian. */
uint64_t schedule_hash(const struct schedule_seed *key, uint64_t a, uint64_t b);
