/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What job_submit/colocate uses of Slurm, as little of it as that takes: tests run it without. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define SLURM_WEAK(name)
#define SLURM_VERSION_NUMBER 1
#define SLURM_SUCCESS 0
#define ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE 2014

#define NO_VAL8 0xfe
#define NO_VAL16 0xfffe
#define NO_VAL 0xfffffffeU
#define NO_VAL64 UINT64_C(0xfffffffffffffffe)
#define INFINITE16 0xffff
#define MEM_PER_CPU UINT64_C(0x8000000000000000)

#define SELECT_SOCKET 0x0002
#define SELECT_MEMORY 0x0010
#define PROLOG_FLAG_ALLOC 0x0001
#define SELECT_ONE_TASK_PER_CORE 0x0100
#define QOS_FLAG_PART_MAX_NODE 0x0002
#define GRES_ENFORCE_BIND 0x0010
#define PART_FLAG_EXCLUSIVE_USER 0x0040
#define PART_FLAG_EXCLUSIVE_TOPO 0x0800

enum { JOB_SHARED_NONE, JOB_SHARED_OK, JOB_SHARED_USER, JOB_SHARED_MCS, JOB_SHARED_TOPO };

typedef struct {
	int size;
	const bool *bit;
} bitstr_t;

typedef struct {
	char **spank_job_env;
	uint32_t spank_job_env_size;
	uint32_t num_tasks, min_cpus, min_nodes, max_nodes;
	uint16_t ntasks_per_node, ntasks_per_socket, ntasks_per_core, cpus_per_task, pn_min_cpus;
	uint16_t sockets_per_node, cores_per_socket, threads_per_core, ntasks_per_tres;
	uint16_t shared, core_spec, reboot;
	uint8_t overcommit;
	uint64_t pn_min_memory, bitflags;
	char *tres_per_job, *tres_per_node, *tres_per_socket, *tres_per_task, *cpus_per_tres;
	char *mem_per_tres, *partition, *req_nodes, *exc_nodes, *features, *qos, *dependency;
} job_desc_msg_t;

typedef struct {
	uint16_t ntasks_per_socket, ntasks_per_core, sockets_per_node, cores_per_socket;
	uint16_t threads_per_core;
} multi_core_data_t;

typedef struct {
	uint32_t num_tasks, orig_min_cpus, min_nodes, max_nodes;
	uint16_t ntasks_per_node, cpus_per_task, ntasks_per_tres, orig_pn_min_cpus;
	uint64_t orig_pn_min_memory;
	multi_core_data_t *mc_ptr;
	char *req_nodes, *exc_nodes, *features;
} job_details_t;

typedef struct {
	uint32_t job_id;
	char **spank_job_env;
	uint32_t spank_job_env_size;
	char *partition, *tres_per_job, *tres_per_node, *tres_per_task, *cpus_per_tres;
	char *mem_per_tres;
	uint64_t bit_flags;
	job_details_t *details;
} job_record_t;
#define IS_JOB_PENDING(job) ((job) != NULL)

typedef struct {
	char *gres;
} config_record_t;

typedef struct {
	uint16_t tot_sockets, cores, threads, tpc;
	uint64_t real_memory, mem_spec_limit;
	char *features;
	bitstr_t *node_spec_bitmap;
	config_record_t *config_ptr;
} node_record_t;

/* A list has one entry here. */
typedef struct {
	void *entry;
} list_t;
typedef struct {
	void *next;
} list_itr_t;

typedef enum { JOB_DEF_CPU_PER_GPU = 1, JOB_DEF_MEM_PER_GPU = 2 } job_def_type_t;
typedef struct {
	uint16_t type;
	uint64_t value;
} job_defaults_t;

typedef struct {
	char *name;
	list_t *job_defaults_list;
	uint16_t max_share;
	uint32_t flags, max_nodes, max_cpus_per_node;
	uint64_t def_mem_per_cpu, max_mem_per_cpu;
	bitstr_t *node_bitmap;
} part_record_t;

typedef struct {
	uint32_t flags;
} slurmdb_qos_rec_t;

struct slurm_conf {
	char *prep_params, *select_type, *state_save_location;
	list_t *job_defaults_list;
	uint16_t select_type_param, prolog_flags;
	uint64_t def_mem_per_cpu, max_mem_per_cpu;
};
extern struct slurm_conf slurm_conf;
extern part_record_t *default_part_loc;
extern int node_record_count;

node_record_t *compat_node(int index);

list_t *compat_part_list(char *names);
list_t *list_create(void (*release)(void *entry));
void list_append(list_t *list, void *entry);
list_itr_t *list_iterator_create(list_t *list);
void *list_next(list_itr_t *iterator);
void list_iterator_destroy(list_itr_t *iterator);
void list_destroy(list_t *list);

void compat_node_bitmap(char *names, bitstr_t **nodes);
#define bit_size(bits) ((bits)->size)
#define bit_test(bits, n) ((bits)->bit[n])
#define FREE_NULL_BITMAP(bits) ((bits) = NULL)

void error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

char *xstrdup_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define xcalloc(n, size) calloc(n, size)
#define xrealloc(p, size) ((p) = realloc(p, size))
#define xrecalloc(p, n, size) ((p) = realloc(p, (n) * (size)))
#define xfree(p) (free(p), (p) = NULL)
#define xstrdup(text) strdup(text)
#define xstrcat(text, more)                                                                        \
	((text) = realloc(text, strlen(text) + strlen(more) + 1), strcat(text, more))

static inline int xstrcmp(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : a != b;
}

static inline char *xstrcasestr(const char *text, const char *part)
{
	return text ? strcasestr(text, part) : NULL;
}

static inline int xstrncmp(const char *a, const char *b, size_t n)
{
	return a && b ? strncmp(a, b, n) : a != b;
}
