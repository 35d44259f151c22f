/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a co-located job's time limit ends, if the limit counts the job's progress. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/settings.h"

/* Moves of less than this share of the time that is left are not made. */
#define TIME_LIMIT_LEAST_MOVE 0.02
/* An end that comes nearer leaves at least so much time, seconds. */
#define TIME_LIMIT_GRACE_S 60
#define TIME_LIMIT_MAX_BOUND 16
/* Room for time_limit_format(). */
#define TIME_LIMIT_MAX_TEXT 256

/* What the end follows from. Times are seconds since 1970, or seconds. */
struct time_limit {
	int64_t now;
	int64_t asked_end; /* where the limit that was asked for ends, suspended time left out */
	int64_t asked_s;   /* that limit */
	int64_t end;       /* where the job ends now */
	int64_t bound;     /* it may never be moved behind this; 0 = no bound */
	double measured_s; /* the time, from the start, that the next two are about */
	double lost_s;     /* D times that time, at the end of D's interval that favours the user */
	double held_s;     /* for which the job was held */
	bool refused;      /* the job reacts to shutters, or keeps others from being measured */
	bool nodata;       /* lost_s is not known */
};

/*
 * The end: later by what the job will have lost by then, if it goes on to lose at its pace so far;
 * so others see the end long before it comes, and near it most of it is measured. Not before
 * asked_end, not behind the bound or TIME_LIMIT_MOST_TIMES (asked_end itself stays where the bound
 * is before it), and not moved into the past. What is not known moves nothing back. It is computed
 * from what was asked for each time, so that nothing is added twice. *bounded: the bound or the
 * most was in the way.
 */
int64_t time_limit_end(const struct time_limit *t, bool *bounded);

/* What a job's SystemComment says of its limit, in a part with this tag (common/tags.h). */
#define TIME_LIMIT_TAG "poppa-limit"

struct time_limit_state {
	uint32_t asked;   /* minutes, as the user or an administrator asked for */
	uint32_t set;     /* minutes that the record had been given in its place */
	int64_t cap;      /* seconds that somebody has lowered it to, between these; 0 = none */
	uint32_t restart; /* the run of the job in which that was */
	int64_t extended; /* seconds behind where the asked limit ends */
	int64_t off;      /* seconds by which EndTime was set to a part of a minute */
	int64_t refused;  /* nothing is added until then, seconds since 1970; 0 = it is */
	char bound[TIME_LIMIT_MAX_BOUND]; /* which bound was in the way; "" = none */
};

/* Returns buf. */
char *time_limit_format(const struct time_limit_state *s, char *buf, size_t size);

/* 0, or -1 with *s untouched where the text is none that time_limit_format() has written, or says
 * that less was set than was asked for. */
int time_limit_parse(const char *text, struct time_limit_state *s);

/* Where the limit that was asked for ends, and where the extended one does; seconds from the start
 * of the run, suspended time left out. */
int64_t time_limit_asked_s(const struct time_limit_state *s);
int64_t time_limit_set_s(const struct time_limit_state *s);

/*
 * What was asked for, of a running job whose record has this limit, minutes, and this end, seconds
 * from the start of the run without suspended time, in which it has run for ran_s. text: its
 * comment part; NULL: none. Where the record is not as it was set, somebody has changed TimeLimit
 * or EndTime since. What is later, which only an operator can set, or not behind what was asked
 * for, is what is asked for now. What is between these, which the user can set, is a cap: else
 * users could lower an extended limit and have that extended again. Returns whether the state goes
 * on; else *s is a new one, in which nothing is extended.
 */
bool time_limit_asked(
	const char *text, uint32_t limit, int64_t end_s, int64_t ran_s, struct time_limit_state *s);

/* The limit that was asked for, minutes, of a job that waits to run again. */
uint32_t time_limit_asked_again(const char *text, uint32_t limit);
