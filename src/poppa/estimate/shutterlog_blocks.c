/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums a block's rows over the tasks of a job, and lays its windows out in time. */
#include "poppa/estimate/shutterlog_blocks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One window (region, k) of a job's block: the sums over the rows of its tasks. */
struct window_sum {
	int rows;
	double dur_ns, progress, cycles, lent_ns;
};

/* k may count from 0 or from 1, so there is one place more than windows. */
#define PLACES (EST_MAX_WINDOWS + 1)

struct job_block {
	struct job_block *next; /* in its hash bucket */
	uint32_t job;
	bool open;
	uint64_t block;
	uint64_t start_ns; /* of the earliest row of the block */
	int first_k;       /* lowest k of this job so far */
	struct window_sum sum[SHUTTERLOG_REGIONS][PLACES];
};

static struct job_block *find_job(struct shutterlog_blocks *r, uint32_t job)
{
	struct job_block **head = &r->bucket[job % SHUTTERLOG_BUCKETS], *j;

	for (j = *head; j; j = j->next)
		if (j->job == job)
			return j;
	if (r->jobs == SHUTTERLOG_MAX_JOBS || !(j = calloc(1, sizeof(*j))))
		return NULL;
	r->jobs++;
	j->job = job;
	j->first_k = PLACES;
	j->next = *head;
	*head = j;
	return j;
}

/* How many rows a complete window has in this block: the commonest count, so that a row that is
 * lost or comes twice spoils its own window only. */
static int usual_rows(const struct job_block *j)
{
	int best = 0, votes = 0;

	for (int i = 0; i < SHUTTERLOG_REGIONS * PLACES; i++) {
		int rows = j->sum[i / PLACES][i % PLACES].rows, n = 0;

		if (rows == 0)
			continue;
		for (int o = 0; o < SHUTTERLOG_REGIONS * PLACES; o++)
			n += j->sum[o / PLACES][o % PLACES].rows == rows;
		if (n > votes || (n == votes && rows > best)) {
			best = rows;
			votes = n;
		}
	}
	return best;
}

static double mean_duration(const struct window_sum *at)
{
	double sum = 0;
	int rows = 0;

	for (int i = 0; i < PLACES; i++) {
		sum += at[i].dur_ns;
		rows += at[i].rows;
	}
	return rows ? sum / rows : 0;
}

/* Lays a region's windows out in time. Returns how many there are. A window that is missing gets
 * the mean length of the others; or where windows grow, from `grows` ns on, its planned length. */
static int lay_out(
	const struct window_sum *at, int first, int rows, double grows, struct est_window *out)
{
	double usual = grows > 0 ? grows : mean_duration(at);
	int last = PLACES - 1, n = 0;

	while (last >= first && at[last].rows == 0)
		last--;
	for (int k = first; k <= last && n < EST_MAX_WINDOWS; k++, n++) {
		const struct window_sum *s = &at[k];

		if (grows > 0)
			usual = est_beyond_ns(n, grows);
		if (s->rows == 0) {
			out[n] = (struct est_window){NAN, NAN, usual, 0};
			continue;
		}
		out[n].dur_ns = s->dur_ns / s->rows;
		out[n].lent_ns = s->lent_ns / s->rows;
		out[n].progress = s->rows == rows ? s->progress : NAN;
		out[n].cycles = s->rows == rows ? s->cycles : NAN;
	}
	return n;
}

static int deliver(struct shutterlog_blocks *r, struct job_block *j)
{
	struct est_block b = {.start_ns = j->start_ns};
	int rows = usual_rows(j), rc = 0;
	double alone = 0;

	b.before_n = lay_out(j->sum[SHUTTER_BEFORE], j->first_k, rows, 0, b.before);
	b.during_n = lay_out(j->sum[SHUTTER_DURING], j->first_k, rows, 0, b.during);
	for (int i = 0; i < b.during_n; i++)
		alone += b.during[i].dur_ns;
	b.beyond_n = lay_out(j->sum[SHUTTER_BEYOND], j->first_k, rows, alone, b.beyond);
	b.after_n = lay_out(j->sum[SHUTTER_AFTER], j->first_k, rows, 0, b.after);
	if (b.during_n)
		rc = r->block_fn(j->job, j->block, &b, r->arg);
	memset(j->sum, 0, sizeof(j->sum));
	j->open = false;
	return rc;
}

int shutterlog_blocks_row(struct shutterlog_blocks *r, uint64_t block, uint32_t job,
	enum shutter_region region, int k, uint64_t start_ns, const double *value)
{
	struct job_block *j = find_job(r, job);
	struct window_sum *s;
	int rc = 0;

	if (!j)
		return -1;
	if (j->open && j->block != block)
		rc = deliver(r, j);
	if (!j->open || start_ns < j->start_ns)
		j->start_ns = start_ns;
	j->open = true;
	j->block = block;
	if (k < j->first_k)
		j->first_k = k;
	s = &j->sum[region][k];
	s->rows++;
	s->dur_ns += value[0];
	s->progress += value[1];
	s->cycles += value[2];
	s->lent_ns += value[3];
	return rc;
}

int shutterlog_blocks_rest(struct shutterlog_blocks *r)
{
	for (;;) {
		struct job_block *oldest = NULL;
		int rc;

		for (int i = 0; i < SHUTTERLOG_BUCKETS; i++)
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

void shutterlog_blocks_free(struct shutterlog_blocks *r)
{
	for (int i = 0; i < SHUTTERLOG_BUCKETS; i++) {
		while (r->bucket[i]) {
			struct job_block *next = r->bucket[i]->next;

			free(r->bucket[i]);
			r->bucket[i] = next;
		}
	}
}
