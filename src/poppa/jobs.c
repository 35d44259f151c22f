/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the table of co-located jobs: who comes and goes, their time, and what is kept of them. */
#include "poppa/jobs_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/clock.h"
#include "poppa/proc.h"

#define CHECKPOINT_EVERY (5 * NS_PER_S)
/* Without a boot id: the wall clock may be set some time after the boot. */
#define CLOCK_SLACK_S 60
#define INTERIM_EVERY (60 * NS_PER_S)
/* Looks at stopped tasks become ever rarer; then the tick does. */
#define LOOK_LAST_MS 640

static int64_t unix_now(void)
{
	return time(NULL);
}

enum counter_backend jobs_wanted_counter(const struct jobs *js)
{
	return js->env.conf->counter_set ? js->env.conf->counter : js->env.settings->counter;
}

struct jobs *jobs_new(const struct jobs_env *env)
{
	struct jobs *js = calloc(1, sizeof(*js));
	struct timespec up;

	if (!js)
		return NULL;
	js->env = *env;
	clock_gettime(CLOCK_BOOTTIME, &up);
	js->started_unix = unix_now();
	js->boot_unix = js->started_unix - up.tv_sec;
	js->counter = jobs_wanted_counter(js);
	budget_init(&js->budget);
	if (getrandom(&js->secret, sizeof(js->secret), 0) != sizeof(js->secret)) {
		free(js);
		return NULL;
	}
	proc_boot_id(js->boot, sizeof(js->boot));
	return js;
}

int jobs_count(const struct jobs *js)
{
	int n = 0;

	for (const struct job *j = js->first; j; j = j->next)
		n++;
	return n;
}

struct job *jobs_find(const struct jobs *js, uint32_t job_id, uint32_t restart)
{
	struct job *j = js->first;

	while (j && (j->reg.job_id != job_id || j->reg.restart != restart))
		j = j->next;
	return j;
}

void jobs_account(struct jobs *js)
{
	int64_t now = clock_now();
	int running = 0;

	for (const struct job *j = js->first; j; j = j->next)
		running += jobs_in_plan(j);
	for (struct job *j = js->first; j; j = j->next) {
		int64_t co = j->tally->mode_ns[TALLY_CO];

		tally_advance(j->tally, now,
			!jobs_in_plan(j) ? TALLY_ABSENT
			: running < 2    ? TALLY_SOLO
			: js->blind      ? TALLY_UNMEASURED
					 : TALLY_CO);
		co = j->tally->mode_ns[TALLY_CO] - co;
		js->co_ns += co;
		for (const struct job *o = js->first; o; o = o->next)
			if (o != j && o->was_in_plan)
				attribution_together(&j->tally->attribution, o->reg.job_id, co);
		for (const struct job *o = js->first; o && jobs_in_plan(j); o = o->next)
			if (o != j && jobs_in_plan(o))
				tally_partner(j->tally, o->reg.job_id);
	}
	for (struct job *j = js->first; j; j = j->next)
		j->was_in_plan = jobs_in_plan(j);
}

/* One line when the period begins to be longer than its setting, and one when it is so no more. */
static void tell_period(struct jobs *js)
{
	int64_t slot = (js->schedule.period_ns + js->schedule.block_ns) << js->budget.level;
	int64_t set = js->env.settings->period_ns, now = slot - js->schedule.block_ns;
	bool lengthened = now > set;

	if (lengthened == js->lengthened)
		return;
	js->lengthened = lengthened;
	if (lengthened)
		plog_info("the period is %.0f ms for now instead of %.0f ms: more shutters would "
			  "cost more than poppa_overhead_max=%.6g%%",
			(double)now / NS_PER_MS, (double)set / NS_PER_MS,
			100 * js->env.settings->overhead_max);
	else
		plog_info("the period is %.0f ms again", (double)now / NS_PER_MS);
}

/* Compares what shutters cost with poppa_overhead_max. */
static void look_at_cost(struct jobs *js)
{
	struct budget_spent spent = {.now_ns = clock_now(),
		.held_ns = js->paused_ns,
		.co_ns = js->co_ns,
		.cores = (int)sysconf(_SC_NPROCESSORS_ONLN)};
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	spent.cpu_ns = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
	if (budget_look(&js->budget, &spent, js->env.settings->overhead_max))
		js->changed = true;
}

/* A new plan where something has changed; the time of all jobs. */
static void update(struct jobs *js)
{
	struct shutter_plan *next, *old;

	if (js->changed) {
		next = jobs_make_plan(js, &js->blind);
		js->active = next != NULL;
		if (next) {
			js->schedule = next->schedule;
			tell_period(js);
		}
		old = shutter_publish(js->env.shutter, next);
		if (old && old->finished)
			jobs_take_block(js, old);
		shutter_plan_free(old);
		jobs_empty_garbage(js);
		js->changed = false;
	}
	jobs_account(js);
}

static void scan(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next)
		jobs_scan_job(js, j);
	update(js);
}

/* --- coming and going --- */

/* From the registration to our start. */
static int64_t unseen_s(const struct jobs *js, const struct registration *r)
{
	int64_t s = r->uptime >= 0 && !strcmp(r->boot_id, js->boot)
			    ? js->started_unix - js->boot_unix - r->uptime
			    : js->started_unix - r->registered;

	return s > 0 ? s : 0;
}

static struct tally *restore(struct jobs *js, const struct registration *r)
{
	struct errmsg err = {""};
	json_t *state = spool_restore(js->env.spool, r->job_id, r->restart, &err);
	struct tally *t = NULL;

	if (state) {
		t = tally_load(state, js->boot, clock_now(), unix_now());
		json_decref(state);
		/* The checkpoint of a job id that was used before is not ours. */
		if (t && (t->start_unix != r->registered || t->uid != r->uid)) {
			tally_free(t);
			t = NULL;
		} else if (!t) {
			plog_warn(
				"job %u: its checkpoint is unreadable and is not used", r->job_id);
		}
	} else if (errno != ENOENT) {
		plog_warn("job %u: no checkpoint: %s", r->job_id, err.text);
	}
	if (!t) {
		t = tally_new(r->job_id, r->restart, r->uid, r->registered, clock_now());
		if (t)
			tally_unmeasured(t, unseen_s(js, r) * NS_PER_S);
	}
	return t;
}

static struct job *add(struct jobs *js, uint32_t job_id, uint32_t restart, bool ended)
{
	struct job *j = calloc(1, sizeof(*j)), **tail = &js->first;
	struct errmsg err = {""};

	if (!j)
		return NULL;
	if (registry_read(js->env.dir, job_id, restart, ended, &j->reg, &err)) {
		if (errno != ENOENT)
			plog_error("%s", err.text);
		free(j);
		return NULL;
	}
	j->tally = restore(js, &j->reg);
	if (!j->tally) {
		free(j);
		return NULL;
	}
	j->tally->lane = registry_lane(&j->reg, js->env.settings->stripe_lanes);
	j->tally->cores = j->reg.core_count;
	while (*tail)
		tail = &(*tail)->next;
	*tail = j;
	js->changed = true;
	if (!ended)
		plog_info("job %u of uid %u: co-located here, lane %d", job_id, j->reg.uid,
			j->tally->lane);
	return j;
}

static void free_job(struct jobs *js, struct job *j)
{
	struct job **at = &js->first;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	for (int i = 0; i < j->tasks; i++)
		jobs_discard(js, j->task[i].counter, j->task[i].unit, NULL);
	for (int i = 0; i < j->freezers; i++) {
		jobs_discard(js, NULL, j->freezer[i].unit, NULL);
		free(j->freezer[i].path);
	}
	jobs_discard(js, NULL, NULL, j->newborn);
	js->changed = true;
	free(j->task);
	free(j->freezer);
	tally_free(j->tally);
	free(j);
}

/* The final record is safe in the spool before anything else of the job goes. */
static bool finish(struct jobs *js, struct job *j)
{
	char path[PATH_MAX + 64], degradation[32] = "unknown";
	struct ledger_record r;
	struct errmsg err = {""};

	tally_advance(j->tally, clock_now(), TALLY_ABSENT);
	tally_record(j->tally, js->env.settings, js->env.cluster->cluster, js->env.cluster->node,
		true, unix_now(), &r);
	if (spool_record(js->env.spool, &r, &err)) {
		if (!js->told_spool)
			plog_error("the spool takes no record, trying again: %s", err.text);
		js->told_spool = true;
		return false;
	}
	js->told_spool = false;
	spool_forget(js->env.spool, j->reg.job_id, j->reg.restart);
	snprintf(path, sizeof(path), "%s/%u.%u" REGISTRY_ENDED, js->env.dir, j->reg.job_id,
		j->reg.restart);
	unlink(path);
	path[strlen(path) - strlen(REGISTRY_ENDED)] = '\0';
	unlink(path);
	sender_wake(js->env.sender);
	if (isfinite(r.degradation))
		snprintf(degradation, sizeof(degradation), "%.4f", r.degradation);
	plog_info("job %u has ended: degradation %s, %llu of %llu blocks used, %.1f s co-located, "
		  "%.3f s stopped",
		r.job_id, degradation, (unsigned long long)r.used, (unsigned long long)r.blocks,
		(double)r.co_ns / NS_PER_S, (double)r.paused_ns / NS_PER_S);
	return true;
}

struct ended {
	uint32_t job_id, restart;
};

struct listing {
	struct jobs *js;
	int count;
	struct ended *ended;
};

static bool of_this_boot(const struct jobs *js, const struct registration *r)
{
	return *r->boot_id ? !strcmp(r->boot_id, js->boot)
			   : r->registered >= js->boot_unix - CLOCK_SLACK_S;
}

static void one_file(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct listing *l = arg;
	struct job *j = jobs_find(l->js, job_id, restart);

	if (ended) {
		struct ended *more = realloc(l->ended, (l->count + 1) * sizeof(*more));

		if (more) {
			l->ended = more;
			l->ended[l->count++] = (struct ended){job_id, restart};
		}
		return;
	}
	if (!j)
		j = add(l->js, job_id, restart, false);
	/* Nothing of a job outlives a boot: its epilog never ran. */
	if (j)
		j->seen = of_this_boot(l->js, &j->reg);
}

/* A checkpoint without a registration: the node was restarted, or the file was taken away. */
static void orphan(uint32_t job_id, uint32_t restart, void *arg)
{
	struct jobs *js = arg;
	struct errmsg err = {""};
	json_t *state;
	struct job *j;

	if (jobs_find(js, job_id, restart))
		return;
	j = calloc(1, sizeof(*j));
	state = spool_restore(js->env.spool, job_id, restart, &err);
	if (j && state) {
		j->reg.job_id = job_id;
		j->reg.restart = restart;
		j->tally = tally_load(state, js->boot, clock_now(), unix_now());
	}
	json_decref(state);
	if (!j || !j->tally) {
		plog_warn("the checkpoint of job %u is unreadable and is dropped", job_id);
		spool_forget(js->env.spool, job_id, restart);
		free(j);
		return;
	}
	j->reg.uid = j->tally->uid;
	j->next = js->first;
	js->first = j;
}

void jobs_sync(struct jobs *js)
{
	struct listing l = {.js = js};
	struct errmsg err = {""};

	for (struct job *j = js->first; j; j = j->next)
		j->seen = false;
	if (registry_scan(js->env.dir, one_file, &l, &err)) {
		plog_error("%s", err.text);
		free(l.ended);
		return;
	}
	for (int i = 0; i < l.count; i++)
		if (!jobs_find(js, l.ended[i].job_id, l.ended[i].restart))
			add(js, l.ended[i].job_id, l.ended[i].restart, true);
	free(l.ended);
	if (!js->orphans_taken)
		spool_each(js->env.spool, orphan, js);
	js->orphans_taken = true;
	/* A job that was requeued has one run at a time, the last. */
	for (struct job *j = js->first; j; j = j->next)
		for (const struct job *o = js->first; o; o = o->next)
			if (o->reg.job_id == j->reg.job_id && o->reg.restart > j->reg.restart)
				j->seen = false;
	scan(js);
	for (struct job *j = js->first, *next; j; j = next) {
		next = j->next;
		if (!j->seen && finish(js, j))
			free_job(js, j);
	}
	update(js);
}

static void checkpoint(struct jobs *js)
{
	struct errmsg err = {""};

	for (const struct job *j = js->first; j; j = j->next) {
		json_t *state = tally_save(j->tally, js->boot, unix_now());
		int rc =
			spool_checkpoint(js->env.spool, j->reg.job_id, j->reg.restart, state, &err);

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

static void interim(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		struct ledger_record r;

		tally_record(j->tally, js->env.settings, js->env.cluster->cluster,
			js->env.cluster->node, false, unix_now(), &r);
		sender_interim(js->env.sender, &r);
	}
}

void jobs_tick(struct jobs *js)
{
	int64_t now = clock_now();
	struct errmsg err = {""};
	bool waiting = false;

	jobs_refresh(js);
	look_at_cost(js);
	scan(js);
	if (now >= js->next_checkpoint) {
		checkpoint(js);
		js->next_checkpoint = now + CHECKPOINT_EVERY;
		if (*js->env.log && shutterlog_flush(*js->env.log, &err)) {
			plog_error("the shutter log ends here: %s", err.text);
			shutterlog_close(*js->env.log);
			*js->env.log = NULL;
		}
	}
	if (!js->next_interim) {
		js->next_interim = now + INTERIM_EVERY;
	} else if (now >= js->next_interim) {
		interim(js);
		js->next_interim = now + INTERIM_EVERY;
	}
	for (const struct job *j = js->first; j; j = j->next)
		waiting |= !j->seen;
	if (waiting)
		jobs_sync(js); /* a final record that the spool did not take */
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
		scan(js);
}

void jobs_block(struct jobs *js)
{
	struct shutter_plan *p = shutter_take(js->env.shutter);
	enum shutter_outcome outcome;
	bool changed;

	if (!p)
		return;
	jobs_take_block(js, p);
	outcome = p->outcome;
	changed = p->changed;
	shutter_done(js->env.shutter);
	if (outcome == SHUTTER_COUNTER)
		jobs_refresh(js);
	if (changed || (outcome != SHUTTER_OK && outcome != SHUTTER_OVERDUE))
		scan(js);
}

void jobs_reconfigured(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		j->tally->lane = registry_lane(&j->reg, js->env.settings->stripe_lanes);
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
	/* What other settings cost says nothing of these. */
	budget_init(&js->budget);
	js->changed = true;
	scan(js);
}

void jobs_allow(struct jobs *js, bool allowed)
{
	if (js->allowed == allowed)
		return;
	js->allowed = allowed;
	js->changed = true;
	update(js);
}

void jobs_free(struct jobs *js)
{
	struct shutter_plan *old;

	if (!js)
		return;
	old = shutter_publish(js->env.shutter, NULL);
	if (old && old->finished)
		jobs_take_block(js, old);
	shutter_plan_free(old);
	jobs_account(js);
	checkpoint(js);
	while (js->first)
		free_job(js, js->first);
	jobs_empty_garbage(js);
	free(js);
}
