/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each Slurm release asks slurmctld for a job, for plugins inside its daemons and its commands.
 */
#pragma once

#include "slurm/slurm.h"

/* Asks for the records of a job id, without what it has on each node. Gives *info, for
 * slurm_free_job_info_msg(), and 0. */
static inline int compat_load_job(uint32_t job_id, job_info_msg_t **info)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
	return slurm_load_job(info, job_id, SHOW_LOCAL);
#else
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(info, id, SHOW_LOCAL);
#endif
}
