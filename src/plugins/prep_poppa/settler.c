/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settles finished co-located jobs from one worker thread, and keeps what it has not taken yet. */
#include "plugins/compat/slurm_compat.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "src/slurmctld/locks.h"

#include "common/clock.h"
#include "common/settings_kept.h"
#include "common/units.h"

#include "addresses.h"
#include "serving.h"
#include "settler.h"
#include "settler_impl.h"

SLURM_WEAK(slurmctld_config)

#define SCAN_MS 30000 /* between looks for jobs that were left unsettled */
#define LEDGER_TIMEOUT_MS 3000
#define STOP_WAIT_S 5
#define ROUND_MS 250 /* between two rounds of the worker, at least */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_worker, wake_keeper;
static struct item *arrived; /* handed over by settler_queue() */
static bool arrived_changed; /* the file of what arrived is behind */
/* slurmctld does not end before what has arrived is in a file: of a run that ended in a requeue,
 * nothing else tells. */
static bool holding;
static pthread_mutex_t arrived_file = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock` */
static bool arrived_loaded; /* the worker has what was in that file; `arrived_file` is held */
static pthread_t worker, keeper;
/* Counts starts and stops; odd while running. A worker whose number has passed ends by itself. */
static unsigned generation;

/* Held by the worker while it runs: one that a stop has left behind ends before the next begins. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct settler of_worker;
static struct nodeconf conf_of_start;
static struct usage of_slurmctld; /* the plugin may be ended and started in between */

int64_t settler_now_ms(void)
{
	return clock_now_ms();
}

static bool stopped(unsigned mine)
{
	bool over;

	pthread_mutex_lock(&lock);
	over = generation != mine;
	pthread_mutex_unlock(&lock);
	return over;
}

void settler_complain(struct settler *w, const char *text)
{
	if (strcmp(text, w->complaint))
		error(ME ": %s", text);
	snprintf(w->complaint, sizeof(w->complaint), "%s", text);
}

/*
 * Follows slurm.conf. A bad value keeps what was in force, the defaults where nothing was. That may
 * be from before this process began: newer slurmctlds begin anew at each reconfigure.
 */
static void follow_settings(struct settler *w)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	char *text, *controller, *dir;
	bool good;

	lock_slurmctld(read_conf);
	text = xstrdup(slurm_conf.prep_params ? slurm_conf.prep_params : "");
	controller = slurm_conf.control_cnt ? xstrdup(slurm_conf.control_addr[0]) : NULL;
	dir = xstrdup(slurm_conf.state_save_location);
	unlock_slurmctld(read_conf);
	if (w->configured && !xstrcmp(text, w->settings_text)) {
		xfree(text);
		xfree(controller);
		xfree(dir);
		return;
	}
	good = !settings_follow(text, dir, !w->settings_text, &w->settings, &err);
	if (good) {
		w->complaint[0] = '\0';
	} else {
		errmsg_set(&err, "PrEpParameters: %s", err.text);
		settler_complain(w, err.text);
	}
	price_rules_parse(&w->settings, &w->rules, &err);
	if (good && settings_keep(dir, text, &err))
		settler_complain(w, err.text);
	if (client_init(&w->client, &w->settings, &w->conf, controller, &err)) {
		settler_complain(w, err.text);
	} else {
		w->client.timeout_ms = LEDGER_TIMEOUT_MS;
		w->configured = true;
	}
	xfree(w->settings_text);
	w->settings_text = text;
	xfree(controller);
	xfree(dir);
}

/*
 * A run may end twice: killed after its first end, slurmctld has forgotten that, and counts on
 * until it misses the job.
 */
static void end_again(struct settler *w, struct item *i, struct facts *f)
{
	if (i->stage >= WRITE || i->priced || i->change)
		return facts_free(f);
	facts_free(i->facts);
	i->facts = f;
	i->stage = WAIT_NODES;
	items_changed(w, i);
}

static void take_arrived(struct settler *w)
{
	struct item *list, *next, *known;

	pthread_mutex_lock(&lock);
	list = arrived;
	arrived = NULL;
	arrived_changed = false;
	pthread_mutex_unlock(&lock);
	for (; list; list = next) {
		next = list->next;
		known = items_find(w, list->facts->job_id, list->facts->start);
		if (known) {
			end_again(w, known, list->facts);
			xfree(list);
		} else {
			items_add(w, list);
		}
	}
}

/* All that the file of what arrived names is in the worker's by now, unless more has arrived. */
static void drop_arrived_file(void)
{
	bool more;

	pthread_mutex_lock(&arrived_file);
	pthread_mutex_lock(&lock);
	more = arrived;
	pthread_mutex_unlock(&lock);
	if (!more)
		state_drop_arrived();
	pthread_mutex_unlock(&arrived_file);
}

static void load(struct settler *w)
{
	if (w->loaded)
		return;
	pthread_mutex_lock(&arrived_file);
	state_load(w);
	arrived_loaded = true;
	pthread_mutex_unlock(&arrived_file);
}

/* The files may be another controller's from now on. */
static void unload(struct settler *w)
{
	pthread_mutex_lock(&arrived_file);
	arrived_loaded = false;
	pthread_mutex_unlock(&arrived_file);
	w->loaded = false;
}

static void save(struct settler *w)
{
	if (!w->changed)
		return;
	state_save(w);
	if (!w->changed)
		drop_arrived_file();
}

/* Lets slurmctld end, where everything is saved, or whatever comes. */
static void let_go(const struct settler *w, bool anyway)
{
	bool over;

	pthread_mutex_lock(&lock);
	over = holding && (anyway || (!arrived && !w->changed));
	if (over)
		holding = false;
	pthread_mutex_unlock(&lock);
	if (over)
		serving_end();
}

static bool holds(void)
{
	bool held;

	pthread_mutex_lock(&lock);
	held = holding;
	pthread_mutex_unlock(&lock);
	return held;
}

/* slurmctld ends, and waits for this if there is anything. */
static void save_last(struct settler *w)
{
	if (!holds())
		return;
	load(w);
	take_arrived(w);
	save(w);
	let_go(w, true);
}

static void save_when_due(struct settler *w)
{
	if (settler_now_ms() >= w->save_ms)
		save(w);
	let_go(w, false);
}

/* Once, until it can be written again. */
static void complain_of_arrived(const struct errmsg *err)
{
	static bool told;

	if (err && !told)
		error(ME ": %s", err->text);
	told = err;
}

/*
 * What the worker has not taken yet is kept beside its own file, as the ledger and slurmdbd may
 * let it wait for minutes: of a run that ended in a requeue, nothing else tells.
 */
static void keep_arrived(void)
{
	struct errmsg err = {""};
	json_t *list = NULL;
	bool any, behind;

	pthread_mutex_lock(&arrived_file);
	pthread_mutex_lock(&lock);
	any = arrived;
	if (any)
		list = state_of_items(arrived);
	arrived_changed = false;
	pthread_mutex_unlock(&lock);
	behind = any && state_save_arrived(list, arrived_loaded, &err);
	pthread_mutex_unlock(&arrived_file);
	complain_of_arrived(behind ? &err : NULL);
	if (behind) {
		pthread_mutex_lock(&lock);
		arrived_changed = true;
		pthread_mutex_unlock(&lock);
	}
}

/*
 * Another controller is in charge: what is known here grows stale, and the state file is its own.
 * Once this one is in charge again it begins like a new process.
 */
static void stand_by(struct settler *w)
{
	items_free(w);
	usage_forget(w->usage);
	unload(w);
	w->scanned = w->changed = false;
	w->scan_ms = 0;
}

static void one_round(struct settler *w, unsigned mine)
{
	int64_t now = settler_now_ms();
	struct errmsg err = {""};

	if (!serving()) {
		save_last(w);
		stand_by(w);
		return;
	}
	if (usage_follow(w->usage, &err)) {
		if (*err.text)
			settler_complain(w, err.text);
		return;
	}
	load(w);
	take_arrived(w);
	save_when_due(w);
	follow_settings(w);
	if (now >= w->scan_ms) {
		settler_scan(w);
		w->scan_ms = w->scanned ? now + SCAN_MS : now + TICK_MS;
	}
	if (!w->scanned)
		return;
	settler_look_at_nodes(w, now);
	settler_look_at_changes(w, now);
	for (struct item *i = w->items; i && !stopped(mine) && serving(); i = i->next) {
		if (i->due_ms > settler_now_ms())
			continue;
		if (i->stage == WAIT_RECORDS)
			settler_look_at_records(w, i);
		else if (i->stage == WRITE)
			settler_write(w, i);
		else if (i->stage == CHECK)
			settler_check(w, i);
	}
	items_drop_done(w);
	if (serving())
		save_when_due(w);
	settler_keep_refunds(w);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* With the lock held: until that time, or until somebody signals. */
static void wait_until(pthread_cond_t *cond, int64_t ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS};

	pthread_cond_timedwait(cond, &lock, &t);
}

/* The worker takes most of what arrives at once: only what it leaves for a while is written. */
static void *keep(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	pthread_mutex_lock(&lock);
	while (generation == mine) {
		int64_t due = settler_now_ms() + ROUND_MS;

		if (!arrived_changed) {
			pthread_cond_wait(&wake_keeper, &lock);
			continue;
		}
		while (generation == mine && settler_now_ms() < due)
			wait_until(&wake_keeper, due);
		if (generation != mine || !arrived_changed)
			continue;
		pthread_mutex_unlock(&lock);
		if (serving_begin()) {
			keep_arrived();
			serving_end();
		}
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/*
 * When something is to be done next, if nothing arrives. New settings, and that this slurmctld is
 * in charge no longer, are noticed at the latest then.
 */
static int64_t next_round_ms(const struct settler *w)
{
	int64_t now = settler_now_ms(), next = now + MAX_TICK_MS;

	if (!w->scanned)
		return now + ROUND_MS;
	next = sooner(next, w->scan_ms);
	if (w->configured)
		next = sooner(next, settler_changes_due_ms(w));
	if (w->changed)
		next = sooner(next, w->save_ms);
	for (const struct item *i = w->items; i; i = i->next)
		next = sooner(next, i->due_ms);
	return next > now + ROUND_MS ? next : now + ROUND_MS;
}

/* Goes on with what the worker before has left in memory; poppa.conf may be another. */
static void begin(struct settler *w)
{
	struct errmsg err = {""};

	pthread_mutex_lock(&lock);
	w->conf = conf_of_start;
	pthread_mutex_unlock(&lock);
	w->configured = false;
	if (w->usage)
		return;
	w->usage = &of_slurmctld;
	settings_defaults(&w->settings);
	price_rules_parse(&w->settings, &w->rules, &err);
}

/* After the last worker nothing stays in memory, and what follows begins like a new process. */
static void end(struct settler *w)
{
	if (w->loaded && serving_begin()) {
		take_arrived(w);
		if (w->changed || w->state.changes)
			state_save_list(w);
		if (!w->changed)
			drop_arrived_file();
		serving_end();
	}
	let_go(w, true);
	unload(w);
	items_free(w);
	addresses_forget();
	usage_close(&of_slurmctld);
	xfree(w->settings_text);
	memset(w, 0, sizeof(*w));
}

static void *work(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;
	bool last;

	pthread_mutex_lock(&turn);
	begin(&of_worker);
	pthread_mutex_lock(&lock);
	while (generation == mine) {
		int64_t next;

		pthread_mutex_unlock(&lock);
		one_round(&of_worker, mine);
		next = next_round_ms(&of_worker);
		pthread_mutex_lock(&lock);
		/* Since the round began; or the round has taken nothing, as that of a backup. */
		if (arrived || holding)
			next = sooner(next, settler_now_ms() + ROUND_MS);
		if (generation == mine)
			wait_until(&wake_worker, next);
	}
	last = !(generation % 2);
	pthread_mutex_unlock(&lock);
	if (last)
		end(&of_worker);
	pthread_mutex_unlock(&turn);
	return NULL;
}

/* Setting the host's clock does not change how long anybody waits. */
static void make_conditions(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake_worker, &attr);
	pthread_cond_init(&wake_keeper, &attr);
	pthread_condattr_destroy(&attr);
}

/* Those whose number has passed end; the lock is held. */
static void end_threads(void)
{
	generation++;
	pthread_cond_broadcast(&wake_worker);
	pthread_cond_broadcast(&wake_keeper);
}

static void failed_to_start(void)
{
	error(ME ": jobs are not settled: cannot start a thread: %m");
	pthread_mutex_lock(&lock);
	end_threads();
	pthread_mutex_unlock(&lock);
}

void settler_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct errmsg err = {""};
	struct nodeconf conf;
	char path[PATH_MAX];
	unsigned mine;

	pthread_once(&once, make_conditions);
	nodeconf_path(path, sizeof(path));
	if (nodeconf_load(path, &conf, &err)) {
		error(ME ": jobs are not settled: %s", err.text);
		return;
	}
	pthread_mutex_lock(&lock);
	conf_of_start = conf;
	mine = ++generation;
	pthread_mutex_unlock(&lock);
	if (pthread_create(&keeper, NULL, keep, (void *)(uintptr_t)mine)) {
		failed_to_start();
	} else if (pthread_create(&worker, NULL, work, (void *)(uintptr_t)mine)) {
		failed_to_start();
		pthread_join(keeper, NULL);
	}
}

/*
 * A reconfiguration calls this with all of Slurm's locks, which the worker may be waiting for, or
 * for the ledger: nobody waits for it then. The plugin stays mapped, and the worker ends by itself.
 * At the end of slurmctld what the threads use is about to be taken away.
 */
void settler_stop(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	if (!(generation % 2)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	end_threads();
	pthread_mutex_unlock(&lock);
	until = clock_wall_in(slurmctld_config.shutdown_time ? STOP_WAIT_S * NS_PER_S : 0);
	if (pthread_timedjoin_np(keeper, NULL, &until))
		pthread_detach(keeper);
	if (pthread_timedjoin_np(worker, NULL, &until))
		pthread_detach(worker);
}

void settler_queue(const job_record_t *job)
{
	struct facts *f = facts_take(job);
	struct item *i;

	if (!f)
		return;
	i = item_new(f);
	pthread_mutex_lock(&lock);
	if (!(generation % 2)) {
		pthread_mutex_unlock(&lock);
		item_free(i);
		return;
	}
	i->next = arrived;
	arrived = i;
	if (!holding)
		holding = serving_begin();
	pthread_cond_signal(&wake_worker);
	if (!arrived_changed)
		pthread_cond_signal(&wake_keeper);
	arrived_changed = true;
	pthread_mutex_unlock(&lock);
}
