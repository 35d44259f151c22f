/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of poppa trial --self as JSON and as text. */
#include <math.h>

#include "cli/trial/trial.h"

static json_t *number(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

json_t *trial_self_json(const struct self_result *r, const char *name)
{
	json_t *rounds = json_array();

	for (int i = 0; i < r->rounds; i++)
		json_array_append_new(rounds, json_real(r->work[i]));
	return json_pack("{s:s, s:i, s:o, s:o, s:o, s:s, s:s, s:f, s:o, s:o}", "program", name,
		"tasks", r->tasks, "half", number(r->half.mean), "half_lo", number(r->half.lo),
		"half_hi", number(r->half.hi), "verdict", self_verdict_name(r->verdict), "why",
		r->why, "seconds", (double)r->took_ns / 1e9, "others", number(r->others), "rounds",
		rounds);
}

void trial_self_text(const struct self_result *r, const char *name, FILE *out)
{
	static const char *const words[] = {[SELF_UNCERTAIN] = "not certain",
		[SELF_ALL] = "all tasks",
		[SELF_FEWER] = "fewer tasks"};

	if (!isnan(r->half.mean))
		fprintf(out, "half of the %d tasks of %s make %.2f times the work of all", r->tasks,
			name, r->half.mean);
	if (!isnan(r->half.lo))
		fprintf(out, " (%.2f to %.2f)", r->half.lo, r->half.hi);
	if (!isnan(r->half.mean))
		fputc('\n', out);
	fprintf(out, "verdict: %s: %s\n", words[r->verdict], r->why);
}
