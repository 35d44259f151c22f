/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads stripe_default: the partitions and QOS whose jobs are co-located without asking for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The list is elements with ':' between them, as ',' ends a key of PrEpParameters. An element is a
 * partition's name, or the word "qos", ':' and the name of a QOS: "debug:qos:shared:long" is the
 * partitions debug and long and the QOS shared. So no partition of the name "qos" can be in it.
 */
struct stripe_default {
	bool qos;         /* of a QOS, else of a partition */
	const char *name; /* in the list, not terminated */
	size_t len;       /* 0: the element has no name */
};

/* Reads the element at `at` and returns where the next one begins, or NULL after the last. */
const char *stripe_default_next(const char *at, struct stripe_default *element);

/* Whether the list ("" = empty) has this partition or QOS. Upper and lower case are the same in the
 * names of QOS, as in Slurm. */
bool stripe_default_has(const char *list, bool qos, const char *name);
