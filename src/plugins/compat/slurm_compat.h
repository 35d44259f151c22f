/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between Slurm releases, for the plugins that live inside slurmctld and slurmd. */
#pragma once

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

/* In 22.05 the types of lists and job details had other names, until 23.02 that of host lists. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
typedef struct xlist list_t;
typedef struct listIterator list_itr_t;
typedef struct job_details job_details_t;
#endif
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
typedef struct hostlist compat_hostlist_t;
#else
typedef hostlist_t compat_hostlist_t;
#endif

/* Until 25.05 the flags of SelectTypeParameters had other names. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define SELECT_SOCKET CR_SOCKET
#define SELECT_MEMORY CR_MEMORY
#define SELECT_ONE_TASK_PER_CORE CR_ONE_TASK_PER_CORE
#endif

/* Until 24.05 no job could have the network around its nodes to itself. */
#ifndef JOB_SHARED_TOPO
#define JOB_SHARED_TOPO 0x0004
#define PART_FLAG_EXCLUSIVE_TOPO 0
#endif

/*
 * Declares a variable of Slurm as one that the program which loads the plugin may lack (a client
 * that loads a select plugin has no job_list). Its address is NULL there.
 */
#define SLURM_WEAK_PRAGMA(text) _Pragma(#text)
#define SLURM_WEAK(name) SLURM_WEAK_PRAGMA(weak name)

/* The node with this index, or NULL where the table has a hole. */
static inline node_record_t *compat_node(int index)
{
	return node_record_table_ptr[index];
}

/* Whether the nodes have as many cores and threads, shared out to sockets alike. */
static inline bool compat_nodes_alike(const node_record_t *a, const node_record_t *b)
{
	return a->tot_sockets == b->tot_sockets && a->cores == b->cores && a->tpc == b->tpc;
}

/* The partitions of a comma list, for list_destroy(); NULL where one is unknown. */
static inline list_t *compat_part_list(char *names)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	return get_part_list(names, NULL);
#else
	list_t *parts = NULL;
	part_record_t *first = NULL;
	char *unknown = NULL;

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	get_part_list(names, &parts, &first, &unknown);
#else
	get_part_list(names, &parts, &first, &unknown, NULL);
#endif
	/* One alone comes without a list. */
	if (!parts && first && !unknown) {
		parts = list_create(NULL);
		list_append(parts, first);
	}
	xfree(unknown);
	return parts;
#endif
}

/* The nodes of a host list expression, without those that are unknown; bit_free(). */
static inline void compat_node_bitmap(char *names, bitstr_t **nodes)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	node_name2bitmap(names, true, nodes);
#else
	node_name2bitmap(names, true, nodes, NULL);
#endif
}

/* Ends a run of a batch job, for it to run again. Needs the write locks on jobs and nodes, and the
 * read locks on the configuration and the federation. 0, or an error of Slurm's. */
static inline int compat_requeue(job_record_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return job_requeue(0, job->job_id, NULL, false, 0);
#else
	return job_requeue_internal(0, job, false, 0);
#endif
}

/*
 * Whether slurmctld has read its state and works on it: only then it has a thread that saves the
 * state. A thread for requests, or a connection to slurmdbd, does not tell: a backup that stands by
 * has these, too.
 */
static inline bool compat_serves(void)
{
	return slurmctld_config.thread_id_save;
}
