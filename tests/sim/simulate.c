/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulates a trace under policies of co-location and prints what each brings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "sim/engine.h"
#include "sim/options.h"
#include "sim/output.h"
#include "sim/progress.h"

struct context {
	const struct options *o;
	const struct workload *work;
	const struct matrix *matrix;
	struct colocate request[2];
	FILE *dump;
	struct progress progress;
};

static void show_progress(const struct sim *s, void *arg)
{
	struct context *c = arg;
	int64_t now = clock_now_ms();
	char text[128];

	if (progress_due(&c->progress, now))
		fputs(progress_text(&c->progress, now, s->policy->name, s->measures.finished,
			      s->work->count, s->waiting, text, sizeof(text)),
			stderr);
}

static int simulate(
	struct context *c, const struct policy *policy, struct figures *f, struct errmsg *err)
{
	const struct options *o = c->o;
	struct engine_options how = {c->dump, show_progress, c};
	struct sim s = {.work = c->work,
		.matrix = c->matrix,
		.settings = &o->settings,
		.seed = o->workload.seed,
		.noise = o->noise,
		.cap = o->cap,
		.history = o->history,
		.request = c->request,
		.conservative = o->conservative,
		.plan_by_limits = o->plan_by_limits,
		.depth = o->depth,
		.policy = policy,
		.nodes = o->nodes};
	int rc;

	c->progress.began_ms = clock_now_ms();
	rc = engine_run(&s, &how, err);
	if (c->progress.terminal)
		fprintf(stderr, "\r%60s\r", "");
	*f = measures_figures(&s.measures, policy->shape == SHAPE_LANES);
	if (policy->learns == LEARNS_NOTHING)
		f->pairs_mae = f->pairs_cover90 = NAN;
	if (!policy->started)
		f->explored = NAN;
	return rc;
}

/* The figures of a policy: those that are there already, or new ones in *own. */
static int reference(struct context *c, const char *name, const struct figures *figures,
	double *stp_late, struct errmsg *err)
{
	const struct options *o = c->o;
	struct figures own;

	for (int i = 0; i < o->policies; i++)
		if (!strcmp(o->policy[i]->name, name)) {
			*stp_late = figures[i].stp_late;
			return 0;
		}
	if (simulate(c, policy_find(name), &own, err))
		return -1;
	*stp_late = own.stp_late;
	return 0;
}

/* What lies between random partners and the best ones, of which policies get a share. */
static int find_shares(struct context *c, struct figures *figures, struct errmsg *err)
{
	const struct options *o = c->o;
	double random = NAN, optimal = NAN;
	bool asked = false;

	for (int i = 0; i < o->policies; i++)
		asked |= o->policy[i]->shape == SHAPE_LANES;
	if (!asked || o->no_share)
		return 0;
	if (reference(c, "random", figures, &random, err) ||
		reference(c, "optimal", figures, &optimal, err))
		return -1;
	for (int i = 0; i < o->policies; i++)
		if (o->policy[i]->shape == SHAPE_LANES)
			figures[i].share_of_gain =
				measures_share_of_gain(figures[i].stp_late, random, optimal);
	return 0;
}

static int open_dump(struct context *c, struct errmsg *err)
{
	const char *path = c->o->dump;

	if (!path)
		return 0;
	c->dump = fopen(path, "we");
	if (!c->dump)
		return errmsg_set(err, "--dump %s: %s", path, strerror(errno));
	fputs(ENGINE_DUMP_HEADER, c->dump);
	return 0;
}

/* What a policy did is written before the next one begins: a full disk ends all of it. */
static int write_dump(const struct context *c, struct errmsg *err)
{
	if (c->dump && (fflush(c->dump) || ferror(c->dump)))
		return errmsg_set(err, "--dump %s: %s", c->o->dump, strerror(errno));
	return 0;
}

static int close_dump(struct context *c, struct errmsg *err)
{
	int rc = c->dump ? fclose(c->dump) : 0;

	c->dump = NULL;
	return rc ? errmsg_set(err, "--dump %s: %s", c->o->dump, strerror(errno)) : 0;
}

static int run_all(struct context *c, struct errmsg *err)
{
	const struct options *o = c->o;
	struct figures figures[OPTIONS_POLICIES_MOST];

	c->request[1].max_degradation = o->cap;
	if (open_dump(c, err))
		return -1;
	for (int i = 0; i < o->policies; i++)
		if (simulate(c, o->policy[i], &figures[i], err) || write_dump(c, err))
			return -1;
	if (close_dump(c, err))
		return -1;
	if (find_shares(c, figures, err))
		return -1;
	if (o->json)
		return output_json(o, c->work, c->matrix, figures, err);
	output_table(o, c->work, c->matrix, figures);
	return 0;
}

static int read_and_run(const struct options *o, struct errmsg *err)
{
	struct trace trace = {.job = NULL};
	struct matrix matrix = {.count = 0};
	struct workload work = {.job = NULL};
	struct context c = {.o = o,
		.work = &work,
		.matrix = &matrix,
		.progress = {.terminal = isatty(STDERR_FILENO), .shown_ms = clock_now_ms()}};
	int rc = trace_read(o->trace, o->jobs, &trace, err);

	if (!rc)
		rc = matrix_read(o->matrix, &matrix, err);
	if (!rc) {
		controls_apply(&o->workload.controls, o->workload.seed, &matrix);
		rc = workload_make(&trace, &matrix, &o->workload, &work, err);
	}
	if (!rc)
		rc = run_all(&c, err);
	if (c.dump)
		fclose(c.dump);
	workload_free(&work);
	matrix_free(&matrix);
	trace_free(&trace);
	return rc;
}

int main(int argc, char **argv)
{
	struct errmsg err = {""};
	struct options o;

	if (options_read(argc, argv, &o, &err)) {
		fprintf(stderr, "tests/sim/run: %s\n", err.text);
		return 2;
	}
	if (o.help)
		options_help();
	if ((o.help || !read_and_run(&o, &err)) && !output_end(&err))
		return 0;
	fprintf(stderr, "tests/sim/run: %s\n", err.text);
	return 1;
}
