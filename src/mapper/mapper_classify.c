/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What applications are like, by more than one interval. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/mapper_state.h"

static double per(uint64_t events, uint64_t of)
{
	return of ? (double)events / (double)of : 0;
}

static int find_place(const struct mapper *m, int pu)
{
	for (int i = 0; i < m->pu_count; i++)
		if (m->pus[i].pu == pu)
			return i;
	return -1;
}

static struct app_state *find_app(struct mapper *m, int64_t app, struct errmsg *err)
{
	for (int i = 0; i < m->app_count; i++)
		if (m->apps[i].known.app == app)
			return &m->apps[i];
	if (m->app_count == m->app_room) {
		int room = m->app_room ? 2 * m->app_room : 16;
		struct app_state *more = reallocarray(m->apps, (size_t)room, sizeof(*more));

		if (!more) {
			errmsg_set(err, "no memory for %d applications", room);
			return NULL;
		}
		m->apps = more;
		m->app_room = room;
	}
	m->apps[m->app_count] = (struct app_state){.known = {.app = app, .spc = NAN}};
	return &m->apps[m->app_count++];
}

/* The sums of one application in one interval. */
struct interval {
	double inter, intra, instructions, cycles, stalls;
	double most_inter, most_intra, most_ipc; /* of the task that shares most, a cycle */
	double most_misses;                      /* of the task that needs memory most */
};

static void add(struct interval *sum, const struct mapper_sample *s)
{
	double inter = per(s->inter, s->cycles), intra = per(s->intra, s->cycles);
	double misses = per(s->local + s->remote, s->cycles);

	sum->inter += (double)s->inter;
	sum->intra += (double)s->intra;
	sum->instructions += (double)s->instructions;
	sum->cycles += (double)s->cycles;
	sum->stalls += (double)s->stalls;
	/* Those that are together share within their socket. */
	if (inter + intra >= sum->most_inter + sum->most_intra) {
		sum->most_inter = inter;
		sum->most_intra = intra;
		sum->most_ipc = per(s->instructions, s->cycles);
	}
	sum->most_misses = misses > sum->most_misses ? misses : sum->most_misses;
}

static bool holds(const struct mapper *m, uint64_t bits)
{
	uint64_t mask = m->set.history < 64 ? (UINT64_C(1) << m->set.history) - 1 : UINT64_MAX;

	return (uint32_t)__builtin_popcountll(bits & mask) > m->set.majority;
}

/*
 * Shifts the interval in and says what the application is like. While its tasks are together there
 * are no events between sockets, and what was found when they were apart stays: such an interval
 * counts as what the application is already, as long as it shares within the socket as much.
 */
static void take(const struct mapper *m, struct app_state *a, const struct interval *sum)
{
	enum mapper_coherence was = a->known.coherence;
	bool was_busy = a->known.high_ipc;
	bool together =
		sum->most_inter < m->set.low_coherence && sum->most_intra >= m->set.low_coherence;
	double shared = together ? sum->most_intra : sum->most_inter;

	a->high = a->high << 1 | (shared > m->set.high_coherence);
	a->moderate = a->moderate << 1 | (shared > m->set.low_coherence);
	a->busy = a->busy << 1 | (sum->most_ipc > m->set.high_ipc);
	a->known.coherence = holds(m, a->high)       ? MAPPER_HIGH
			     : holds(m, a->moderate) ? MAPPER_MODERATE
						     : MAPPER_LOW;
	a->known.high_ipc = holds(m, a->busy);
	a->known.high_misses = sum->most_misses > m->set.high_misses;
	if (a->known.coherence != was || a->known.high_ipc != was_busy)
		a->stalls = a->inter = a->instructions = a->cycles = 0;
	if (!together || a->cycles <= 0) {
		a->stalls += sum->stalls;
		a->inter += sum->inter;
		a->instructions += sum->instructions;
		a->cycles += sum->cycles;
	}
	a->known.ipc = a->cycles > 0 ? a->instructions / a->cycles : 0;
	a->known.spc = a->known.coherence == MAPPER_HIGH && a->inter > 0 &&
				       a->inter > m->set.low_coherence * a->cycles
			       ? a->stalls / a->inter
			       : NAN;
}

static int by_app(const void *a, const void *b, void *samples)
{
	const struct mapper_sample *sorted = samples;
	const struct mapper_sample *x = &sorted[*(const int *)a], *y = &sorted[*(const int *)b];

	if (x->app != y->app)
		return x->app < y->app ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static int sort(struct mapper *m, const struct mapper_sample *sample, int count, struct errmsg *err)
{
	if (count > m->order_room) {
		int *more = reallocarray(m->order, (size_t)count, sizeof(*more));

		if (!more)
			return errmsg_set(err, "no memory for %d tasks", count);
		m->order = more;
		m->order_room = count;
	}
	for (int i = 0; i < count; i++)
		m->order[i] = i;
	if (count)
		qsort_r(m->order, (size_t)count, sizeof(*m->order), by_app, (void *)sample);
	return 0;
}

int mapper_classify(
	struct mapper *m, const struct mapper_sample *sample, int count, struct errmsg *err)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
		if (find_place(m, sample[i].pu) < 0)
			return errmsg_set(err, "task %lld has run on PU %d, which is none of these",
				(long long)sample[i].task, sample[i].pu);
	if (sort(m, sample, count, err))
		return -1;
	for (int i = 0; i < m->app_count; i++)
		m->apps[i].seen = false;
	for (int i = 0, end; i < count; i = end) {
		int64_t app = sample[m->order[i]].app;
		struct app_state *a = find_app(m, app, err);
		struct interval sum = {0};

		if (!a)
			return -1;
		for (end = i; end < count && sample[m->order[end]].app == app; end++)
			add(&sum, &sample[m->order[end]]);
		a->seen = true;
		a->first = i;
		a->known.tasks = end - i;
		take(m, a, &sum);
	}
	for (int i = 0; i < m->app_count; i++)
		if (m->apps[i].seen)
			m->apps[kept++] = m->apps[i];
	m->app_count = kept;
	return 0;
}
