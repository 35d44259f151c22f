/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of an estimator's state as JSON, for checkpoints: exact, and back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

/* An array of numbers. Load returns 0, or -1 unless key holds exactly count finite numbers. */
json_t *state_save_doubles(const double *v, int count);
int state_load_doubles(const json_t *json, const char *key, double *v, int count);
json_t *state_save_counts(const uint64_t *v, int count);
int state_load_counts(const json_t *json, const char *key, uint64_t *v, int count);

/* One member of a struct, which saving and loading have in common. */
struct state_field {
	const char *name;
	size_t offset;
	int count;
	bool real; /* double, else uint64_t */
};

#define STATE_REAL(type, name)                                                                     \
	{                                                                                          \
#name, offsetof(type, name), (int)(sizeof(((type *)0)->name) / sizeof(double)),    \
			true                                                                       \
	}
#define STATE_WHOLE(type, name)                                                                    \
	{                                                                                          \
#name, offsetof(type, name), (int)(sizeof(((type *)0)->name) / sizeof(uint64_t)),  \
			false                                                                      \
	}

/* Adds the members of *from to an object. */
void state_save(const struct state_field *fields, int count, const void *from, json_t *json);

/* Fills the members of *to. 0, or -1 unless the object has each of them; *to is then half filled.
 */
int state_load(const struct state_field *fields, int count, const json_t *json, void *to);
