/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pairs of classes gain by sharing nodes, measured and expected, for a report's JSON and map.
 */
#include <ctype.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/record/fields.h"
#include "cli/bills/report.h"
#include "common/printable.h"
#include "striping/history/job_class.h"

#define SHOWN 12 /* classes */
#define SECONDS_AN_HOUR 3600.0
/* The map's cells, in its own units: of 900 that the page's plots are wide. */
#define LEFT 250.0
#define TOP 46.0
#define CELL_WIDTH 54.0
#define CELL_HEIGHT 40.0

/* A line and a column of the map. */
struct axis {
	char name[PAIRS_CLASS_MAX + 32];
	int measured; /* its number among the gains' classes, -1 = none */
	int known;    /* and among those of the history */
	double shared_s, known_s;
};

struct axes {
	struct axis *axis;
	int count;
	bool more; /* than SHOWN */
};

/* Seconds that the history has of each class, with its variants: bills tell no sizes; below 0, also
 * as -0, of one that is listed already.
 */
struct known_times {
	const struct known_pairs *known;
	double *seconds;
	const char *user; /* the last one that was looked up: classes come by user */
	bool has_uid;
	uid_t uid;
};

static void add_time(const struct pairs_row *row, void *arg)
{
	struct known_times *t = arg;
	char class[PAIRS_CLASS_MAX];
	int at;

	snprintf(class, sizeof(class), "%.*s", (int)class_base(row->job), row->job);
	at = known_pairs_find(t->known, class);
	if (at >= 0)
		t->seconds[at] += row->seconds;
}

static void look_up(struct known_times *t, const char *user)
{
	const struct passwd *pw;

	if (t->user && !strcmp(t->user, user))
		return;
	pw = getpwnam(user);
	t->user = user;
	t->has_uid = pw;
	t->uid = pw ? pw->pw_uid : 0;
}

/* The history's class of what bills show: of the user's own, or everybody's of that name. */
static int known_class(struct known_times *t, const struct gain_class *c)
{
	struct job_kind kind = {.class_name = c->named ? c->program : NULL, .job_name = c->program};
	char name[PAIRS_CLASS_MAX];
	int at = -1;

	look_up(t, c->user);
	kind.uid = t->uid;
	if (t->has_uid) {
		job_class(t->known->pairs, &kind, name);
		at = known_pairs_find(t->known, name);
	}
	if (at < 0 && c->named) {
		kind.shared = true;
		job_class(t->known->pairs, &kind, name);
		at = known_pairs_find(t->known, name);
	}
	return at;
}

/* "12/lammps" and "12:weather" with the user's name, where there is one. */
static void name_known(struct axis *a, const char *class)
{
	char *rest;
	unsigned long uid = strtoul(class, &rest, 10);
	const struct passwd *pw = NULL;

	if (isdigit((unsigned char)*class) && *rest && strchr("/:@", *rest))
		pw = getpwuid((uid_t)uid);
	snprintf(a->name, sizeof(a->name), "%.31s%s", pw ? pw->pw_name : "", pw ? rest : class);
	plain_text(a->name);
}

static int compare_axes(const void *a, const void *b)
{
	const struct axis *x = a, *y = b;

	if (x->shared_s != y->shared_s)
		return x->shared_s < y->shared_s ? 1 : -1;
	if (x->known_s != y->known_s)
		return x->known_s < y->known_s ? 1 : -1;
	return x->measured != y->measured ? x->measured - y->measured : x->known - y->known;
}

static void add_measured(struct axes *axes, const struct report *r, struct known_times *t)
{
	const struct gains *g = &r->summary->gains;

	for (int i = 0; i < g->classes; i++) {
		const struct gain_class *c = &g->class[i];
		struct axis *a = &axes->axis[axes->count++];

		*a = (struct axis){.measured = i, .known = -1, .shared_s = c->shared_s};
		snprintf(a->name, sizeof(a->name), "%.31s%c%.*s", c->user, c->named ? ':' : '/',
			PAIRS_CLASS_MAX - 1, c->program);
		plain_text(a->name); /* what was cut may be half a character */
		if (r->known)
			a->known = known_class(t, c);
		if (a->known >= 0) {
			a->known_s = fabs(t->seconds[a->known]);
			t->seconds[a->known] = -a->known_s;
		}
	}
}

static void add_known(struct axes *axes, const struct known_times *t)
{
	for (int i = 0; i < t->known->classes; i++) {
		struct axis *a = &axes->axis[axes->count];

		const char *name = t->known->class[i];

		if (signbit(t->seconds[i]) || name[class_base(name)] ||
			!known_pairs_shows(t->known, name))
			continue;
		*a = (struct axis){.measured = -1, .known = i, .known_s = t->seconds[i]};
		axes->count++;
	}
}

/* The classes that shared nodes for longest, and then those that the history knows best. The caller
 * frees axes->axis. 0, or -1 without memory. */
static int find_axes(const struct report *r, struct axes *axes)
{
	int known = r->known ? r->known->classes : 0;
	struct known_times t = {
		.known = r->known, .seconds = calloc((size_t)known + 1, sizeof(double))};

	*axes = (struct axes){.axis = calloc((size_t)(r->summary->gains.classes + known) + 1,
				      sizeof(struct axis))};
	if (!axes->axis || !t.seconds) {
		free(axes->axis);
		free(t.seconds);
		return -1;
	}
	if (known)
		pairs_each(r->known->pairs, add_time, &t);
	add_measured(axes, r, &t);
	if (known)
		add_known(axes, &t);
	free(t.seconds);
	qsort(axes->axis, (size_t)axes->count, sizeof(*axes->axis), compare_axes);
	axes->more = axes->count > SHOWN;
	axes->count = axes->more ? SHOWN : axes->count;
	for (int i = 0; i < axes->count; i++)
		if (axes->axis[i].measured < 0)
			name_known(&axes->axis[i], r->known->class[axes->axis[i].known]);
	return 0;
}

/* What was measured of a pair; NULL = nothing. */
static const struct gain_pair *find_pair(const struct gains *g, int a, int b)
{
	int one = a < b ? a : b, other = a < b ? b : a;

	for (int i = 0; one >= 0 && i < g->pairs; i++)
		if (g->pair[i].one == one && g->pair[i].other == other)
			return &g->pair[i];
	return NULL;
}

static double expected(const struct report *r, const struct axis *a, const struct axis *b)
{
	if (a->known < 0 || b->known < 0)
		return NAN;
	return known_pairs_worth(
		r->known, r->known->class[a->known], r -> known -> class[b->known]);
}

/* A pair with all that is known of it; NULL where that is nothing. */
static json_t *pair_json(const struct report *r, const struct axis *a, const struct axis *b)
{
	static const struct gain none = {.stp = NAN};
	const struct gain_pair *p = find_pair(&r->summary->gains, a->measured, b->measured);
	const struct gain *sure = p ? &p->sure : &none, *unsure = p ? &p->unsure : &none;
	double e = expected(r, a, b);

	if (!p && isnan(e))
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:i, s:f, s:o, s:i, s:o}", "class", a->name, "beside",
		b->name, "measured", field_real_or_null(sure->stp), "pairs", sure->pairs, "hours",
		(sure->shared_s + unsure->shared_s) / SECONDS_AN_HOUR, "uncertain",
		field_real_or_null(unsure->stp), "uncertain_pairs", unsure->pairs, "expected",
		field_real_or_null(e));
}

static json_t *pairs_json(const struct report *r, const struct axes *axes)
{
	json_t *list = json_array();

	for (int i = 0; i < axes->count; i++)
		for (int k = i; k < axes->count; k++) {
			json_t *pair = pair_json(r, &axes->axis[i], &axes->axis[k]);

			if (pair)
				json_array_append_new(list, pair);
		}
	return list;
}

json_t *report_gains(const struct report *r)
{
	struct axes axes;
	json_t *list;

	if (find_axes(r, &axes))
		return NULL;
	list = pairs_json(r, &axes);
	free(axes.axis);
	return json_pack("{s:o, s:b}", "list", list, "more", axes.more);
}

/* The class of a cell, by the shades of src/cli/page/page.css. */
static const char *shade(double stp)
{
	static const double from[] = {0.90, 0.98, 1.02, 1.10, 1.20};
	static const char *const class[] = {"loss2", "loss1", "even", "gain1", "gain2", "gain3"};
	int i = 0;

	while (i < 5 && stp >= from[i])
		i++;
	return class[i];
}

/* "+8": percent that are gained; with a "?" where that is uncertain. */
static json_t *gain_text(double stp, bool sure)
{
	double percent = round(100 * (stp - 1));
	char text[32];

	/* A minus sign, and no hyphen, so that a loss is seen. */
	snprintf(text, sizeof(text), "%s%.0f%s",
		percent < 0   ? "\u2212"
		: percent > 0 ? "+"
			      : "",
		fabs(percent), sure ? "" : "?");
	return json_string(text);
}

/* The part of a cell at x and y that has one number. */
static json_t *cell(const json_t *pair, double stp, bool sure, double x, double y, double height)
{
	return json_pack("{s:O, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:o}", "pair", pair, "x", x, "y",
		y, "width", CELL_WIDTH, "height", height, "text_x", x + CELL_WIDTH / 2, "text_y",
		y + height / 2 + 4, "shade", shade(stp), "text", gain_text(stp, sure));
}

/* A class beside itself has one cell for both: the upper half is what is expected, as above the
 * diagonal, and the lower half what was measured. */
static void add_cells(json_t *map, const json_t *pair, int row, int column)
{
	json_t *measured = json_object_get(pair, "measured"),
	       *uncertain = json_object_get(pair, "uncertain"),
	       *expect = json_object_get(pair, "expected");
	double half = row == column ? CELL_HEIGHT / 2 : 0;
	bool sure = json_is_real(measured);

	if (json_is_real(expect))
		json_array_append_new(json_object_get(map, "expected_cells"),
			cell(pair, json_real_value(expect), true, LEFT + CELL_WIDTH * column,
				TOP + CELL_HEIGHT * row, CELL_HEIGHT - half));
	if (sure || json_is_real(uncertain))
		json_array_append_new(json_object_get(map, "measured_cells"),
			cell(pair, json_real_value(sure ? measured : uncertain), sure,
				LEFT + CELL_WIDTH * row, TOP + CELL_HEIGHT * column + half,
				CELL_HEIGHT - half));
}

static json_t *lines(const struct axes *axes)
{
	json_t *list = json_array();

	for (int i = 0; i < axes->count; i++) {
		double left = LEFT + CELL_WIDTH * i, top = TOP + CELL_HEIGHT * i;

		json_array_append_new(
			list, json_pack("{s:i, s:s, s:f, s:f, s:f, s:f}", "number", i + 1, "name",
				      axes->axis[i].name, "x", left + CELL_WIDTH / 2, "y",
				      top + CELL_HEIGHT / 2 + 4, "left", left, "top", top));
	}
	return list;
}

json_t *report_gains_map(const struct report *r)
{
	json_t *map, *all;
	struct axes axes;

	if (find_axes(r, &axes))
		return NULL;
	all = pairs_json(r, &axes);
	map = json_pack("{s:b, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:[], s:[]}", "history",
		r->known != NULL, "shown", SHOWN, "from_x", LEFT, "from_y", TOP, "to_x",
		LEFT + CELL_WIDTH * axes.count, "to_y", TOP + CELL_HEIGHT * axes.count, "height",
		TOP + CELL_HEIGHT * axes.count + 8, "cell_width", CELL_WIDTH, "cell_height",
		CELL_HEIGHT, "lines", lines(&axes), "measured_cells", "expected_cells");
	for (int i = 0; map && i < axes.count; i++)
		for (int k = i; k < axes.count; k++) {
			json_t *pair = pair_json(r, &axes.axis[i], &axes.axis[k]);

			if (pair)
				add_cells(map, pair, i, k);
			json_decref(pair);
		}
	free(axes.axis);
	if (!json_array_size(all)) {
		json_decref(map);
		map = NULL;
	}
	json_decref(all);
	return map;
}
