/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files of pairs, trials and profiles again whenever they have changed. */
#include "plugins/select_stripe/history.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/units.h"
#include "plugins/compat/select_compat.h"
#include "plugins/select_stripe/stripe.h"
#include "striping/history/imported_trial.h"
#include "striping/history/pairs_trials.h"
#include "striping/partners/profile_hints.h"

SLURM_WEAK(slurm_conf)

#define LOOK_EVERY (3 * NS_PER_S)
/* What the history says of the lanes is found again as often as that at most: it takes a quarter of
 * a second of a processor. What an administrator changes counts at once. */
#define OUTLOOK_EVERY (60 * NS_PER_S)
/* How long slurmctld's start waits for the first look, whatever the disk does. */
#define FIRST_LOOK (2 * NS_PER_S)
#define FIRST_LOOK_PAUSE (2 * NS_PER_MS)

/*
 * One thread looks at the files every few seconds, without the lock, and takes the lock only to put
 * the new history in place of the old one. slurmctld's threads hold the lock between history_get()
 * and history_put(), so the history that they look at stays; they wait for no disk, as the thread
 * does not hold it while it reads. The lock is taken after select_stripe.c's. Nobody but the thread
 * replaces the history and the outlook, so it reads both without the lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t stop_cond = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, stopping;
static bool looked;         /* the thread has looked at the file once, whatever came of it */
static struct pairs *pairs; /* NULL until the file was read first */
static struct outlook *outlook, *drawn;
static struct shared_cache cache; /* by the settings; without lines, profiles are not used */

/* Written before the thread starts, read by it alone. */
static char path[PATH_MAX], profiles_path[PATH_MAX], trials_path[PATH_MAX];

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       /* Whoever gives it another owner changes this one. */
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* What the thread has seen. */
struct look {
	struct stat file;
	bool tried;   /* to read the history */
	bool changed; /* the history, since the outlook was made */
	struct stat trials_file;
	struct imported_trials *trials; /* NULL until the file was read first */
	struct stat profiles_file;
	struct profiles *profiles; /* NULL until the file was read first */
	struct shared_cache cache;
	/* The profiles or the cache; the trials; any of these: only administrators change them. */
	bool profiles_changed, trials_changed, changed_by_hand;
	int64_t outlook_ns;
};

/* Whether the file is another one than it was, which then becomes *was. */
static bool has_changed(const char *name, struct stat *was)
{
	struct stat now = {0};

	if (stat(name, &now))
		memset(&now, 0, sizeof(now));
	if (same_file(&now, was))
		return false;
	*was = now;
	return true;
}

static void warn_bad(const char *name, int bad)
{
	if (bad)
		error(STRIPE "%s: %d lines could not be read and were passed over", name, bad);
}

/* The history with what trials tell. NULL with err. */
static struct pairs *read_history(struct imported_trials *trials, struct errmsg *err)
{
	int bad = 0;
	struct pairs *fresh = pairs_load(path, &bad, err);

	if (!fresh)
		return NULL;
	warn_bad(path, bad);
	if (!trials || !pairs_add_trials(fresh, trials))
		return fresh;
	errmsg_set(err, "no memory for the pair history");
	pairs_free(fresh);
	return NULL;
}

/* Whether the trials are others than before. */
static bool look_at_trials(struct look *l)
{
	struct imported_trials *fresh;
	struct errmsg err;
	int bad = 0;

	if (!has_changed(trials_path, &l->trials_file))
		return false;
	fresh = imported_trials_load(trials_path, &bad, &err);
	if (!fresh) {
		error(STRIPE "%s; the last good trials stay in use", err.text);
		return false;
	}
	warn_bad(trials_path, bad);
	imported_trials_free(l->trials);
	l->trials = fresh;
	return true;
}

static void look(struct look *l)
{
	const bool others = look_at_trials(l);
	struct pairs *fresh;
	struct errmsg err;

	/* Where there is no file yet, the history is empty; profiles are of use all the same. */
	if (!has_changed(path, &l->file) && !others && l->tried)
		return;
	l->tried = true;
	fresh = read_history(l->trials, &err);
	if (!fresh) {
		error(STRIPE "%s; the last good pair history stays in use", err.text);
		return;
	}
	pthread_mutex_lock(&lock);
	pairs_free(pairs);
	pairs = fresh;
	pthread_mutex_unlock(&lock);
	l->changed = true;
	l->trials_changed |= others;
	l->changed_by_hand |= others;
}

static void look_at_profiles(struct look *l)
{
	struct profiles *fresh;
	struct errmsg err;
	int bad = 0;

	if (!has_changed(profiles_path, &l->profiles_file))
		return;
	fresh = profiles_load(profiles_path, &bad, &err);
	if (!fresh) {
		error(STRIPE "%s; the last good profiles stay in use", err.text);
		l->profiles_file = (struct stat){0};
		return;
	}
	warn_bad(profiles_path, bad);
	profiles_free(l->profiles);
	l->profiles = fresh;
	l->profiles_changed = l->changed_by_hand = true;
}

static void look_at_cache(struct look *l)
{
	struct shared_cache now;

	pthread_mutex_lock(&lock);
	now = cache;
	pthread_mutex_unlock(&lock);
	if (now.lines == l->cache.lines && now.miss_cycles == l->cache.miss_cycles)
		return;
	l->cache = now;
	l->profiles_changed |= l->profiles && profiles_count(l->profiles);
	l->changed_by_hand |= l->profiles_changed;
}

/* What the history and the profiles say of the lanes, and what is drawn by it; both NULL without
 * memory. */
static struct outlook *make_outlook(
	struct cache_forecast *forecast, uint64_t seed, struct outlook **drawn_by_it)
{
	struct expectation_hints hints = {.spread = pairs_spread_hint, .spread_arg = pairs};
	struct expectation *expected;
	struct outlook *made;

	if (cache_forecast_classes(forecast))
		profile_hints_add(&hints, forecast);
	expected = expectation_fit(pairs, &hints);
	made = expected ? outlook_of_history(pairs, expected, forecast) : NULL;
	*drawn_by_it = made ? outlook_drawn(made, seed) : NULL;
	if (!*drawn_by_it) {
		outlook_free(made);
		made = NULL;
	}
	expectation_free(expected);
	return made;
}

/* Finds out what is to be said of the lanes. */
static void renew_outlook(struct look *l)
{
	struct cache_forecast *forecast =
		l->profiles ? cache_forecast_new(l->profiles, &l->cache, pairs_miss_hint, pairs)
			    : NULL;
	struct outlook *next, *next_drawn, *old = NULL, *old_drawn = NULL;

	next = make_outlook(forecast, (uint64_t)l->file.st_mtim.tv_sec, &next_drawn);
	l->outlook_ns = clock_now();
	if (!next)
		error(STRIPE "no memory for what lanes bring: what was known before stays in use");
	pthread_mutex_lock(&lock);
	if (next) {
		old = outlook;
		old_drawn = drawn;
		outlook = next;
		drawn = next_drawn;
	}
	pthread_mutex_unlock(&lock);
	outlook_free(old);
	outlook_free(old_drawn);
	if (l->trials_changed)
		info(STRIPE "%d losses of trials are in use", imported_trials_count(l->trials));
	if (l->profiles_changed)
		info(STRIPE "profiles of %d classes are in use", cache_forecast_classes(forecast));
	cache_forecast_free(forecast);
	l->changed = l->changed_by_hand = l->profiles_changed = l->trials_changed = false;
}

/* The same where that from which it follows has changed since. */
static void look_ahead(struct look *l)
{
	bool due = l->changed && (!outlook || clock_now() - l->outlook_ns >= OUTLOOK_EVERY);

	if (pairs && (due || l->changed_by_hand))
		renew_outlook(l);
}

static void *follow(void *arg)
{
	struct look seen = {.changed = false};

	(void)arg;
	pthread_mutex_lock(&lock);
	while (!stopping) {
		struct timespec until;

		pthread_mutex_unlock(&lock);
		look(&seen);
		look_at_profiles(&seen);
		look_at_cache(&seen);
		look_ahead(&seen);
		until = clock_wall_in(LOOK_EVERY);
		pthread_mutex_lock(&lock);
		looked = true;
		if (!stopping)
			pthread_cond_timedwait(&stop_cond, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	profiles_free(seen.profiles);
	imported_trials_free(seen.trials);
	return NULL;
}

/* With the lock held, which is free while it waits. Somebody may set the wall clock meanwhile, as
 * happens when a machine boots, so it does not go by that. */
static void wait_for_first_look(void)
{
	const struct timespec pause = clock_spec(FIRST_LOOK_PAUSE);
	int64_t until = clock_now() + FIRST_LOOK;

	while (!looked && clock_now() < until) {
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
	}
	if (!looked)
		error(STRIPE "%s cannot be read in time: partners are chosen without the pair "
			     "history until it is",
			path);
}

void history_start(void)
{
	pthread_mutex_lock(&lock);
	if (!running && slurm_conf.state_save_location) {
		snprintf(path, sizeof(path), "%s/" PAIRS_FILE, slurm_conf.state_save_location);
		snprintf(profiles_path, sizeof(profiles_path), "%s/" PROFILES_FILE,
			slurm_conf.state_save_location);
		snprintf(trials_path, sizeof(trials_path), "%s/" TRIALS_FILE,
			slurm_conf.state_save_location);
		stopping = looked = false;
		running = !pthread_create(&thread, NULL, follow, NULL);
		if (running)
			wait_for_first_look();
		else
			error(STRIPE "no thread for the pair history: partners are chosen without");
	}
	pthread_mutex_unlock(&lock);
}

void history_settings(const struct poppa_settings *settings)
{
	pthread_mutex_lock(&lock);
	cache = cache_forecast_cache(settings);
	pthread_mutex_unlock(&lock);
}

void history_stop(void)
{
	bool join;

	pthread_mutex_lock(&lock);
	join = running;
	running = false;
	stopping = true;
	pthread_cond_signal(&stop_cond);
	pthread_mutex_unlock(&lock);
	if (join)
		pthread_join(thread, NULL);
	pairs_free(pairs);
	pairs = NULL;
	outlook_free(outlook);
	outlook_free(drawn);
	outlook = drawn = NULL;
}

const struct pairs *history_get(const struct outlook **ahead)
{
	pthread_mutex_lock(&lock);
	if (ahead)
		*ahead = outlook;
	return pairs;
}

const struct outlook *history_drawn(void)
{
	return drawn;
}

void history_put(void)
{
	pthread_mutex_unlock(&lock);
}
