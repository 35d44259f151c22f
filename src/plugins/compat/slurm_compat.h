/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between Slurm releases, for the plugins that live inside slurmctld and slurmd. */
#ifndef POPPA_PLUGINS_COMPAT_H
#define POPPA_PLUGINS_COMPAT_H

/* First, before any other header of Slurm: it maps names to those that libslurm exports. */
#include "src/common/slurm_xlator.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"

/*
 * Declares a variable of Slurm as one that the program which loads the plugin may lack (a client
 * that loads a select plugin has no job_list). Its address is NULL there.
 */
#define SLURM_WEAK_PRAGMA(text) _Pragma(#text)
#define SLURM_WEAK(name) SLURM_WEAK_PRAGMA(weak name)

/* The node with this index, or NULL where the table has a hole. */
static inline node_record_t *compat_node(int index)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
	return node_record_table_ptr[index];
#else
	return &node_record_table_ptr[index];
#endif
}

#endif
