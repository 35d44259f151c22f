/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists jobs and places for a matching. */
#include "sim/policy/window.h"

#include <stdlib.h>

#include "sim/policy/policy.h"

static void find_jobs(const struct sim *s, const int *job, int count, struct window *w)
{
	for (int i = 0; i < count && w->jobs < WINDOW_MOST; i++) {
		int lanes, need = policy_needs(s, job[i], &lanes);

		if (lanes != 1 || need > s->open)
			continue;
		w->job[w->jobs] = job[i];
		w->need[w->jobs++] = need;
	}
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The partners beside whom lanes are open, one after the other, NOBODY first. */
static void find_places(const struct sim *s, int *partner, struct window *w)
{
	int lanes = 0;

	for (int n = 0; n < s->nodes; n++)
		if (sim_free(s, n))
			partner[lanes++] = sim_partner(s, n, NOBODY);
	qsort(partner, (size_t)lanes, sizeof(*partner), by_number);
	for (int i = 0, size; i < lanes; i += size) {
		for (size = 1; i + size < lanes && partner[i + size] == partner[i];)
			size++;
		for (int k = 0; k < WINDOW_SLOTS; k++) {
			w->partner[w->places] = partner[i];
			w->open[w->places++] = size;
		}
	}
}

int window_find(const struct sim *s, const int *job, int count, struct window *w)
{
	size_t most = (size_t)s->nodes * WINDOW_SLOTS;
	int *scratch = malloc((size_t)s->nodes * sizeof(*scratch)), rc = -1;

	*w = (struct window){.jobs = 0};
	w->partner = malloc(most * sizeof(*w->partner));
	w->open = malloc(most * sizeof(*w->open));
	if (scratch && w->partner && w->open) {
		size_t cells;

		find_jobs(s, job, count, w);
		if (w->jobs)
			find_places(s, scratch, w);
		cells = (size_t)w->jobs * (size_t)w->places + 1;
		w->worth[0] = malloc(cells * sizeof(double));
		w->worth[1] = malloc(cells * sizeof(double));
		rc = w->worth[0] && w->worth[1] ? 0 : -1;
	}
	free(scratch);
	return rc;
}

void window_free(struct window *w)
{
	free(w->partner);
	free(w->open);
	free(w->worth[0]);
	free(w->worth[1]);
}

bool window_fits(const struct window *w, int row, int place)
{
	return (place % WINDOW_SLOTS + 1) * w->need[row] <= w->open[place];
}

void window_give(struct sim *s, const struct window *w)
{
	for (int i = 0; i < w->jobs; i++) {
		struct run *r = &s->run[w->job[i]];
		bool fits = false;

		for (int j = 0; j < w->places && !fits; j++)
			fits = window_fits(w, i, j);
		if (w->out[i] >= 0)
			r->place = w->partner[w->out[i]];
		else
			r->place = fits ? PLACE_LATER : PLACE_ANY;
		if (r->place == PLACE_LATER && r->passed_over_s < 0)
			r->passed_over_s = s->now;
	}
}
