/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plots of a report's page, as SVG that takes its colours from the page. */
#include <math.h>
#include <string.h>

#include "cli/bills/report.h"

#define WIDTH 900
#define LEFT 78
#define RIGHT 12
#define TIME_HEIGHT 294
#define TIME_BOTTOM 50
#define TIME_TOP 32
#define AXIS_TEXT 12 /* of an axis' name above a plot */
#define TICKS 4
#define LABEL 42 /* half of a label's width */
#define PRICE_LEFT 200
#define PRICE_RIGHT 24 /* for half of the axis' last number */
#define PRICE_TOP 48
#define PRICE_BOX 11    /* height of a box */
#define LEAST_BOX 6     /* width: one run has a box, too */
#define PRICE_ROW 50    /* of a program's three */
#define NAME_COLUMNS 22 /* of a program's name beside its boxes */

/* The least of 1, 2, 2.5 and 5 times a power of ten that makes at most so many steps. */
static double nice_step(double range, int steps)
{
	static const double mantissas[] = {1, 2, 2.5, 5, 10};
	double power = pow(10, floor(log10(range / steps)));

	for (int i = 0; i < 5; i++)
		if (power * mantissas[i] * steps >= range * 0.999999)
			return power * mantissas[i];
	return 10 * power;
}

static double hours(uint64_t seconds)
{
	return (double)seconds / 3600;
}

const char *report_short(struct report_cell *c, double v)
{
	static const char suffix[] = " kMGTPE";
	int i = 0;

	for (; v >= 1000 && i < 6; i++)
		v /= 1000;
	snprintf(c->text, sizeof(c->text), "%.4g%.*s", v, i ? 1 : 0, &suffix[i]);
	return c->text;
}

static const char *slot_name(const struct summary *s)
{
	return s->slot_s < 86400 ? "hour" : s->slot_s == 86400 ? "day" : "week";
}

static void time_axes(const struct summary *s, double most, double height, double slot, FILE *out)
{
	double step = nice_step(most, TICKS);
	int every = (s->slot_count + 7) / 8;
	struct report_cell c;

	fprintf(out,
		"<text class=\"axis\" x=\"0\" y=\"%d\">billing hours</text>\n"
		"<text class=\"axis\" x=\"%d\" y=\"%d\">of the jobs that ended in each "
		"%s</text>\n",
		AXIS_TEXT, LEFT, TIME_HEIGHT - 6, slot_name(s));
	for (double v = 0; v <= most * 1.0001; v += step) {
		double y = TIME_TOP + height * (1 - v / most);

		fprintf(out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, report_short(&c, v));
	}
	for (int i = 0; i < s->slot_count; i += every) {
		double x = LEFT + slot * (i + 0.5);

		if (x < WIDTH - LABEL)
			fprintf(out, "<text class=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>\n", x,
				TIME_HEIGHT - TIME_BOTTOM + 20,
				report_time(&c, s->slots[i].from,
					s->slot_s < 86400 ? REPORT_HOUR : REPORT_DAY));
	}
}

void report_plot_time(const struct summary *s, FILE *out)
{
	double most = 0, height = TIME_HEIGHT - TIME_TOP - TIME_BOTTOM, slot, bar, step;

	for (int i = 0; i < s->slot_count; i++)
		most = fmax(most, hours(s->slots[i].raw));
	if (!(most > 0))
		return;
	step = nice_step(most, TICKS);
	most = step * ceil(most / step);
	slot = (double)(WIDTH - LEFT - RIGHT) / s->slot_count;
	bar = fmin(fmax(slot * 0.8, 0.5), 40);
	fprintf(out,
		"<div class=\"scroll\" role=\"region\" aria-label=\"Plot of charges over time\" "
		"tabindex=\"0\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"time-t "
		"time-d\">\n<title id=\"time-t\">Charged against raw billing over time</title>\n"
		"<desc id=\"time-d\">A bar for each %s in which jobs ended: its whole height is "
		"what Slurm counted, its filled part what was charged. The numbers are in the "
		"table below.</desc>\n",
		WIDTH, TIME_HEIGHT, slot_name(s));
	time_axes(s, most, height, slot, out);
	for (int i = 0; i < s->slot_count; i++) {
		const struct summary_slot *t = &s->slots[i];
		double raw = height * hours(t->raw) / most,
		       charged = height * hours(t->charged) / most;
		struct report_cell when, a, b;

		if (!t->jobs)
			continue;
		fprintf(out,
			"<g><title>%s: %d jobs, raw %s, charged %s billing hours</title>"
			"<rect class=\"raw\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>"
			"<rect class=\"charged\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
			"height=\"%.2f\"/></g>\n",
			report_time(&when, t->from, REPORT_MINUTE), t->jobs,
			report_hours(&a, t->raw), report_hours(&b, t->charged),
			LEFT + slot * i + (slot - bar) / 2, TIME_TOP + height - raw, bar, raw,
			LEFT + slot * i + (slot - bar) / 2, TIME_TOP + height - charged, bar,
			charged);
	}
	fputs("</svg></div>\n<p class=\"key\"><span class=\"nowrap\"><span class=\"box "
	      "raw\"></span> raw: what Slurm counted</span> <span class=\"nowrap\"><span "
	      "class=\"box charged\"></span> charged</span></p>\n",
		out);
}

/* From a price in units of the solo price to a place on the axis. */
struct scale {
	double low, high, step;
};

static double place(const struct scale *s, double v)
{
	return PRICE_LEFT + (WIDTH - PRICE_RIGHT - PRICE_LEFT) * (v - s->low) / (s->high - s->low);
}

static void one_box(const struct scale *scale, const struct summary_spread *p, const char *class,
	const char *what, double y, FILE *out)
{
	double x[5], width;

	for (int i = 0; i < 5; i++)
		x[i] = place(scale, p->at[i]);
	width = fmax(x[3] - x[1], LEAST_BOX);
	fprintf(out,
		"<g><title>%s: least %.3f, quartiles %.3f, %.3f and %.3f, most %.3f</title>"
		"<line class=\"whisker\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
		what, p->at[0], p->at[1], p->at[2], p->at[3], p->at[4], x[0], x[4],
		y + PRICE_BOX / 2.0, y + PRICE_BOX / 2.0, class, (x[1] + x[3] - width) / 2, y,
		width, PRICE_BOX);
	if (width > LEAST_BOX)
		fprintf(out,
			"<line class=\"median of-%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
			"y2=\"%.1f\"/>",
			class, x[2], x[2], y - 1, y + PRICE_BOX + 1);
	fputs("</g>\n", out);
}

static void price_name(const char *name, double y, FILE *out)
{
	fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%.1f\"><title>", PRICE_LEFT - 10, y);
	report_escape(out, name);
	fputs("</title>", out);
	report_cut(out, name, NAME_COLUMNS, "…", report_escape);
	fputs("</text>\n", out);
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
	step = nice_step(fmax(scale.high - scale.low, 0.1), 8);
	scale.low = step * floor(scale.low / step);
	scale.high = step * ceil(scale.high / step);
	if (scale.high <= scale.low)
		scale.high = scale.low + step;
	scale.step = step;
	return scale;
}

void report_plot_prices(const struct summary *s, FILE *out)
{
	int index[REPORT_PLOT_PROGRAMS], n = report_programs(s, index, REPORT_PLOT_PROGRAMS);
	struct scale scale = price_scale(s, index, n);
	int height = PRICE_TOP + n * PRICE_ROW + 8;

	if (!n)
		return;
	fprintf(out,
		"<div class=\"scroll\" role=\"region\" aria-label=\"Plot of prices by program\" "
		"tabindex=\"0\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"price-t "
		"price-d\">\n<title id=\"price-t\">Prices by program, in units of the price of a "
		"run alone</title>\n<desc id=\"price-d\">Three boxes for each program: state of "
		"practice, the thesis' policy, and what was charged. A box spans the quartiles, "
		"its line is the median, the thin line goes from the least to the most. The "
		"numbers are in the table below.</desc>\n",
		WIDTH, height);
	fprintf(out,
		"<text class=\"axis\" x=\"0\" y=\"%d\">price, in units of the price of the "
		"same run alone (1: dashed)</text>\n",
		AXIS_TEXT);
	for (double v = scale.low; v <= scale.high + scale.step / 2; v += scale.step)
		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
			"<text class=\"middle\" x=\"%.1f\" y=\"%d\">%.2f</text>\n",
			place(&scale, v), place(&scale, v), PRICE_TOP - 6, height - 6,
			place(&scale, v), PRICE_TOP - 12, v);
	fprintf(out, "<line class=\"one\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
		place(&scale, 1), place(&scale, 1), PRICE_TOP - 6, height - 6);
	for (int i = 0; i < n; i++) {
		const struct summary_program *p = &s->programs[index[i]];
		double y = PRICE_TOP + i * PRICE_ROW + 4;

		price_name(p->group->name, y + PRICE_ROW / 2.0 - 3, out);
		one_box(&scale, &p->practice, "raw", "State of practice", y, out);
		one_box(&scale, &p->thesis, "thesis", "Thesis", y + PRICE_BOX + 3, out);
		one_box(&scale, &p->charged, "charged", "Charged", y + 2 * (PRICE_BOX + 3), out);
	}
	fputs("</svg></div>\n<p class=\"key\"><span class=\"nowrap\"><span class=\"box "
	      "raw\"></span> state of practice</span> <span class=\"nowrap\"><span class=\"box "
	      "thesis\"></span> thesis</span> <span class=\"nowrap\"><span class=\"box "
	      "charged\"></span> charged</span></p>\n",
		out);
}
