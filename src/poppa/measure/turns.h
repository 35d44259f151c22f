/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether jobs that slow each other down too much run in turn, and whose turn it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "poppa/measure/schedule.h"

/*
 * Each of n jobs that share a node makes 1-D of the progress that it would make alone. By turns it
 * makes 1/n of it, less what the switches and the slices side by side cost. The jobs take turns
 * where each of them certainly gains by that, for a while on end. What counts is what blocks have
 * shown since these very jobs have been together. One slice in TURNS_PROBE_EVERY is side by side,
 * for blocks. The turns end when the last ones of these no longer say that turns win.
 */

/*
 * A job may have a limit for its degradation (--colocate=max-degradation). Once its blocks beside
 * these co-runners say with 95 % that it loses more, it is alone for as many slices as it takes to
 * lose less in all: with the share x of the time alone and the degradation d side by side it loses
 * (1-x) d. Its co-runners are held meanwhile. The slices follow what blocks show, and end where the
 * last ones certainly say that it does not lose more.
 */
/* Slices in a cycle, a power of two. */
#define TURNS_CYCLE 64
/* A job is alone for so many of them at most: its co-runners must not stand still, whatever
 * somebody has asked for. */
#define TURNS_MOST_ALONE 48
/* A job that came last and needs more of them than this had better leave: who was there before did
 * not ask for it. */
#define TURNS_NEWCOMER (TURNS_CYCLE / 2)
/* So many blocks at least say that a limit is exceeded. */
#define TURNS_PROBATION 12
/* The slices are for so much less than the limit, as a share of it: what was lost before they began
 * counts, too. */
#define TURNS_SPARE 0.05

/* What each job must certainly gain, in progress of one that runs alone. */
#define TURNS_LEAST_GAIN 0.02
/* For so long on end, s. */
#define TURNS_SURE_S 30
/* So many blocks of each job at least say so; and so many last ones are remembered. */
#define TURNS_BLOCKS 12
#define TURNS_KEPT 32
/* The turns end by so many last blocks of each job. */
#define TURNS_LAST 12
/* The turns end where a job has had no block for so long, s. Where blocks, or that there are none,
 * have ended them, they do not come again for so long. */
#define TURNS_BLIND_S 120
#define TURNS_REST_S 300
/* One slice in so many is side by side. */
#define TURNS_PROBE_EVERY 24
/* What a switch costs at most, ns: tasks stop and go on, and caches fill. */
#define TURNS_SWITCH_NS (5 * INT64_C(1000000))

/* What the last blocks of a job have shown beside the same co-runners. Begins as zero. */
struct turns_blocks {
	uint64_t group; /* of the jobs; 0 = none yet */
	uint64_t count;
	int64_t last_ns; /* when the last one came */
	double degradation[TURNS_KEPT];
};

/* Adds the degradation that one block shows. Blocks beside another group (any number but 0 that
 * names a set of jobs) are forgotten. now_ns is CLOCK_MONOTONIC, here and below. */
void turns_add(struct turns_blocks *b, uint64_t group, double degradation, int64_t now_ns);

struct turns_job {
	bool fit; /* it may take turns: all of it can be frozen, and what it shows can be trusted */
	const struct turns_blocks *blocks;
	/* The lower end of the 95 % interval of its degradation, where that is about these
	 * co-runners alone; else NAN. */
	double lo;
	bool holdable; /* it may be held for another one's limit: all of it can be frozen */
	bool trusted;  /* what it shows can be trusted: it may have slices for its limit */
	double limit;  /* of its degradation in all, a fraction; 0 = none */
	int64_t since; /* when it came: where two limits cannot both be kept, the older job's is */
};

/* The state of one node's jobs. Begins as zero. */
struct turns {
	bool on;
	uint64_t group;
	int64_t sure_ns; /* since when each job has certainly gained by turns; 0 = it does not */
	int64_t began_ns, rest_ns; /* when the turns began; until when there are none */
	/* A job that is over its limit has so many of TURNS_CYCLE slices alone; 0 = none is. */
	int slices, favoured;
	/* Bit i: job i certainly loses more than its limit, and cannot be kept from all of that. */
	uint64_t unkept;
	/* The same, or it came last and is kept from it by more than TURNS_NEWCOMER slices. */
	uint64_t leave;
};

/* What a job of this degradation gains by turns of turn_ns, in progress of one that runs alone. */
double turns_gain(int jobs, int64_t turn_ns, double degradation);

/* Decides for the jobs of a group; turn_ns 0: no turns, other than for limits. Returns whether
 * t->on has changed. To be called about once a second. A job that has slices for its limit takes no
 * other turns. */
bool turns_look(struct turns *t, uint64_t group, const struct turns_job *job, int jobs,
	int64_t turn_ns, int64_t now_ns);

/* Decides which job has slices for its limit, and how many. Returns whether t->slices has changed
 * so much that it matters, or t->favoured. To be called after turns_look(), with the same jobs. */
bool turns_limits(struct turns *t, const struct turns_job *job, int jobs, int64_t now_ns);

struct turns_slice {
	int64_t begins_ns, ends_ns; /* CLOCK_REALTIME */
	int runs;                   /* index of the job that runs alone; -1 = side by side */
};

/* The slice at a moment of CLOCK_REALTIME: the same on all nodes that have the same jobs. Each
 * round has one slice for each job that is measured, in an order of its own. */
void turns_slice(
	const struct schedule *s, int64_t turn_ns, int64_t wall_ns, struct turns_slice *out);

/* The same where one job has so many of TURNS_CYCLE slices alone. Its nodes that give it fewer give
 * it some of the same. */
void turns_slice_alone(const struct schedule *s, int64_t turn_ns, int job, int slices,
	int64_t wall_ns, struct turns_slice *out);
