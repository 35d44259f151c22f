/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy by which the running cluster prices co-located jobs. */
#pragma once

#include "common/errmsg.h"
#include "common/price_policy.h"

/*
 * Asks scontrol for the policy of a partition (NULL: the cluster's default one; several, with
 * commas, where they have the same policy) and a QOS (NULL: not known). 0, or -1 with err, also
 * where the cluster does not price co-located jobs.
 */
int price_in_force(
	const char *partition, const char *qos, struct price_policy *policy, struct errmsg *err);
