/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes up jobs that have come to this node, and finishes those that have left it. */
#include "poppa/node/jobs_impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"

/* For registrations without a boot id: the wall clock may be set some time after the boot. */
#define CLOCK_SLACK_S 60

/* How long the job was here before poppad started, s. */
static int64_t unseen_s(const struct jobs *js, const struct registration *r)
{
	int64_t s = r->uptime >= 0 && !strcmp(r->boot_id, js->boot)
			    ? js->started_unix - js->boot_unix - r->uptime
			    : js->started_unix - r->registered;

	return s > 0 ? s : 0;
}

/* Whether a job that begins now is to have long blocks. */
static bool has_long_blocks(const struct poppa_settings *s)
{
	return s->method == ESTIMATE_ROBUST && s->long_ns && s->long_budget > 0;
}

static struct tally *restore(struct jobs *js, const struct registration *r)
{
	struct errmsg err = {""};
	json_t *state = spool_restore(js->env.spool, r->job_id, r->restart, &err);
	struct slow_prior prior;
	struct tally *t = NULL;

	if (state) {
		t = tally_load(state, js->boot, clock_now(), time(NULL));
		json_decref(state);
		/* An earlier job may have had the same id. */
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
	if (t)
		return t;
	sender_prior(js->env.sender, &prior);
	t = tally_new(r->job_id, r->restart, r->uid, r->registered, clock_now(),
		has_long_blocks(js->env.settings) ? &prior : NULL);
	if (t)
		tally_unmeasured(t, unseen_s(js, r) * NS_PER_S);
	return t;
}

/* Takes up the run that a registration names. */
static struct job *add(struct jobs *js, const struct registration *r, bool ended)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->reg = *r;
	j->tally = restore(js, r);
	if (!j->tally) {
		free(j);
		return NULL;
	}
	j->tally->lane = registration_lane(&j->reg, js->env.settings->stripe_lanes);
	j->tally->cores = j->reg.core_count;
	jobs_add(js, j);
	js->changed = true;
	if (!ended)
		plog_info("job %u of uid %u: co-located here, lane %d", r->job_id, r->uid,
			j->tally->lane);
	return j;
}

static bool is_of(const struct job *j, const struct registration *r)
{
	return j->reg.job_id == r->job_id && j->reg.restart == r->restart &&
	       j->tally->uid == r->uid && j->tally->start_unix == r->registered;
}

/* Removes the registration of a run, but not that of another job which got the same id since. */
static void unregister(const struct jobs *js, const struct job *j)
{
	struct registration now;
	struct errmsg err;

	registration_remove(js->env.dir, j->reg.job_id, j->reg.restart, true);
	if (!registration_read(js->env.dir, j->reg.job_id, j->reg.restart, false, &now, &err) &&
		is_of(j, &now))
		registration_remove(js->env.dir, j->reg.job_id, j->reg.restart, false);
}

/* Stores the final record, and only then removes what else there is of the job. Returns whether the
 * record is safe. */
static bool finish(struct jobs *js, struct job *j)
{
	char degradation[32] = "unknown";
	struct ledger_record r;
	struct errmsg err = {""};

	tally_advance(j->tally, clock_now(), TALLY_ABSENT);
	jobs_record(js, j, true, &r);
	if (spool_record(js->env.spool, &r, &err)) {
		if (!js->told_spool)
			plog_error("the spool takes no record, trying again: %s", err.text);
		js->told_spool = true;
		return false;
	}
	js->told_spool = false;
	spool_forget(js->env.spool, j->reg.job_id, j->reg.restart);
	unregister(js, j);
	sender_wake(js->env.sender);
	if (isfinite(r.degradation))
		snprintf(degradation, sizeof(degradation), "%.4f", r.degradation);
	plog_info("job %u has ended: degradation %s, %llu of %llu blocks used, %.1f s co-located, "
		  "%.3f s stopped",
		r.job_id, degradation, (unsigned long long)r.used, (unsigned long long)r.blocks,
		(double)r.co_ns / NS_PER_S, (double)r.paused_ns / NS_PER_S);
	return true;
}

static bool of_this_boot(const struct jobs *js, const struct registration *r)
{
	return *r->boot_id ? !strcmp(r->boot_id, js->boot)
			   : r->registered >= js->boot_unix - CLOCK_SLACK_S;
}

static void one_file(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct jobs *js = arg;
	struct job *same = jobs_find(js, job_id, restart), *j = js->first;
	struct registration r;
	struct errmsg err;

	if (registration_read(js->env.dir, job_id, restart, ended, &r, &err)) {
		if (!ended && same)
			same->seen = true; /* unreadable for now */
		else if (errno != ENOENT)
			plog_error("%s", err.text);
		return;
	}
	while (j && !is_of(j, &r))
		j = j->next;
	if (!j)
		j = add(js, &r, ended);
	if (!j)
		return;
	/* A job of an earlier boot has ended, though its epilog never ran. */
	j->seen |= !ended && of_this_boot(js, &j->reg);
	/* Where an id was given out again, its earlier job has ended. */
	if (same && same != j)
		(ended ? j : same)->replaced = true;
}

/* Whether the job still has a registration, which may be unreadable for now. Such a job may run,
 * and its checkpoint is still needed. */
static bool registered(const struct jobs *js, uint32_t job_id, uint32_t restart)
{
	char path[PATH_MAX + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u.%u", js->env.dir, job_id, restart);
	return !lstat(path, &st);
}

/* Takes up a job that has a checkpoint but no registration: the node was restarted, or somebody has
 * removed the file. */
static void orphan(uint32_t job_id, uint32_t restart, void *arg)
{
	struct jobs *js = arg;
	struct errmsg err = {""};
	json_t *state;
	struct job *j;

	if (jobs_find(js, job_id, restart) || registered(js, job_id, restart))
		return;
	j = calloc(1, sizeof(*j));
	state = spool_restore(js->env.spool, job_id, restart, &err);
	if (!j || (!state && errno != EINVAL)) {
		plog_warn("job %u: its checkpoint stays for the next start: %s", job_id,
			j ? err.text : "out of memory");
		json_decref(state);
		free(j);
		return;
	}
	if (state) {
		j->reg.job_id = job_id;
		j->reg.restart = restart;
		j->tally = tally_load(state, js->boot, clock_now(), time(NULL));
	}
	json_decref(state);
	if (!j->tally) {
		plog_warn("the checkpoint of job %u is unreadable and is dropped", job_id);
		spool_forget(js->env.spool, job_id, restart);
		free(j);
		return;
	}
	j->reg.uid = j->tally->uid;
	jobs_add(js, j);
}

void jobs_sync(struct jobs *js)
{
	struct errmsg err = {""};

	for (struct job *j = js->first; j; j = j->next)
		j->seen = false;
	if (registration_scan(js->env.dir, one_file, js, &err)) {
		plog_error("%s", err.text);
		return;
	}
	if (!js->orphans_taken)
		spool_each(js->env.spool, orphan, js);
	js->orphans_taken = true;
	/* Of a job that was requeued, only the last run can still be here. */
	for (struct job *j = js->first; j; j = j->next)
		for (const struct job *o = js->first; o; o = o->next)
			if (o->reg.job_id == j->reg.job_id && o->reg.restart > j->reg.restart)
				j->seen = false;
	jobs_scan(js);
	for (struct job *j = js->first, *next; j; j = next) {
		next = j->next;
		if (!j->seen && finish(js, j))
			jobs_drop(js, j);
	}
	jobs_update(js);
}
