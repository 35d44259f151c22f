/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes jobs of a trace's lines. */
#include "sim/world/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/world/draw.h"
#include "striping/history/pairs.h"

/* Of a trace that knows neither users nor programs. */
#define MADE_UP_CLASSES 64
/* A job whose run time is at least this share of its limit was ended by it. */
#define AT_LIMIT 0.999

struct key {
	int user, program;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	return (x->program > y->program) - (x->program < y->program);
}

static struct key key_of(const struct trace *t, int i, const struct workload_options *o)
{
	const struct trace_job *job = &t->job[i];
	struct key key = {job->user, job->program};

	if (o->controls.names)
		key = (struct key){job->user, i};
	else if (job->user < 0 && job->program < 0)
		key.user = draw_below(o->seed, DRAW_CLASS, (uint64_t)i, 0, MADE_UP_CLASSES);
	return key;
}

/* All classes, each once and sorted. */
static struct key *find_classes(const struct trace *t, const struct workload_options *o, int *count)
{
	struct key *key = malloc(((size_t)t->count + 1) * sizeof(*key));

	*count = 0;
	if (!key)
		return NULL;
	for (int i = 0; i < t->count; i++)
		key[i] = key_of(t, i, o);
	qsort(key, (size_t)t->count, sizeof(*key), by_key);
	for (int i = 0; i < t->count; i++)
		if (!i || by_key(&key[i], &key[i - 1]))
			key[(*count)++] = key[i];
	return key;
}

/* The variant of the class for a job that shares nodes, so it has twice as many. */
static char *variant_of(const struct key *key, int nodes)
{
	char program[32], name[PAIRS_CLASS_MAX];

	snprintf(program, sizeof(program), "%d", key->program);
	class_by_names(NULL, false, (unsigned int)(key->user + 1), program, name);
	return strdup(class_add_variant(name, 2 * (unsigned int)nodes, ""));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Gives jobs with equal names one of them, and a number. variant_name has the name of each job, in
 * their order. */
static int share_names(struct workload *w)
{
	char **all = malloc(((size_t)w->count + 1) * sizeof(*all));

	if (!all)
		return -1;
	memcpy(all, w->variant_name, (size_t)w->count * sizeof(*all));
	qsort(w->variant_name, (size_t)w->count, sizeof(*all), by_name);
	w->variants = 0;
	for (int i = 0; i < w->count; i++)
		if (!i || by_name(&w->variant_name[w->variants - 1], &w->variant_name[i]))
			w->variant_name[w->variants++] = w->variant_name[i];
	for (int i = 0; i < w->count; i++) {
		char **found = bsearch(
			&all[i], w->variant_name, (size_t)w->variants, sizeof(*all), by_name);

		w->job[i].variant = (int)(found - w->variant_name);
		w->job[i].class_name = *found;
		if (*found != all[i])
			free(all[i]);
	}
	free(all);
	return 0;
}

/* The program that the class is; late: after it has drifted. The name of a job is not what it is,
 * so random names change no program. */
static int row_of(const struct trace_job *job, const struct key *key,
	const struct workload_options *o, int rows, bool late)
{
	uint64_t a = (uint64_t)(key->user + 1), b = (uint64_t)(job->program + 1);
	int row = draw_below(o->seed, DRAW_ROW, a, b, rows);

	if (!late || !o->controls.drift || draw_uniform(o->seed, DRAW_DRIFTS, a, b) >= 0.5)
		return row;
	return draw_below(o->seed, DRAW_DRIFT_ROW, a, b, rows);
}

static void make_job(struct work *w, const struct trace *t, int i, const struct workload_options *o)
{
	const struct trace_job *job = &t->job[i];
	double share = t->processors > o->nodes ? (double)o->nodes / t->processors : 1;

	w->number = job->number;
	w->submit_s = (job->submit_s - t->job[0].submit_s) / o->load;
	w->run_s = job->run_s;
	w->limit_s = fmax(job->asked_s, 0);
	if (w->limit_s > 0 && w->run_s >= AT_LIMIT * w->limit_s) {
		w->run_s = w->limit_s;
		w->limit_was_in_way = true;
	}
	w->nodes = (int)ceil(job->processors * share - 1e-9);
	w->capped = draw_uniform(o->seed, DRAW_CAP, (uint64_t)i, 0) < o->capped;
	if (draw_uniform(o->seed, DRAW_REQUEUE, (uint64_t)i, 0) < o->requeue)
		w->requeue = fmax(draw_uniform(o->seed, DRAW_WHEN, (uint64_t)i, 0), 0.01);
}

int workload_make(const struct trace *t, const struct matrix *m, const struct workload_options *o,
	struct workload *w, struct errmsg *err)
{
	struct key *key = find_classes(t, o, &w->classes);
	bool failed;

	w->count = t->count;
	w->variants = 0;
	w->job = calloc((size_t)t->count + 1, sizeof(*w->job));
	w->variant_name = calloc((size_t)t->count + 1, sizeof(*w->variant_name));
	failed = !key || !w->job || !w->variant_name;
	for (int i = 0; !failed && i < t->count; i++) {
		const struct key mine = key_of(t, i, o);
		const struct key *found =
			bsearch(&mine, key, (size_t)w->classes, sizeof(*key), by_key);

		make_job(&w->job[i], t, i, o);
		w->job[i].class_id = (int)(found - key);
		w->job[i].row = row_of(&t->job[i], found, o, m->count, i >= t->count / 2);
		w->variant_name[w->variants++] = variant_of(found, w->job[i].nodes);
		failed = !w->variant_name[i];
	}
	free(key);
	if (failed || share_names(w)) {
		workload_free(w);
		return errmsg_set(err, "out of memory for %d jobs", t->count);
	}
	return 0;
}

void workload_free(struct workload *w)
{
	for (int v = 0; w->variant_name && v < w->variants; v++)
		free(w->variant_name[v]);
	free(w->variant_name);
	free(w->job);
	*w = (struct workload){.job = NULL};
}

double workload_least_makespan_s(const struct workload *w, const struct matrix *m)
{
	double least = 0;

	for (int i = 0; i < w->count; i++) {
		const struct work *job = &w->job[i];

		least = fmax(least, job->submit_s + job->run_s / fmax(m->alone[job->row], 1));
	}
	return least;
}
