/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of what a report's plots show: bars over time, and boxes of prices by program. */
#include <math.h>

#include "cli/ask/number_text.h"
#include "cli/bills/report.h"
#include "cli/page/page_axis.h"

/* Units of the plots' boxes. page/report.html draws the frames and has the same numbers. */
#define WIDTH 900
#define LEFT 78
#define RIGHT 12
#define TIME_HEIGHT 294
#define TIME_BOTTOM 50
#define TIME_TOP 32
#define TICKS 4
#define LABEL 42 /* half of a label's width */
#define PRICE_LEFT 200
#define PRICE_RIGHT 24 /* for half of the axis' last number */
#define PRICE_TOP 48
#define PRICE_BOX 11  /* height of a box */
#define LEAST_BOX 6   /* least width of a box, so that one run has a box, too */
#define PRICE_ROW 50  /* height of a program's three boxes */
#define PRICE_STEPS 8 /* the most steps of the axis */

static double hours(uint64_t seconds)
{
	return (double)seconds / 3600;
}

static json_t *time_ticks(double most, double step, double height)
{
	json_t *list = json_array();

	for (double v = 0; v <= most * 1.0001; v += step) {
		double y = TIME_TOP + height * (1 - v / most);

		json_array_append_new(
			list, json_pack("{s:f, s:f, s:f}", "y", y, "text_y", y + 4, "value", v));
	}
	return list;
}

static json_t *time_labels(const struct summary *s, double slot)
{
	json_t *list = json_array();
	struct number_cell c;

	for (int i = 0; i < s->slot_count; i += (s->slot_count + 7) / 8) {
		double x = LEFT + slot * (i + 0.5);

		if (x < WIDTH - LABEL)
			json_array_append_new(
				list, json_pack("{s:f, s:s}", "x", x, "text",
					      number_time(&c, s->slots[i].from,
						      s->slot_s < 86400 ? TIME_HOUR : TIME_DAY)));
	}
	return list;
}

static json_t *time_bars(const struct summary *s, double most, double height, double slot)
{
	double bar = fmin(fmax(slot * 0.8, 0.5), 40);
	json_t *list = json_array();

	for (int i = 0; i < s->slot_count; i++) {
		const struct summary_slot *t = &s->slots[i];
		double raw = height * hours(t->raw) / most,
		       charged = height * hours(t->charged) / most;

		if (t->jobs)
			json_array_append_new(list,
				json_pack("{s:I, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}",
					"from", (json_int_t)t->from, "jobs", t->jobs, "raw",
					(json_int_t)t->raw, "charged", (json_int_t)t->charged, "x",
					LEFT + slot * i + (slot - bar) / 2, "width", bar, "raw_y",
					TIME_TOP + height - raw, "raw_height", raw, "charged_y",
					TIME_TOP + height - charged, "charged_height", charged));
	}
	return list;
}

json_t *report_plot_time(const struct summary *s)
{
	const char *unit = s->slot_s < 86400 ? "hour" : s->slot_s == 86400 ? "day" : "week";
	double most = 0, height = TIME_HEIGHT - TIME_TOP - TIME_BOTTOM, slot, step;
	json_t *plot = NULL;

	for (int i = 0; i < s->slot_count; i++)
		most = fmax(most, hours(s->slots[i].raw));
	if (most > 0) {
		step = page_axis_step(most, TICKS);
		most = step * ceil(most / step);
		slot = (double)(WIDTH - LEFT - RIGHT) / s->slot_count;
		plot = json_pack("{s:s, s:o, s:o, s:o}", "unit", unit, "ticks",
			time_ticks(most, step, height), "labels", time_labels(s, slot), "bars",
			time_bars(s, most, height, slot));
	}
	return json_pack("{s:o?}", "plot", plot);
}

/* The axis of prices, in units of the solo price. */
struct scale {
	double low, high, step;
};

static double place(const struct scale *s, double v)
{
	return PRICE_LEFT + (WIDTH - PRICE_RIGHT - PRICE_LEFT) * (v - s->low) / (s->high - s->low);
}

static json_t *one_box(const struct scale *scale, const struct spread *p, const char *class,
	const char *what, double y)
{
	json_t *at = json_array(), *places = json_array();
	double x[5], width;

	for (int i = 0; i < 5; i++) {
		x[i] = place(scale, p->at[i]);
		json_array_append_new(at, json_real(p->at[i]));
		json_array_append_new(places, json_real(x[i]));
	}
	width = fmax(x[3] - x[1], LEAST_BOX);
	return json_pack("{s:s, s:s, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "what", what,
		"class", class, "at", at, "x", places, "left", (x[1] + x[3] - width) / 2, "width",
		width, "y", y, "middle", y + PRICE_BOX / 2.0, "above", y - 1, "below",
		y + PRICE_BOX + 1, "wide", width > LEAST_BOX);
}

static struct scale price_scale(const struct summary *s, const int *index, int n)
{
	struct scale scale = {1, 1, 0};
	double step;

	for (int i = 0; i < n; i++) {
		const struct summary_program *p = &s->programs[index[i]];

		scale.low = fmin(scale.low, fmin(p->thesis.at[0], p->charged.at[0]));
		scale.high = fmax(scale.high, fmax(p->practice.at[4], p->charged.at[4]));
	}
	step = page_axis_step(fmax(scale.high - scale.low, 0.1), PRICE_STEPS);
	scale.low = step * floor(scale.low / step);
	scale.high = step * ceil(scale.high / step);
	if (scale.high <= scale.low)
		scale.high = scale.low + step;
	scale.step = step;
	return scale;
}

static json_t *price_ticks(const struct scale *scale)
{
	json_t *list = json_array();

	for (double v = scale->low; v <= scale->high + scale->step / 2; v += scale->step)
		json_array_append_new(
			list, json_pack("{s:f, s:f}", "x", place(scale, v), "price", v));
	return list;
}

json_t *report_plot_prices(const struct summary *s)
{
	int index[REPORT_PLOT_PROGRAMS], n = report_programs(s, index, REPORT_PLOT_PROGRAMS);
	struct scale scale = price_scale(s, index, n);
	int height = PRICE_TOP + n * PRICE_ROW + 8;
	json_t *rows = json_array();

	for (int i = 0; i < n; i++) {
		const struct summary_program *p = &s->programs[index[i]];
		double y = PRICE_TOP + i * PRICE_ROW + 4;

		json_array_append_new(rows,
			json_pack("{s:s, s:f, s:[o, o, o]}", "name", p->group->name, "y",
				y + PRICE_ROW / 2.0 - 3, "boxes",
				one_box(&scale, &p->practice, "raw", "State of practice", y),
				one_box(&scale, &p->thesis, "thesis", "Thesis", y + PRICE_BOX + 3),
				one_box(&scale, &p->charged, "charged", "Charged",
					y + 2 * (PRICE_BOX + 3))));
	}
	return json_pack("{s:i, s:i, s:f, s:o, s:o}", "height", height, "bottom", height - 6, "one",
		place(&scale, 1), "ticks", price_ticks(&scale), "rows", rows);
}
