/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the trials that were imported, below the pairs. */
#pragma once

#include <jansson.h>

#include "cli/partners/known_pairs.h"

/* Prints them, or appends them to a list that is not NULL; of a class, or NULL: of all that the
 * caller may see. */
void show_trials(const struct known_pairs *known, const char *class, json_t *list);
