/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether jobs take turns, by what blocks have shown of them. */
#include "poppa/measure/turns.h"

#include <math.h>

#include "common/units.h"

/* A job is judged by so many standard errors. */
#define SURE 2

void turns_add(struct turns_blocks *b, uint64_t group, double degradation, int64_t now_ns)
{
	if (!isfinite(degradation))
		return;
	if (b->group != group)
		*b = (struct turns_blocks){.group = group};
	b->degradation[b->count++ % TURNS_KEPT] = fmin(fmax(degradation, -1), 1);
	b->last_ns = now_ns;
}

/* The mean of the last blocks, `most` at most, and its standard error. */
static double mean_of(const struct turns_blocks *b, int most, double *error)
{
	int n = b->count < (uint64_t)most ? (int)b->count : most;
	double sum = 0, squares = 0, mean;

	for (int i = 1; i <= n; i++)
		sum += b->degradation[(b->count - (uint64_t)i) % TURNS_KEPT];
	mean = sum / n;
	for (int i = 1; i <= n; i++) {
		double off = b->degradation[(b->count - (uint64_t)i) % TURNS_KEPT] - mean;

		squares += off * off;
	}
	*error = sqrt(squares / (n - 1) / n);
	return mean;
}

double turns_gain(int jobs, int64_t turn_ns, double degradation)
{
	double beside = 1 - degradation, probes = 1.0 / TURNS_PROBE_EVERY;
	double alone = 1 - (double)TURNS_SWITCH_NS / (double)turn_ns;

	return (1 - probes) * (alone / jobs - beside);
}

static bool gains_surely(const struct turns_job *j, uint64_t group, int jobs, int64_t turn_ns)
{
	double mean, error;

	if (!j->fit || j->blocks->group != group || j->blocks->count < TURNS_BLOCKS)
		return false;
	/* By turns it would lose more than it may. */
	if (j->limit > 0 && j->limit < 1 - 1.0 / jobs)
		return false;
	mean = mean_of(j->blocks, TURNS_KEPT, &error);
	if (!isnan(j->lo) && turns_gain(jobs, turn_ns, j->lo) < TURNS_LEAST_GAIN)
		return false;
	return turns_gain(jobs, turn_ns, mean - SURE * error) >= TURNS_LEAST_GAIN;
}

/* Whether a job no longer gains by turns, or does not show it. A few blocks that something else has
 * spoilt move the mean, and with it its error. */
static bool has_enough(
	const struct turns_job *j, int jobs, int64_t turn_ns, int64_t began_ns, int64_t now_ns)
{
	int64_t seen = j->blocks->last_ns > began_ns ? j->blocks->last_ns : began_ns;
	double error, mean = mean_of(j->blocks, TURNS_LAST, &error);

	return now_ns - seen > TURNS_BLIND_S * NS_PER_S ||
	       turns_gain(jobs, turn_ns, mean + error) < 0;
}

bool turns_look(struct turns *t, uint64_t group, const struct turns_job *job, int jobs,
	int64_t turn_ns, int64_t now_ns)
{
	bool was = t->on, all, fit, enough = false;

	if (t->group != group)
		*t = (struct turns){.group = group};
	all = fit = jobs > 1 && turn_ns > 0 && !t->slices;
	for (int i = 0; i < jobs && turn_ns > 0; i++) {
		all = all && gains_surely(&job[i], group, jobs, turn_ns);
		fit = fit && job[i].fit;
		enough = enough ||
			 (t->on && has_enough(&job[i], jobs, turn_ns, t->began_ns, now_ns));
	}
	if (t->on && fit && !enough)
		return !was;
	if (t->on) {
		t->on = false;
		t->sure_ns = 0;
		if (enough)
			t->rest_ns = now_ns + TURNS_REST_S * NS_PER_S;
	}
	if (!all || now_ns < t->rest_ns)
		t->sure_ns = 0;
	else if (!t->sure_ns)
		t->sure_ns = now_ns;
	else if (now_ns - t->sure_ns >= TURNS_SURE_S * NS_PER_S) {
		t->on = true;
		t->began_ns = now_ns;
	}
	return t->on != was;
}

/* How many slices keep a job of degradation d below its limit: more than TURNS_MOST_ALONE where so
 * many do not. */
static int slices_for(double d, double limit)
{
	double most = limit * (1 - TURNS_SPARE);

	return d > most ? (int)ceil(TURNS_CYCLE * (1 - most / d)) : 0;
}

/* How many the job needs; it has so many now. */
static int slices_needed(const struct turns_job *j, uint64_t group, int has)
{
	double mean, last, error, last_error;

	if (!(j->limit > 0) || !j->trusted || j->blocks->group != group ||
		j->blocks->count < TURNS_PROBATION)
		return 0;
	mean = mean_of(j->blocks, TURNS_KEPT, &error);
	if (!has && mean - SURE * error <= j->limit)
		return 0;
	last = mean_of(j->blocks, TURNS_LAST, &last_error);
	return has && last + SURE * last_error <= j->limit ? 0 : slices_for(mean + error, j->limit);
}

/* Whether job a came before job b. */
static bool came_before(const struct turns_job *job, int a, int b)
{
	return job[a].since < job[b].since || (job[a].since == job[b].since && a < b);
}

/* What the job certainly loses if it is held for this share of the time. */
static double loses_held(const struct turns_job *j, uint64_t group, double held)
{
	double d = 0, error;

	if (j->trusted && j->blocks->group == group && j->blocks->count >= TURNS_PROBATION)
		d = mean_of(j->blocks, TURNS_KEPT, &error) - SURE * error;
	return held + (1 - held) * fmax(d, 0);
}

/* Whether the others can be held for so many slices for the job: all of them, and none that came
 * before it for more than its own limit. *last: out, they all came before. */
static bool can_hold(
	const struct turns_job *job, int jobs, uint64_t group, int i, int slices, bool *last)
{
	double held = (double)slices / TURNS_CYCLE;
	bool can = true;

	*last = true;
	for (int k = 0; k < jobs; k++) {
		if (k == i)
			continue;
		can = can && job[k].holdable;
		if (!came_before(job, k, i))
			*last = false;
		else if (job[k].limit > 0 && loses_held(&job[k], group, held) > job[k].limit)
			can = false;
	}
	return can;
}

bool turns_limits(struct turns *t, const struct turns_job *job, int jobs, int64_t now_ns)
{
	int favoured = -1, slices = 0, step = TURNS_CYCLE / 16;
	bool was = t->slices, changed, last = false;
	uint64_t unkept = 0, leave = 0;

	for (int i = 0; i < jobs && jobs > 1; i++) {
		int n = slices_needed(&job[i], t->group, was && t->favoured == i ? t->slices : 0);
		int given = n < TURNS_MOST_ALONE ? n : TURNS_MOST_ALONE;
		bool can = n > 0 && can_hold(job, jobs, t->group, i, given, &last);

		if (n > TURNS_MOST_ALONE || (n && !can))
			unkept |= UINT64_C(1) << i;
		if (can && last && n > TURNS_NEWCOMER)
			leave |= UINT64_C(1) << i;
		if (!can || (favoured >= 0 && came_before(job, favoured, i)))
			continue;
		favoured = i;
		slices = given;
	}
	/* Whoever is held loses that time, too. */
	for (int i = 0; i < jobs && slices; i++)
		if (i != favoured && job[i].limit > 0 &&
			loses_held(&job[i], t->group, (double)slices / TURNS_CYCLE) > job[i].limit)
			unkept |= UINT64_C(1) << i;
	t->leave = leave | unkept;
	t->unkept = unkept;
	changed = !was != !slices || (slices && favoured != t->favoured) ||
		  slices >= t->slices + step / 2 || slices <= t->slices - step;
	if (!changed)
		return false;
	t->slices = slices;
	t->favoured = favoured;
	if (slices && t->on) {
		t->on = false;
		t->sure_ns = 0;
	}
	if (slices && !was)
		t->began_ns = now_ns;
	return true;
}

void turns_slice(
	const struct schedule *s, int64_t turn_ns, int64_t wall_ns, struct turns_slice *out)
{
	uint64_t number = (uint64_t)(wall_ns / turn_ns);
	uint64_t cycle = number / TURNS_PROBE_EVERY, at = number % TURNS_PROBE_EVERY;

	out->begins_ns = (int64_t)number * turn_ns;
	out->ends_ns = out->begins_ns + turn_ns;
	out->runs = -1;
	if (at < TURNS_PROBE_EVERY - 1)
		out->runs = schedule_turn(s, cycle * (TURNS_PROBE_EVERY - 1) + at);
}

void turns_slice_alone(const struct schedule *s, int64_t turn_ns, int job, int slices,
	int64_t wall_ns, struct turns_slice *out)
{
	const struct schedule_seed *seed = &s->job[job].seed;
	uint64_t number = (uint64_t)(wall_ns / turn_ns), at = number % TURNS_CYCLE, place = 0;

	/* Bits in reverse order (van der Corput), so that no job is held for long on end; and where
	 * that begins is another place in each cycle. */
	for (uint64_t bit = TURNS_CYCLE / 2; bit; bit /= 2, at /= 2)
		place += at % 2 * bit;
	place = (place + schedule_cycle(seed, number / TURNS_CYCLE)) % TURNS_CYCLE;
	out->begins_ns = (int64_t)number * turn_ns;
	out->ends_ns = out->begins_ns + turn_ns;
	out->runs = place < (uint64_t)slices ? job : -1;
}
