/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the numbers of an estimator's state to JSON, and reads them back exactly. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

/* The numbers of a struct that make one array in JSON: one member, or several in a row. */
struct state_field {
	const char *name; /* key of the array */
	size_t offset;    /* of the first number, bytes */
	int count;
	bool real; /* double, else uint64_t */
};

/* A member of doubles (a struct of only doubles counts as its numbers), and one of uint64_t. */
#define STATE_REAL(type, name)                                                                     \
	{                                                                                          \
#name, offsetof(type, name), (int)(sizeof(((type *)0)->name) / (sizeof(double))),  \
			true                                                                       \
	}
#define STATE_WHOLE(type, name)                                                                    \
	{                                                                                          \
#name, offsetof(type, name),                                                       \
			(int)(sizeof(((type *)0)->name) / (sizeof(uint64_t))), false               \
	}

#define STATE_COUNT(fields) ((int)(sizeof(fields) / sizeof((fields)[0])))

/* Adds the fields of *from to an object. */
void state_save(const struct state_field *field, int count, const void *from, json_t *json);

/* Fills the fields of *to. 0, or -1 where the object lacks one of them; *to is then half filled. */
int state_load(const struct state_field *field, int count, const json_t *json, void *to);
