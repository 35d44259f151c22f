/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads traces line by line, through zlib where that is there. */
#include "sim/world/trace.h"

#include "poppa_config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "sim/world/input.h"

#define FIELDS 18
#define LINE_MAX_BYTES 4096
#define MOST_JOBS 100000000
/* 300 years, s: more would be no time in seconds, and less exact than a microsecond. */
#define MOST_S 1e10

/* The fields that count, from 0. */
enum {
	NUMBER = 0,
	SUBMIT = 1,
	RUN = 3,
	ALLOCATED = 4,
	ASKED = 7,
	LIMIT = 8,
	USER = 11,
	PROGRAM = 13
};

bool trace_reads_gzip(void)
{
#ifdef HAVE_ZLIB
	return true;
#else
	return false;
#endif
}

#ifdef HAVE_ZLIB
typedef gzFile source;

static source source_open(const char *path, struct errmsg *err)
{
	source in = gzopen(path, "rb");

	if (!in)
		errmsg_set(err, "%s: %s", path, errno ? strerror(errno) : "out of memory");
	return in;
}

static char *source_line(source in, char *line)
{
	return gzgets(in, line, LINE_MAX_BYTES);
}

static bool source_at_end(source in)
{
	return gzeof(in);
}

/* Whether what has been read, up to that line, is all; else err says why. */
static bool source_is_whole(source in, const char *path, int line, struct errmsg *err)
{
	int code;
	const char *why = gzerror(in, &code);
	size_t length = strlen(path);

	if (code == Z_OK || code == Z_STREAM_END)
		return true;
	if (code == Z_ERRNO)
		why = strerror(errno);
	else if (!strncmp(why, path, length) && !strncmp(why + length, ": ", 2))
		why += length + 2; /* zlib names the file as well */
	errmsg_set(err, "%s:%d: %s: the file is damaged or was not copied whole: fetch it again",
		path, line, why);
	return false;
}

static void source_close(source in)
{
	gzclose(in);
}
#else
typedef FILE *source;

static source source_open(const char *path, struct errmsg *err)
{
	source in = fopen(path, "re");
	int first;

	if (!in) {
		errmsg_set(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	first = getc(in);
	if (first == 0x1f) {
		errmsg_set(err,
			"%s is compressed, and this build reads no .gz: decompress it with gunzip, "
			"or install zlib (Debian: zlib1g-dev) and configure again",
			path);
		fclose(in);
		return NULL;
	}
	if (first != EOF)
		ungetc(first, in);
	return in;
}

static char *source_line(source in, char *line)
{
	return fgets(line, LINE_MAX_BYTES, in);
}

static bool source_at_end(source in)
{
	return feof(in);
}

static bool source_is_whole(source in, const char *path, int line, struct errmsg *err)
{
	if (!ferror(in))
		return true;
	errmsg_set(err, "%s:%d: %s", path, line, strerror(errno));
	return false;
}

static void source_close(source in)
{
	fclose(in);
}
#endif

/* Takes "; MaxProcs: 338" and the like; 0 if it is not out of range. */
static int read_header(const char *line, int *processors)
{
	static const char name[] = "MaxProcs:";
	const char *at = strstr(line, name);
	long n = at ? strtol(at + strlen(name), NULL, 10) : 0;

	if (n >= MOST_JOBS)
		return -1;
	if (n > 0)
		*processors = (int)n;
	return 0;
}

/* Reads the numbers of a line; returns how many there are, or -1 where something is no number. */
static int read_numbers(const char *line, double number[FIELDS])
{
	int count = 0;

	for (;;) {
		char *end;
		double value;

		while (isspace((unsigned char)*line))
			line++;
		if (!*line)
			return count;
		value = strtod(line, &end);
		if (end == line || (*end && !isspace((unsigned char)*end)) || !isfinite(value))
			return -1;
		if (count < FIELDS)
			number[count] = value;
		count++;
		line = end;
	}
}

/* What a field may be; below 0 is unknown. */
static const struct range {
	int field;
	const char *name;
	double below; /* and it is a whole number if that is MOST_JOBS */
} ranges[] = {
	{NUMBER, "job number", INT_MAX},
	{SUBMIT, "time of submission in seconds", MOST_S},
	{RUN, "run time in seconds", MOST_S},
	{ALLOCATED, "number of processors", MOST_JOBS},
	{ASKED, "number of processors asked for", MOST_JOBS},
	{LIMIT, "time limit in seconds", MOST_S},
	{USER, "user number", MOST_JOBS},
	{PROGRAM, "executable number", MOST_JOBS},
};

/* Whether all fields that count are in range; else err says which is not. */
static bool in_range(const double number[FIELDS], const char *path, int at, struct errmsg *err)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];
		double n = number[r->field];

		if (n < r->below && n > -r->below && (r->below > MOST_JOBS || n == floor(n)))
			continue;
		errmsg_set(err,
			"%s:%d: field %d, the %s, is out of range: %g is no %snumber below %g; "
			"correct it, or write -1 if it is not known",
			path, at, r->field + 1, r->name, n, r->below > MOST_JOBS ? "" : "whole ",
			r->below);
		return false;
	}
	return true;
}

static int to_int(double number)
{
	return number >= 0 ? (int)number : -1;
}

static struct trace_job job_of(const double number[FIELDS])
{
	struct trace_job job = {
		.number = (long)number[NUMBER],
		.submit_s = number[SUBMIT],
		.run_s = number[RUN],
		.asked_s = number[LIMIT] > 0 ? number[LIMIT] : -1,
		.processors = to_int(number[number[ALLOCATED] > 0 ? ALLOCATED : ASKED]),
		.user = to_int(number[USER]),
		.program = to_int(number[PROGRAM]),
	};

	return job;
}

static int append(struct trace *t, int *room, const struct trace_job *job)
{
	if (t->count == *room) {
		int more = *room ? *room * 2 : 1024;
		struct trace_job *list = realloc(t->job, (size_t)more * sizeof(*list));

		if (!list)
			return -1;
		t->job = list;
		*room = more;
	}
	t->job[t->count++] = *job;
	return 0;
}

/* One line: 0, or -1 with err. */
static int read_line(
	struct trace *t, int *room, const char *path, int at, const char *line, struct errmsg *err)
{
	double number[FIELDS];
	struct trace_job job;
	int count;

	line += strspn(line, " \t");
	if (*line == ';')
		return read_header(line, &t->processors)
			       ? errmsg_set(err,
					 "%s:%d: MaxProcs is not below %d: correct it, or leave "
					 "the line out",
					 path, at, MOST_JOBS)
			       : 0;
	count = read_numbers(line, number);
	if (!count)
		return 0;
	if (count < 0)
		return errmsg_set(err,
			"%s:%d: what is no number is not allowed here: each line has the %d numbers "
			"of a job in the Standard Workload Format, or is a comment that begins with "
			"\";\"",
			path, at, FIELDS);
	if (count != FIELDS)
		return errmsg_set(err,
			"%s:%d: %d numbers are here in place of %d: write -1 for what is not known "
			"of a job (Standard Workload Format)",
			path, at, count, FIELDS);
	if (number[SUBMIT] < 0)
		return errmsg_set(err,
			"%s:%d: the time of submission, %g, is negative: leave the job out, or make "
			"times count from the first one",
			path, at, number[SUBMIT]);
	if (!in_range(number, path, at, err))
		return -1;
	job = job_of(number);
	if (job.run_s <= 0 || job.processors <= 0) {
		t->left_out++;
		return 0;
	}
	return append(t, room, &job) ? errmsg_set(err, "%s: out of memory", path) : 0;
}

/* Whether a line was read as a whole, and as text; else err says why. */
static bool line_is_whole(const char *line, source in, const char *path, int at, struct errmsg *err)
{
	size_t length = strlen(line);

	if (at == 1 && input_check_mark(path, line, err))
		return false;
	if (length && line[length - 1] == '\n')
		return true;
	if (length == LINE_MAX_BYTES - 1)
		errmsg_set(err,
			"%s:%d: the line is longer than %d bytes: is this a trace in the Standard "
			"Workload Format?",
			path, at, LINE_MAX_BYTES - 2);
	else if (!source_at_end(in))
		errmsg_set(err,
			"%s:%d: a byte here is 0: is this a trace in the Standard Workload Format?",
			path, at);
	else
		return true;
	return false;
}

static int by_submission(const void *a, const void *b)
{
	const struct trace_job *x = a, *y = b;

	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int finish(struct trace *t, const char *path, struct errmsg *err)
{
	int biggest = 0;

	if (!t->count)
		return errmsg_set(err,
			"%s: no job in it ran: a trace in the Standard Workload Format with run "
			"times and sizes is needed",
			path);
	qsort(t->job, (size_t)t->count, sizeof(*t->job), by_submission);
	for (int i = 0; i < t->count; i++)
		if (t->job[i].processors > biggest)
			biggest = t->job[i].processors;
	if (t->processors < biggest)
		t->processors = biggest;
	return 0;
}

int trace_read(const char *path, int most, struct trace *t, struct errmsg *err)
{
	char line[LINE_MAX_BYTES];
	int room = 0, rc = 0, at = 0;
	source in;

	*t = (struct trace){.job = NULL};
	if (input_check_path(path, err))
		return -1;
	errno = 0;
	in = source_open(path, err);
	if (!in)
		return -1;
	while (!rc && (!most || t->count < most) && source_line(in, line)) {
		at++;
		rc = line_is_whole(line, in, path, at, err)
			     ? read_line(t, &room, path, at, line, err)
			     : -1;
	}
	/* Of a file that was cut the last line is cut, too. */
	if (!source_is_whole(in, path, at + !at, err))
		rc = -1;
	else if (!at)
		rc = errmsg_set(err,
			"%s: the file is empty: a trace in the Standard Workload Format is needed; "
			"fetch it again",
			path);
	source_close(in);
	if (!rc)
		rc = finish(t, path, err);
	if (rc)
		trace_free(t);
	return rc;
}

void trace_free(struct trace *t)
{
	free(t->job);
	*t = (struct trace){.job = NULL};
}
