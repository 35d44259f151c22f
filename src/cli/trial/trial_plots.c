/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of what a trial's plots show: hours of work, and figures with their intervals. */
#include "cli/trial/trial_plots.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/ask/number_text.h"
#include "cli/ask/value_text.h"
#include "cli/page/page_axis.h"

/* Units of the plots' boxes. page/trial.html draws the frames and has the same numbers. */
#define WIDTH 900
#define TIME_LEFT 130
#define TIME_RIGHT 70
#define TIME_TOP 38
#define BAR 44 /* of all lanes; what runs on one lane has half of it */
#define BAR_GAP 22
#define LEFT 110
#define RIGHT 210 /* for the figures in words */
#define TOP 48
#define ROW 30
#define STEPS 8
#define HOUR 60.0 /* minutes */

static double minutes(const json_t *unit, size_t i)
{
	const json_t *v = json_array_get(json_object_get(unit, "minutes"), i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* What runs on the lanes from lane on; class says how it is filled. */
static void add_bar(json_t *bars, const char *class, json_t *letter, const double box[4])
{
	json_array_append_new(
		bars, json_pack("{s:s, s:O, s:f, s:f, s:f, s:f, s:f, s:f}", "class", class,
			      "letter", letter, "x", box[0], "y", box[1], "width", fmax(box[2], 1),
			      "height", box[3], "text_x", box[0] + box[2] / 2, "text_y",
			      box[1] + box[3] / 2 + 4.5));
}

/* A unit in the line of one after the other (a bar for each program), or in that of together. */
static double add_unit(
	json_t *bars, const json_t *unit, double scale, double x, double y, bool together)
{
	json_t *programs = json_object_get(unit, "programs"), *letter;
	double width = scale * (together ? minutes(unit, 0) : HOUR), half = (BAR - 2) / 2.0;
	bool split = together && json_array_size(programs) > 1;
	size_t i;

	json_array_foreach(programs, i, letter)
	{
		double lower = split && i ? half + 2 : 0;

		add_bar(bars, i ? "lane1" : "lane0", letter,
			(const double[]){x, y + lower, width - 1, split ? half : BAR});
		x += split ? 0 : width;
	}
	return split ? x + width : x;
}

static json_t *time_line(
	const json_t *units, const char *name, double scale, double y, bool together)
{
	json_t *bars = json_array();
	const json_t *unit;
	double x = TIME_LEFT;
	size_t i;

	json_array_foreach(units, i, unit) x = add_unit(bars, unit, scale, x, y, together);
	return json_pack("{s:s, s:o, s:f, s:f, s:f}", "name", name, "bars", bars, "end", x + 8,
		"text_y", y + BAR / 2.0 + 4.5, "minutes", (x - TIME_LEFT) / scale);
}

static json_t *time_ticks(double most, double scale, double bottom)
{
	double step = page_axis_step(most, STEPS);
	json_t *list = json_array();

	step = fmax(15, 15 * ceil(step / 15));
	for (double v = 0; v <= most * 1.0001; v += step)
		json_array_append_new(list, json_pack("{s:f, s:f, s:f}", "x", TIME_LEFT + scale * v,
						    "minutes", v, "bottom", bottom));
	return list;
}

/* The interval of the time together, below its bar; only one pair has one. */
static json_t *time_interval(const json_t *units, double scale, double y)
{
	const json_t *unit = json_array_get(units, 0);
	double least = minutes(unit, 1), most = minutes(unit, 2);

	if (json_array_size(units) != 1 || !isfinite(least) || !isfinite(most) || most > 10 * HOUR)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "from", TIME_LEFT + scale * least, "to",
		TIME_LEFT + scale * most, "y", y, "above", y - 4, "below", y + 4);
}

json_t *trial_plot_time(const json_t *units, size_t programs)
{
	double most = HOUR * (double)programs, together = 0, scale,
	       second = TIME_TOP + BAR + BAR_GAP;
	const json_t *unit, *only = json_array_get(units, 0);
	size_t i;

	json_array_foreach(units, i, unit) together += minutes(unit, 0);
	most = fmax(most, together);
	if (json_array_size(units) == 1 && minutes(only, 2) < 10 * HOUR)
		most = fmax(most, minutes(only, 2));
	scale = (WIDTH - TIME_LEFT - TIME_RIGHT) / most;
	return json_pack("{s:f, s:o, s:o, s:[o, o]}", "height", second + BAR + 16, "ticks",
		time_ticks(most, scale, second + BAR + 14), "interval",
		time_interval(units, scale, second + BAR + 8), "lines",
		time_line(units, "one after the other", scale, TIME_TOP, false),
		time_line(units, "together", scale, second, true));
}

/* Figures with intervals, a line each, against a line at what makes no difference. */
struct figures {
	double even;      /* what makes no difference */
	double unit;      /* 100 where the axis has percent */
	bool known;       /* whether any figure is */
	double low, high; /* of the axis: all that is sensible is within */
	double step;
	json_t *rows;
};

static double place(const struct figures *f, double v)
{
	return LEFT + (WIDTH - RIGHT - LEFT) * (fmin(fmax(v, f->low), f->high) - f->low) /
			      (f->high - f->low);
}

/* Stretches the axis for a figure, and for an interval as far as it is not absurd. */
static void stretch(struct figures *f, const json_t *figure, double least, double most)
{
	double v = value_real(figure, "v"), lo = value_real(figure, "lo"),
	       hi = value_real(figure, "hi");

	if (isnan(v))
		return;
	f->known = true;
	f->low = fmin(f->low, fmax(isnan(lo) ? v : lo, fmin(v, least)));
	f->high = fmax(f->high, fmin(isnan(hi) ? v : hi, fmax(v, most)));
}

static void finish_axis(struct figures *f)
{
	f->step = page_axis_step(fmax(f->high - f->low, 0.08), STEPS);
	f->low = f->step * floor(f->low / f->step - 0.2);
	f->high = f->step * ceil(f->high / f->step + 0.2);
}

static json_t *figure_ticks(const struct figures *f)
{
	int digits = page_axis_digits(f->unit * f->step);
	json_t *list = json_array();
	struct number_cell c;

	for (double v = f->low; v <= f->high + f->step / 2; v += f->step)
		json_array_append_new(list, json_pack("{s:f, s:s}", "x", place(f, v), "text",
						    number_real(&c, digits, f->unit * v)));
	return list;
}

static void add_row(struct figures *f, json_t *name, const char *between, json_t *second,
	json_t *figure, const char *class)
{
	double y = TOP + ROW * (double)json_array_size(f->rows) + ROW / 2.0;
	double lo = value_real(figure, "lo"), hi = value_real(figure, "hi");
	json_t *dot = json_null(), *bar = json_null();

	if (json_is_object(figure))
		dot = json_pack(
			"{s:f, s:s}", "x", place(f, value_real(figure, "v")), "class", class);
	if (isfinite(lo) && isfinite(hi))
		bar = json_pack("{s:f, s:f}", "from", place(f, lo), "to", place(f, hi));
	json_array_append_new(f->rows,
		json_pack("{s:O, s:s, s:O, s:O, s:f, s:f, s:f, s:f, s:o, s:o}", "name", name,
			"between", between, "other", second, "figure", figure, "y", y, "text_y",
			y + 4, "above", y - 5, "below", y + 5, "dot", dot, "bar", bar));
}

static json_t *figures_json(struct figures *f, const char *id, const char *kind)
{
	double bottom = TOP + ROW * (double)json_array_size(f->rows) + 4;

	return json_pack("{s:s, s:b, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "id", id, kind,
		true, "known", f->known, "height", bottom + 6, "bottom", bottom, "even",
		place(f, f->even), "before", place(f, f->even) - LEFT, "after",
		WIDTH - RIGHT - place(f, f->even), "tall", bottom - TOP + 6, "ticks",
		figure_ticks(f), "rows", f->rows);
}

json_t *trial_plot_stp(const json_t *pairs)
{
	struct figures f = {1, 1, false, 1, 1, 0, json_array()};
	const json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair) stretch(&f, json_object_get(pair, "stp"), 0, 3);
	finish_axis(&f);
	json_array_foreach(pairs, i, pair)
	{
		if (i < TRIAL_PLOT_ROWS)
			add_row(&f, json_object_get(pair, "first"), "and",
				json_object_get(pair, "second"), json_object_get(pair, "stp"),
				"charged");
	}
	return figures_json(&f, "stp", "of_stp");
}

/* The sides of all pairs, those of one program one after the other. */
static json_t *sides(const json_t *pairs)
{
	json_t *list = json_array(), *side;
	const json_t *pair;
	size_t i, k, to;

	json_array_foreach(pairs, i, pair) for (k = 0; k < 2; k++)
	{
		side = json_array_get(json_object_get(pair, "sides"), k);
		for (to = json_array_size(list); to; to--)
			if (strcmp(value_text(json_array_get(list, to - 1), "letter"),
				    value_text(side, "letter")) <= 0)
				break;
		json_array_insert(list, to, side);
	}
	return list;
}

json_t *trial_plot_losses(const json_t *pairs)
{
	struct figures f = {0, 100, false, 0, 0, 0, json_array()};
	json_t *list = sides(pairs), *side;
	size_t i;

	json_array_foreach(list, i, side) stretch(&f, json_object_get(side, "loss"), -0.5, 1);
	finish_axis(&f);
	json_array_foreach(list, i, side)
	{
		if (i < TRIAL_PLOT_ROWS)
			add_row(&f, json_object_get(side, "letter"), "beside",
				json_object_get(side, "beside"), json_object_get(side, "loss"),
				"thesis");
	}
	json_decref(list);
	return figures_json(&f, "loss", "of_loss");
}
