/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates what a descriptor or a job record asks for, for striping/submit/submission.h. */
#include "job_request.h"

static int64_t number(uint64_t value, uint64_t no_val)
{
	return value == 0 || value >= no_val ? SUBMISSION_UNSET : (int64_t)value;
}

static int64_t number16(uint16_t value)
{
	return number(value, NO_VAL16);
}

int64_t job_request_number(uint32_t value)
{
	return number(value, NO_VAL);
}

struct submission_memory job_request_memory(uint64_t value)
{
	struct submission_memory m = {MEMORY_UNSET, 0};

	if (value < NO_VAL64) {
		m.per = value & MEM_PER_CPU ? MEMORY_PER_CPU : MEMORY_PER_NODE;
		m.mb = (int64_t)(value & ~MEM_PER_CPU);
	}
	return m;
}

static enum submission_sharing sharing(uint16_t shared)
{
	switch (shared) {
	case JOB_SHARED_NONE:
		return SHARING_NONE;
	case JOB_SHARED_OK:
		return SHARING_CORES;
	case JOB_SHARED_USER:
		return SHARING_USER;
	case JOB_SHARED_MCS:
		return SHARING_MCS;
	case JOB_SHARED_TOPO:
		return SHARING_TOPO;
	default:
		return SHARING_DEFAULT;
	}
}

void job_request_of_desc(const job_desc_msg_t *d, struct submission *r)
{
	const struct {
		int64_t *field;
		int64_t value;
	} numbers[] = {
		{&r->tasks, job_request_number(d->num_tasks)},
		{&r->tasks_per_node, number16(d->ntasks_per_node)},
		{&r->tasks_per_socket, number16(d->ntasks_per_socket)},
		{&r->tasks_per_core, number16(d->ntasks_per_core)},
		{&r->cpus_per_task, number16(d->cpus_per_task)},
		{&r->cpus, job_request_number(d->min_cpus)},
		{&r->cpus_per_node, number16(d->pn_min_cpus)},
		{&r->sockets_per_node, number16(d->sockets_per_node)},
		{&r->cores_per_socket, number16(d->cores_per_socket)},
		{&r->threads_per_core, number16(d->threads_per_core)},
		{&r->gpus, submission_gpus(d->tres_per_job)},
		{&r->gpus_per_node, submission_gpus(d->tres_per_node)},
		{&r->gpus_per_task, submission_gpus(d->tres_per_task)},
		{&r->cpus_per_gpu, submission_gpus(d->cpus_per_tres)},
		{&r->tasks_per_gpu, number16(d->ntasks_per_tres)},
		{&r->mb_per_gpu, submission_gpus(d->mem_per_tres)},
		{&r->min_nodes, job_request_number(d->min_nodes)},
		{&r->max_nodes, job_request_number(d->max_nodes)},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value != SUBMISSION_UNSET)
			*numbers[i].field = numbers[i].value;
	if (submission_gpus(d->tres_per_socket) > 0 && number16(d->sockets_per_node) > 0)
		r->gpus_per_node = submission_gpus(d->tres_per_socket) * d->sockets_per_node;
	if (d->pn_min_memory != NO_VAL64)
		r->memory = job_request_memory(d->pn_min_memory);
	if (d->shared != NO_VAL16)
		r->sharing = sharing(d->shared);
	r->core_spec = d->core_spec != NO_VAL16 && d->core_spec != INFINITE16;
	r->gres_bound = d->bitflags & GRES_ENFORCE_BIND;
	r->reboot = d->reboot != NO_VAL16 && d->reboot;
	r->overcommit = d->overcommit != NO_VAL8 && d->overcommit;
}

void job_request_of_job(const job_record_t *job, struct submission *r)
{
	const job_details_t *d = job->details;

	r->tasks = job_request_number(d->num_tasks);
	r->tasks_per_node = number16(d->ntasks_per_node);
	r->cpus_per_task = number16(d->cpus_per_task);
	r->cpus = job_request_number(d->orig_min_cpus);
	r->min_nodes = job_request_number(d->min_nodes);
	r->max_nodes = job_request_number(d->max_nodes);
	r->memory = job_request_memory(d->orig_pn_min_memory);
	r->gpus = submission_gpus(job->tres_per_job);
	r->gpus_per_node = submission_gpus(job->tres_per_node);
	r->gpus_per_task = submission_gpus(job->tres_per_task);
	r->cpus_per_gpu = submission_gpus(job->cpus_per_tres);
	r->tasks_per_gpu = number16(d->ntasks_per_tres);
	r->mb_per_gpu = submission_gpus(job->mem_per_tres);
	r->gres_bound = job->bit_flags & GRES_ENFORCE_BIND;
	if (d->mc_ptr) {
		r->tasks_per_socket = number16(d->mc_ptr->ntasks_per_socket);
		r->tasks_per_core = number16(d->mc_ptr->ntasks_per_core);
		r->sockets_per_node = number16(d->mc_ptr->sockets_per_node);
		r->cores_per_socket = number16(d->mc_ptr->cores_per_socket);
		r->threads_per_core = number16(d->mc_ptr->threads_per_core);
	}
}
