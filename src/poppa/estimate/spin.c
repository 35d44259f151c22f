/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares what the tasks of a job lose beside its co-runners. */
#include "poppa/estimate/spin.h"

#include <math.h>
#include <stdlib.h>

#include "poppa/estimate/clipmean.h"

#define FIRST_SPREAD 0.15 /* of a log ratio, while there are no data */
#define MIN_BLOCKS 12     /* least blocks of a task */
#define SIGMAS 3.3   /* standard errors: more than 1.96, as each block is another chance to err */
#define MIN_GAP 0.03 /* least difference of two tasks beyond their errors */

struct task {
	uint64_t id;
	bool seen; /* in this block */
	struct clipmean x;
};

struct spin {
	int count;
	struct task task[SPIN_MAX_TASKS];
};

static const char *const names[] = {"unknown", "even", "uneven", "spinning"};

const char *spin_verdict_name(enum spin_verdict v)
{
	return names[v];
}

struct spin *spin_new(void)
{
	return calloc(1, sizeof(struct spin));
}

void spin_free(struct spin *s)
{
	free(s);
}

static struct task *find(struct spin *s, uint64_t id, int guess)
{
	if (guess < s->count && s->task[guess].id == id)
		return &s->task[guess];
	for (int i = 0; i < s->count; i++)
		if (s->task[i].id == id)
			return &s->task[i];
	if (s->count == SPIN_MAX_TASKS)
		return NULL;
	s->task[s->count] = (struct task){.id = id, .x.spread = FIRST_SPREAD};
	return &s->task[s->count++];
}

void spin_add(struct spin *s, int count, const uint64_t *id, const double *log_ratio)
{
	int kept = 0;

	for (int i = 0; i < s->count; i++)
		s->task[i].seen = false;
	for (int i = 0; i < count && i < SPIN_MAX_TASKS; i++) {
		struct task *t = find(s, id[i], i);

		/* A task without room waits for that of tasks that are gone: see below. */
		if (!t)
			continue;
		t->seen = true;
		if (isfinite(log_ratio[i]))
			clipmean_add(&t->x, log_ratio[i]);
	}
	for (int i = 0; i < s->count; i++)
		if (s->task[i].seen)
			s->task[kept++] = s->task[i];
	s->count = kept;
}

void spin_result(const struct spin *s, struct spin_result *out)
{
	double most = -INFINITY, least = INFINITY, surely_most = most, surely_least = least, sigmas;
	int known = 0;

	*out = (struct spin_result){SPIN_UNKNOWN, NAN, NAN};
	/* The more tasks there are, the farther the two extreme ones are off by chance. */
	sigmas = sqrt(SIGMAS * SIGMAS + 2 * log(fmax(s->count, 1)));
	for (int i = 0; i < s->count; i++) {
		const struct clipmean *x = &s->task[i].x;
		double error = sigmas * sqrt(clipmean_variance(x));

		if (x->count < MIN_BLOCKS)
			continue;
		known++;
		most = fmax(most, x->mean);
		least = fmin(least, x->mean);
		surely_most = fmax(surely_most, x->mean - error);
		surely_least = fmin(surely_least, x->mean + error);
	}
	if (known < 2)
		return;
	out->most = 1 - exp(-most);
	out->least = 1 - exp(-least);
	out->verdict = surely_most - surely_least < MIN_GAP                       ? SPIN_EVEN
		       : surely_least < -MIN_GAP / 2 && surely_most > MIN_GAP / 2 ? SPIN_CERTAIN
										  : SPIN_UNEVEN;
}
