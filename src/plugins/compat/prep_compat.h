/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prep plugin interface of each Slurm release, and what its slurmd side reads of cgroup.conf.
 */
#ifndef POPPA_PLUGINS_PREP_COMPAT_H
#define POPPA_PLUGINS_PREP_COMPAT_H

#include "plugins/compat/slurm_compat.h"

#include "src/common/uid.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/cgroup.h"
#include "src/common/prep.h"
#include "src/common/slurm_cred.h"
#else
#include "src/interfaces/cgroup.h"
#include "src/interfaces/cred.h"
#include "src/interfaces/prep.h"
#endif

/* The name of the job's user; xfree(). */
static inline char *compat_user_name(const job_env_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
	return xstrdup(job->user_name);
#else
	return uid_to_string(job->uid);
#endif
}

#endif
