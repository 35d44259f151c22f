/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes the co-located jobs and the shutters in JSON, for poppa status. */
#include "poppa/node/jobs_impl.h"

#include <math.h>

#include "accounting/record/fields.h"
#include "common/clock.h"
#include "common/units.h"

/* How old what users see of blocks may be: some blocks come meanwhile. */
#define USERS_EVERY (60 * NS_PER_S)

/* By enum job_state. */
static const char *const state_names[] = {"waiting", "running", "stopped", "partly-stopped"};

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / NS_PER_S);
}

static const char *pause_of(const struct job *j)
{
	int alone = 0;

	for (int i = 0; i < j->tasks; i++)
		alone += j->task[i].unit != NULL;
	return alone && j->freezers ? "mixed"
	       : alone              ? "sigstop"
	       : j->freezers        ? "freezer"
				    : "none";
}

/* Mean time between two blocks of a job at this level, s; null where it has none. */
static json_t *block_every(const struct jobs *js, int level)
{
	struct schedule s = js->schedule;

	for (int i = 0; i < s.jobs; i++) {
		s.job[i].level = level;
		if (js->active && schedule_interval(&s, i))
			return seconds(
				schedule_interval(&s, i) * (js->turning ? TURNS_PROBE_EVERY : 1));
	}
	return json_null();
}

/* What each of several co-runners cost the job; empty while that is not known. */
static json_t *attribution_json(const struct jobs *js, const struct tally *t)
{
	struct attribution_share share[RECORD_MAX_PARTNERS];
	int n = tally_shares(t, js->env.settings, share);
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:f, s:[f,f]}", "job", (json_int_t)share[i].job_id,
				      "degradation", share[i].degradation, "ci95", share[i].lo,
				      share[i].hi));
	return list;
}

static json_t *job_status(const struct jobs *js, const struct job *j)
{
	const struct poppa_settings *s = js->env.settings;
	const struct tally *t = j->tally;
	json_t *partners = json_array(), *ci = json_null();
	struct est_result now, thesis;
	double sham, sham_error;
	int counted = 0, level = jobs_level(js, j);
	json_t *status;

	tally_result(t, s->method, s->min_blocks, &now);
	tally_result(t, ESTIMATE_THESIS, s->min_blocks, &thesis);
	for (int i = 0; i < t->partner_count; i++)
		json_array_append_new(partners, json_integer(t->partner[i]));
	for (int i = 0; i < j->tasks; i++)
		counted += j->task[i].counter != NULL;
	if (isfinite(now.lo) && isfinite(now.hi))
		ci = json_pack("[f,f]", now.lo, now.hi);
	sham = sham_degradation(&t->sham, &sham_error);
	status = json_pack("{s:I, s:I, s:s, s:I, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:I, s:I, "
			   "s:o, s:o, s:o, s:o, s:o, s:s, s:s}",
		"job", (json_int_t)t->job_id, "restart", (json_int_t)t->restart, "user",
		j->reg.user, "uid", (json_int_t)t->uid, "lane", t->lane, "cores", t->cores, "tasks",
		j->tasks, "counted_tasks", counted, "backend", counter_backend_name(t->backend),
		"degradation", field_real_or_null(now.degradation), "ci95", ci,
		"thesis_degradation", field_real_or_null(thesis.degradation), "blocks",
		(json_int_t)now.blocks, "used", (json_int_t)now.used, "co_s",
		seconds(tally_co_ns(t)), "solo_s",
		seconds(t->mode_ns[TALLY_SOLO] + t->own_turns_ns), "paused_s",
		seconds(t->paused_ns), "unmeasured_s", seconds(t->mode_ns[TALLY_UNMEASURED]),
		"partners", partners, "pause", pause_of(j), "state", state_names[j->state]);
	json_object_update_new(
		status, json_pack("{s:i, s:o, s:I, s:b, s:{s:I, s:o, s:o}}", "level", level,
				"block_every_s", block_every(js, level), "ran_while_held",
				(json_int_t)j->ran, "shutter_sensing", tally_senses(t), "sham",
				"blocks", (json_int_t)t->sham.blocks, "degradation",
				field_real_or_null(sham), "error", field_real_or_null(sham_error)));
	json_object_update_new(
		status, json_pack("{s:o, s:o, s:b, s:b}", "turned_s", seconds(t->turned_ns),
				"max_degradation",
				j->reg.max_degradation > 0 ? json_real(j->reg.max_degradation)
							   : json_null(),
				"unkept", j->unkept, "holdable", jobs_turns_holdable(js, j)));
	if (j->map)
		json_object_set_new(status, "map",
			json_pack("{s:I, s:s}", "moves", (json_int_t)map_job_moves(j->map),
				"why_not", map_job_why(j->map)));
	if (t->partner_count > 1)
		json_object_set_new(status, "attribution", attribution_json(js, t));
	if (t->spin_result.verdict != SPIN_UNKNOWN)
		json_object_set_new(status, "spin",
			json_pack("{s:s, s:f, s:f}", "verdict",
				spin_verdict_name(t->spin_result.verdict), "most",
				t->spin_result.most, "least", t->spin_result.least));
	return status;
}

/* Removes what only root may see, and puts what each block changes as it was up to USERS_EVERY ago.
 */
static json_t *for_users(json_t *now, json_t **shown, int64_t *shown_ns)
{
	static const char *const for_root[] = {"sham", "shutter_sensing", "ran_while_held", "shams",
		"absences", "long_blocks", "discarded", "holdable"};
	static const char *const of_blocks[] = {"degradation", "ci95", "thesis_degradation",
		"blocks", "used", "attribution", "spin", "level", "block_every_s", "shutters",
		"windows", "longest_stop_ns", "shutter_cpu_s", "overhead", "unkept"};

	if (!*shown || clock_now() - *shown_ns > USERS_EVERY) {
		json_decref(*shown);
		*shown = json_copy(now);
		*shown_ns = clock_now();
	}
	for (size_t i = 0; i < sizeof(for_root) / sizeof(for_root[0]); i++)
		json_object_del(now, for_root[i]);
	for (size_t i = 0; i < sizeof(of_blocks) / sizeof(of_blocks[0]); i++) {
		json_object_del(now, of_blocks[i]);
		json_object_set(now, of_blocks[i], json_object_get(*shown, of_blocks[i]));
	}
	return now;
}

json_t *jobs_status(struct jobs *js, uid_t uid)
{
	json_t *all = json_array();

	jobs_account(js);
	for (struct job *j = js->first; j; j = j->next) {
		if (!uid)
			json_array_append_new(all, job_status(js, j));
		else if (uid == j->reg.uid)
			json_array_append_new(
				all, for_users(job_status(js, j), &j->shown, &j->shown_ns));
	}
	return all;
}

/* The cost of shutters that the model (thesis, equation 3.9) expects at the present levels. A block
 * of one job holds all others; in an absence it holds that one alone, and in a sham nobody. */
static double model_cost(const struct jobs *js)
{
	const struct schedule *s = &js->schedule;
	double held =
		schedule_share(s, SHUTTER_LONE) * (s->jobs - 1) + schedule_share(s, SHUTTER_ABSENT);
	double cost = 0;

	for (const struct job *j = js->first; j; j = j->next)
		if (jobs_in_plan(j) && jobs_backend(j) != COUNTER_NONE)
			cost += ldexp(1, -jobs_level(js, j));
	for (int i = 0; i < s->jobs; i++) {
		struct schedule level0 = *s;

		level0.job[i].level = 0;
		if (s->job[i].measured)
			return cost * held * (double)js->env.settings->shutter_ns / s->jobs /
			       (double)schedule_interval(&level0, i) /
			       (js->turning ? TURNS_PROBE_EVERY : 1);
	}
	return NAN;
}

json_t *jobs_totals(struct jobs *js, uid_t uid)
{
	bool favoured = js->turning && js->turns.slices;
	json_t *discarded = json_object(), *cost, *totals;

	/* All of them: a counter whose first value is 1 has not risen for who watches it. */
	for (int o = SHUTTER_OK + 1; o < SHUTTER_OUTCOMES; o++)
		json_object_set_new(discarded, shutter_outcome_name(o),
			json_integer((json_int_t)js->outcome[o]));
	cost = json_pack("{s:o, s:o, s:f, s:b, s:i}", "held", field_real_or_null(js->limit.held),
		"cpu", field_real_or_null(js->limit.cpu), "max", js->env.settings->overhead_max,
		"capped", js->active && js->lengthened, "level", js->limit.level);
	totals = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:b, s:o, s:o}",
		"shutters", (json_int_t)js->blocks, "shams", (json_int_t)js->shams, "absences",
		(json_int_t)js->absences, "long_blocks", (json_int_t)js->long_blocks, "windows",
		(json_int_t)js->windows, "discarded", discarded, "longest_stop_ns",
		(json_int_t)js->longest_stop_ns, "overhead",
		js->co_ns ? json_real((double)js->paused_ns / js->co_ns) : json_null(),
		"overhead_model", field_real_or_null(js->active ? model_cost(js) : NAN),
		"shutter_cpu_s", seconds(shutter_cpu_ns(js->env.shutter)), "active", js->active,
		"period_s", js->active ? seconds(js->schedule.period_ns) : json_null(), "cost",
		cost);
	json_object_set_new(totals, "turns",
		json_pack("{s:b, s:o, s:I, s:I, s:o, s:o}", "on", js->turning, "slice_s",
			js->turning ? seconds(js->env.settings->turn_ns) : json_null(), "slices",
			(json_int_t)js->slices, "disturbed", (json_int_t)js->slices_disturbed,
			"favoured", favoured ? json_integer(js->favoured) : json_null(), "share",
			favoured ? json_real((double)js->turns.slices / TURNS_CYCLE)
				 : json_null()));
	return uid ? for_users(totals, &js->shown, &js->shown_ns) : totals;
}
