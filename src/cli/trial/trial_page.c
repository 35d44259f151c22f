/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of "poppa trial": its result, and what follows from it, filled into page/trial.html. */
#include "cli/trial/trial_page.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ask/real_or_null.h"
#include "cli/ask/value_text.h"
#include "cli/page/page_template.h"
#include "cli/trial/trial_plots.h"
#include "common/printable.h"
#include "poppa_config.h"

#define HOUR 60.0 /* minutes */
#define MAX_LINES 500
#define MAP_PROGRAMS 14

/* A text that somebody else chose; null where it is none. */
static json_t *plain(const json_t *v)
{
	char *text = json_is_string(v) ? strdup(json_string_value(v)) : NULL;
	json_t *copy = text ? json_string(plain_text(text)) : json_null();

	free(text);
	return copy;
}

/* {"v", "lo", "hi"}, or null where v is not known. */
static json_t *figure(double v, double lo, double hi)
{
	if (!isfinite(v))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:b}", "v", real_or_null(v), "lo", real_or_null(lo), "hi",
		real_or_null(hi), "interval", isfinite(lo) && isfinite(hi));
}

static json_t *figure_of(const json_t *o, const char *v, const char *lo, const char *hi)
{
	return figure(value_real(o, v), value_real(o, lo), value_real(o, hi));
}

static double item(const json_t *o, const char *key, size_t i)
{
	const json_t *v = json_array_get(json_object_get(o, key), i);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* How programs are called in plots: A, B, ... */
static json_t *letter(size_t program)
{
	if (program < 26)
		return json_sprintf("%c", (int)('A' + program));
	return json_sprintf("P%zu", program + 1);
}

static json_t *verdict(const char *word)
{
	bool good = !strcmp(word, "colocate"), bad = !strcmp(word, "do-not");

	return json_pack("{s:s, s:b, s:b, s:b}", "class",
		good  ? "good"
		: bad ? "bad"
		      : "open",
		"good", good, "bad", bad, "open", !good && !bad);
}

static json_t *lasted(double seconds)
{
	long s;

	if (!(seconds >= 0 && seconds < 1e9))
		return json_null();
	s = lround(seconds);
	if (s >= 3600)
		return json_sprintf("%ld h %ld min", s / 3600, s / 60 % 60);
	if (s >= 600)
		return json_sprintf("%ld min", s / 60);
	return s >= 60 ? json_sprintf("%ld min %ld s", s / 60, s % 60) : json_sprintf("%ld s", s);
}

/* Programs */

/* The price policies that any of the programs has, in their order. */
static json_t *policies(const json_t *programs)
{
	json_t *names = json_object(), *list = json_array();
	const json_t *program;
	const char *name;
	size_t i;

	json_array_foreach(programs, i, program)
		json_object_update_missing(names, json_object_get(program, "price"));
	for (void *at = json_object_iter(names); at; at = json_object_iter_next(names, at)) {
		name = json_object_iter_key(at);
		json_array_append_new(list, json_pack("{s:s}", "name", name));
	}
	json_decref(names);
	return list;
}

static json_t *prices(const json_t *program, const json_t *policies)
{
	json_t *list = json_array();
	const json_t *policy;
	size_t i;

	json_array_foreach(policies, i, policy)
	{
		double v =
			value_real(json_object_get(program, "price"), value_text(policy, "name"));

		json_array_append_new(list, json_pack("{s:o}", "price", figure(v, NAN, NAN)));
	}
	return list;
}

static json_t *command(const json_t *program)
{
	json_t *text = plain(json_object_get(program, "command"));

	return json_is_string(text) ? text : json_string("?");
}

static json_t *program_lines(const json_t *programs, const json_t *policies)
{
	json_t *list = json_array();
	const json_t *p;
	size_t i;

	json_array_foreach(programs, i, p) json_array_append_new(
		list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "letter", letter(i), "command",
			      command(p), "counter", plain(json_object_get(p, "counter")), "loss",
			      figure_of(p, "degradation", "lo", "hi"), "prices",
			      prices(p, policies), "note", plain(json_object_get(p, "note"))));
	return list;
}

/* Pairs */

/* What one program of a pair showed: i is 0 or 1. */
static json_t *pair_side(const json_t *pair, size_t i, json_t *self, json_t *beside)
{
	return json_pack("{s:O, s:O, s:o}", "letter", self, "beside", beside, "loss",
		figure(item(pair, "degradation", i), item(pair, "lo", i), item(pair, "hi", i)));
}

/* The pair's two programs; false where these are not two of so many. */
static bool pair_programs(const json_t *programs, size_t count, size_t *a, size_t *b)
{
	const json_t *first = json_array_get(programs, 0), *second = json_array_get(programs, 1);

	if (!json_is_integer(first) || !json_is_integer(second))
		return false;
	*a = (size_t)json_integer_value(first);
	*b = (size_t)json_integer_value(second);
	return *a < count && *b < count;
}

static json_t *pair_line(const json_t *pair, size_t a, size_t b)
{
	json_t *first = letter(a), *second = letter(b);
	json_t *line = json_pack("{s:i, s:i, s:O, s:O, s:o, s:o, s:o, s:[o, o]}", "a", (int)a, "b",
		(int)b, "first", first, "second", second, "stp",
		figure_of(pair, "stp", "stp_lo", "stp_hi"), "verdict",
		verdict(value_text(pair, "verdict")), "why", plain(json_object_get(pair, "why")),
		"sides", pair_side(pair, 0, first, second), pair_side(pair, 1, second, first));

	json_object_set(line, "rounds", json_object_get(pair, "rounds"));
	json_decref(first);
	json_decref(second);
	return line;
}

static double line_stp(const json_t *line)
{
	double v = value_real(json_object_get(line, "stp"), "v");

	return isnan(v) ? -INFINITY : v;
}

/* The pairs, those that gain most first. */
static json_t *pair_lines(const json_t *pairs, size_t programs)
{
	json_t *list = json_array(), *line;
	size_t i, to, a, b;
	const json_t *pair;

	json_array_foreach(pairs, i, pair)
	{
		if (!pair_programs(json_object_get(pair, "programs"), programs, &a, &b))
			continue;
		line = pair_line(pair, a, b);
		for (to = json_array_size(list); to; to--)
			if (line_stp(json_array_get(list, to - 1)) >= line_stp(line))
				break;
		json_array_insert_new(list, to, line);
	}
	return list;
}

static json_t *find_pair(const json_t *lines, size_t a, size_t b)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
	{
		size_t first = (size_t)value_whole(line, "a"),
		       second = (size_t)value_whole(line, "b");

		if ((first == a && second == b) || (first == b && second == a))
			return line;
	}
	return NULL;
}

/* A program by itself for its hour, or two together until both hours' work is done; NULL where that
 * time is not known. */
static json_t *unit(const json_t *members, const json_t *lines, size_t programs)
{
	json_t *pair, *stp;
	size_t a = (size_t)json_integer_value(json_array_get(members, 0)), b;

	if (json_array_size(members) == 1 && a < programs)
		return json_pack("{s:[o], s:[f, n, n], s:b}", "programs", letter(a), "minutes",
			HOUR, "single", true);
	pair = pair_programs(members, programs, &a, &b) ? find_pair(lines, a, b) : NULL;
	stp = json_object_get(pair, "stp");
	if (!json_is_object(stp) || !(value_real(stp, "v") > 0))
		return NULL;
	return json_pack("{s:[O, O], s:[o, o, o], s:O, s:b}", "programs",
		json_object_get(pair, "first"), json_object_get(pair, "second"), "minutes",
		real_or_null(2 * HOUR / value_real(stp, "v")),
		real_or_null(2 * HOUR / value_real(stp, "hi")),
		real_or_null(2 * HOUR / value_real(stp, "lo")), "stp", stp, "pair", true);
}

/* What runs, one unit after the other; NULL where there is none, or the time of one is not known.
 */
static json_t *units(const json_t *pairing, const json_t *lines, size_t programs)
{
	json_t *list = json_array(), *one;
	const json_t *members;
	size_t i;

	json_array_foreach(pairing, i, members)
	{
		one = unit(members, lines, programs);
		if (!one) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, one);
	}
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

/* The map of all pairs */

/* The class of a cell, by the shades of src/cli/page/page.css, which the report's gains have. */
static const char *shade(double gain)
{
	static const double from[] = {-0.10, -0.02, 0.02, 0.10, 0.20};
	static const char *const class[] = {"loss2", "loss1", "even", "gain1", "gain2", "gain3"};
	int i = 0;

	while (i < 5 && gain >= from[i])
		i++;
	return class[i];
}

static bool chosen(const json_t *best, size_t a, size_t b, size_t programs)
{
	const json_t *members;
	size_t i, x, y;

	json_array_foreach(
		best, i, members) if (pair_programs(members, programs, &x, &y) &&
				      ((x == a && y == b) || (x == b && y == a))) return true;
	return false;
}

static json_t *map_cell(const json_t *pair, bool best)
{
	const json_t *stp = json_object_get(pair, "stp");
	double gain = value_real(stp, "v") - 1;

	if (!pair || isnan(gain))
		return json_pack("{s:b}", "unknown", pair != NULL);
	return json_pack("{s:s, s:o, s:O, s:b, s:b, s:O, s:O}", "shade", shade(gain), "gain",
		json_sprintf("%+.0f", 100 * gain), "stp", stp, "best", best, "doubt",
		json_is_true(value_at(pair, "verdict.open")), "first",
		json_object_get(pair, "first"), "second", json_object_get(pair, "second"));
}

static json_t *map(const json_t *lines, const json_t *program_lines, const json_t *best)
{
	size_t all = json_array_size(program_lines), n = all < MAP_PROGRAMS ? all : MAP_PROGRAMS;
	json_t *columns = json_array(), *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *program = json_array_get(program_lines, i);
		json_t *cells = json_array();

		for (size_t k = 0; k < n; k++)
			json_array_append_new(
				cells, map_cell(find_pair(lines, i, k), chosen(best, i, k, all)));
		json_array_append(columns, program);
		json_array_append_new(
			rows, json_pack("{s:O, s:o}", "program", program, "cells", cells));
	}
	return json_pack("{s:o, s:o, s:b, s:i}", "columns", columns, "rows", rows, "more", all > n,
		"shown", MAP_PROGRAMS);
}

/* The whole */

/* {"compact", "alone", "together"} of the pair's program i in a round. */
static json_t *rates(const json_t *round, size_t i)
{
	const json_t *rate = json_array_get(json_object_get(round, "rate"), i);
	double v[3];

	for (size_t p = 0; p < 3; p++) {
		const json_t *phase = json_array_get(rate, p);

		v[p] = json_is_number(phase) ? json_number_value(phase) : NAN;
	}
	return json_pack("{s:o, s:o, s:o}", "compact", real_or_null(v[0]), "alone",
		real_or_null(v[1]), "together", real_or_null(v[2]));
}

static void add_round_lines(json_t *list, const json_t *pair)
{
	const json_t *round;
	size_t i;

	json_array_foreach(json_object_get(pair, "rounds"), i, round)
	{
		if (json_array_size(list) == MAX_LINES)
			return;
		json_array_append_new(
			list, json_pack("{s:i, s:O, s:O, s:o, s:o, s:o}", "round", (int)i + 1,
				      "first", json_object_get(pair, "first"), "second",
				      json_object_get(pair, "second"), "stp",
				      real_or_null(value_real(round, "stp")), "of_first",
				      rates(round, 0), "of_second", rates(round, 1)));
	}
}

static json_t *round_lines(const json_t *lines)
{
	json_t *list = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach(lines, i, pair)
	{
		add_round_lines(list, pair);
	}
	return list;
}

/* What an hour of work of each takes, and what that saves. */
static void add_gain(json_t *page, const json_t *result, size_t programs)
{
	double stp = value_real(result, "stp"), saved = 1 - 1 / stp;

	json_object_set_new(page, "stp", figure_of(result, "stp", "stp_lo", "stp_hi"));
	if (!(stp > 0))
		return;
	json_object_set_new(page, "alone_minutes", json_real(HOUR * (double)programs));
	json_object_set_new(page, "together_minutes", json_real(HOUR * (double)programs / stp));
	json_object_set_new(page, saved < 0 ? "wasted" : "saved",
		figure(saved < 0 ? 1 / stp - 1 : saved, NAN, NAN));
}

static json_t *facts(const json_t *result)
{
	json_t *page = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "version", POPPA_VERSION,
		"written", (json_int_t)time(NULL), "host", plain(json_object_get(result, "host")),
		"cpu", plain(json_object_get(result, "cpu")), "lasted",
		lasted(value_real(result, "seconds")), "why",
		plain(json_object_get(result, "why")));

	json_object_set(page, "lanes", json_object_get(result, "lanes"));
	json_object_set(page, "round_count", json_object_get(result, "rounds"));
	json_object_set_new(page, "verdict", verdict(value_text(result, "verdict")));
	return page;
}

int trial_page(const json_t *result, FILE *out)
{
	const json_t *programs = json_object_get(result, "programs"),
		     *best = json_object_get(result, "best");
	size_t count = json_array_size(programs);
	json_t *page = facts(result), *both = json_pack("[[i, i]]", 0, 1), *names, *lines,
	       *together;

	if (!page || !both) {
		json_decref(page);
		json_decref(both);
		return -1;
	}
	add_gain(page, result, count);
	json_object_set_new(page, "policies", policies(programs));
	names = program_lines(programs, json_object_get(page, "policies"));
	json_object_set_new(page, "programs", names);
	lines = pair_lines(json_object_get(result, "pairs"), count);
	json_object_set_new(page, "pairs", lines);
	together = units(count == 2 ? both : best, lines, count);
	if (together) {
		json_object_set_new(page, "time", trial_plot_time(together, count));
		json_object_set_new(page, "pairing", together);
	}
	json_object_set_new(page, "plots",
		json_pack("[o, o]", trial_plot_stp(lines), trial_plot_losses(lines)));
	json_object_set_new(page, "rounds", trial_plot_rounds(lines));
	json_object_set_new(page, "round_lines", round_lines(lines));
	if (count > 2)
		json_object_set_new(page, "map", map(lines, names, best));
	page_template_fill(out, trial_page_template, page);
	json_decref(page);
	json_decref(both);
	return fflush(out) || ferror(out) ? -1 : 0;
}
