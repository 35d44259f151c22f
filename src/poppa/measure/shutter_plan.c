/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes room for a plan, and tells what its last block has read. */
#include "poppa/measure/shutter_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_names[SHUTTER_OUTCOMES] = {"ok", "task-ended", "stopped-by-others",
	"not-frozen", "no-guard", "guard-resumed", "counter-unreadable", "ran-while-held"};

const char *shutter_outcome_name(enum shutter_outcome o)
{
	return outcome_names[o];
}

struct shutter_plan *shutter_plan_new(int tasks, int units, int windows, int beyond)
{
	struct shutter_plan *p = calloc(1, sizeof(*p));
	size_t readings = SHUTTER_REGIONS * (size_t)(windows + 1) + (size_t)(beyond + 1);

	if (!p)
		return NULL;
	p->windows = windows;
	p->beyond = beyond;
	p->task = calloc(tasks + 1, sizeof(*p->task));
	p->unit = calloc(units + 1, sizeof(*p->unit));
	p->when = calloc(readings * SHUTTER_MAX_JOBS, sizeof(*p->when));
	p->own = calloc(readings, sizeof(*p->own));
	p->sample = calloc(readings * (tasks + 1), sizeof(*p->sample));
	p->tasks = tasks;
	p->units = units;
	if (p->task && p->unit && p->when && p->own && p->sample)
		return p;
	shutter_plan_free(p);
	errno = ENOMEM;
	return NULL;
}

void shutter_plan_free(struct shutter_plan *p)
{
	if (!p)
		return;
	free(p->task);
	free(p->unit);
	free(p->when);
	free(p->own);
	free(p->sample);
	free(p);
}

bool shutter_plan_ran(const struct shutter_plan *p, int job)
{
	return p->ran_ns[job] * SHUTTER_RAN_SHARE > p->still_ns;
}

/* Lent time (struct est_window) between two boundaries, ns: no longer than the lone job's window,
 * whose ends are read at other moments than the thread's own time. */
static double lent_ns(const struct shutter_plan *p, int region, int from, int to)
{
	double own, window;

	if (!p->displaced || shutter_plan_holds(region))
		return 0;
	own = (double)(*shutter_plan_own(p, region, to) - *shutter_plan_own(p, region, from));
	window = (double)(shutter_plan_when(p, region, to)[p->lone] -
			  shutter_plan_when(p, region, from)[p->lone]);
	return fmin(own / p->displaced, window);
}

static int next_boundary(const struct shutter_plan *p, int region, int k)
{
	return k + 1 + shutter_plan_spares(p, region, k + 1);
}

int shutter_plan_windows(const struct shutter_plan *p, int region)
{
	int n = 0;

	for (int k = 0; k < p->boundaries[region] - 1; k = next_boundary(p, region, k))
		n++;
	return n;
}

int shutter_plan_beyond(int64_t shutter_ns, int64_t most_ns)
{
	double left = (double)most_ns;
	int n = 0;

	while (n < EST_BEYOND && left >= est_beyond_ns(n, (double)shutter_ns))
		left -= est_beyond_ns(n++, (double)shutter_ns);
	return n;
}

int64_t shutter_plan_beyond_ns(const struct shutter_plan *p, int windows)
{
	double ns = 0;

	for (int i = 0; i < windows; i++)
		ns += est_beyond_ns(i, (double)p->shutter_ns);
	return (int64_t)ns;
}

/* Sums over some of a job's tasks. */
static int fill(const struct shutter_plan *p, int job, int first_task, int tasks, int region,
	struct est_window *out)
{
	int n = p->boundaries[region] - 1, count = 0;

	for (int k = 0; k < n && count < EST_MAX_WINDOWS; k = next_boundary(p, region, k)) {
		int end = next_boundary(p, region, k);
		const struct counter_sample *from = shutter_plan_samples(p, region, k);
		const struct counter_sample *to = shutter_plan_samples(p, region, end);
		struct est_window w = {.dur_ns = (double)(shutter_plan_when(p, region, end)[job] -
							  shutter_plan_when(p, region, k)[job]),
			.lent_ns = lent_ns(p, region, k, end)};
		bool cycles = true;

		for (int t = first_task; t < first_task + tasks; t++) {
			bool missing = to[t].missing || shutter_plan_skips(p, region, k);

			w.progress += missing ? NAN : (double)(to[t].progress - from[t].progress);
			w.cycles += (double)(to[t].cycles - from[t].cycles);
			/* A sum over some tasks only would be no rate. */
			cycles &= counter_has_cycles(p->task[t].counter);
		}
		if (!cycles)
			w.cycles = 0;
		out[count++] = w;
	}
	return count;
}

static void fill_block(
	const struct shutter_plan *p, int job, int first_task, int tasks, struct est_block *out)
{
	memset(out, 0, sizeof(*out));
	out->start_ns = (uint64_t)shutter_plan_when(p, SHUTTER_BEFORE, 0)[job];
	out->before_n = fill(p, job, first_task, tasks, SHUTTER_BEFORE, out->before);
	out->during_n = fill(p, job, first_task, tasks, SHUTTER_DURING, out->during);
	out->beyond_n = fill(p, job, first_task, tasks, SHUTTER_BEYOND, out->beyond);
	out->after_n = fill(p, job, first_task, tasks, SHUTTER_AFTER, out->after);
}

void shutter_plan_block_of(const struct shutter_plan *p, int job, struct est_block *out)
{
	fill_block(p, job, p->job[job].first_task, p->job[job].tasks, out);
}

void shutter_plan_task(const struct shutter_plan *p, int task, struct est_block *out)
{
	fill_block(p, p->lone, p->job[p->lone].first_task + task, 1, out);
}

void shutter_plan_block(const struct shutter_plan *p, struct est_block *out)
{
	shutter_plan_block_of(p, p->lone, out);
}

/* One window of the lone job; false where it was not read of all tasks. */
static bool fill_misses(const struct shutter_plan *p, int region, int from_boundary,
	int to_boundary, struct miss_window *out)
{
	const struct shutter_job *j = &p->job[p->lone];
	const struct counter_sample *from = shutter_plan_samples(p, region, from_boundary);
	const struct counter_sample *to = shutter_plan_samples(p, region, to_boundary);

	*out = (struct miss_window){0};
	if (shutter_plan_skips(p, region, from_boundary))
		return false;
	for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
		if (to[t].missing)
			return false;
		out->instructions += (double)(to[t].progress - from[t].progress);
		out->cycles += (double)(to[t].cycles - from[t].cycles);
		out->misses += (double)(to[t].misses - from[t].misses);
	}
	return true;
}

int shutter_plan_misses(const struct shutter_plan *p, struct miss_window out[SHUTTER_MISS_WINDOWS])
{
	const struct shutter_job *j = &p->job[p->lone];
	int count = 0;

	for (int t = j->first_task; t < j->first_task + j->tasks; t++)
		if (!counter_has_misses(p->task[t].counter))
			return 0;
	for (int region = 0; region < SHUTTERLOG_REGIONS; region++) {
		int end;

		for (int k = 0; k < p->boundaries[region] - 1 && count < SHUTTER_MISS_WINDOWS;
			k = end) {
			end = next_boundary(p, region, k);
			count += fill_misses(p, region, k, end, &out[count]);
		}
	}
	return count;
}

void shutter_plan_log(const struct shutter_plan *p, struct shutterlog_writer *w)
{
	for (int region = 0; region < SHUTTERLOG_REGIONS; region++) {
		for (int k = 0; k + 1 < p->boundaries[region]; k++) {
			const struct counter_sample *from = shutter_plan_samples(p, region, k);
			const struct counter_sample *to = shutter_plan_samples(p, region, k + 1);
			uint64_t lent = (uint64_t)(lent_ns(p, region, k, k + 1) + 0.5);

			for (int i = 0; i < p->jobs; i++) {
				const struct shutter_job *j = &p->job[i];
				int64_t start = shutter_plan_when(p, region, k)[i];
				int64_t end = shutter_plan_when(p, region, k + 1)[i];

				if (shutter_plan_holds(region) &&
					(i != p->lone || p->kind != SHUTTER_LONE))
					continue;
				for (int t = j->first_task; t < j->first_task + j->tasks; t++) {
					struct shutter_row row = {.block = p->block,
						.job = j->job_id,
						.task = p->task[t].pid,
						.region = region,
						.k = k,
						.start_ns = start,
						.dur_ns = end - start,
						.progress = to[t].progress - from[t].progress,
						.cycles = to[t].cycles - from[t].cycles,
						.lent_ns = i == p->lone ? lent : 0};

					if (!to[t].missing)
						shutterlog_append(w, &row);
				}
			}
		}
	}
}
