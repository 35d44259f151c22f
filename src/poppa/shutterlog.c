/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes shutter logs, and reads them back as blocks for the estimator. */
#include "poppa/shutterlog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_BUFFER 65536
#define LINE_MAX_BYTES 512
#define FIELDS 9
#define MAX_MALFORMED_SHARE 0.01
/* Beyond what any counter or clock gives; rates of such numbers would not be finite. */
#define LEAST_NUMBER 1e-6
#define MOST_NUMBER 1e20

static const char *const region_names[SHUTTER_REGIONS] = {"before", "during", "after"};

struct shutterlog_writer {
	FILE *file;
	char path[4096];
	char buffer[WRITE_BUFFER];
	int error; /* errno of the first failed write since the last flush */
};

struct shutterlog_writer *shutterlog_open(const char *path, struct errmsg *err)
{
	struct shutterlog_writer *w = calloc(1, sizeof(*w));
	struct stat st;
	int fd;

	if (!w || strlen(path) >= sizeof(w->path)) {
		errmsg_set(err, "%s: %s", path, w ? "path is too long" : "out of memory");
		free(w);
		return NULL;
	}
	strcpy(w->path, path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || !(w->file = fdopen(fd, "a"))) {
		errmsg_set(err, "shutter log %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		free(w);
		return NULL;
	}
	setvbuf(w->file, w->buffer, _IOFBF, sizeof(w->buffer));
	if (st.st_size == 0)
		fputs(SHUTTERLOG_HEADER "\n", w->file);
	return w;
}

void shutterlog_append(struct shutterlog_writer *w, const struct shutter_row *row)
{
	errno = 0;
	if (fprintf(w->file,
		    "%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%s,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64
		    ",%" PRIu64 "\n",
		    row->block, row->job, row->task, region_names[row->region], row->k,
		    row->start_ns, row->dur_ns, row->progress, row->cycles) < 0 &&
		!w->error)
		w->error = errno ? errno : EIO;
}

int shutterlog_flush(struct shutterlog_writer *w, struct errmsg *err)
{
	int error = w->error;

	errno = 0;
	if (fflush(w->file) && !error)
		error = errno ? errno : EIO;
	w->error = 0;
	clearerr(w->file);
	if (error)
		return errmsg_set(err, "shutter log %s: %s", w->path, strerror(error));
	return 0;
}

void shutterlog_close(struct shutterlog_writer *w)
{
	if (!w)
		return;
	fclose(w->file);
	free(w);
}

/* ---- reading ---- */

/* One (region, k) of the block that a job is in; rows of its tasks are summed up here. */
struct slot {
	int rows;
	uint64_t start_ns; /* of the earliest row */
	double dur_ns, progress, cycles;
};

/* k may count from 0 or from 1, so there is one slot more than windows. */
#define SLOTS (EST_MAX_WINDOWS + 1)

struct job_block {
	struct job_block *next; /* in its hash bucket */
	uint32_t job;
	bool open;
	uint64_t block;
	int first_k; /* lowest k of this job so far */
	struct slot slot[SHUTTER_REGIONS][SLOTS];
};

#define BUCKETS 1024

struct reader {
	shutterlog_block_fn block_fn;
	void *arg;
	int jobs;
	struct job_block *bucket[BUCKETS];
};

static struct job_block *find_job(struct reader *r, uint32_t job)
{
	struct job_block **head = &r->bucket[job % BUCKETS], *j;

	for (j = *head; j; j = j->next)
		if (j->job == job)
			return j;
	if (r->jobs == SHUTTERLOG_MAX_JOBS || !(j = calloc(1, sizeof(*j))))
		return NULL;
	r->jobs++;
	j->job = job;
	j->first_k = SLOTS;
	j->next = *head;
	*head = j;
	return j;
}

/* How many rows a complete sub-window has in this block: the commonest count, so that a lost or a
 * doubled row spoils its own window only. */
static int usual_rows(const struct job_block *j)
{
	int best = 0, votes = 0;

	for (int i = 0; i < SHUTTER_REGIONS * SLOTS; i++) {
		int rows = j->slot[i / SLOTS][i % SLOTS].rows, n = 0;

		if (rows == 0)
			continue;
		for (int o = 0; o < SHUTTER_REGIONS * SLOTS; o++)
			n += j->slot[o / SLOTS][o % SLOTS].rows == rows;
		if (n > votes || (n == votes && rows > best)) {
			best = rows;
			votes = n;
		}
	}
	return best;
}

static double mean_duration(const struct slot *slot)
{
	double sum = 0;
	int rows = 0;

	for (int i = 0; i < SLOTS; i++) {
		sum += slot[i].dur_ns;
		rows += slot[i].rows;
	}
	return rows ? sum / rows : 0;
}

/* Lays a region's slots out in time. Returns the number of windows. */
static int lay_out(const struct slot *slot, int first, int rows, struct est_window *out)
{
	double usual = mean_duration(slot);
	int last = SLOTS - 1, n = 0;

	while (last >= first && slot[last].rows == 0)
		last--;
	for (int k = first; k <= last && n < EST_MAX_WINDOWS; k++, n++) {
		const struct slot *s = &slot[k];

		if (s->rows == 0) {
			out[n] = (struct est_window){NAN, NAN, usual};
			continue;
		}
		out[n].dur_ns = s->dur_ns / s->rows;
		out[n].progress = s->rows == rows ? s->progress : NAN;
		out[n].cycles = s->rows == rows ? s->cycles : NAN;
	}
	return n;
}

static uint64_t earliest(const struct job_block *j)
{
	uint64_t start = UINT64_MAX;

	for (int i = 0; i < SHUTTER_REGIONS * SLOTS; i++) {
		const struct slot *s = &j->slot[i / SLOTS][i % SLOTS];

		if (s->rows && s->start_ns < start)
			start = s->start_ns;
	}
	return start;
}

static int deliver(struct reader *r, struct job_block *j)
{
	struct est_block b = {.before_n = 0};
	int rows = usual_rows(j), rc = 0;

	b.before_n = lay_out(j->slot[SHUTTER_BEFORE], j->first_k, rows, b.before);
	b.during_n = lay_out(j->slot[SHUTTER_DURING], j->first_k, rows, b.during);
	b.after_n = lay_out(j->slot[SHUTTER_AFTER], j->first_k, rows, b.after);
	b.start_ns = earliest(j);
	if (b.during_n)
		rc = r->block_fn(j->job, j->block, &b, r->arg);
	memset(j->slot, 0, sizeof(j->slot));
	j->open = false;
	return rc;
}

/* Adds a row to its job's block. 0, the callback's value, or -1 when there are too many jobs. */
static int take_row(struct reader *r, uint64_t block, uint32_t job, enum shutter_region region,
	int k, uint64_t start_ns, const double *value)
{
	struct job_block *j = find_job(r, job);
	struct slot *s;
	int rc = 0;

	if (!j)
		return -1;
	if (j->open && j->block != block)
		rc = deliver(r, j);
	j->open = true;
	j->block = block;
	if (k < j->first_k)
		j->first_k = k;
	s = &j->slot[region][k];
	if (s->rows == 0 || start_ns < s->start_ns)
		s->start_ns = start_ns;
	s->rows++;
	s->dur_ns += value[0];
	s->progress += value[1];
	s->cycles += value[2];
	return rc;
}

/* Blocks that are still open at the end, oldest first. */
static int deliver_rest(struct reader *r)
{
	for (;;) {
		struct job_block *oldest = NULL;
		int rc;

		for (int i = 0; i < BUCKETS; i++)
			for (struct job_block *j = r->bucket[i]; j; j = j->next)
				if (j->open && (!oldest || j->block < oldest->block ||
						       (j->block == oldest->block &&
							       j->job < oldest->job)))
					oldest = j;
		if (!oldest)
			return 0;
		rc = deliver(r, oldest);
		if (rc)
			return rc;
	}
}

static void free_jobs(struct reader *r)
{
	for (int i = 0; i < BUCKETS; i++) {
		while (r->bucket[i]) {
			struct job_block *next = r->bucket[i]->next;

			free(r->bucket[i]);
			r->bucket[i] = next;
		}
	}
}

static int whole_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *end || errno || *value > max ? -1 : 0;
}

/* Counts and times may be written by tools that scale them: a decimal fraction is taken too. */
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
static const char *parse_row(struct reader *r, char *line, int *rc)
{
	char *f[FIELDS];
	uint64_t block, job, task, k;
	double start, value[3];
	int region = 0;

	if (split(line, f) != FIELDS)
		return "expected 9 fields (" SHUTTERLOG_HEADER ")";
	if (whole_number(f[0], UINT64_MAX, &block))
		return "block must be a whole number";
	if (whole_number(f[1], UINT32_MAX, &job))
		return "job must be a job id";
	if (whole_number(f[2], UINT64_MAX, &task))
		return "task must be a whole number";
	while (region < SHUTTER_REGIONS && strcmp(f[3], region_names[region]))
		region++;
	if (region == SHUTTER_REGIONS)
		return "region must be before, during or after";
	if (whole_number(f[4], EST_MAX_WINDOWS, &k))
		return "k must be a whole number from 0 to 15";
	if (count_number(f[5], &start) || start >= 1.8e19)
		return "start_ns must be a time in nanoseconds";
	if (count_number(f[6], &value[0]) || value[0] <= 0)
		return "dur_ns must be a number above 0, at most 1e20";
	if (count_number(f[7], &value[1]))
		return "progress must be a number from 0 to 1e20";
	if (count_number(f[8], &value[2]))
		return "cycles must be a number from 0 to 1e20";
	*rc = take_row(r, block, (uint32_t)job, (enum shutter_region)region, (int)k,
		(uint64_t)start, value);
	return NULL;
}

/* One line without its newline; longer lines are cut and *cut is set. -1 at the end of the file. */
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

static int read_rows(FILE *in, struct reader *r, uint64_t line_no, shutterlog_bad_fn bad_fn,
	struct shutterlog_count *count)
{
	char line[LINE_MAX_BYTES];
	bool cut;
	int rc = 0;

	while (rc == 0 && read_line(in, line, sizeof(line), &cut) == 0) {
		const char *why;

		line_no++;
		/* Logs that were put one behind the other bring their headers along. */
		if (!cut && (!*line || !strcmp(line, SHUTTERLOG_HEADER)))
			continue;
		count->rows++;
		why = cut ? "not a line of text" : parse_row(r, line, &rc);
		if (!why)
			continue;
		count->malformed++;
		if (bad_fn)
			bad_fn(line_no, why, r->arg);
	}
	return rc;
}

int shutterlog_read(FILE *in, const char *name, shutterlog_block_fn block_fn,
	shutterlog_bad_fn bad_fn, void *arg, struct shutterlog_count *count, struct errmsg *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct reader r = {.block_fn = block_fn, .arg = arg};
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
	if (cut || strcmp(text, SHUTTERLOG_HEADER))
		return errmsg_set(err, "%s: no shutter log: its first line is not \"%s\"", name,
			SHUTTERLOG_HEADER);
	rc = read_rows(in, &r, 1, bad_fn, count);
	if (rc == 0)
		rc = deliver_rest(&r);
	if (rc == -1)
		errmsg_set(
			err, "%s: more than %d jobs, or out of memory", name, SHUTTERLOG_MAX_JOBS);
	free_jobs(&r);
	if (rc)
		return rc;
	if (ferror(in))
		return errmsg_set(err, "%s: %s", name, strerror(errno));
	if ((double)count->malformed > MAX_MALFORMED_SHARE * (double)count->rows)
		return errmsg_set(err,
			"%s: %" PRIu64 " of %" PRIu64
			" rows are malformed, more than 1%%: not trusted",
			name, count->malformed, count->rows);
	return 0;
}
