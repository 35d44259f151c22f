/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses a job's price policy: the cluster's, its partition's or its QOS'. */
#pragma once

#include "common/errmsg.h"
#include "common/price_policy.h"
#include "common/settings.h"

#define PRICE_MAX_RULES 16

struct price_rules {
	struct price_policy general;
	int count;
	struct price_rule {
		bool qos; /* of a QOS, else of a partition */
		char name[64];
		struct price_policy policy;
	} rule[PRICE_MAX_RULES];
};

/* Reads poppa_price, poppa_price_partition and poppa_price_qos. 0, or -1 with *rules untouched and
 * err that names the key. */
int price_rules_parse(
	const struct poppa_settings *settings, struct price_rules *rules, struct errmsg *err);

/* The QOS' policy where it has one, else the partition's, else the cluster's. The names may be
 * NULL. Upper and lower case are the same, as in Slurm. */
const struct price_policy *price_rules_choose(
	const struct price_rules *rules, const char *partition, const char *qos);
