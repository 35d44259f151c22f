/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of how the rounds of a trial went, so that drift and scatter are seen. */
#include <math.h>
#include <stdbool.h>

#include "cli/ask/number_text.h"
#include "cli/ask/value_text.h"
#include "cli/page/page_axis.h"
#include "cli/trial/trial_plots.h"
#include "common/text_append.h"

/* Units of a pair's plot, which has three panels side by side; page/trial.html has the same. */
#define PANEL 300
#define LEFT 44
#define RIGHT 22
#define TOP 34
#define BOTTOM 164
#define STEPS 4
#define MAX_ROUNDS 100
#define MARK 3.5 /* half of a square's width */

struct panel {
	bool known; /* whether there is any mark */
	double low, high, step;
	size_t rounds;
};

static double at_round(const struct panel *p, size_t round)
{
	double room = PANEL - LEFT - RIGHT;

	return LEFT + (p->rounds > 1 ? room * (double)round / (double)(p->rounds - 1) : room / 2);
}

static double at_value(const struct panel *p, double v)
{
	return BOTTOM - (BOTTOM - TOP) * (v - p->low) / (p->high - p->low);
}

static double value(const json_t *v)
{
	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* What a series has in a round: the STP, or the rate of a program in a phase. */
static double stp_of(const json_t *round, size_t program, size_t phase)
{
	(void)program;
	(void)phase;
	return value(json_object_get(round, "stp"));
}

static double rate_of(const json_t *round, size_t program, size_t phase)
{
	return value(
		json_array_get(json_array_get(json_object_get(round, "rate"), program), phase));
}

/* A panel shows the phases of a program, or the STP, which has one. */
struct shown {
	double (*of)(const json_t *round, size_t program, size_t phase);
	size_t program, phases;
};

/* The axis has 1, which is the mean of compact, or as much as one after the other. */
static struct panel make_axis(const json_t *rounds, const struct shown *s)
{
	struct panel p = {false, 1, 1, 0, json_array_size(rounds)};

	p.rounds = p.rounds < MAX_ROUNDS ? p.rounds : MAX_ROUNDS;
	for (size_t i = 0; i < p.rounds; i++)
		for (size_t k = 0; k < s->phases; k++) {
			double v = s->of(json_array_get(rounds, i), s->program, k);

			p.known = p.known || !isnan(v);
			p.low = isnan(v) ? p.low : fmin(p.low, v);
			p.high = isnan(v) ? p.high : fmax(p.high, v);
		}
	p.step = page_axis_step(fmax(p.high - p.low, 0.04), STEPS);
	p.low = p.step * floor(p.low / p.step + 0.001);
	p.high = p.step * ceil(p.high / p.step - 0.001);
	if (p.high <= p.low)
		p.high = p.low + p.step;
	return p;
}

static json_t *value_ticks(const struct panel *p)
{
	int digits = page_axis_digits(p->step);
	json_t *list = json_array();
	struct number_cell c;

	for (double v = p->low; v <= p->high + p->step / 2; v += p->step)
		json_array_append_new(
			list, json_pack("{s:f, s:f, s:s}", "y", at_value(p, v), "text_y",
				      at_value(p, v) + 4, "text", number_real(&c, digits, v)));
	return list;
}

static json_t *round_ticks(const struct panel *p)
{
	size_t every = (p->rounds + 7) / 8;
	json_t *list = json_array();

	for (size_t i = 0; i < p->rounds; i += every)
		json_array_append_new(
			list, json_pack("{s:f, s:i}", "x", at_round(p, i), "round", (int)i + 1));
	return list;
}

/* The line of a series and its marks; class is also the shape of the marks. */
static json_t *series(
	const struct panel *p, const json_t *rounds, const struct shown *s, size_t phase)
{
	static const char *const classes[] = {"compact", "alone", "together"};
	const char *class = s->phases > 1 ? classes[phase] : "together";
	json_t *marks = json_array();
	char line[MAX_ROUNDS * 20] = "";

	for (size_t i = 0; i < p->rounds; i++) {
		double v = s->of(json_array_get(rounds, i), s->program, phase), x, y;

		if (isnan(v))
			continue;
		x = at_round(p, i);
		y = at_value(p, v);
		text_append(line, sizeof(line), "%.1f,%.1f ", x, y);
		json_array_append_new(marks,
			json_pack("{s:b, s:f, s:f, s:f, s:f, s:i, s:f}", class, true, "x", x, "y",
				y, "left", x - MARK, "top", y - MARK, "round", (int)i + 1, "v", v));
	}
	return json_pack("{s:s, s:s, s:o}", "class", class, "line", line, "marks", marks);
}

static json_t *draw(const json_t *rounds, const struct shown *s, double x)
{
	struct panel p = make_axis(rounds, s);
	json_t *all = json_array();

	for (size_t i = 0; i < s->phases; i++)
		json_array_append_new(all, series(&p, rounds, s, i));
	return json_pack("{s:b, s:f, s:o, s:o, s:o, s:f}", "known", p.known, "x", x, "ticks",
		value_ticks(&p), "rounds", round_ticks(&p), "series", all, "one", at_value(&p, 1));
}

/* The panels of a pair: STP, and the rates of each program. */
static json_t *panels(const json_t *pair, size_t number)
{
	const json_t *rounds = json_object_get(pair, "rounds");
	json_t *stp = draw(rounds, &(struct shown){stp_of, 0, 1}, 0),
	       *first = draw(rounds, &(struct shown){rate_of, 0, 3}, PANEL),
	       *second = draw(rounds, &(struct shown){rate_of, 1, 3}, 2 * PANEL);

	json_object_set_new(stp, "of_stp", json_true());
	json_object_set(first, "letter", json_object_get(pair, "first"));
	json_object_set(second, "letter", json_object_get(pair, "second"));
	return json_pack("{s:i, s:O, s:O, s:[o, o, o]}", "number", (int)number, "first",
		json_object_get(pair, "first"), "second", json_object_get(pair, "second"), "panels",
		stp, first, second);
}

json_t *trial_plot_rounds(const json_t *pairs)
{
	json_t *list = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		if (json_array_size(json_object_get(pair, "rounds")) &&
			json_array_size(list) < TRIAL_PLOT_PAIRS)
			json_array_append_new(list, panels(pair, i));
	}
	return list;
}
