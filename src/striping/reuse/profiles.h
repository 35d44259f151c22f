/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profiles of classes: how their programs use caches, as an administrator has imported it. */
#pragma once

#include "common/errmsg.h"
#include "striping/reuse/histogram.h"

/*
 * Name of the file in slurmctld's StateSaveLocation. It is not part of the pair history, because
 * that has one writer at a time, which is slurmctld: a command that replaced it would lose what a
 * run teaches meanwhile.
 */
#define PROFILES_FILE "poppa_profiles"
/* Room for the name of a class, as in the pair history. */
#define PROFILE_NAME_MAX 256
/* So many classes: what follows for all pairs of them must not take long. */
#define PROFILES_MAX 256

struct profile {
	char class_name[PROFILE_NAME_MAX];
	long long imported; /* unix time */
	struct reuse_histogram h;
};

struct profiles;

/* None, or NULL without memory. profiles_free() takes NULL. */
struct profiles *profiles_new(void);
void profiles_free(struct profiles *p);

/*
 * Reads a file; a missing one has none. A line that cannot be read, is of a class that was there
 * before, or is one too many is passed over and counted in *bad (may be NULL). NULL with err where
 * the file cannot be read.
 */
struct profiles *profiles_load(const char *path, int *bad, struct errmsg *err);

/* Replaces the file in one step. Returns 0, or -1 with err. */
int profiles_save(const struct profiles *p, const char *path, struct errmsg *err);

/* Gives a class a profile, in place of the one that it had. Returns 0, or -1 with err: the class is
 * no name, there are too many, or there is no memory. */
int profiles_set(struct profiles *p, const char *class_name, const struct reuse_histogram *h,
	long long now, struct errmsg *err);

/* Takes a class's profile away. Returns 0, or -1 with err where it has none. */
int profiles_remove(struct profiles *p, const char *class_name, struct errmsg *err);

/* How many there are, and each of them, in the order of classes; NULL behind the last. */
int profiles_count(const struct profiles *p);
const struct profile *profiles_get(const struct profiles *p, int i);
