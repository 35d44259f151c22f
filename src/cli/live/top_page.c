/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lays out poppad's answer as the table of poppa top. */
#include "cli/live/top_page.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "accounting/record/fields.h"
#include "cli/ask/cli.h"
#include "cli/ask/value_text.h"

static const json_t *same_job(const json_t *status, const json_t *job)
{
	const json_t *jobs = json_object_get(status, "jobs"), *other;
	size_t i;

	json_array_foreach(jobs, i, other)
	{
		if (value_whole(other, "job") == value_whole(job, "job") &&
			value_whole(other, "restart") == value_whole(job, "restart"))
			return other;
	}
	return NULL;
}

/* How much a number grew a second; NAN where one of the two answers lacks it. */
static double rate(const json_t *before, const json_t *now, const char *key, double seconds)
{
	return (value_real(now, key) - value_real(before, key)) / seconds;
}

void top_rates(const json_t *before, json_t *now, double seconds)
{
	const json_t *was = NULL, *totals = json_object_get(now, "totals"), *jobs;
	json_t *job;
	size_t i;

	if (before && value_whole(before, "pid") == value_whole(now, "pid"))
		was = before;
	json_object_set_new(now, "rates",
		json_pack("{s:o, s:o, s:o}", "interval_s", was ? json_real(seconds) : json_null(),
			"shutters_s",
			field_real_or_null(
				rate(json_object_get(was, "totals"), totals, "shutters", seconds)),
			"shutter_cpu",
			field_real_or_null(rate(json_object_get(was, "totals"), totals,
				"shutter_cpu_s", seconds))));
	jobs = json_object_get(now, "jobs");
	json_array_foreach(jobs, i, job)
	{
		json_object_set_new(job, "blocks_s",
			field_real_or_null(rate(same_job(was, job), job, "blocks", seconds)));
	}
}

static json_int_t sum(const json_t *counts)
{
	json_int_t n = 0;
	const json_t *v;
	const char *key;

	json_object_foreach((json_t *)counts, key, v)
	{
		n += json_integer_value(v);
	}
	return n;
}

static void put_shutters(FILE *out, const json_t *now)
{
	const json_t *totals = json_object_get(now, "totals"), *rates, *cost;
	struct value_cell speed, period, cpu, held, lately, model, max;

	if (!totals)
		return;
	rates = json_object_get(now, "rates");
	cost = json_object_get(totals, "cost");
	fprintf(out,
		"shutters  %" JSON_INTEGER_FORMAT "%s, %s/s, %" JSON_INTEGER_FORMAT
		" dropped, period %s s%s, longest stop %.2f ms\n",
		value_whole(totals, "shutters"),
		json_is_true(json_object_get(totals, "active")) ? "" : " (none now)",
		value_number(&speed, 2, value_real(rates, "shutters_s")),
		sum(json_object_get(totals, "discarded")),
		value_number(&period, 3, value_real(totals, "period_s")),
		json_is_true(json_object_get(cost, "capped")) ? " (longer, for the cost)" : "",
		(double)value_whole(totals, "longest_stop_ns") / 1e6);
	fprintf(out,
		"cost      jobs held stopped %s %%, lately %s %% (model %s %%, at most %s %%), "
		"%s %% of a core\n",
		value_number(&held, 3, 100 * value_real(totals, "overhead")),
		value_number(&lately, 3, 100 * value_real(cost, "held")),
		value_number(&model, 3, 100 * value_real(totals, "overhead_model")),
		value_number(&max, 3, 100 * value_real(cost, "max")),
		value_number(&cpu, 2, 100 * value_real(rates, "shutter_cpu")));
	value_turns(out, totals);
}

static void put_job(FILE *out, const json_t *job)
{
	struct value_cell d, ci, speed, held, partners;
	double together = value_real(job, "co_s");

	fprintf(out,
		"%8" JSON_INTEGER_FORMAT " %-8.8s %4" JSON_INTEGER_FORMAT " %5" JSON_INTEGER_FORMAT
		" %7s %12s %7" JSON_INTEGER_FORMAT " %5s %6s %-7.7s %-9.9s %s\n",
		value_whole(job, "job"), value_text(job, "user"), value_whole(job, "lane"),
		value_whole(job, "tasks"),
		value_number(&d, 2, 100 * value_real(job, "degradation")),
		value_interval(&ci, 1, 100, "..", json_object_get(job, "ci95")),
		value_whole(job, "used"), value_number(&speed, 1, value_real(job, "blocks_s")),
		value_number(&held, 2,
			together > 0 ? 100 * value_real(job, "paused_s") / together : NAN),
		value_text(job, "state"), value_text(job, "backend"),
		value_partners(&partners, job));
}

struct top_page top_page(const json_t *now)
{
	const json_t *jobs = json_object_get(now, "jobs"), *job;
	struct top_page page = {NULL, 0};
	time_t t = time(NULL);
	char when[16] = "";
	struct tm tm;
	size_t size, i;
	FILE *out = open_memstream(&page.text, &size);

	if (!out)
		return page;
	localtime_r(&t, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(out, "poppad    %s on node %s, cluster %s; %zu job%s; %s\n",
		value_text(now, "version"), value_text(now, "node"), value_text(now, "cluster"),
		json_array_size(jobs), json_array_size(jobs) == 1 ? "" : "s", when);
	value_notes(out, now);
	put_shutters(out, now);
	fprintf(out, "settings  %s\n\n", value_text(now, "settings"));
	fprintf(out, "%8s %-8s %4s %5s %7s %12s %7s %5s %6s %-7s %-9s %s\n", "JOB", "USER", "LANE",
		"TASKS", "DEGR %", "95% INTERVAL", "BLOCKS", "BLK/S", "HELD %", "STATE", "COUNTER",
		"CO-RUNNERS");
	fflush(out);
	for (const char *p = page.text; p && *p; p++)
		page.head += *p == '\n';
	json_array_foreach(jobs, i, job)
	{
		put_job(out, job);
	}
	fclose(out);
	return page;
}
