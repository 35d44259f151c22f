/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The select plugin interface of each Slurm release: its functions, and how cores are excluded. */
#pragma once

#include "plugins/compat/slurm_compat.h"

#include "src/common/job_resources.h"

/* The interfaces that are known; those of other releases differ in ways unknown here. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0) &&                                         \
	SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#define COMPAT_SELECT_2205
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0) &&                                       \
	SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#define COMPAT_SELECT_2302
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0) &&                                      \
	SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
#define COMPAT_SELECT_2311
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0) &&                                       \
	SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 11, 0)
#define COMPAT_SELECT_2505
#else
#error "select_stripe knows the select interface of Slurm 22.05 to 26.05 only"
#endif

/* Until 23.02 one bitmap over all cores of the system says which a job must not get. */
#if defined(COMPAT_SELECT_2205) || defined(COMPAT_SELECT_2302)
#define COMPAT_EXC_BITMAP
#endif

#ifdef COMPAT_SELECT_2205
#include "src/common/select.h"
#include "src/slurmctld/preempt.h"
#else
#include "src/interfaces/preempt.h"
#include "src/interfaces/select.h"
#endif
#ifndef COMPAT_EXC_BITMAP
#include "src/common/core_array.h"
#endif

/* Cores that a job must not get. */
#ifdef COMPAT_EXC_BITMAP
typedef bitstr_t *compat_exc_t; /* NULL for none */
#else
typedef resv_exc_t *compat_exc_t; /* a bitmap of each node; never NULL itself */
#endif

/* Between which times a WILL_RUN test looks, where the release tells: the last parameter then. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
typedef const void *compat_will_run_t;
#define COMPAT_WILL_RUN_PARAM
#define COMPAT_WILL_RUN_ARG(value)
#define COMPAT_WILL_RUN NULL
#else
typedef will_run_data_t *compat_will_run_t;
#define COMPAT_WILL_RUN_PARAM , compat_will_run_t will_run
#define COMPAT_WILL_RUN_ARG(value) , value
#define COMPAT_WILL_RUN will_run
#endif

/* Functions that only 22.05 has. */
#ifdef COMPAT_SELECT_2205
#define SELECT_PASSED_ON_2205(X)                                                                   \
	X(int, job_signal, (job_record_t * job_ptr, int sig), (job_ptr, sig))                      \
	X(char *, select_jobinfo_sprint,                                                           \
		(select_jobinfo_t * jobinfo, char *buf, size_t size, int mode),                    \
		(jobinfo, buf, size, mode))                                                        \
	X(char *, select_jobinfo_xstrdup, (select_jobinfo_t * jobinfo, int mode), (jobinfo, mode)) \
	X(int, update_node_config, (int index), (index))
#else
#define SELECT_PASSED_ON_2205(X)
#endif

/* Up to 23.02: cores for a reservation. */
#ifdef COMPAT_EXC_BITMAP
#define SELECT_PASSED_ON_2302(X)                                                                   \
	X(bitstr_t *, resv_test,                                                                   \
		(resv_desc_msg_t * resv_desc_ptr, uint32_t node_cnt, bitstr_t * avail_bitmap,      \
			bitstr_t * *core_bitmap),                                                  \
		(resv_desc_ptr, node_cnt, avail_bitmap, core_bitmap))
#else
#define SELECT_PASSED_ON_2302(X)
#endif

/* Functions up to 24.11: state, steps, and the plugin's own data of jobs and nodes. */
#ifndef COMPAT_SELECT_2505
#define SELECT_PASSED_ON_2411(X)                                                                   \
	X(int, state_save, (char *dir_name), (dir_name))                                           \
	X(int, state_restore, (char *dir_name), (dir_name))                                        \
	X(int, job_init, (list_t * jobs), (jobs))                                                  \
	X(bitstr_t *, step_pick_nodes,                                                             \
		(job_record_t * job_ptr, select_jobinfo_t * step_jobinfo, uint32_t node_count,     \
			bitstr_t * *avail_nodes),                                                  \
		(job_ptr, step_jobinfo, node_count, avail_nodes))                                  \
	X(int, step_start, (step_record_t * step_ptr), (step_ptr))                                 \
	X(int, step_finish, (step_record_t * step_ptr, bool killing_step),                         \
		(step_ptr, killing_step))                                                          \
	X(int, select_nodeinfo_pack,                                                               \
		(select_nodeinfo_t * nodeinfo, buf_t * buffer, uint16_t protocol_version),         \
		(nodeinfo, buffer, protocol_version))                                              \
	X(int, select_nodeinfo_unpack,                                                             \
		(select_nodeinfo_t * *nodeinfo, buf_t * buffer, uint16_t protocol_version),        \
		(nodeinfo, buffer, protocol_version))                                              \
	X(select_nodeinfo_t *, select_nodeinfo_alloc, (void), ())                                  \
	X(int, select_nodeinfo_free, (select_nodeinfo_t * nodeinfo), (nodeinfo))                   \
	X(int, select_nodeinfo_get,                                                                \
		(select_nodeinfo_t * nodeinfo, enum select_nodedata_type dinfo,                    \
			enum node_states state, void *data),                                       \
		(nodeinfo, dinfo, state, data))                                                    \
	X(select_jobinfo_t *, select_jobinfo_alloc, (void), ())                                    \
	X(int, select_jobinfo_free, (select_jobinfo_t * jobinfo), (jobinfo))                       \
	X(int, select_jobinfo_set,                                                                 \
		(select_jobinfo_t * jobinfo, enum select_jobdata_type data_type, void *data),      \
		(jobinfo, data_type, data))                                                        \
	X(int, select_jobinfo_get,                                                                 \
		(select_jobinfo_t * jobinfo, enum select_jobdata_type data_type, void *data),      \
		(jobinfo, data_type, data))                                                        \
	X(select_jobinfo_t *, select_jobinfo_copy, (select_jobinfo_t * jobinfo), (jobinfo))        \
	X(int, select_jobinfo_pack,                                                                \
		(select_jobinfo_t * jobinfo, buf_t * buffer, uint16_t protocol_version),           \
		(jobinfo, buffer, protocol_version))                                               \
	X(int, select_jobinfo_unpack,                                                              \
		(select_jobinfo_t * *jobinfo, buf_t * buffer, uint16_t protocol_version),          \
		(jobinfo, buffer, protocol_version))                                               \
	X(int, get_info_from_plugin,                                                               \
		(enum select_plugindata_info dinfo, job_record_t * job_ptr, void *data),           \
		(dinfo, job_ptr, data))
#else
#define SELECT_PASSED_ON_2411(X)
#endif

/* A running job whose memory is about to be cut down to what its record asks for (26.05). */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define SELECT_MEMORY_REDUCED(X) X(void, job_mem_reduce, (job_record_t * job_ptr), (job_ptr))
#else
#define SELECT_MEMORY_REDUCED(X)
#endif

/*
 * Every function of the interface as X(result, name after "select_p_", parameters, arguments):
 * those that are passed on as they are, and those that the wrapper looks at.
 */
#define SELECT_PASSED_ON(X)                                                                        \
	SELECT_PASSED_ON_2205(X)                                                                   \
	SELECT_PASSED_ON_2302(X)                                                                   \
	SELECT_PASSED_ON_2411(X)                                                                   \
	X(int, job_begin, (job_record_t * job_ptr), (job_ptr))                                     \
	X(int, job_ready, (job_record_t * job_ptr), (job_ptr))                                     \
	X(int, job_suspend, (job_record_t * job_ptr, bool indf_susp), (job_ptr, indf_susp))        \
	X(int, job_resume, (job_record_t * job_ptr, bool indf_susp), (job_ptr, indf_susp))         \
	X(int, select_nodeinfo_set_all, (void), ())

#define SELECT_LOOKED_AT(X)                                                                        \
	SELECT_MEMORY_REDUCED(X)                                                                   \
	X(int, node_init, (void), ())                                                              \
	X(int, job_test,                                                                           \
		(job_record_t * job_ptr, bitstr_t * node_bitmap, uint32_t min_nodes,               \
			uint32_t max_nodes, uint32_t req_nodes, uint16_t mode,                     \
			list_t * preemptee_candidates, list_t * *preemptee_job_list,               \
			compat_exc_t exc COMPAT_WILL_RUN_PARAM),                                   \
		(job_ptr, node_bitmap, min_nodes, max_nodes, req_nodes, mode,                      \
			preemptee_candidates, preemptee_job_list,                                  \
			exc COMPAT_WILL_RUN_ARG(COMPAT_WILL_RUN)))                                 \
	X(int, job_expand, (job_record_t * from_job_ptr, job_record_t * to_job_ptr),               \
		(from_job_ptr, to_job_ptr))                                                        \
	X(int, job_resized, (job_record_t * job_ptr, node_record_t * node_ptr),                    \
		(job_ptr, node_ptr))                                                               \
	X(int, job_fini, (job_record_t * job_ptr), (job_ptr))                                      \
	X(int, select_nodeinfo_set, (job_record_t * job_ptr), (job_ptr))                           \
	X(int, reconfigure, (void), ())

/*
 * Since 23.02 Slurm's plugin takes a node for too small if --ntasks-per-node or --cpus-per-task
 * come to fewer CPUs than pn_min_cpus, unless the user asked for less than that. So this says that
 * the user asked for nothing. The caller restores orig_pn_min_cpus.
 */
static inline void compat_ask_for_lane(job_details_t *details)
{
#ifndef COMPAT_SELECT_2205
	details->orig_pn_min_cpus = 0;
#else
	(void)details;
#endif
}

/* Whether all nodes are equally near to each other for Slurm. */
static inline bool compat_topology_flat(void)
{
#ifdef COMPAT_EXC_BITMAP
	return !xstrcmp(slurm_conf.topology_plugin, "topology/none");
#elif defined(COMPAT_SELECT_2311)
	return !xstrcmp(slurm_conf.topology_plugin, "topology/default");
#else
	/* topology.yaml may hold several, of any kind, whatever TopologyPlugin says. */
	return false;
#endif
}

#ifdef COMPAT_EXC_BITMAP

/* A copy that compat_exc_core() can add to; free with compat_exc_free(). */
static inline compat_exc_t compat_exc_copy(compat_exc_t exc)
{
	uint32_t cores = cr_get_coremap_offset(node_record_count);

	/* One of another size is a leftover of other nodes: it says nothing about these. */
	return exc && bit_size(exc) == (bitoff_t)cores ? bit_copy(exc) : bit_alloc(cores);
}

static inline void compat_exc_core(compat_exc_t exc, int node, int core)
{
	bit_set(exc, cr_get_coremap_offset(node) + core);
}

static inline bool compat_exc_has(compat_exc_t exc, int node, int core)
{
	uint32_t bit = cr_get_coremap_offset(node) + core;

	return exc && bit < (uint32_t)bit_size(exc) && bit_test(exc, bit);
}

static inline void compat_exc_free(compat_exc_t exc)
{
	bit_free(exc);
}

#else

static inline compat_exc_t compat_exc_copy(compat_exc_t exc)
{
	compat_exc_t copy = xmalloc(sizeof(*copy));

	/* GRES and the like stay the caller's. */
	if (exc)
		*copy = *exc;
	copy->exc_cores =
		exc && exc->exc_cores ? copy_core_array(exc->exc_cores) : build_core_array();
	return copy;
}

static inline void compat_exc_core(compat_exc_t exc, int node, int core)
{
	if (!exc->exc_cores[node])
		exc->exc_cores[node] = bit_alloc(compat_node(node)->tot_cores);
	if (core < bit_size(exc->exc_cores[node]))
		bit_set(exc->exc_cores[node], core);
}

static inline bool compat_exc_has(compat_exc_t exc, int node, int core)
{
	return exc && exc->exc_cores && exc->exc_cores[node] &&
	       core < bit_size(exc->exc_cores[node]) && bit_test(exc->exc_cores[node], core);
}

static inline void compat_exc_free(compat_exc_t exc)
{
	free_core_array(&exc->exc_cores);
	xfree(exc);
}

#endif
