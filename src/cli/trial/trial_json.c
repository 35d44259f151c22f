/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of a trial as JSON; what is not known is null. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/real_or_null.h"
#include "cli/trial/trial.h"

static void set_figure(
	json_t *o, const char *mean, const char *lo, const char *hi, const struct trial_figure *f)
{
	json_object_set_new(o, mean, real_or_null(f->mean));
	json_object_set_new(o, lo, real_or_null(f->lo));
	json_object_set_new(o, hi, real_or_null(f->hi));
}

static json_t *prices(const struct trial_figure *loss)
{
	json_t *all = json_object();

	for (int kind = 0; kind < PRICE_KINDS; kind++)
		json_object_set_new(all, price_kinds[kind].example.policy,
			real_or_null(trial_price(kind, loss)));
	return all;
}

/* With several partners the one beside which the program runs in the best pairing; where that is
 * none, or there is no figure, the first with one. */
static const struct trial_figure *loss_of(const struct trial *t, int program)
{
	static const struct trial_figure unknown = {NAN, NAN, NAN};
	const struct trial_figure *found = &unknown;

	for (int i = 0; i < t->pairs; i++)
		for (int k = 0; k < RUNNER_SLOTS; k++) {
			const struct trial_pair *p = &t->pair[i];

			if (p->program[k] != program)
				continue;
			if (p->program[!k] == t->partner[program])
				return &p->loss[k];
			if (isnan(found->mean))
				found = &p->loss[k];
		}
	return found;
}

static json_t *program_json(const struct trial *t, int i)
{
	const struct trial_program *p = &t->program[i];
	const struct trial_figure *loss = loss_of(t, i);
	const char *counter = p->backend != COUNTER_NONE   ? counter_backend_name(p->backend)
			      : p->unit == TRIAL_UNIT_RUNS ? "runs"
							   : NULL;
	json_t *o = json_pack("{s:s, s:s?, s:o, s:s?}", "command", p->run.name, "counter", counter,
		"price", prices(loss), "note", *p->note ? p->note : NULL);

	if (o)
		set_figure(o, "degradation", "lo", "hi", loss);
	return o;
}

/* The rate of one phase, of the program's mean compact rate. */
static json_t *relative(const struct trial *t, int program, double rate)
{
	return real_or_null(rate / trial_mean(t->program[program].compact, t->rounds).mean);
}

/* Where a counter shows the loss, nothing ran alone for long: its rate follows from the loss. */
static json_t *round_json(const struct trial *t, const struct trial_pair *p, int round)
{
	json_t *rates = json_array();

	for (int k = 0; k < RUNNER_SLOTS; k++) {
		int i = p->program[k];
		double together = p->round[round].rate[k];
		double alone = together / (1 - trial_round_loss(t, p, k, round));

		json_array_append_new(
			rates, json_pack("[o,o,o]", relative(t, i, t->program[i].compact[round]),
				       relative(t, i, alone), relative(t, i, together)));
	}
	return json_pack(
		"{s:o, s:o}", "stp", real_or_null(trial_round_stp(t, p, round)), "rate", rates);
}

static json_t *pair_json(const struct trial *t, const struct trial_pair *p)
{
	json_t *rounds = json_array();
	json_t *o = json_pack("{s:[i,i], s:s, s:s, s:[o,o], s:[o,o], s:[o,o]}", "programs",
		p->program[0], p->program[1], "verdict", trial_verdict_name(p->verdict), "why",
		p->why, "degradation", real_or_null(p->loss[0].mean), real_or_null(p->loss[1].mean),
		"lo", real_or_null(p->loss[0].lo), real_or_null(p->loss[1].lo), "hi",
		real_or_null(p->loss[0].hi), real_or_null(p->loss[1].hi));

	for (int i = 0; i < t->rounds; i++)
		json_array_append_new(rounds, round_json(t, p, i));
	if (!o) {
		json_decref(rounds);
		return NULL;
	}
	set_figure(o, "stp", "stp_lo", "stp_hi", &p->stp);
	json_object_set_new(o, "rounds", rounds);
	return o;
}

static json_t *best_json(const struct trial *t)
{
	json_t *best = json_array();

	for (int i = 0; i < t->programs; i++) {
		if (t->partner[i] == i)
			json_array_append_new(best, json_pack("[i]", i));
		else if (t->partner[i] > i)
			json_array_append_new(best, json_pack("[i,i]", i, t->partner[i]));
	}
	return best;
}

/* What the kernel calls the processor; null where it does not say. */
static json_t *processor(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *value;
	json_t *name = NULL;

	while (f && !name && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) || !(value = strchr(line, ':')))
			continue;
		line[strcspn(line, "\n")] = '\0';
		name = json_string(value + 1 + strspn(value + 1, " "));
	}
	if (f)
		fclose(f);
	return name ? name : json_null();
}

json_t *trial_json(const struct trial *t, int lanes)
{
	char host[256] = "";
	json_t *programs = json_array(), *pairs = json_array(), *o;

	gethostname(host, sizeof(host) - 1);
	for (int i = 0; i < t->programs; i++)
		json_array_append_new(programs, program_json(t, i));
	for (int i = 0; i < t->pairs; i++)
		json_array_append_new(pairs, pair_json(t, &t->pair[i]));
	o = json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:s, s:o, s:o, s:o}", "programs", programs,
		"verdict", trial_verdict_name(t->verdict), "why", t->why, "lanes", lanes, "rounds",
		t->rounds, "seconds", (double)t->took_ns / 1e9, "host", host, "cpu", processor(),
		"pairs", pairs, "best", best_json(t));
	if (o) {
		set_figure(o, "stp", "stp_lo", "stp_hi", &t->stp);
		json_object_set_new(o, "others", real_or_null(t->others));
	}
	return o;
}

json_t *trial_self_json(const struct self_result *r, const char *name)
{
	json_t *rounds = json_array(), *o;

	for (int i = 0; i < r->rounds; i++)
		json_array_append_new(rounds, json_real(r->work[i]));
	o = json_pack("{s:s, s:i, s:s, s:s, s:f, s:o, s:o}", "program", name, "tasks", r->tasks,
		"verdict", self_verdict_name(r->verdict), "why", r->why, "seconds",
		(double)r->took_ns / 1e9, "others", real_or_null(r->others), "rounds", rounds);
	if (o)
		set_figure(o, "half", "half_lo", "half_hi", &r->half);
	return o;
}
