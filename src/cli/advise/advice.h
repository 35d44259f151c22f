/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that poppa advise knows of a job, and what it says of that. */
#pragma once

#include <jansson.h>

#include "accounting/bill/past_runs.h"
#include "cli/advise/planned_start.h"

/* So far back runs are asked for. The pair history forgets what is older, too. */
#define ADVICE_DAYS 90

enum verdict { VERDICT_UNKNOWN, VERDICT_UNCERTAIN, VERDICT_COLOCATE, VERDICT_DO_NOT };

struct advice {
	char class_name[256];        /* as the pair history writes such names; safe to print */
	bool named;                  /* it is the class that an option names, and no job's name */
	const char *class_from;      /* "the name of the script", ... */
	struct past_runs past;       /* without prices where the policy is not known */
	char policy[PRICE_MAX_TEXT]; /* "" = not known */
	struct errmsg no_policy;     /* why it is not */
	struct planned_start colocated, plain;
	int64_t now; /* seconds since 1970 */
};

/* Prints the advice for people. */
void advice_print(const struct advice *a);

/* A new reference, or NULL. */
json_t *advice_json(const struct advice *a);

/* What is advised, and the sentence that says it, into text of size bytes. */
enum verdict advice_verdict(const struct advice *a, char *text, size_t size);
