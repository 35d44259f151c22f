/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works out what the rounds of a trial say: means, intervals and verdicts. */
#include "trial/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "statistics/statistics.h"
#include "trial/matching.h"

static double *unknown(int n)
{
	double *v = calloc((size_t)n, sizeof(*v));

	for (int i = 0; v && i < n; i++)
		v[i] = NAN;
	return v;
}

static int new_program(struct trial_program *p, int rounds)
{
	p->run.backend = COUNTER_AUTO;
	p->backend = COUNTER_NONE;
	p->run_s = NAN;
	p->compact = unknown(rounds);
	p->alone[0] = unknown(rounds);
	p->alone[1] = unknown(rounds);
	return p->compact && p->alone[0] && p->alone[1] ? 0 : -1;
}

static int new_pair(struct trial_pair *p, int a, int b, int rounds)
{
	p->program[0] = a;
	p->program[1] = b;
	p->round = calloc((size_t)rounds, sizeof(*p->round));
	for (int i = 0; p->round && i < rounds; i++)
		p->round[i] = (struct trial_pair_round){{NAN, NAN}, {NAN, NAN}};
	return p->round ? 0 : -1;
}

struct trial *trial_new(int programs, int rounds)
{
	struct trial *t = calloc(1, sizeof(*t));
	int rc = 0;

	if (!t)
		return NULL;
	t->programs = programs;
	t->others = NAN;
	t->program = calloc((size_t)programs, sizeof(*t->program));
	t->pair = calloc((size_t)(programs * (programs - 1) / 2), sizeof(*t->pair));
	rc = t->program && t->pair ? 0 : -1;
	for (int i = 0; !rc && i < programs; i++)
		rc = new_program(&t->program[i], rounds);
	for (int i = 0; !rc && i < programs; i++)
		for (int j = i + 1; !rc && j < programs; j++)
			rc = new_pair(&t->pair[t->pairs++], i, j, rounds);
	if (!rc)
		return t;
	trial_free(t);
	return NULL;
}

void trial_free(struct trial *t)
{
	if (!t)
		return;
	for (int i = 0; t->program && i < t->programs; i++) {
		free(t->program[i].compact);
		free(t->program[i].alone[0]);
		free(t->program[i].alone[1]);
	}
	for (int i = 0; t->pair && i < t->pairs; i++)
		free(t->pair[i].round);
	free(t->program);
	free(t->pair);
	free(t);
}

struct trial_figure trial_mean(const double *v, int n)
{
	double sum = 0, squares = 0, mean, half;
	int known = 0;

	for (int i = 0; i < n; i++)
		if (!isnan(v[i])) {
			sum += v[i];
			known++;
		}
	if (!known)
		return (struct trial_figure){NAN, NAN, NAN};
	mean = sum / known;
	if (known == 1)
		return (struct trial_figure){mean, NAN, NAN};
	for (int i = 0; i < n; i++)
		if (!isnan(v[i]))
			squares += (v[i] - mean) * (v[i] - mean);
	half = statistics_t95(known - 1) * sqrt(squares / (known - 1) / known);
	return (struct trial_figure){mean, mean - half, mean + half};
}

double trial_round_stp(const struct trial *t, const struct trial_pair *p, int round)
{
	double stp = 0;

	for (int i = 0; i < RUNNER_SLOTS; i++)
		stp += p->round[round].rate[i] / t->program[p->program[i]].compact[round];
	return isfinite(stp) ? stp : NAN;
}

double trial_round_loss(const struct trial *t, const struct trial_pair *p, int which, int round)
{
	const struct trial_pair_round *r = &p->round[round];
	const struct trial_program *program = &t->program[p->program[which]];
	double loss = r->loss[which];

	if (isnan(loss) && program->unit == TRIAL_UNIT_RUNS)
		loss = 1 - r->rate[which] / program->alone[which][round];
	return isfinite(loss) ? loss : NAN;
}

static bool certain(const struct trial_figure *f)
{
	return !isnan(f->lo);
}

static enum trial_verdict verdict(const struct trial_figure *stp)
{
	if (certain(stp) && stp->lo > 1)
		return TRIAL_COLOCATE;
	if (certain(stp) && stp->hi < 1)
		return TRIAL_DO_NOT;
	return TRIAL_UNCERTAIN;
}

/* Why nothing is known of the work of a pair. */
static void say_unknown(const struct trial *t, const struct trial_pair *p, char *why, size_t size)
{
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		const struct trial_program *program = &t->program[p->program[i]];

		if (program->unit == TRIAL_UNIT_NONE) {
			snprintf(why, size, "the work of the node is not known: %s", program->note);
			return;
		}
	}
	snprintf(why, size,
		"the work of the node is not known: no round shows both programs' progress "
		"together; give more --time");
}

/* The sentence behind a verdict. */
static void say(const struct trial_figure *stp, enum trial_verdict v, char *why, size_t size)
{
	if (!certain(stp))
		snprintf(why, size,
			"together the node does %.2f times the work, but one round does not show "
			"how sure that is: give more --rounds",
			stp->mean);
	else if (v == TRIAL_COLOCATE)
		snprintf(why, size,
			"together the node does %.2f times the work (%.2f to %.2f) that it does "
			"one after the other",
			stp->mean, stp->lo, stp->hi);
	else if (v == TRIAL_DO_NOT)
		snprintf(why, size,
			"together the node does only %.2f times the work (%.2f to %.2f): all is "
			"done sooner one after the other",
			stp->mean, stp->lo, stp->hi);
	else
		snprintf(why, size,
			"together the node does %.2f times the work (%.2f to %.2f), which may be "
			"a gain or a loss: run longer, with more --time or --rounds",
			stp->mean, stp->lo, stp->hi);
}

static void judge_pair(const struct trial *t, struct trial_pair *p)
{
	double v[TRIAL_ROUNDS_MAX];

	for (int i = 0; i < RUNNER_SLOTS; i++) {
		for (int k = 0; k < t->rounds; k++)
			v[k] = trial_round_loss(t, p, i, k);
		p->loss[i] = trial_mean(v, t->rounds);
	}
	for (int k = 0; k < t->rounds; k++)
		v[k] = trial_round_stp(t, p, k);
	p->stp = trial_mean(v, t->rounds);
	p->verdict = verdict(&p->stp);
	if (isnan(p->stp.mean))
		say_unknown(t, p, p->why, sizeof(p->why));
	else
		say(&p->stp, p->verdict, p->why, sizeof(p->why));
}

static const struct trial_pair *pair_of(const struct trial *t, int a, int b)
{
	for (int i = 0; i < t->pairs; i++)
		if (t->pair[i].program[0] == a && t->pair[i].program[1] == b)
			return &t->pair[i];
	return NULL;
}

/* Hours for all programs, an hour of work each, with the pairs chosen and one end of their STP. An
 * interval of few rounds may end below 0, where nothing is ever done. */
static double hours(const struct trial *t, double (*end)(const struct trial_figure *))
{
	double sum = 0;

	for (int i = 0; i < t->programs; i++) {
		double stp;

		if (t->partner[i] > i) {
			stp = end(&pair_of(t, i, t->partner[i])->stp);
			sum += stp <= 0 ? INFINITY : 2 / stp;
		} else if (t->partner[i] == i) {
			sum++;
		}
	}
	return sum;
}

static double end_mean(const struct trial_figure *f)
{
	return f->mean;
}

static double end_lo(const struct trial_figure *f)
{
	/* Less than no work is none, and takes for ever. */
	return f->lo > 0 || isnan(f->lo) ? f->lo : 0;
}

static double end_hi(const struct trial_figure *f)
{
	return f->hi;
}

static void choose(struct trial *t)
{
	double together[TRIAL_PROGRAMS_MAX * TRIAL_PROGRAMS_MAX];

	for (int i = 0; i < TRIAL_PROGRAMS_MAX * TRIAL_PROGRAMS_MAX; i++)
		together[i] = NAN;
	for (int i = 0; i < t->pairs; i++)
		together[t->pair[i].program[0] * t->programs + t->pair[i].program[1]] =
			2 / t->pair[i].stp.mean;
	matching_best(together, t->programs, t->partner);
}

/* With more than two programs: the pairing is worth it where one of its pairs certainly is and none
 * may be a loss; nothing is where each pair certainly loses. */
static void judge_all(struct trial *t)
{
	int gain = 0, loss = 0, chosen = 0, sure = 0;

	for (int i = 0; i < t->pairs; i++) {
		const struct trial_pair *p = &t->pair[i];
		bool best = t->partner[p->program[0]] == p->program[1];

		gain += best && p->verdict == TRIAL_COLOCATE;
		chosen += best;
		loss += p->verdict == TRIAL_DO_NOT;
		sure += certain(&p->stp);
	}
	t->stp = (struct trial_figure){t->programs / hours(t, end_mean),
		t->programs / hours(t, end_lo), t->programs / hours(t, end_hi)};
	if (loss == t->pairs) {
		t->verdict = TRIAL_DO_NOT;
		snprintf(t->why, sizeof(t->why),
			"each pair does less work together than one after the other");
	} else if (chosen && gain == chosen) {
		t->verdict = TRIAL_COLOCATE;
		snprintf(t->why, sizeof(t->why),
			"with the best pairing the node does %.2f times the work that it does one "
			"after the other",
			t->stp.mean);
	} else {
		t->verdict = TRIAL_UNCERTAIN;
		snprintf(t->why, sizeof(t->why),
			sure == t->pairs ? "no pairing certainly gains: run longer, with more "
					   "--time or --rounds"
					 : "the work of some pairs is not known well enough: give "
					   "more --time or --rounds");
	}
}

/* Their load differs from phase to phase, and an interval over few rounds does not show that. */
static void doubt(const struct trial *t, enum trial_verdict *verdict, char *why, size_t size)
{
	if (*verdict == TRIAL_UNCERTAIN || !(t->others > TRIAL_OTHERS_MOST))
		return;
	*verdict = TRIAL_UNCERTAIN;
	snprintf(why, size,
		"other processes used %.0f %% of the cores meanwhile: try it where nothing else "
		"runs",
		t->others * 100);
}

static void judge_pairs(struct trial *t)
{
	for (int i = 0; i < t->pairs; i++)
		judge_pair(t, &t->pair[i]);
	choose(t);
	if (t->programs > 2) {
		judge_all(t);
		return;
	}
	t->stp = t->pair[0].stp;
	t->verdict = t->pair[0].verdict;
	snprintf(t->why, sizeof(t->why), "%s", t->pair[0].why);
}

void trial_judge(struct trial *t)
{
	judge_pairs(t);
	doubt(t, &t->verdict, t->why, sizeof(t->why));
	for (int i = 0; i < t->pairs; i++)
		doubt(t, &t->pair[i].verdict, t->pair[i].why, sizeof(t->pair[i].why));
}

const char *trial_verdict_name(enum trial_verdict v)
{
	static const char *const names[] = {
		[TRIAL_UNCERTAIN] = "uncertain",
		[TRIAL_COLOCATE] = "colocate",
		[TRIAL_DO_NOT] = "do-not",
	};

	return names[v];
}
