/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prep plugin interface of each Slurm release, and what slurmd reads of cgroup.conf. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#include "plugins/compat/job_info_compat.h"

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
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#include "src/common/sluid.h"
#endif

static inline uint32_t compat_env_job_id(const job_env_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return job->jobid;
#else
	return job->step_id.job_id;
#endif
}

/*
 * The name of the job's directory in the cgroup v2 hierarchy where that is not job_ID: since 26.05
 * it is of the run, unless cgroup.conf says otherwise. NULL, or for xfree().
 */
static inline char *compat_cgroup_name(const job_env_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
	(void)job;
	return NULL;
#else
	if (!job->step_id.sluid || slurm_cgroup_conf.cgroup_job_id_paths)
		return NULL;
	return sluid2str(job->step_id.sluid);
#endif
}

/* The name of the job's user; xfree(). */
static inline char *compat_user_name(const job_env_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
	return xstrdup(job->user_name);
#else
	return uid_to_string(job->uid);
#endif
}
