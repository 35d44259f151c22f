/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which QOS Slurm will give a job that is being submitted. */
#pragma once

#include "plugins/compat/slurm_compat.h"

/* The name of the QOS that the job names, else of the default of its association in this partition
 * (NULL: none is known); NULL where slurmctld knows none. To be freed with xfree(). */
char *job_qos_name(const job_desc_msg_t *d, char *partition);
