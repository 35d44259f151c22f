/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pair history as the command finds it, and who may see what of it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/errmsg.h"
#include "common/settings.h"
#include "striping/history/imported_trial.h"
#include "striping/partners/expectation.h"
#include "striping/reuse/cache_forecast.h"

/* The options that say what is read; known_pairs_option() parses them. */
#define KNOWN_PAIRS_OPT_HISTORY 'f'
#define KNOWN_PAIRS_HISTORY_OPTION                                                                 \
	{                                                                                          \
		"history", KNOWN_PAIRS_OPT_HISTORY, "FILE", 0,                                     \
			"The pair history (that of this slurmctld)", 0                             \
	}

#define KNOWN_PAIRS_OPT_PROFILES 'p'
#define KNOWN_PAIRS_PROFILES_OPTION                                                                \
	{                                                                                          \
		"profiles", KNOWN_PAIRS_OPT_PROFILES, "FILE", 0,                                   \
			"The profiles of classes (those of this slurmctld; with --history: none)", \
			0                                                                          \
	}
#define KNOWN_PAIRS_OPT_SETTINGS 's'
#define KNOWN_PAIRS_SETTINGS_OPTION                                                                \
	{                                                                                          \
		"settings", KNOWN_PAIRS_OPT_SETTINGS, "TEXT", 0,                                   \
			"Other settings stripe_..., as in PrEpParameters, than the cluster has "   \
			"(with --history: than the defaults)",                                     \
			0                                                                          \
	}
#define KNOWN_PAIRS_OPT_TRIALS 't'
#define KNOWN_PAIRS_TRIALS_OPTION                                                                  \
	{                                                                                          \
		"trials", KNOWN_PAIRS_OPT_TRIALS, "FILE", 0,                                       \
			"The trials that were imported (those of this slurmctld; with --history: " \
			"none)",                                                                   \
			0                                                                          \
	}

/* What these options say; NULL: that of the cluster. */
struct known_pairs_from {
	const char *history, *profiles, *settings, *trials;
};

struct known_pairs {
	struct poppa_settings settings; /* the cluster's; of another history the defaults */
	struct pairs *pairs;            /* with what trials tell */
	struct imported_trials *trials; /* NULL: none were looked for */
	struct cache_forecast *cache;   /* what the profiles say */
	struct expectation_hints hints;
	struct expectation *expected; /* needs the hints, so this struct stays where it is */
	char **class; /* the names of all classes that are known, and of their variants, sorted */
	int classes;
	bool all; /* the caller may see everybody's classes */
	uid_t uid;
};

/* Takes one of these options, by its key; false: it is another one. A wrong value ends the program.
 */
bool known_pairs_option(int key, const char *arg, struct known_pairs_from *from);

/* Reads the history and the profiles, and fits what is expected. 0, or -1 with err, also where
 * there is no such history. */
int known_pairs_load(
	struct known_pairs *k, const struct known_pairs_from *from, struct errmsg *err);
void known_pairs_free(struct known_pairs *k);

/* Whether the caller may see that class: root and the file's owner see all, others their own and
 * those that are everybody's (stripe_classes=shared). */
bool known_pairs_shows(const struct known_pairs *k, const char *name);

/* Where a class is in `class`; -1: it is not there, or the caller may not see it. */
int known_pairs_find(const struct known_pairs *k, const char *name);

/* Whether the history has that class, or of a variant the class, and the caller may see it. */
bool known_pairs_has(const struct known_pairs *k, const char *name);

/*
 * The class that jobs of a kind have: "UID/NAME" may be a job's name, of which the history knows
 * what such jobs run, and then it is that; all else is a class as it is. The suffix of a variant
 * stays. Writes it into buf, of
 * PAIRS_CLASS_MAX bytes, which may be `name`.
 */
void known_pairs_class(const struct known_pairs *k, const char *name, char *buf);

/* What the two make together on the two lanes of a node, in jobs' progress compact per node. */
double known_pairs_worth(const struct known_pairs *k, const char *one, const char *other);
