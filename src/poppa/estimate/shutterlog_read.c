/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads shutter logs line by line. */
#include "poppa/estimate/shutterlog_blocks.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512
#define FIELDS 10
#define MAX_MALFORMED_SHARE 0.01
/* No counter or clock gives more or less in a window. Beyond, rates are not finite, and counts do
 * not fit into an integer. */
#define LEAST_NUMBER 1e-6
#define MOST_NUMBER 9e18

static int whole_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *end || errno || *value > max ? -1 : 0;
}

/* Takes decimal fractions too, as tools that write logs may scale counts and times. */
static int count_number(const char *text, double *value)
{
	char *end;

	if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789.eE+-")])
		return -1;
	errno = 0;
	*value = strtod(text, &end);
	return *end || errno || *value > MOST_NUMBER || (*value > 0 && *value < LEAST_NUMBER) ? -1
											      : 0;
}

static int split(char *line, char **field)
{
	int n = 0;

	for (char *p = line; p; n++) {
		char *comma = strchr(p, ',');

		if (comma)
			*comma++ = '\0';
		if (n < FIELDS)
			field[n] = p;
		p = comma;
	}
	return n;
}

/* Returns NULL, or what is wrong with the row; *rc is the outcome of a good row. */
static const char *parse_row(struct shutterlog_blocks *r, char *line, int fields, int *rc)
{
	char *f[FIELDS];
	uint64_t block, job, task, k;
	double start, value[4] = {0};
	int region = 0;

	if (split(line, f) != fields)
		return fields == FIELDS ? "expected 10 fields (" SHUTTERLOG_HEADER ")"
					: "expected 9 fields (" SHUTTERLOG_FIELDS ")";
	if (whole_number(f[0], UINT64_MAX, &block))
		return "block must be a whole number";
	if (whole_number(f[1], UINT32_MAX, &job))
		return "job must be a job id";
	if (whole_number(f[2], UINT64_MAX, &task))
		return "task must be a whole number";
	while (region < SHUTTERLOG_REGIONS && strcmp(f[3], shutter_region_name(region)))
		region++;
	if (region == SHUTTERLOG_REGIONS)
		return "region must be before, during, after or beyond";
	if (whole_number(f[4], EST_MAX_WINDOWS, &k))
		return "k must be a whole number from 0 to 15";
	if (count_number(f[5], &start))
		return "start_ns must be a time in nanoseconds";
	if (count_number(f[6], &value[0]) || value[0] <= 0)
		return "dur_ns must be a number above 0, at most 9e18";
	if (count_number(f[7], &value[1]))
		return "progress must be a number from 0 to 9e18";
	if (count_number(f[8], &value[2]))
		return "cycles must be a number from 0 to 9e18";
	if (fields == FIELDS && (count_number(f[9], &value[3]) || value[3] > value[0]))
		return "lent_ns must be a number from 0 to dur_ns";
	*rc = shutterlog_blocks_row(r, block, (uint32_t)job, (enum shutter_region)region, (int)k,
		(uint64_t)start, value);
	return NULL;
}

/* How many fields the rows below a header line have; 0: the line is no header. */
static int header_fields(const char *line)
{
	return !strcmp(line, SHUTTERLOG_HEADER)   ? FIELDS
	       : !strcmp(line, SHUTTERLOG_FIELDS) ? FIELDS - 1
						  : 0;
}

/* Reads a line without its newline. *cut: it was too long, or had a zero byte. -1 at the end. */
static int read_line(FILE *in, char *buf, size_t size, bool *cut)
{
	size_t n = 0;
	int c;

	*cut = false;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (n + 1 < size && c)
			buf[n++] = (char)c;
		else
			*cut = true;
	}
	if (c == EOF && n == 0 && !*cut)
		return -1;
	while (n && (buf[n - 1] == '\r' || buf[n - 1] == ' '))
		n--;
	buf[n] = '\0';
	return 0;
}

/* The job and the weights of a line that begins with SHUTTERLOG_PRIOR. 0, or -1. */
static int parse_prior(char *line, uint64_t *job, struct slow_prior *prior)
{
	char *f[FIELDS];

	if (split(line, f) != 2 + SLOW_HYPOTHESES || whole_number(f[1], UINT32_MAX, job))
		return -1;
	for (int i = 0; i < SLOW_HYPOTHESES; i++)
		if (count_number(f[2 + i], &prior->weight[i]))
			return -1;
	return slow_prior_valid(prior) ? 0 : -1;
}

/* What reading has beside the blocks. */
struct reading {
	const char *name;
	shutterlog_prior_fn prior_fn;
	shutterlog_bad_fn bad_fn;
	struct shutterlog_count *count;
	struct errmsg *err;
};

/* Returned for a prior that is malformed; err is set. */
#define BAD_PRIOR (-2)

static int take_prior(const struct reading *g, char *line, uint64_t line_no, void *arg)
{
	struct slow_prior prior;
	uint64_t job;

	if (parse_prior(line, &job, &prior)) {
		errmsg_set(g->err,
			"%s: line %" PRIu64 ": not \"" SHUTTERLOG_PRIOR "JOB,NONE,NARROW,WIDE\" "
			"with three weights of at least %g that sum to 1: without the line the "
			"default is taken",
			g->name, line_no, SLOW_PRIOR_LEAST);
		return BAD_PRIOR;
	}
	if (g->prior_fn)
		g->prior_fn((uint32_t)job, &prior, arg);
	return 0;
}

static int read_rows(FILE *in, struct shutterlog_blocks *r, int fields, uint64_t line_no,
	const struct reading *g)
{
	char line[LINE_MAX_BYTES];
	bool cut;
	int rc = 0;

	while (rc == 0 && read_line(in, line, sizeof(line), &cut) == 0) {
		const char *why;
		int header;

		line_no++;
		/* Where logs were joined, their headers stand between the rows. */
		header = cut ? 0 : header_fields(line);
		if (header)
			fields = header;
		if (header || (!cut && !*line))
			continue;
		if (!strncmp(line, SHUTTERLOG_PRIOR, strlen(SHUTTERLOG_PRIOR))) {
			rc = take_prior(g, line, line_no, r->arg);
			continue;
		}
		g->count->rows++;
		why = cut ? "not a line of text" : parse_row(r, line, fields, &rc);
		if (!why)
			continue;
		g->count->malformed++;
		if (g->bad_fn)
			g->bad_fn(line_no, why, r->arg);
	}
	return rc;
}

int shutterlog_read(FILE *in, const char *name, shutterlog_block_fn block_fn,
	shutterlog_prior_fn prior_fn, shutterlog_bad_fn bad_fn, void *arg,
	struct shutterlog_count *count, struct errmsg *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct shutterlog_blocks r = {.block_fn = block_fn, .arg = arg};
	const struct reading g = {name, prior_fn, bad_fn, count, err};
	char line[LINE_MAX_BYTES];
	const char *text = line;
	bool cut;
	int rc;

	*count = (struct shutterlog_count){0, 0};
	if (read_line(in, line, sizeof(line), &cut))
		return errmsg_set(err, "%s: %s", name,
			ferror(in) ? strerror(errno) : "is empty, not even a header line");
	if (!strncmp(text, bom, 3))
		text += 3;
	if (cut || !header_fields(text))
		return errmsg_set(err,
			"%s: no shutter log: its first line is not \"%s\" (nor that without the "
			"last field)",
			name, SHUTTERLOG_HEADER);
	rc = read_rows(in, &r, header_fields(text), 1, &g);
	if (rc == 0)
		rc = shutterlog_blocks_rest(&r);
	if (rc == -1)
		errmsg_set(
			err, "%s: more than %d jobs, or out of memory", name, SHUTTERLOG_MAX_JOBS);
	shutterlog_blocks_free(&r);
	if (rc)
		return rc == BAD_PRIOR ? -1 : rc;
	if (ferror(in))
		return errmsg_set(err, "%s: %s", name, strerror(errno));
	if ((double)count->malformed > MAX_MALFORMED_SHARE * (double)count->rows)
		return errmsg_set(err,
			"%s: %" PRIu64 " of %" PRIu64
			" rows are malformed, more than 1%%: not trusted",
			name, count->malformed, count->rows);
	return 0;
}
