/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works on the table of co-located jobs when poppad calls, and keeps its checkpoints. */
#include "poppa/node/jobs_impl.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/hold/proc.h"

#define FLUSH_EVERY (5 * NS_PER_S) /* the shutter log */
/* Between two checkpoints of a run: a part of its age, within these bounds, in seconds. So a crash
 * costs it no more than that part of what was measured. */
#define CHECKPOINT_PART 20
#define CHECKPOINT_LEAST 5
#define CHECKPOINT_MOST 30
/* The same for interim records. A job with a short time limit is soon known, for its limit to
 * follow (docs/promise.md). */
#define INTERIM_PART 4
#define INTERIM_LEAST 5
#define INTERIM_MOST 60
/* Stopped tasks are looked at ever more rarely; after this interval, only the tick does it. */
#define LOOK_LAST_MS 640

struct jobs *jobs_new(const struct jobs_env *env)
{
	struct jobs *js = calloc(1, sizeof(*js));

	if (!js)
		return NULL;
	js->env = *env;
	js->leftovers = leftovers_new();
	js->started_unix = time(NULL);
	js->boot_unix = js->started_unix - clock_boot() / NS_PER_S;
	js->counter = jobs_wanted_counter(js);
	overhead_limit_init(&js->limit);
	if (getrandom(&js->secret, sizeof(js->secret), 0) != sizeof(js->secret)) {
		free(js);
		return NULL;
	}
	proc_boot_id(js->boot, sizeof(js->boot));
	return js;
}

/* A part of the run's age within bounds, ns. */
static int64_t gap_of(const struct job *j, int part, int least_s, int most_s)
{
	int64_t gap = (time(NULL) - j->reg.registered) / part;

	gap = gap < least_s ? least_s : gap;
	return NS_PER_S * (gap > most_s ? most_s : gap);
}

/* Of the runs whose time has come, or of all. */
static void checkpoint(struct jobs *js, bool all)
{
	int64_t now = clock_now();
	struct errmsg err = {""};

	for (struct job *j = js->first; j; j = j->next) {
		json_t *state;
		int rc;

		if (!all && now < j->next_checkpoint)
			continue;
		j->next_checkpoint =
			now + gap_of(j, CHECKPOINT_PART, CHECKPOINT_LEAST, CHECKPOINT_MOST);
		state = tally_save(j->tally, js->boot, time(NULL));
		rc = spool_checkpoint(js->env.spool, j->reg.job_id, j->reg.restart, state, &err);
		json_decref(state);
		if (rc) {
			if (!js->told_spool)
				plog_error("no checkpoints: %s", err.text);
			js->told_spool = true;
			return;
		}
	}
	if (js->first)
		js->told_spool = false;
}

/* Sends records of the runs whose time has come. */
static void interim(struct jobs *js, int64_t now)
{
	for (struct job *j = js->first; j; j = j->next) {
		struct ledger_record r;

		if (now < j->next_interim)
			continue;
		if (j->next_interim) {
			jobs_record(js, j, false, &r);
			sender_interim(js->env.sender, &r);
		}
		j->next_interim = now + gap_of(j, INTERIM_PART, INTERIM_LEAST, INTERIM_MOST);
	}
}

void jobs_tick(struct jobs *js)
{
	int64_t now = clock_now();
	struct errmsg err = {""};
	bool waiting = false;

	jobs_refresh(js);
	jobs_look_at_cost(js);
	jobs_look_for_leftovers(js);
	jobs_scan(js);
	jobs_map_look(js);
	jobs_turns_look(js);
	if (js->changed)
		jobs_update(js);
	checkpoint(js, false);
	if (now >= js->next_flush) {
		js->next_flush = now + FLUSH_EVERY;
		if (*js->env.log && shutterlog_flush(*js->env.log, &err)) {
			plog_error("the shutter log ends here: %s", err.text);
			shutterlog_close(*js->env.log);
			*js->env.log = NULL;
		}
	}
	interim(js, now);
	for (const struct job *j = js->first; j; j = j->next)
		waiting |= !j->seen;
	if (waiting)
		jobs_sync(js); /* tries again to store a final record that the spool did not take */
}

int jobs_look_ms(const struct jobs *js)
{
	return js->look_ms;
}

void jobs_look(struct jobs *js)
{
	bool again = jobs_someone_runs_again(js);

	js->look_ms = again || js->look_ms >= LOOK_LAST_MS ? 0 : js->look_ms * 2;
	if (again)
		jobs_scan(js);
}

void jobs_block(struct jobs *js)
{
	enum shutter_outcome outcome;
	bool changed;

	if (!jobs_take_finished(js, &outcome, &changed))
		return;
	if (outcome == SHUTTER_COUNTER)
		jobs_refresh(js);
	if (changed || (outcome != SHUTTER_OK && outcome != SHUTTER_OVERDUE))
		jobs_scan(js);
}

void jobs_reconfigured(struct jobs *js)
{
	jobs_map_anew(js);
	for (struct job *j = js->first; j; j = j->next) {
		j->tally->lane = registration_lane(&j->reg, js->env.settings->stripe_lanes);
		for (int i = 0; i < j->tasks; i++) {
			struct task *t = &j->task[i];

			t->tries = 0;
			t->next_try = 0;
			if (js->counter != jobs_wanted_counter(js)) {
				jobs_discard(js, t->counter, NULL, NULL);
				t->counter = NULL;
			}
		}
	}
	js->counter = jobs_wanted_counter(js);
	/* The cost of shutters under other settings says nothing about these. */
	overhead_limit_init(&js->limit);
	js->changed = true;
	jobs_scan(js);
}

void jobs_allow(struct jobs *js, bool allowed)
{
	if (js->allowed == allowed)
		return;
	js->allowed = allowed;
	js->changed = true;
	jobs_update(js);
}

void jobs_free(struct jobs *js)
{
	struct shutter_plan *old;

	if (!js)
		return;
	old = shutter_publish(js->env.shutter, NULL);
	js->turning = false;
	if (old)
		jobs_turns_take(js, &old->turned);
	if (old && old->finished)
		jobs_take_block(js, old);
	shutter_plan_free(old);
	jobs_account(js);
	checkpoint(js, true);
	while (js->first)
		jobs_drop(js, js->first);
	jobs_empty_garbage(js);
	json_decref(js->shown);
	leftovers_free(js->leftovers);
	free(js);
}
