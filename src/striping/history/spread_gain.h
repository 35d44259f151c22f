/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobs gain from spreading: plain runs on whole nodes against what co-located runs would have
 * taken alone on their lanes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins a line of the history's file that says how long runs of a name took. */
#define SPREAD_GAIN_LINE "#spread\t"

/* Longer names of partitions are cut. */
#define SPREAD_PARTITION_MAX 64
/* Slurm's times are whole seconds: of shorter runs they move the time by more than 2 %. */
#define SPREAD_LEAST_S 20.0
/* So many runs count on each side; later ones outweigh earlier ones. */
#define SPREAD_RUNS 10

/*
 * How long runs took, by user, name with "#" for each number, number of CPUs and partition, a part
 * of the pair history. Of a user there are 100 such rows at most, of all 5,000: one more takes the
 * place of an old one of the user who has the most. What a user runs is in this user's rows only,
 * and tells of this user's classes only.
 */
struct spread_gains;

struct spread_gains *spread_gains_new(void); /* NULL with ENOMEM */
void spread_gains_free(struct spread_gains *t);

/* A run that completed. */
struct spread_run {
	uint32_t uid;
	const char *job_name;  /* NULL is "" */
	const char *partition; /* of lanes and of whole nodes it must be the same one */
	uint32_t cpus;         /* on all of its nodes */
	/* Without suspended time. Of a plain run, which had whole nodes: from start to end. Of a
	 * co-located one: what it would have taken alone on its lanes, T (1-Z) (1-D). */
	double seconds;
};

/*
 * Notes a plain run, or a co-located run of this class, at `now` (unix time). A plain run counts
 * only where a run of the user and name was co-located before: nobody asks for others. A co-located
 * one counts only where the class is the user's own. Returns 1; 0 where the run does not count, or
 * was shorter than SPREAD_LEAST_S; -1 with EINVAL (no CPUs, or no time) or ENOMEM.
 */
int spread_gains_plain(struct spread_gains *t, const struct spread_run *run, long long now);
int spread_gains_colocated(struct spread_gains *t, const struct spread_run *run,
	const char *class_name, long long now);

/* Why there is no certain gain. The words are those of poppa report (accounting/bill/compact.h). */
enum spread_doubt {
	SPREAD_SURE,
	SPREAD_APART,      /* the runs differ too much to be the same work */
	SPREAD_ONE_RUN,    /* one plain run does not show how much they differ */
	SPREAD_PARTITION,  /* plain runs were in other partitions, where nodes may be others */
	SPREAD_OTHER_CPUS, /* plain runs had other numbers of CPUs */
	SPREAD_NO_RUN,     /* there is no plain run */
	SPREAD_DOUBTS
};

/* The classes of the thesis (chapter 2): how much a program gains tells how it suits others. */
enum spread_class { SPREAD_UNKNOWN, SPREAD_LOW, SPREAD_MEDIUM, SPREAD_HIGH };

struct spread_gain {
	enum spread_doubt doubt;
	/* T_compact / T_spread - 1, from -0.5 to 1; NAN = there is nothing to compare. */
	double gain;
	double error; /* standard error of log(1 + gain); NAN with SPREAD_ONE_RUN and the rest */
	int plain, colocated; /* how many runs tell this, SPREAD_RUNS of a row at most */
	enum spread_class class;
};

/*
 * The gain of a class: UID@PROGRAM, UID:CLASS or UID/NAME, whatever its variant. It is that of the
 * names whose last co-located run was of the class; with UID/NAME also of that name. Returns
 * whether it is certain; *out is filled in any case. A class that is everybody's has none: any of
 * its users could change it.
 */
bool spread_gains_of(const struct spread_gains *t, const char *class_name, struct spread_gain *out);

/* Calls fn for each class that a row was co-located as, sorted by user, then class. Returns 0, or
 * -1 without memory. */
int spread_gains_each(const struct spread_gains *t,
	void (*fn)(const char *class_name, const struct spread_gain *gain, void *arg), void *arg);

/* "", "apart", ... */
const char *spread_doubt_name(enum spread_doubt doubt);
/* "unknown", "Low", "Medium", "High". */
const char *spread_class_name(enum spread_class class);

/* Runs of later times are of that time: the clock was wrong. */
void spread_gains_no_later(struct spread_gains *t, long long now);

/* Takes a line of the file, without its end; it changes it. false where it cannot be read. The
 * second writes all lines. */
bool spread_gains_read(struct spread_gains *t, char *line);
void spread_gains_write(const struct spread_gains *t, FILE *f);
