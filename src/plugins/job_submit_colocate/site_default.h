/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the site co-locates a job that does not say anything about it. */
#pragma once

#include "plugins/compat/slurm_compat.h"

/*
 * list: stripe_default. All partitions that the job names, or the cluster's default one, must be in
 * it, or else its QOS. The caller holds Slurm's read locks of jobs, nodes and partitions.
 */
bool site_default_wants(const char *list, const job_desc_msg_t *d);
