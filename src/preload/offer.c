/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides who is given the heartbeat of MPI programs. */
#include "preload/offer.h"

#include <stdio.h>
#include <string.h>

#include "common/keyval.h"

/* What parts libraries in LD_PRELOAD. */
#define BETWEEN ": \t\n"

static const char *const use_names[] = {"off", "auto", "openmpi", "mpich"};

int preload_read_arguments(
	int count, char *const *arguments, enum preload_use *use, struct errmsg *err)
{
	static const char key[] = "heartbeat=";
	enum preload_use next = PRELOAD_OFF;

	*use = PRELOAD_OFF;
	for (int i = 0; i < count; i++) {
		const char *value = arguments[i] + strlen(key);
		int choice;

		if (strncmp(arguments[i], key, strlen(key)))
			return errmsg_set(err,
				"the argument \"%.60s\" is unknown: there is heartbeat=auto alone",
				arguments[i]);
		choice = keyval_choice("heartbeat", value, use_names,
			sizeof(use_names) / sizeof(use_names[0]), err);
		if (choice < 0)
			return -1;
		next = choice;
	}
	*use = next;
	return 0;
}

bool preload_suits(enum preload_use use, enum program_kind kind)
{
	switch (use) {
	case PRELOAD_AUTO:
		return kind != PROGRAM_FOREIGN;
	case PRELOAD_OPENMPI:
		return kind != PROGRAM_FOREIGN && kind != PROGRAM_MPICH;
	case PRELOAD_MPICH:
		return kind != PROGRAM_FOREIGN && kind != PROGRAM_OPENMPI;
	default:
		return false;
	}
}

static const char *last_part(const char *path, size_t len, size_t *part)
{
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;

	*part = len - (size_t)(name - path);
	return name;
}

static bool has(const char *list, const char *library)
{
	size_t wanted, len, part;
	const char *name = last_part(library, strlen(library), &wanted);

	for (const char *at = list; *at; at += len + (at[len] != '\0')) {
		const char *other;

		len = strcspn(at, BETWEEN);
		other = last_part(at, len, &part);
		if (part == wanted && !memcmp(other, name, part))
			return true;
	}
	return false;
}

bool preload_add(const char *before, const char *library, char *buf, size_t size)
{
	if (!before)
		before = "";
	if (has(before, library))
		return false;
	return snprintf(buf, size, "%s%s%s", before, *before ? ":" : "", library) < (int)size;
}
