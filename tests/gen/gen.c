/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes shutter blocks of jobs whose true degradation is known. */
#include "gen/gen.h"

#include <math.h>
#include <stdlib.h>

#include "poppa/measure/long_credit.h"

#define GHZ 2.5
#define SLICES 12 /* a window's progress is summed over so many */
#define STEP_VARIES 0.25
#define START_NS 1e12
/* Long blocks: the first after so many seconds, then at times that grow by a factor for each whole
 * one, until it is the budget that makes them rare: the credit of a new job, and a share of the
 * time. After one, no block comes for so many times its length. */
#define LONG_FIRST 3.0
#define LONG_GROWTH 3.0
#define LONG_BUDGET 1e-3
#define LONG_REST 3.0

struct stretch {
	double end; /* s since the start */
	int state;
};

/* What state something is in over time. */
struct course {
	struct stretch *stretch;
	int count, capacity, at;
};

struct gen_job {
	double solo[GEN_MAX_PHASES], co[GEN_MAX_PHASES]; /* rates */
	struct course phases;
	struct course idle;   /* 1: its co-runners pause by themselves */
	struct course bursts; /* 1: it runs at burst_speed */
	double slow, slow_at; /* what was back of the slow part, and when */
	double step, step_at; /* its step's length and how much of it is done, s of work alone */
	int beyond;           /* windows of its next long block */
	double next_long;     /* s */
	double held;          /* s, the others in its long blocks, beyond usual ones */
	double truth;
};

struct gen {
	struct gen_spec spec;
	uint64_t state;
	double now;      /* s */
	double slot_end; /* s */
	uint64_t blocks;
	int calm;       /* blocks since job 0's phase changed */
	int last_phase; /* of job 0, when it last ran alone */
	struct gen_job job[GEN_MAX_JOBS];
};

void gen_defaults(struct gen_spec *spec)
{
	*spec = (struct gen_spec){.seed = 1,
		.jobs = 2,
		.phases = 3,
		.cycle_s = 8,
		.unsteady = 0.2,
		.d_min = 0,
		.d_max = 0.7,
		.noise = 0.05,
		.outliers = 0.02,
		.tau_refill_ns = 300e3,
		.tau_decay_ns = 300e3,
		.late = 0.02,
		.cycles = true,
		.windows = 4,
		.shutter_ns = 3.2e6,
		.period_ns = 200e6,
		.jitter = 0.05,
		.length_s = 300};
}

/* splitmix64 */
static uint64_t next_random(struct gen *g)
{
	uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

double gen_uniform(struct gen *g)
{
	return (double)(next_random(g) >> 11) / 9007199254740992.0;
}

static double between(struct gen *g, double lo, double hi)
{
	return lo + (hi - lo) * gen_uniform(g);
}

static double gauss(struct gen *g)
{
	return sqrt(-2 * log(1 - gen_uniform(g))) * cos(2 * 3.14159265358979 * gen_uniform(g));
}

static double exponential(struct gen *g, double mean)
{
	return -mean * log(1 - gen_uniform(g));
}

static int add_stretch(struct course *c, int state, double end)
{
	if (c->count == c->capacity) {
		int capacity = c->capacity ? 2 * c->capacity : 64;
		struct stretch *grown = realloc(c->stretch, (size_t)capacity * sizeof(*grown));

		if (!grown)
			return -1;
		c->stretch = grown;
		c->capacity = capacity;
	}
	c->stretch[c->count++] = (struct stretch){end, state};
	return 0;
}

/* Index of the stretch at time t; t never goes back by more than a block. */
static int find_stretch(struct course *c, double t)
{
	while (c->at > 0 && c->stretch[c->at - 1].end > t)
		c->at--;
	while (c->at < c->count - 1 && c->stretch[c->at].end <= t)
		c->at++;
	return c->at;
}

static int state_at(struct course *c, double t)
{
	return c->count ? c->stretch[find_stretch(c, t)].state : 0;
}

/* When the state at time t ends. */
static double end_at(struct course *c, double t)
{
	return c->count ? c->stretch[find_stretch(c, t)].end : INFINITY;
}

/* Turns between state 0 and 1, which lasts for length_ns on average and has this share. */
static int plan_turns(struct gen *g, struct course *c, double share, double length_ns)
{
	double mean[] = {length_ns * 1e-9 * (1 - share) / share, length_ns * 1e-9}, t = 0;

	if (!(share > 0))
		return 0;
	for (int state = gen_uniform(g) < share; t < g->spec.length_s; state = !state) {
		t = fmin(t + exponential(g, mean[state]), g->spec.length_s);
		if (add_stretch(c, state, t))
			return -1;
	}
	return 0;
}

/* Rates at one moment, beside the co-runners and without. */
static void rates_at(
	const struct gen_spec *s, struct gen_job *j, double t, double *solo, double *co)
{
	int p = state_at(&j->phases, t);
	double lost = 1 - j->co[p] / j->solo[p];

	*solo = j->solo[p];
	if (state_at(&j->bursts, t)) {
		*solo *= s->burst_speed;
		lost *= s->burst_loss;
	}
	*co = state_at(&j->idle, t) ? *solo : *solo * (1 - lost);
}

static double true_degradation(const struct gen_spec *s, struct gen_job *j)
{
	double t = 0, good = 0;

	while (t < s->length_s) {
		double end = end_at(&j->phases, t), solo, co;

		end = fmin(end, fmin(end_at(&j->idle, t), end_at(&j->bursts, t)));
		end = fmin(end, s->length_s);
		rates_at(s, j, t, &solo, &co);
		good += (end - t) * co / solo;
		t = end;
	}
	j->phases.at = j->idle.at = j->bursts.at = 0;
	return 1 - good / s->length_s;
}

/* Phases once, or over and over. */
static int plan_job(struct gen *g, struct gen_job *j)
{
	const struct gen_spec *s = &g->spec;
	double share[GEN_MAX_PHASES], total = 0, t = 0;
	double round = s->cycle_s > 0 ? s->cycle_s : s->length_s;

	for (int p = 0; p < s->phases; p++) {
		double d = between(g, s->d_min, s->d_max);

		if (s->graded)
			d = s->d_min + (s->d_max - s->d_min) * p / fmax(s->phases - 1, 1);
		j->solo[p] = between(g, 0.4, 2.5) * (s->cycles ? 1 : GHZ);
		j->co[p] = j->solo[p] * (1 - d);
		total += share[p] = between(g, 0.2, 1);
	}
	for (int p = 0; t < s->length_s; p = (p + 1) % s->phases) {
		double length = share[p] / total * round;

		if (s->shuffled)
			length = exponential(g, length);
		else if (s->cycle_s > 0)
			length *= between(g, 1 - s->unsteady, 1 + s->unsteady);
		else
			length *= 1.0001; /* rounding must not leave a second turn for the first */
		length = fmin(length, s->length_s - t);
		t += length;
		if (add_stretch(&j->phases, p, t))
			return -1;
		if (s->shuffled)
			p = (int)(gen_uniform(g) * s->phases);
	}
	if (plan_turns(g, &j->idle, s->idle_share, s->idle_ns) ||
		plan_turns(g, &j->bursts, s->burst_share, s->burst_ns))
		return -1;
	j->truth = true_degradation(s, j);
	return 0;
}

struct gen *gen_new(const struct gen_spec *spec)
{
	struct gen *g;

	if (spec->jobs < 1 || spec->jobs > GEN_MAX_JOBS || spec->phases < 1 ||
		spec->phases > GEN_MAX_PHASES || spec->windows < 1 ||
		spec->windows > EST_MAX_WINDOWS || !(spec->length_s > 0) ||
		!(spec->shutter_ns > 0) || !(spec->period_ns > 0) || !(spec->idle_share < 1) ||
		!(spec->burst_share < 1) || (spec->idle_share > 0 && !(spec->idle_ns > 0)) ||
		(spec->burst_share > 0 && !(spec->burst_ns > 0)) ||
		(spec->step_ns > 0 && !(spec->step_share > 0)) ||
		(spec->slow_share > 0 && !(spec->slow_ns > 0)) || spec->beyond < 0 ||
		spec->beyond > EST_MAX_WINDOWS)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->spec = *spec;
	g->state = spec->seed;
	for (int i = 0; i < spec->jobs; i++) {
		g->job[i].beyond = spec->beyond;
		if (plan_job(g, &g->job[i])) {
			gen_free(g);
			return NULL;
		}
	}
	return g;
}

void gen_free(struct gen *g)
{
	if (!g)
		return;
	for (int i = 0; i < GEN_MAX_JOBS; i++) {
		free(g->job[i].phases.stretch);
		free(g->job[i].idle.stretch);
		free(g->job[i].bursts.stretch);
	}
	free(g);
}

double gen_truth(const struct gen *g, int job)
{
	return g->job[job].truth;
}

/* How much of the way from the co-run to the solo rate a job is, over time. */
struct mix {
	double from, tau;  /* seconds */
	double start, end; /* share at `from`, and after a long time */
	bool linear;       /* evenly in tau, from 0 to 1 or back */
};

/* Of both parts of the way. */
struct mixes {
	struct mix fast, slow;
};

static double share_at(const struct mix *m, double t)
{
	double gone = t - m->from;

	if (t < m->from)
		return m->start;
	if (m->tau <= 0)
		return m->end;
	if (!m->linear)
		return m->end + (m->start - m->end) * exp(-gone / m->tau);
	return m->end > m->start ? fmin(m->start + gone / m->tau, m->end)
				 : fmax(m->start - gone / m->tau, m->end);
}

static double mean_rate(
	const struct gen_spec *s, struct gen_job *j, const struct mixes *m, double from, double to)
{
	double sum = 0;

	for (int i = 0; i < SLICES; i++) {
		double t = from + (to - from) * (i + 0.5) / SLICES, solo, co, back;

		rates_at(s, j, t, &solo, &co);
		back = (1 - s->slow_share) * share_at(&m->fast, t) +
		       s->slow_share * share_at(&m->slow, t);
		sum += co + (solo - co) * back;
	}
	return sum / SLICES;
}

static void begin_step(struct gen *g, struct gen_job *j)
{
	j->step = g->spec.step_ns * 1e-9 * between(g, 1 - STEP_VARIES, 1 + STEP_VARIES);
	j->step_at = 0;
}

/* What a job that works in steps shows while it does so much work, in seconds alone. */
static double shown_in_steps(struct gen *g, struct gen_job *j, double work)
{
	double shown = 0;

	while (work > 0) {
		double part = fmin(work, j->step - j->step_at), busy = g->spec.step_share * j->step;

		shown += (fmin(j->step_at + part, busy) - fmin(j->step_at, busy)) /
			 g->spec.step_share;
		j->step_at += part;
		work -= part;
		if (j->step_at >= j->step)
			begin_step(g, j);
	}
	return shown;
}

static struct est_window measure(
	struct gen *g, struct gen_job *j, const struct mixes *m, double from, double to)
{
	const struct gen_spec *s = &g->spec;
	double rate = mean_rate(s, j, m, from, to), ns = (to - from) * 1e9;
	double usual = s->shutter_ns / s->windows,
	       calmer = s->beyond ? sqrt(fmax(ns / usual, 1)) : 1;

	if (s->step_ns > 0) {
		double solo, co;

		rates_at(s, j, from, &solo, &co);
		rate = solo * shown_in_steps(g, j, rate / solo * (to - from)) / (to - from);
	}
	rate *= fmax(1 + s->noise / calmer * gauss(g), 0.01);
	if (gen_uniform(g) < s->outliers)
		rate *= gen_uniform(g) < 0.5 ? between(g, 0, 0.4) : between(g, 2, 8);
	if (gen_uniform(g) < s->lost)
		return (struct est_window){NAN, NAN, ns, 0};
	if (!s->cycles)
		return (struct est_window){round(rate * ns), 0, ns, 0};
	return (struct est_window){round(rate * ns * GHZ), round(ns * GHZ), ns, 0};
}

/* Sets when the next block begins, after one that ended at `end`. */
static void schedule(struct gen *g, int alone, double end)
{
	const struct gen_spec *s = &g->spec;
	double period = s->period_ns * 1e-9, jitter = s->jitter * (2 * gen_uniform(g) - 1);

	/* What is known of job 0 is what its own blocks showed. */
	if (alone == 0) {
		int phase = state_at(&g->job[0].phases, end);

		g->calm = phase == g->last_phase ? g->calm + 1 : 0;
		g->last_phase = phase;
	}
	if (s->rate == GEN_RATE_BY_PHASE && g->last_phase % 2)
		period *= 8;
	else if (s->rate == GEN_RATE_BY_CHANGE)
		period *= g->calm < 4 ? 1 : g->calm < 8 ? 2 : g->calm < 16 ? 4 : 8;
	if (!s->slots) {
		g->now = end + period * (1 + jitter);
		return;
	}
	g->now = fmax(g->slot_end + period * (0.5 + jitter), end);
	g->slot_end += period;
}

void gen_long(struct gen *g, int job, int windows)
{
	g->job[job].beyond = windows < g->spec.beyond ? windows : g->spec.beyond;
}

/* How long the others stay held in a long block beyond a usual one, s. */
static double beyond_length(const struct gen_spec *s, int windows)
{
	double length = 0;

	for (int i = 0; i < windows; i++)
		length += 1e-9 * est_beyond_ns(i, s->shutter_ns);
	return length;
}

/* The windows beyond of a job's block that begins now; 0: it is a usual one. */
static int begin_long(const struct gen_spec *s, struct gen_job *j, double now)
{
	double whole = beyond_length(s, s->beyond), length = beyond_length(s, j->beyond);

	if (j->beyond <= 0 || now < fmax(j->next_long, LONG_FIRST) ||
		j->held + length > LONG_CREDIT_FIRST * whole + LONG_BUDGET * now)
		return 0;
	j->held += length;
	j->next_long = fmin(now * pow(LONG_GROWTH, length / whole), now + length / LONG_BUDGET);
	return j->beyond;
}

/* Where the slow part of a job is, from now on. */
static struct mix slow_mix(const struct gen_spec *s, struct gen_job *j, double now, bool alone)
{
	double ns = alone ? s->slow_ns : s->slow_decay_ns;
	struct mix m = {.from = j->slow_at,
		.tau = s->slow_decay_ns * 1e-9,
		.start = j->slow,
		.linear = s->slow_linear};

	j->slow = share_at(&m, now);
	j->slow_at = now;
	return (struct mix){.from = now,
		.tau = ns * 1e-9,
		.start = j->slow,
		.end = alone,
		.linear = s->slow_linear};
}

/* Takes a window of each region. edge[]: where the windows meet, of the `beyond` ones too. */
static void take_windows(struct gen *g, struct gen_job *j, bool lone, int beyond,
	const double *edge, double late, struct est_block *b)
{
	const struct gen_spec *s = &g->spec;
	int k = s->windows;
	double stop = edge[k], back = edge[2 * k + beyond] + late;
	struct mixes before = {.fast.start = 0}, during, after;

	before.slow = slow_mix(s, j, edge[0], false);
	during.fast = (struct mix){.from = stop, .tau = s->tau_refill_ns * 1e-9, .end = 1};
	during.slow = slow_mix(s, j, stop, true);
	after.fast = (struct mix){.from = back, .tau = s->tau_decay_ns * 1e-9};
	if (lone) {
		after.fast.start = share_at(&during.fast, back);
		j->slow = share_at(&during.slow, back);
		j->slow_at = back;
	}
	after.slow = slow_mix(s, j, back, false);
	if (s->step_ns > 0) {
		begin_step(g, j);
		j->step_at = gen_uniform(g) * j->step;
	}
	b->start_ns = (uint64_t)(START_NS + edge[0] * 1e9);
	b->before_n = k;
	b->during_n = lone ? k : 0;
	b->beyond_n = lone ? beyond : 0;
	/* After a long stop, caches empty slowly, too: nobody reads it. */
	b->after_n = beyond ? 0 : k;
	for (int i = 0; i < k; i++) {
		b->before[i] = measure(g, j, &before, edge[i], edge[i + 1]);
		if (lone)
			b->during[i] = measure(g, j, &during, edge[k + i], edge[k + i + 1]);
		if (!beyond)
			b->after[i] = measure(g, j, &after, edge[2 * k + i], edge[2 * k + i + 1]);
	}
	for (int i = 2 * k; i < 2 * k + b->beyond_n; i++)
		b->beyond[i - 2 * k] = measure(g, j, &during, edge[i], edge[i + 1]);
}

static int next_alone(struct gen *g)
{
	int alone = (int)(g->blocks++ % (uint64_t)g->spec.jobs);

	return g->spec.drawn ? (int)(gen_uniform(g) * g->spec.jobs) : alone;
}

bool gen_next(struct gen *g, int *alone, struct est_block *block)
{
	const struct gen_spec *s = &g->spec;
	double edge[4 * EST_MAX_WINDOWS + 1], late;
	int k = s->windows, beyond = 0, last;

	if (s->beyond) {
		*alone = next_alone(g);
		beyond = begin_long(s, &g->job[*alone], g->now);
	}
	last = beyond ? 2 * k + beyond : 3 * k;
	edge[0] = g->now;
	for (int i = 0; i < last; i++) {
		double ns = s->shutter_ns / k;

		if (beyond && i >= 2 * k)
			ns = est_beyond_ns(i - 2 * k, s->shutter_ns);
		if (gen_uniform(g) < s->late)
			ns += exponential(g, 1.5e6);
		edge[i + 1] = edge[i] + ns * 1e-9;
	}
	late = gen_uniform(g) < s->slow_resume ? exponential(g, 3e-3) : 0;
	if (edge[last] > s->length_s)
		return false;
	if (!s->beyond)
		*alone = next_alone(g);
	for (int n = 0; n < s->jobs; n++)
		take_windows(g, &g->job[n], n == *alone, beyond, edge, late, &block[n]);
	schedule(g, *alone, edge[last] + (beyond ? LONG_REST * (edge[last] - edge[2 * k]) : 0));
	return true;
}
