/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the pair history and reads it. */
#include "cli/partners/known_pairs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ask/scontrol.h"
#include "striping/partners/job_class.h"

/* Asks slurmctld where the history is, and for the settings that go with it. Where these are wrong,
 * the defaults stay, and a warning says so. */
static int find_history(
	char *path, size_t size, struct poppa_settings *settings, struct errmsg *err)
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
	if (!*dir || snprintf(path, size, "%s/" PAIRS_FILE, dir) >= (int)size)
		return errmsg_set(err, "slurmctld names no StateSaveLocation: name the pair "
				       "history with --history");
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

int known_pairs_load(struct known_pairs *k, const char *path, struct errmsg *err)
{
	char found[PATH_MAX];
	struct stat st;
	int bad = 0;

	*k = (struct known_pairs){.uid = geteuid()};
	settings_defaults(&k->settings);
	if (!path && find_history(found, sizeof(found), &k->settings, err))
		return -1;
	path = path ? path : found;
	if (stat(path, &st) || access(path, R_OK))
		return errmsg_set(err,
			"%s: %s: only slurmctld's host has it, and only root and SlurmUser may "
			"read it",
			path, strerror(errno));
	k->all = !k->uid || k->uid == st.st_uid;
	k->pairs = pairs_load(path, &bad, err);
	if (!k->pairs)
		return -1;
	if (bad)
		fprintf(stderr, "poppa: %s: %d lines could not be read and were passed over\n",
			path, bad);
	k->hints = (struct expectation_hints){.spread = pairs_spread_hint, .spread_arg = k->pairs};
	k->expected = expectation_fit(k->pairs, &k->hints);
	if (!k->expected || list_classes(k)) {
		known_pairs_free(k);
		return errmsg_set(err, "out of memory");
	}
	return 0;
}

void known_pairs_free(struct known_pairs *k)
{
	free(k->class);
	expectation_free(k->expected);
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
	char *rest, base[PAIRS_CLASS_MAX], class[PAIRS_CLASS_MAX];
	const char *known = without_suffix(name, base), *suffix = name + class_base(name);
	unsigned long uid = strtoul(base, &rest, 10);
	const struct job_kind kind = {.uid = (unsigned int)uid, .job_name = rest + 1};

	strcpy(class, base);
	if (isdigit((unsigned char)*base) && *rest == '/' && uid <= UINT_MAX &&
		!bsearch(&known, k->class, (size_t)k->classes, sizeof(*k->class), by_name))
		job_class(k->pairs, &kind, class);
	if (strlen(class) + strlen(suffix) < sizeof(class))
		strcat(class, suffix);
	strcpy(buf, class);
}

double known_pairs_worth(const struct known_pairs *k, const char *one, const char *other)
{
	int a = expectation_class(k->expected, one), b = expectation_class(k->expected, other);

	return (expectation_speed(k->expected, a, b) + expectation_speed(k->expected, b, a)) / 2;
}
