/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits cycles per instruction to misses per instruction, and judges the line. */
#include "poppa/estimate/miss_model.h"

#include <math.h>

#include "poppa/estimate/estimator_state.h"

#define LEAST_WINDOWS 2
#define ORIGIN_SIGMAS 2
#define ROUNDING 1e-6

/* Adds *b to *a (Chan, Golub and LeVeque 1979, pairwise updates), which loses no digits where all
 * values are nearly alike. */
static void merge(struct miss_moments *a, const struct miss_moments *b)
{
	double weight = a->weight + b->weight, share, dx = b->x - a->x, dy = b->y - a->y;

	if (!(b->weight > 0))
		return;
	share = b->weight / weight;
	a->xx += b->xx + dx * dx * a->weight * share;
	a->xy += b->xy + dx * dy * a->weight * share;
	a->yy += b->yy + dy * dy * a->weight * share;
	a->x += dx * share;
	a->y += dy * share;
	a->weight = weight;
}

/* NANs fail every comparison. */
static bool possible(const struct miss_window *w)
{
	return w->instructions > 0 && w->instructions < MISS_MOST_COUNT && w->cycles > 0 &&
	       w->cycles < MISS_MOST_CPI * w->instructions && w->misses >= 0 &&
	       w->misses <= w->instructions;
}

bool miss_model_add(struct miss_model *model, const struct miss_window *w, int n)
{
	struct miss_moments block = {0};
	int used = 0;

	for (int i = 0; i < n; i++) {
		struct miss_moments one = {.weight = w[i].instructions};

		if (!possible(&w[i]))
			continue;
		one.x = w[i].misses / one.weight;
		one.y = w[i].cycles / one.weight;
		merge(&block, &one);
		used++;
	}
	if (used < LEAST_WINDOWS)
		return false;
	merge(&model->group[model->blocks++ % MISS_GROUPS], &block);
	return true;
}

static void slope(const struct miss_moments *s, double *b, double *m)
{
	*m = s->xx > 0 ? s->xy / s->xx : NAN;
	*b = s->y - *m * s->x;
}

/* The delete-one-group jackknife. */
static void errors(const struct miss_model *model, struct miss_fit *out)
{
	double b_sum = 0, m_sum = 0;

	out->b_error = out->m_error = NAN;
	if (model->blocks < MISS_GROUPS)
		return;
	for (int left_out = 0; left_out < MISS_GROUPS; left_out++) {
		struct miss_moments rest = {0};
		double b, m;

		for (int g = 0; g < MISS_GROUPS; g++)
			if (g != left_out)
				merge(&rest, &model->group[g]);
		slope(&rest, &b, &m);
		b_sum += (b - out->b) * (b - out->b);
		m_sum += (m - out->m) * (m - out->m);
	}
	out->b_error = sqrt(b_sum * (MISS_GROUPS - 1) / MISS_GROUPS);
	out->m_error = sqrt(m_sum * (MISS_GROUPS - 1) / MISS_GROUPS);
}

/* What is NAN is not accepted. x: the mean. */
static bool acceptable(const struct miss_fit *l, double x)
{
	double steepest_b = l->b - (l->m / l->r2 - l->m) * x;

	return l->blocks >= MISS_LEAST_BLOCKS && l->r2 >= MISS_LEAST_R2 && l->m > 0 &&
	       l->m <= MISS_MOST_CYCLES && l->m_error <= MISS_MOST_ERROR * l->m && l->b > 0 &&
	       l->b <= MISS_MOST_CPI && steepest_b > ORIGIN_SIGMAS * l->b_error;
}

void miss_model_line(const struct miss_model *model, struct miss_fit *out)
{
	struct miss_moments all = {0};

	for (int g = 0; g < MISS_GROUPS; g++)
		merge(&all, &model->group[g]);
	out->blocks = model->blocks;
	slope(&all, &out->b, &out->m);
	out->r2 = all.xy * all.xy / (all.xx * all.yy);
	errors(model, out);
	out->accepted = acceptable(out, all.x);
}

static const struct state_field fields[] = {
	STATE_WHOLE(struct miss_model, blocks), STATE_REAL(struct miss_model, group)};

json_t *miss_model_save(const struct miss_model *model)
{
	json_t *json = json_object();

	state_save(fields, STATE_COUNT(fields), model, json);
	return json;
}

static bool consistent(const struct miss_moments *s)
{
	return s->weight >= 0 && isfinite(s->weight) && s->x >= 0 && s->x <= 1 && s->y >= 0 &&
	       s->y <= MISS_MOST_CPI && s->xx >= 0 && isfinite(s->xx) && s->yy >= 0 &&
	       isfinite(s->yy) && s->xy * s->xy <= s->xx * s->yy * (1 + ROUNDING);
}

int miss_model_load(struct miss_model *model, const json_t *json)
{
	struct miss_model next;

	if (state_load(fields, STATE_COUNT(fields), json, &next))
		return -1;
	for (int g = 0; g < MISS_GROUPS; g++)
		if (!consistent(&next.group[g]))
			return -1;
	*model = next;
	return 0;
}
