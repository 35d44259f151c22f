/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job can get from the partitions that it names. */
#ifndef POPPA_PLUGINS_JOB_SUBMIT_COLOCATE_PARTITION_OFFER_H
#define POPPA_PLUGINS_JOB_SUBMIT_COLOCATE_PARTITION_OFFER_H

#include "plugins/compat/slurm_compat.h"

#include "common/settings.h"
#include "striping/submit/submission.h"

/* The settings in force; another version where they may be others than before. */
struct offer_policy {
	struct poppa_settings settings;
	int version;
};

/* Where a job wants to run, as its options say: NULL where they do not. */
struct offer_where {
	char *partitions;
	char *required; /* --nodelist */
	char *excluded; /* --exclude */
	const char *constraint;
};

/*
 * Checks a job against every partition it names. One that can take it is enough; the grant is the
 * smallest over those that can, and the message that of the first that cannot. Returns 0, or -1
 * with err. Not for two threads at once.
 */
int offered(const struct offer_policy *policy, const struct request *r,
	const struct offer_where *where, struct request_grant *grant, struct errmsg *err);

#endif
