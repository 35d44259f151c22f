/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up rows of the table of counter backends. */
#include "common/counter_backends.h"

#include <strings.h>

#define NAME(kind, name, order, automatic, counts) [COUNTER_##kind] = #name,

const char *const counter_backend_names[COUNTER_NAMES] = {
	[COUNTER_AUTO] = "auto", COUNTER_TABLE(NAME)[COUNTER_NONE] = "none"};

struct row {
	int order;
	bool automatic;
	const char *counts;
};

#define ROW(kind, name, order, automatic, counts) [COUNTER_##kind] = {order, automatic, counts},

static const struct row rows[COUNTER_NAMES] = {
	[COUNTER_AUTO] = {0, false, ""}, COUNTER_TABLE(ROW)[COUNTER_NONE] = {0, false, ""}};

const char *counter_backend_name(enum counter_backend b)
{
	return counter_backend_names[b];
}

bool counter_backend_automatic(enum counter_backend b)
{
	return rows[b].automatic;
}

const char *counter_backend_counts(enum counter_backend b)
{
	return rows[b].counts;
}

enum counter_backend counter_backend_ordered(int order)
{
	for (int b = 0; b < COUNTER_NAMES; b++)
		if (rows[b].order == order)
			return b;
	return COUNTER_NONE;
}

int counter_backend_parse(const char *name, enum counter_backend *b)
{
	for (int i = 0; i < COUNTER_NAMES; i++) {
		if (!strcasecmp(counter_backend_names[i], name)) {
			*b = i;
			return 0;
		}
	}
	return -1;
}
