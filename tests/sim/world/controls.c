/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes a matrix into that of a control. */
#include "sim/world/controls.h"

#include <math.h>
#include <string.h>

#include "sim/world/draw.h"

int controls_parse(const char *text, struct controls *c, struct errmsg *err)
{
	const struct {
		const char *name;
		bool *is;
	} known[] = {{"permuted", &c->permuted}, {"additive", &c->additive}, {"zero", &c->zero},
		{"names", &c->names}, {"drift", &c->drift}};

	*c = (struct controls){.zero = false};
	while (*text) {
		size_t length = strcspn(text, ","), i;

		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i].name) == length &&
				!strncmp(known[i].name, text, length))
				break;
		if (i == sizeof(known) / sizeof(known[0]))
			return errmsg_set(err,
				"--control %.*s is unknown: choose among " CONTROLS_NAMES,
				(int)length, text);
		if (*known[i].is)
			return errmsg_set(err, "--control: %s is there twice", known[i].name);
		*known[i].is = true;
		text += length + (text[length] == ',');
	}
	if (c->permuted + c->additive + c->zero > 1)
		return errmsg_set(err,
			"--control: permuted, additive and zero each replace the matrix: give one "
			"of them, and run the simulator once for each");
	return 0;
}

static void permute(struct matrix *m, uint64_t seed)
{
	for (int i = 0; i < m->count; i++)
		for (int j = m->count - 1; j > 0; j--) {
			double *row = m->speed + i * m->count, old = row[j];
			int k = draw_below(seed, DRAW_MATRIX, (uint64_t)i, (uint64_t)j, j + 1);

			row[j] = row[k];
			row[k] = old;
		}
}

/* The mean of a row's or a column's logarithms. */
static double mean_log(const double *first, int step, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += log(first[i * step]);
	return sum / count;
}

static void make_additive(struct matrix *m)
{
	double row[MATRIX_MAX], column[MATRIX_MAX], all = 0;

	for (int i = 0; i < m->count; i++) {
		row[i] = mean_log(m->speed + i * m->count, 1, m->count);
		column[i] = mean_log(m->speed + i, m->count, m->count);
		all += row[i] / m->count;
	}
	for (int i = 0; i < m->count; i++)
		for (int j = 0; j < m->count; j++)
			m->speed[i * m->count + j] = exp(row[i] + column[j] - all);
}

void controls_apply(const struct controls *c, uint64_t seed, struct matrix *m)
{
	if (c->permuted)
		permute(m, seed);
	if (c->additive)
		make_additive(m);
	matrix_derive(m);
	for (int i = 0; c->zero && i < m->count; i++)
		for (int j = 0; j < m->count; j++)
			m->speed[i * m->count + j] = m->alone[i];
	matrix_derive(m);
}
