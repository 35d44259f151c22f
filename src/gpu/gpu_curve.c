/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads measured times and energies, and adds kernels up. */
#include "gpu/gpu_curve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "columns/columns.h"
#include "statistics/statistics.h"

#define ROWS_MAX 1000000

enum column { UNITS, SECONDS, PROGRAM, KERNEL, ACTIVITY, JOULES, KINDS };

static const char *const names[KINDS] = {
	"units", "seconds", "program", "kernel", "activity", "joules"};

struct row {
	const char *program, *kernel;
	size_t first; /* row that named this program first: programs stay in that order */
	double units, seconds, activity, joules;
};

struct table {
	struct columns columns;
	const struct gpu_power *power;
	struct row *rows;
	size_t count, room;
};

static const char *word(char *const *field, enum column k)
{
	return field[k] ? field[k] : "";
}

static int read_row(void *arg, char *const *field, int line, struct errmsg *err)
{
	struct table *t = arg;
	const struct columns *c = &t->columns;
	struct row r = {word(field, PROGRAM), word(field, KERNEL), t->count, 0, 0, 0, 0};

	if (columns_real(c, field, UNITS, line, 1e-9, 1e6, &r.units, err) ||
		columns_real(c, field, SECONDS, line, 1e-12, 1e9, &r.seconds, err) ||
		columns_real(c, field, ACTIVITY, line, 0, 1, &r.activity, err) ||
		columns_real(c, field, JOULES, line, 0, 1e15, &r.joules, err))
		return -1;
	if (isnan(r.units) || isnan(r.seconds))
		return errmsg_set(err, "%s: line %d: %s is empty", c->name, line,
			names[isnan(r.units) ? UNITS : SECONDS]);
	if (isnan(r.joules) && !isnan(r.activity)) {
		if (r.units > t->power->units)
			return errmsg_set(err,
				"%s: line %d: %g units, but the model of power has %g: say units=%g",
				c->name, line, r.units, t->power->units, r.units);
		r.joules = r.seconds * gpu_power_w(t->power, r.units, r.activity);
	}
	if (t->count == ROWS_MAX)
		return errmsg_set(err, "%s: more than %d lines", c->name, ROWS_MAX);
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct row *more = reallocarray(t->rows, room, sizeof(*more));

		if (!more)
			return errmsg_set(err, "%s: no memory", c->name);
		t->rows = more;
		t->room = room;
	}
	t->rows[t->count++] = r;
	return 0;
}

static int by_program(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	order = strcmp(x->kernel, y->kernel);
	return order ? order : (x->units > y->units) - (x->units < y->units);
}

static int by_units(const void *a, const void *b)
{
	const struct gpu_point *x = a, *y = b;

	return (x->units > y->units) - (x->units < y->units);
}

/* The median of one number of rows that are runs of the same; NAN where one does not have it. */
static double median_of(const struct row *rows, size_t n, double *room, bool joules)
{
	for (size_t i = 0; i < n; i++) {
		room[i] = joules ? rows[i].joules : rows[i].seconds;
		if (isnan(room[i]))
			return NAN;
	}
	return statistics_median(room, (int)n);
}

/* Adds the kernels of one program up, by units. Units that not all kernels have are left out. */
static int add_up(struct gpu_program *p, const struct row *rows, size_t n, double *room)
{
	size_t kernels = 0, *seen = calloc(n, sizeof(*seen));

	p->name = strdup(*rows->program ? rows->program : "all");
	p->points = calloc(n, sizeof(*p->points));
	if (!seen || !p->name || !p->points) {
		free(seen);
		return -1;
	}
	for (size_t i = 0, same; i < n; i += same) {
		size_t at = 0;

		for (same = 1; i + same < n && !strcmp(rows[i].kernel, rows[i + same].kernel) &&
			       rows[i + same].units <= rows[i].units;)
			same++;
		kernels += !i || strcmp(rows[i].kernel, rows[i - 1].kernel);
		while (at < p->count && (p->points[at].units < rows[i].units ||
						p->points[at].units > rows[i].units))
			at++;
		if (at == p->count)
			p->points[p->count++].units = rows[i].units;
		p->points[at].seconds += median_of(&rows[i], same, room, false);
		p->points[at].joules += median_of(&rows[i], same, room, true);
		seen[at]++;
	}
	for (size_t i = p->count; i--;)
		if (seen[i] < kernels)
			p->points[i] = p->points[--p->count];
	free(seen);
	qsort(p->points, p->count, sizeof(*p->points), by_units);
	return 0;
}

static int build(struct gpu_curves *c, struct table *t, struct errmsg *err)
{
	double *room = malloc((t->count + 1) * sizeof(*room));
	size_t end;

	c->programs = calloc(t->count + 1, sizeof(*c->programs));
	if (!room || !c->programs) {
		free(room);
		return errmsg_set(err, "%s: no memory", t->columns.name);
	}
	qsort(t->rows, t->count, sizeof(*t->rows), by_program);
	for (size_t i = 1; i < t->count; i++)
		if (!strcmp(t->rows[i].program, t->rows[i - 1].program))
			t->rows[i].first = t->rows[i - 1].first;
	qsort(t->rows, t->count, sizeof(*t->rows), by_place);
	for (size_t i = 0; i < t->count; i = end) {
		for (end = i; end < t->count && t->rows[end].first == t->rows[i].first;)
			end++;
		if (add_up(&c->programs[c->count++], &t->rows[i], end - i, room)) {
			free(room);
			return errmsg_set(err, "%s: no memory", t->columns.name);
		}
		if (!c->programs[c->count - 1].count) {
			free(room);
			return errmsg_set(err,
				"%s: program \"%s\": no number of units has all its kernels",
				t->columns.name, c->programs[c->count - 1].name);
		}
	}
	free(room);
	return 0;
}

int gpu_curves_parse(struct gpu_curves *curves, const char *name, const char *text,
	const struct gpu_power *power, struct errmsg *err)
{
	struct table t = {.columns = {name, names, KINDS, SECONDS + 1,
				  "program,kernel,units,seconds,activity"},
		.power = power};
	char *copy = strdup(text);
	int rc;

	*curves = (struct gpu_curves){0};
	if (!copy)
		return errmsg_set(err, "%s: no memory", name);
	rc = columns_read(&t.columns, copy, read_row, &t, err);
	if (!rc)
		rc = build(curves, &t, err);
	if (rc)
		gpu_curves_release(curves);
	free(t.rows);
	free(copy);
	return rc;
}

void gpu_curves_release(struct gpu_curves *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->programs[i].name);
		free(c->programs[i].points);
	}
	free(c->programs);
	*c = (struct gpu_curves){0};
}
