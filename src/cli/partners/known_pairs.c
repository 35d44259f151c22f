/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the pair history and reads it. */
#include "cli/partners/known_pairs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/ask/scontrol.h"
#include "common/keyval.h"
#include "common/printable.h"
#include "striping/history/job_class.h"
#include "striping/history/pairs_trials.h"
#include "striping/partners/profile_hints.h"

bool known_pairs_option(int key, const char *arg, struct known_pairs_from *from)
{
	switch (key) {
	case KNOWN_PAIRS_OPT_HISTORY:
		from->history = cli_path("--history", arg);
		return true;
	case KNOWN_PAIRS_OPT_PROFILES:
		from->profiles = cli_path("--profiles", arg);
		return true;
	case KNOWN_PAIRS_OPT_SETTINGS:
		from->settings = arg;
		return true;
	case KNOWN_PAIRS_OPT_TRIALS:
		from->trials = cli_path("--trials", arg);
		return true;
	default:
		return false;
	}
}

/* Where things are that slurmctld has. */
struct place {
	char history[PATH_MAX], profiles[PATH_MAX], trials[PATH_MAX]; /* "" = there are none */
};

/* Asks slurmctld where the history is, and for the settings that go with it. Where these are wrong,
 * the defaults stay, and a warning says so. */
static int find_history(struct place *place, struct poppa_settings *settings, struct errmsg *err)
{
	char dir[PATH_MAX], value[SETTINGS_MAX_TEXT], *text = scontrol_show("config", 0, err);
	struct errmsg why;

	if (!text)
		return -1;
	scontrol_value(text, "StateSaveLocation", dir, sizeof(dir));
	scontrol_value(text, "PrEpParameters", value, sizeof(value));
	free(text);
	if (settings_parse(value, settings, &why))
		fprintf(stderr, "poppa: PrEpParameters: %s: the defaults are taken\n", why.text);
	if (!*dir || snprintf(place->history, PATH_MAX, "%s/" PAIRS_FILE, dir) >= PATH_MAX ||
		snprintf(place->profiles, PATH_MAX, "%s/" PROFILES_FILE, dir) >= PATH_MAX ||
		snprintf(place->trials, PATH_MAX, "%s/" TRIALS_FILE, dir) >= PATH_MAX)
		return errmsg_set(err, "slurmctld names no StateSaveLocation: name the pair "
				       "history with --history");
	return 0;
}

/* Refuses what settings_parse() would pass over as somebody else's. */
static int is_ours(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	(void)line;
	(void)arg;
	if (!strncasecmp(key, "stripe_", 7))
		return 0;
	return errmsg_set(err, "%s%s%s is no setting: try stripe_gain_min=2%%", key,
		value ? "=" : "", value ? value : "");
}

/* Changes the settings as the text of the option --settings says. */
static int change_settings(const char *changes, struct poppa_settings *s, struct errmsg *err)
{
	char text[2 * SETTINGS_MAX_TEXT], before[SETTINGS_MAX_TEXT];
	struct errmsg why = {""};

	settings_format(s, before, sizeof(before));
	if (snprintf(text, sizeof(text), "%s,%s", before, changes) >= (int)sizeof(text))
		return errmsg_set(err, "--settings: too long");
	if (keyval_list(changes, is_ours, NULL, &why) || settings_parse(text, s, &why))
		return errmsg_set(err, "--settings: %s", why.text);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names are those of what is expected, which has them in order. */
static int list_classes(struct known_pairs *k)
{
	const int all = expectation_classes(k->expected);

	k->class = malloc(((size_t)all + 1) * sizeof(*k->class));
	if (!k->class)
		return -1;
	for (int i = 0; i < all; i++) {
		const char *name = expectation_name(k->expected, i);

		if (*name != CLASS_OF_USER)
			k->class[k->classes++] = (char *)name;
	}
	return 0;
}

static void warn_bad(const char *path, int bad)
{
	if (bad)
		fprintf(stderr, "poppa: %s: %d lines could not be read and were passed over\n",
			path, bad);
}

static void warn_lines(const char *path, const struct pairs_lines *lines)
{
	if (lines->bad)
		fprintf(stderr,
			"poppa: %s: %d line%s could not be read and %s passed over, the first is "
			"line %d\n",
			path, lines->bad, lines->bad > 1 ? "s" : "",
			lines->bad > 1 ? "were" : "was", lines->first_bad);
}

/* Where jobs have not shared nodes yet there is no history, but there may be trials. */
static int load_history(
	struct known_pairs *k, const char *path, const char *trials, struct errmsg *err)
{
	struct pairs_lines lines;
	struct stat st;

	if ((stat(path, &st) || access(path, R_OK)) &&
		(errno != ENOENT || stat(trials, &st) || access(trials, R_OK)))
		return errmsg_set(err,
			"%s: %s: only slurmctld's host has it%s, and only root and SlurmUser may "
			"read it",
			path, strerror(errno),
			errno == ENOENT ? " once jobs have shared nodes" : "");
	k->all = !k->uid || k->uid == st.st_uid;
	if (cli_regular(path, err))
		return -1;
	k->pairs = pairs_read(path, &lines, err);
	if (!k->pairs)
		return -1;
	if (lines.bad && !lines.good)
		return errmsg_set(err,
			"%s: no line of it can be read, line %d is the first: is it a pair history? "
			"Name a whole copy of slurmctld's StateSaveLocation/" PAIRS_FILE
			" with --history",
			path, lines.first_bad);
	warn_lines(path, &lines);
	return 0;
}

static int load_profiles(struct known_pairs *k, const char *path, struct errmsg *err)
{
	const struct shared_cache cache = cache_forecast_cache(&k->settings);
	struct profiles *p;
	int bad = 0;

	if (cli_regular(path, err))
		return -1;
	p = profiles_load(path, &bad, err);
	if (!p)
		return -1;
	warn_bad(path, bad);
	k->cache = cache_forecast_new(p, &cache, pairs_miss_hint, k->pairs);
	profiles_free(p);
	return k->cache ? 0 : errmsg_set(err, "out of memory");
}

/* Adds the trials to the history, which has been read. Where slurmctld's own cannot be read, it
 * goes on without as slurmctld does; those that an option named are an error. */
static int load_trials(struct known_pairs *k, const char *path, bool named, struct errmsg *err)
{
	int bad = 0;

	k->trials = imported_trials_load(path, &bad, err);
	if (!k->trials && named)
		return -1;
	if (!k->trials) {
		fprintf(stderr, "poppa: %s: trials are left out\n", plain_text(err->text));
		return 0;
	}
	warn_bad(path, bad);
	return pairs_add_trials(k->pairs, k->trials) ? errmsg_set(err, "out of memory") : 0;
}

static int load(struct known_pairs *k, const struct known_pairs_from *from, struct errmsg *err)
{
	struct place place = {.profiles = ""};
	const char *profiles = from->profiles ? from->profiles : place.profiles;
	const char *trials = from->trials ? from->trials : place.trials;

	if (!from->history && find_history(&place, &k->settings, err))
		return -1;
	if (from->settings && change_settings(from->settings, &k->settings, err))
		return -1;
	if (from->profiles && access(from->profiles, R_OK))
		return errmsg_set(err, "--profiles: %s: %s", from->profiles, strerror(errno));
	if (from->profiles && !k->settings.stripe_cache)
		return errmsg_set(err,
			"--profiles: they are not used with stripe_cache=0: name the "
			"cache with --settings stripe_cache=SIZE");
	if (from->trials && access(from->trials, R_OK))
		return errmsg_set(err, "--trials: %s: %s", from->trials, strerror(errno));
	if (load_history(k, from->history ? from->history : place.history, trials, err))
		return -1;
	if (*trials && load_trials(k, trials, from->trials, err))
		return -1;
	if (*profiles && load_profiles(k, profiles, err))
		return -1;
	k->hints = (struct expectation_hints){.spread = pairs_spread_hint, .spread_arg = k->pairs};
	if (cache_forecast_classes(k->cache))
		profile_hints_add(&k->hints, k->cache);
	k->expected = expectation_fit(k->pairs, &k->hints);
	return k->expected && !list_classes(k) ? 0 : errmsg_set(err, "out of memory");
}

int known_pairs_load(struct known_pairs *k, const struct known_pairs_from *from, struct errmsg *err)
{
	int rc;

	*k = (struct known_pairs){.uid = geteuid()};
	settings_defaults(&k->settings);
	rc = load(k, from, err);
	if (rc)
		known_pairs_free(k);
	return rc;
}

void known_pairs_free(struct known_pairs *k)
{
	free(k->class);
	expectation_free(k->expected);
	cache_forecast_free(k->cache);
	imported_trials_free(k->trials);
	pairs_free(k->pairs);
}

bool known_pairs_shows(const struct known_pairs *k, const char *name)
{
	char *end;
	unsigned long uid = strtoul(name, &end, 10);

	if (k->all || !isdigit((unsigned char)*name) || !*end || !strchr("/:@", *end))
		return true;
	return uid == k->uid;
}

int known_pairs_find(const struct known_pairs *k, const char *name)
{
	char **found = bsearch(&name, k->class, (size_t)k->classes, sizeof(*k->class), by_name);

	return found && known_pairs_shows(k, name) ? (int)(found - k->class) : -1;
}

/* The name of a class without the suffix of a variant. */
static const char *without_suffix(const char *name, char *buf)
{
	snprintf(buf, PAIRS_CLASS_MAX, "%.*s", (int)class_base(name), name);
	return buf;
}

bool known_pairs_has(const struct known_pairs *k, const char *name)
{
	char class[PAIRS_CLASS_MAX];

	return known_pairs_find(k, name) >= 0 ||
	       known_pairs_find(k, without_suffix(name, class)) >= 0;
}

void known_pairs_class(const struct known_pairs *k, const char *name, char *buf)
{
	char base[PAIRS_CLASS_MAX];
	const char *known = without_suffix(name, base);

	if (bsearch(&known, k->class, (size_t)k->classes, sizeof(*k->class), by_name))
		memmove(buf, name, strlen(name) + 1);
	else
		job_class_named(k->pairs, name, buf);
}

double known_pairs_worth(const struct known_pairs *k, const char *one, const char *other)
{
	int a = expectation_class(k->expected, one), b = expectation_class(k->expected, other);

	return (expectation_speed(k->expected, a, b) + expectation_speed(k->expected, b, a)) / 2;
}
