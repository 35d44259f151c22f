/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a job against the partitions that it names. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#include "common/settings.h"
#include "striping/submit/submission.h"

/* Where a job wants to run, as its options say: NULL where they do not. */
struct partition_offer_where {
	char *partitions;
	char *required; /* --nodelist */
	char *excluded; /* --exclude */
	const char *constraint;
};

/*
 * Checks a job against every partition it names. One that can take it is enough; the grant is the
 * smallest over those that can, and the message that of the first that cannot. Returns 0, or -1
 * with err. The caller holds Slurm's read locks of jobs, nodes and partitions, as others may too.
 */
int partition_offer_check(const struct poppa_settings *settings, const struct submission *r,
	const struct partition_offer_where *where, struct submission_grant *grant,
	struct errmsg *err);
