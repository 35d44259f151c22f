/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What job_submit/colocate uses of Slurm's association manager: there is no QOS. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#define READ_LOCK 1
typedef struct {
	int qos;
} assoc_mgr_lock_t;
#define assoc_mgr_lock(locks) ((void)(locks))
#define assoc_mgr_unlock(locks) ((void)(locks))
#define assoc_mgr_qos_list ((list_t *)NULL)
