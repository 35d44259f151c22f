/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs that have no price yet have told the pair history. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "striping/history/pair_evidence.h"

/* Begins a line of the history's file that says what a run has told of the pair in the line before.
 */
#define PAIR_TOLD_LINE "#told\t"

/*
 * So that nothing counts twice: the history's file has with a mean what runs have told of it, and a
 * kill loses both or none. An entry goes with the run's price, or 90 days after it was last
 * changed, where a price never comes. A run has 50 entries at most, and a user 500: then runs tell
 * no more before they, or others, have their price, and nothing is lost by that. Of all users there
 * are 10,000; one more takes the place of the oldest one of the user who has the most.
 */
struct pair_told_table;

/* Which entry. */
struct pair_told_key {
	uint64_t pair; /* the history's number of the pair of classes, of this process */
	uint32_t uid;
	uint32_t job_id; /* it and its start are the run */
	long long start; /* unix time */
	uint32_t partner;
};

struct pair_told_table *pair_told_new(void); /* NULL with ENOMEM */
void pair_told_free(struct pair_told_table *t);

/* What the run has told of the pair; 0 seconds = nothing. */
struct pair_told pair_told_of(const struct pair_told_table *t, const struct pair_told_key *key);

/* The most that the run has told of the partner, whatever the classes, seconds. */
double pair_told_seconds(
	const struct pair_told_table *t, uint32_t job_id, long long start, uint32_t partner);

/* Makes room for the entry, if it is not there, at `now` (unix time). Returns 1 where
 * pair_told_set() can follow, 0 where the run or its user has as many as may be, -1 with ENOMEM. */
int pair_told_reserve(struct pair_told_table *t, const struct pair_told_key *key, long long now);

/* Sets the entry; pair_told_reserve() has made room for it. */
void pair_told_set(struct pair_told_table *t, const struct pair_told_key *key,
	const struct pair_told *told, long long now);

/* Drops all entries of a run, or of a pair; whether there were any. */
bool pair_told_end(struct pair_told_table *t, uint32_t job_id, long long start);
bool pair_told_drop_pair(struct pair_told_table *t, uint64_t pair);

/* Entries of later times are of that time: the clock was wrong. */
void pair_told_no_later(struct pair_told_table *t, long long now);

/* Takes a line of the file, without its end, for a pair; it changes it. false where it cannot be
 * read, or is there already. The second writes all lines of a pair. */
bool pair_told_read(struct pair_told_table *t, uint64_t pair, char *line);
void pair_told_write(const struct pair_told_table *t, uint64_t pair, FILE *f);
