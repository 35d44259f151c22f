/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the end of a limit that counts progress, and keeps what was asked for as text. */
#include "accounting/settle/time_limit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of EndTime from where TimeLimit ends, seconds: Slurm rounds to minutes. */
#define TIME_LIMIT_MOST_OFF 90

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Where the job would end by its pace so far. */
static int64_t end_by_pace(const struct time_limit *t)
{
	double lost = (t->nodata ? 0 : fmax(t->lost_s, 0)) + fmax(t->held_s, 0);
	double most = (double)t->asked_s * TIME_LIMIT_MOST_TIMES, extra;

	if (!(t->measured_s > 0) || !isfinite(lost))
		return t->asked_end;
	if (lost >= t->measured_s)
		extra = most;
	else
		extra = fmin(most, (double)t->asked_s * lost / (t->measured_s - lost));
	return t->asked_end + (int64_t)ceil(extra);
}

int64_t time_limit_end(const struct time_limit *t, bool *bounded)
{
	int64_t most = t->asked_end + t->asked_s * TIME_LIMIT_MOST_TIMES, end = t->asked_end,
		latest;

	latest = larger(t->asked_end, t->bound ? smaller(t->bound, most) : most);
	if (!t->refused)
		end = end_by_pace(t);
	*bounded = !t->refused && end > latest;
	/* The pace is cut at the most, and so never exceeds it. */
	*bounded |= !t->refused && end == most && most > t->asked_end;
	if (!t->refused && (t->nodata || !(t->measured_s > 0)))
		end = larger(end, t->end);
	end = smaller(end, latest);
	if (end < t->end)
		end = larger(end, smaller(t->end, t->now + TIME_LIMIT_GRACE_S));
	if (t->end >= t->asked_end && t->end <= latest && !t->refused &&
		fabs((double)(end - t->end)) < TIME_LIMIT_LEAST_MOVE * (double)(t->end - t->now))
		return t->end;
	return end;
}

static void add_number(char *buf, size_t size, const char *name, int64_t n)
{
	size_t used = strlen(buf);

	if (n)
		snprintf(buf + used, size - used, " %s=%" PRId64, name, n);
}

char *time_limit_format(const struct time_limit_state *s, char *buf, size_t size)
{
	size_t used;

	snprintf(buf, size,
		"asked=%" PRIu32 " set=%" PRIu32 " cap=%" PRId64 " restart=%" PRIu32
		" extended=%" PRId64,
		s->asked, s->set, s->cap, s->restart, s->extended);
	add_number(buf, size, "off", s->off);
	add_number(buf, size, "refused", s->refused);
	used = strlen(buf);
	if (*s->bound)
		snprintf(buf + used, size - used, " bound=%s", s->bound);
	return buf;
}

/* What only some texts have: returns what follows it. */
static const char *take_number(const char *text, const char *name, int64_t *n)
{
	size_t length = strlen(name);
	char *end;

	if (*text != ' ' || strncmp(text + 1, name, length) || text[length + 1] != '=')
		return text;
	*n = strtoll(text + length + 2, &end, 10);
	return end;
}

int time_limit_parse(const char *text, struct time_limit_state *s)
{
	struct time_limit_state t = {0};
	char again[TIME_LIMIT_MAX_TEXT];
	const char *rest;
	int used = 0;

	if (sscanf(text,
		    "asked=%" SCNu32 " set=%" SCNu32 " cap=%" SCNd64 " restart=%" SCNu32
		    " extended=%" SCNd64 "%n",
		    &t.asked, &t.set, &t.cap, &t.restart, &t.extended, &used) < 5)
		return -1;
	rest = take_number(text + used, "off", &t.off);
	rest = take_number(rest, "refused", &t.refused);
	sscanf(rest, " bound=%15[a-z-]", t.bound);
	/* Signs, blanks, overflows and what follows: it would be written otherwise. */
	if (strcmp(time_limit_format(&t, again, sizeof(again)), text) || !t.asked ||
		t.set < t.asked || t.cap < 0 || t.extended < 0 || t.extended > INT32_MAX ||
		t.off > TIME_LIMIT_MOST_OFF || t.off < -TIME_LIMIT_MOST_OFF || t.refused < 0)
		return -1;
	*s = t;
	return 0;
}

int64_t time_limit_asked_s(const struct time_limit_state *s)
{
	return INT64_C(60) * s->asked + s->off;
}

int64_t time_limit_set_s(const struct time_limit_state *s)
{
	return time_limit_asked_s(s) + s->extended;
}

static bool ask_anew(struct time_limit_state *s, uint32_t limit, int64_t end_s)
{
	*s = (struct time_limit_state){
		.asked = limit, .set = limit, .off = end_s - INT64_C(60) * limit};
	/* Slurm sets no such EndTime without another TimeLimit. */
	if (llabs(s->off) > TIME_LIMIT_MOST_OFF)
		s->off = 0;
	return false;
}

bool time_limit_asked(
	const char *text, uint32_t limit, int64_t end_s, int64_t ran_s, struct time_limit_state *s)
{
	int64_t whole_s = INT64_C(60) * limit, by_limit_s, set_s;

	if (!text || time_limit_parse(text, s))
		return ask_anew(s, limit, end_s);
	set_s = time_limit_set_s(s);
	/* Slurm computes the end anew from the limit where it resumes a job. */
	if (limit == s->set && (end_s == set_s || end_s == whole_s))
		return true;
	/* Slurm moves the end by as many minutes as the limit, and not into the past: where that
	 * was extended by a part of a minute, this is not where the limit says. */
	by_limit_s = set_s + INT64_C(60) * ((int64_t)limit - s->set);
	if (limit != s->set && (end_s == by_limit_s || (by_limit_s < ran_s && end_s <= ran_s)))
		end_s = whole_s;
	if (end_s > set_s || end_s <= time_limit_asked_s(s))
		return ask_anew(s, limit, end_s);
	s->cap = end_s;
	s->set = limit;
	s->extended = end_s - time_limit_asked_s(s);
	return true;
}

uint32_t time_limit_asked_again(const char *text, uint32_t limit)
{
	struct time_limit_state s;

	if (time_limit_parse(text, &s) || limit > s.set || limit <= s.asked)
		return limit;
	return s.asked;
}
