/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families of synthetic jobs on which the estimators are judged. */
#include "gen/families.h"

#include <math.h>
#include <string.h>

#include "poppa/estimate/blockfit.h"

static double pick(struct gen *g, double lo, double hi)
{
	return lo + (hi - lo) * gen_uniform(g);
}

/* Everything at once, anywhere in the ranges that shutters are built for. */
static void anything(struct gen_spec *s)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->jobs = gen_uniform(g) < 0.5 ? 2 : 4;
	s->phases = 1 + (int)(5 * gen_uniform(g));
	s->cycle_s = gen_uniform(g) < 0.3 ? 0 : pick(g, 2, 40);
	s->shuffled = gen_uniform(g) < 0.3;
	s->noise = pick(g, 0.03, 0.1);
	s->tau_refill_ns = s->tau_decay_ns = pick(g, 0.2e6, 1e6);
	s->late = pick(g, 0, 0.05);
	s->cycles = gen_uniform(g) < 0.5;
	gen_free(g);
}

static void noise_3(struct gen_spec *s)
{
	s->noise = 0.03;
}

static void noise_10(struct gen_spec *s)
{
	s->noise = 0.1;
}

static void slow_refill(struct gen_spec *s)
{
	s->tau_refill_ns = s->tau_decay_ns = 1e6;
}

static void quick_refill(struct gen_spec *s)
{
	s->tau_refill_ns = s->tau_decay_ns = 0.2e6;
}

static void unequal_tau(struct gen_spec *s)
{
	s->tau_refill_ns = 0.7e6;
	s->tau_decay_ns = 0.3e6;
}

static void one_phase(struct gen_spec *s)
{
	s->phases = 1;
}

static void five_phases(struct gen_spec *s)
{
	s->phases = 5;
}

static void phases_once(struct gen_spec *s)
{
	s->phases = 5;
	s->cycle_s = 0;
}

static void short_phases(struct gen_spec *s)
{
	s->phases = 5;
	s->cycle_s = 2;
}

static void random_phases(struct gen_spec *s)
{
	s->phases = 4;
	s->cycle_s = 12;
	s->shuffled = true;
}

/* A rhythm without any unsteadiness, close to a multiple of the period. */
static void near_period(struct gen_spec *s)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->cycle_s = (1 + (int)(8 * gen_uniform(g))) * 0.2 * pick(g, 0.97, 1.03);
	s->unsteady = 0;
	s->slots = true;
	s->jitter = 0.5;
	gen_free(g);
}

static void four_jobs(struct gen_spec *s)
{
	s->jobs = 4;
}

static void no_cycles(struct gen_spec *s)
{
	s->cycles = false;
}

static void late_and_lost(struct gen_spec *s)
{
	s->late = 0.1;
	s->lost = 0.03;
}

static void no_contention(struct gen_spec *s)
{
	s->d_max = 0;
	s->noise = 0.1;
}

static void heavy_contention(struct gen_spec *s)
{
	s->d_min = 0.5;
}

static void rate_by_phase(struct gen_spec *s)
{
	s->rate = GEN_RATE_BY_PHASE;
	s->phases = 2;
	s->cycle_s = 40;
}

static void rate_by_change(struct gen_spec *s)
{
	s->rate = GEN_RATE_BY_CHANGE;
	s->phases = 2;
	s->cycle_s = 40;
}

static void hardest(struct gen_spec *s)
{
	s->jobs = 4;
	s->phases = 5;
	s->noise = 0.1;
	slow_refill(s);
}

/* Co-runners that pause by themselves for some milliseconds, seldom or half of the time. */
static void bursty_corunner(struct gen_spec *s)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->idle_share = pick(g, 0.05, 0.5);
	s->idle_ns = 1e6 * exp(pick(g, 0, log(20)));
	gen_free(g);
}

/* And such as run for some milliseconds, seldom. */
static void seldom_corunner(struct gen_spec *s)
{
	struct gen *g = gen_new(s);
	double on;

	if (!g)
		return;
	on = pick(g, 0.05, 0.5);
	s->idle_share = 1 - on;
	s->idle_ns = 1e6 * exp(pick(g, 0, log(20))) * (1 - on) / on;
	gen_free(g);
}

/* The job's own bursts: up to 1.5 times faster or slower. */
static void bursty_job(struct gen_spec *s)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->burst_share = pick(g, 0.05, 0.5);
	s->burst_ns = 1e6 * exp(pick(g, 0, log(20)));
	s->burst_speed = exp(pick(g, -log(1.5), log(1.5)));
	s->burst_loss = 1;
	gen_free(g);
}

/* Counts come in bursts, once a step: as those of MPI calls do. */
static void steps(struct gen_spec *s, double least_ns, double most_ns)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->step_ns = exp(pick(g, log(least_ns), log(most_ns)));
	s->step_share = pick(g, 0.05, 0.5);
	gen_free(g);
}

static void steps_short(struct gen_spec *s)
{
	steps(s, 0.2e6, 2e6);
}

static void steps_long(struct gen_spec *s)
{
	steps(s, 2e6, 50e6);
}

static void steps_alone(struct gen_spec *s)
{
	steps_long(s);
	s->d_max = 0;
}

/* Up to half of what is lost comes back slowly, and goes in the same way or at once; with long
 * blocks. */
static void slow_part(struct gen_spec *s, double least_ns, double most_ns, bool decay)
{
	struct gen *g = gen_new(s);

	if (!g)
		return;
	s->slow_share = pick(g, 0, 0.5);
	s->slow_ns = exp(pick(g, log(least_ns), log(most_ns)));
	s->slow_decay_ns = decay ? s->slow_ns : 0;
	s->beyond = GEN_BEYOND;
	gen_free(g);
}

static void slow_part_20(struct gen_spec *s)
{
	slow_part(s, 2e6, 20e6, true);
}

static void slow_part_200(struct gen_spec *s)
{
	slow_part(s, 20e6, 200e6, true);
}

static void slow_part_even(struct gen_spec *s)
{
	slow_part(s, 5e6, 200e6, true);
	s->slow_linear = true;
}

static void slow_part_gone(struct gen_spec *s)
{
	slow_part(s, 2e6, 200e6, false);
}

static void slow_part_one_phase(struct gen_spec *s)
{
	one_phase(s);
	slow_part(s, 2e6, 200e6, true);
}

static void slow_part_four_jobs(struct gen_spec *s)
{
	four_jobs(s);
	slow_part(s, 2e6, 200e6, true);
}

static void slow_part_anything(struct gen_spec *s)
{
	anything(s);
	slow_part(s, 2e6, 200e6, true);
}

static const struct gen_family families[] = {
	{"anything in range", anything, GEN_USUAL},
	{"noise 3 %", noise_3, GEN_USUAL},
	{"noise 10 %", noise_10, GEN_USUAL},
	{"refill tau 0.2 ms", quick_refill, GEN_USUAL},
	{"refill tau 1 ms", slow_refill, GEN_USUAL},
	{"refill 0.7 ms, decay 0.3 ms", unequal_tau, GEN_USUAL},
	{"one phase", one_phase, GEN_USUAL},
	{"five phases", five_phases, GEN_USUAL},
	{"five phases, once each", phases_once, GEN_USUAL},
	{"five phases in 2 s", short_phases, GEN_USUAL},
	{"phases at random times", random_phases, GEN_USUAL},
	{"rhythm near multiples of P", near_period, GEN_USUAL},
	{"four jobs", four_jobs, GEN_USUAL},
	{"no cycles", no_cycles, GEN_USUAL},
	{"late wake-ups, lost windows", late_and_lost, GEN_USUAL},
	{"D = 0, noise 10 %", no_contention, GEN_USUAL},
	{"D from 0.5 to 0.7", heavy_contention, GEN_USUAL},
	{"block rate by phase", rate_by_phase, GEN_USUAL},
	{"block rate by change", rate_by_change, GEN_USUAL},
	{"4 jobs, 5 phases, 10 %, 1 ms", hardest, GEN_USUAL},
	{"co-runner pauses for ms", bursty_corunner, GEN_USUAL},
	{"co-runner runs for ms", seldom_corunner, GEN_USUAL},
	{"bursts of the job's own", bursty_job, GEN_USUAL},
	{"a slow part, 2 to 20 ms", slow_part_20, GEN_SLOW},
	{"a slow part, 20 to 200 ms", slow_part_200, GEN_SLOW},
	{"a slow part, evenly", slow_part_even, GEN_SLOW},
	{"a slow part that goes at once", slow_part_gone, GEN_SLOW},
	{"a slow part, one phase", slow_part_one_phase, GEN_SLOW},
	{"a slow part, four jobs", slow_part_four_jobs, GEN_SLOW},
	{"a slow part, anything in range", slow_part_anything, GEN_SLOW},
	{"steps of 0.2 to 2 ms", steps_short, GEN_STEPS},
	{"steps of 2 to 50 ms", steps_long, GEN_STEPS},
	{"steps of 2 to 50 ms, D = 0", steps_alone, GEN_STEPS},
};

int gen_families(void)
{
	return (int)(sizeof(families) / sizeof(families[0]));
}

const struct gen_family *gen_family(int i)
{
	return &families[i];
}

void gen_family_spec(int i, uint64_t seed, struct gen_spec *spec)
{
	gen_defaults(spec);
	spec->seed = seed;
	families[i].change(spec);
}

static void add_job(struct gen_score *score, const struct est_result *r, double truth)
{
	double error = fabs((1 - r->degradation) / (1 - truth) - 1), off = r->degradation - truth;

	if (isnan(r->degradation)) {
		score->unknown++;
		return;
	}
	score->jobs++;
	score->error += error;
	score->worst = fmax(score->worst, error);
	score->bias += off;
	if (isnan(r->lo))
		return;
	score->width += 0.5 * (r->hi - r->lo);
	score->covered += r->lo <= truth && truth <= r->hi;
	score->z2 += off * off / r->variance;
}

void gen_spare(struct est_block *b)
{
	int k = blockfit_spared(b->after_n);
	struct est_window *w;

	if (!k)
		return;
	w = &b->after[k - 1];
	w[0].progress += w[1].progress;
	w[0].cycles += w[1].cycles;
	w[0].dur_ns += w[1].dur_ns;
	w[0].lent_ns += w[1].lent_ns;
	b->after_n--;
	memmove(&w[1], &w[2], (size_t)(b->after_n - k) * sizeof(*w));
}

int gen_judge(const struct gen_spec *spec, enum estimate_method method, struct gen_score *score)
{
	return gen_judge_with(spec, method, NULL, score, NULL);
}

int gen_judge_with(const struct gen_spec *spec, enum estimate_method method,
	const struct slow_prior *prior, struct gen_score *score, struct slow_vote *vote)
{
	struct estimator *e[GEN_MAX_JOBS] = {NULL};
	struct gen *g = gen_new(spec);
	struct est_block block[GEN_MAX_JOBS];
	int alone, rc = g ? 0 : -1;

	for (int i = 0; g && i < spec->jobs; i++)
		if (!(e[i] = estimator_new(method, prior)))
			rc = -1;
	while (!rc && gen_next(g, &alone, block)) {
		if (method == ESTIMATE_ROBUST)
			gen_spare(&block[alone]);
		estimator_add(e[alone], &block[alone]);
		gen_long(g, alone, estimator_long_windows(e[alone]));
	}
	for (int i = 0; g && i < spec->jobs; i++) {
		double likelihood[SLOW_HYPOTHESES];
		struct est_result r;

		if (!rc) {
			estimator_result(e[i], &r);
			add_job(score, &r, gen_truth(g, i));
		}
		if (!rc && vote && estimator_likelihood(e[i], likelihood))
			slow_vote_add(vote, likelihood);
		estimator_free(e[i]);
	}
	gen_free(g);
	return rc;
}

void gen_add_score(struct gen_score *sum, const struct gen_score *s)
{
	sum->jobs += s->jobs;
	sum->unknown += s->unknown;
	sum->error += s->error;
	sum->worst = fmax(sum->worst, s->worst);
	sum->bias += s->bias;
	sum->width += s->width;
	sum->covered += s->covered;
	sum->z2 += s->z2;
}
