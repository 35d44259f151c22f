/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates partitions and their nodes for striping/submit/submission.h. */
#include "partition_offer.h"

#include "src/common/assoc_mgr.h"

#include "job_request.h"
#include "striping/submit/constraint.h"
#include "striping/lanes/lanes.h"

SLURM_WEAK(default_part_loc)
SLURM_WEAK(node_record_count)
SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(slurm_conf)

/* Which nodes a job must use, must not use, and may use; NULL: it does not say. */
struct node_limits {
	bitstr_t *required;
	bitstr_t *excluded;
	const char *constraint;
};

static struct submission_memory limit(uint64_t partition, uint64_t cluster)
{
	struct submission_memory m = job_request_memory(partition);

	if (m.per == MEMORY_UNSET || m.mb == 0)
		m = job_request_memory(cluster);
	return m;
}

/* The lanes of a node as striping/lanes/lanes.h shares its cores out. last: the shape of a node
 * that was asked about before, as a partition's nodes are mostly alike. */
static void share_out(const struct poppa_settings *settings, const struct submission *r,
	const node_record_t *node, struct node_shape *shape, struct node_shape *last)
{
	struct lane_size size = {0};
	int cores = shape->sockets * shape->cores_per_socket, *lane_of;
	bool *spare;

	if (!node->node_spec_bitmap && last->sockets == shape->sockets &&
		last->cores_per_socket == shape->cores_per_socket) {
		shape->lanes_of = last->lanes_of;
		shape->lanes = last->lanes;
		shape->lane_cores = last->lane_cores;
		shape->lane_socket_cores = last->lane_socket_cores;
		shape->lane_sockets = last->lane_sockets;
		return;
	}
	lane_of = xcalloc(cores, sizeof(int));
	spare = xcalloc(cores, sizeof(bool));

	for (int c = 0; c < cores; c++) {
		spare[c] = node->node_spec_bitmap && !bit_test(node->node_spec_bitmap, c);
		shape->reserved |= spare[c];
	}
	shape->lanes_of = r->shape;
	shape->lanes = lanes_count(settings, shape->sockets, shape->cores_per_socket);
	if (r->shaped)
		lanes_of_node(shape->lanes_of, shape->sockets, shape->cores_per_socket, spare,
			shape->lanes, lane_of, &size);
	else
		lanes_usual(settings, shape->sockets, shape->cores_per_socket, spare, shape->lanes,
			lane_of, &size, &shape->lanes_of);
	shape->lane_cores = size.cores;
	shape->lane_socket_cores = size.socket_cores;
	shape->lane_sockets = size.sockets;
	if (!node->node_spec_bitmap)
		*last = *shape;
	xfree(spare);
	xfree(lane_of);
}

/* MB; 0 = there is no such default. */
static int64_t default_mb_per_gpu(list_t *defaults)
{
	list_itr_t *iter;
	job_defaults_t *d;
	int64_t mb = 0;

	if (!defaults)
		return 0;
	iter = list_iterator_create(defaults);
	while ((d = list_next(iter)))
		if (d->type == JOB_DEF_MEM_PER_GPU)
			mb = (int64_t)d->value;
	list_iterator_destroy(iter);
	return mb;
}

static bool has_node(bitstr_t *nodes, int index)
{
	return nodes && index < bit_size(nodes) && bit_test(nodes, index);
}

/* Whether a QOS may let jobs have more nodes than the partition says. */
static bool max_nodes_lifted(void)
{
	assoc_mgr_lock_t read_qos = {.qos = READ_LOCK};
	list_itr_t *iter;
	slurmdb_qos_rec_t *qos;
	bool lifted = false;

	assoc_mgr_lock(&read_qos);
	if (assoc_mgr_qos_list) {
		iter = list_iterator_create(assoc_mgr_qos_list);
		while (!lifted && (qos = list_next(iter)))
			lifted = qos->flags & QOS_FLAG_PART_MAX_NODE;
		list_iterator_destroy(iter);
	}
	assoc_mgr_unlock(&read_qos);
	return lifted;
}

static int64_t max_nodes(const part_record_t *part)
{
	int64_t nodes = job_request_number(part->max_nodes);

	return nodes == SUBMISSION_UNSET || max_nodes_lifted() ? SUBMISSION_UNSET : nodes;
}

static void add_shape(
	const struct node_shape *shape, struct submission_partition *p, struct node_shape **shapes)
{
	for (int i = 0; i < p->shape_count; i++) {
		struct node_shape *s = &(*shapes)[i];

		if (s->sockets == shape->sockets &&
			s->cores_per_socket == shape->cores_per_socket &&
			s->threads_per_core == shape->threads_per_core &&
			s->cpus_per_core == shape->cpus_per_core &&
			s->lane_cores == shape->lane_cores &&
			s->lane_socket_cores == shape->lane_socket_cores &&
			s->lanes_of == shape->lanes_of && s->mem_mb == shape->mem_mb &&
			s->gpus == shape->gpus) {
			s->count += shape->count;
			s->required += shape->required;
			return;
		}
	}
	xrealloc(*shapes, (p->shape_count + 1) * sizeof(**shapes));
	(*shapes)[p->shape_count++] = *shape;
	p->shape = *shapes;
}

/* The partition's nodes that the job may use, by shape; *shapes is the caller's, xfree(). */
static void find_shapes(const struct poppa_settings *settings, const struct submission *r,
	const part_record_t *part, const struct node_limits *choice, const char *constraint,
	struct submission_partition *p, struct node_shape **shapes)
{
	struct constraint_answers known = {0};
	struct node_shape last = {0};

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = compat_node(i);
		struct node_shape shape;

		if (!node || !node->tot_sockets || !node->cores ||
			!has_node(part->node_bitmap, i) || has_node(choice->excluded, i))
			continue;
		if (constraint && !constraint_allows_again(constraint, node->features, &known)) {
			p->constrained = true;
			continue;
		}
		shape = (struct node_shape){
			.sockets = node->tot_sockets,
			.cores_per_socket = node->cores,
			.threads_per_core = node->threads,
			.cpus_per_core = node->tpc ? node->tpc : 1,
			.mem_mb = node->real_memory > node->mem_spec_limit
					  ? (int64_t)(node->real_memory - node->mem_spec_limit)
					  : 0,
			.gpus = MAX(submission_gpus(node->config_ptr->gres), 0),
			.count = 1,
			.required = has_node(choice->required, i),
		};
		share_out(settings, r, node, &shape, &last);
		add_shape(&shape, p, shapes);
	}
}

static int check_partition(const struct poppa_settings *settings, const struct submission *r,
	const part_record_t *part, const struct node_limits *choice, struct submission_grant *grant,
	struct errmsg *err)
{
	struct submission_partition p = {
		.name = part->name,
		.exclusive = part->max_share == 0,
		.exclusive_topo = part->flags & PART_FLAG_EXCLUSIVE_TOPO,
		.exclusive_user = !settings->stripe_alone && part->flags & PART_FLAG_EXCLUSIVE_USER,
		.default_memory = limit(part->def_mem_per_cpu, slurm_conf.def_mem_per_cpu),
		.max_memory = limit(part->max_mem_per_cpu, slurm_conf.max_mem_per_cpu),
		.max_cpus_per_node = job_request_number(part->max_cpus_per_node),
		.max_nodes = max_nodes(part),
	};
	struct node_shape *shapes = NULL;
	int rc;

	p.default_mb_per_gpu = default_mb_per_gpu(part->job_defaults_list);
	if (!p.default_mb_per_gpu)
		p.default_mb_per_gpu = default_mb_per_gpu(slurm_conf.job_defaults_list);
	find_shapes(settings, r, part, choice, choice->constraint, &p, &shapes);
	/* A constraint that no node meets is for Slurm to refuse: lanes have no part in it. */
	if (!p.shape_count && p.constrained) {
		p.constrained = false;
		find_shapes(settings, r, part, choice, NULL, &p, &shapes);
	}
	rc = submission_check(r, &p, grant, err);
	xfree(shapes);
	return rc;
}

static int check_partitions(const struct poppa_settings *settings, const struct submission *r,
	char *names, const struct node_limits *choice, struct submission_grant *grant,
	struct errmsg *err)
{
	struct submission_grant g;
	struct errmsg why, *first = err;
	int rc = -1;
	list_t *parts;
	list_itr_t *iter;
	part_record_t *part;

	parts = names ? compat_part_list(names) : NULL;
	if (!parts && !names && default_part_loc) {
		parts = list_create(NULL);
		list_append(parts, default_part_loc);
	}
	if (!parts) /* Slurm itself refuses the job for this, in its own words. */
		return 0;
	iter = list_iterator_create(parts);
	while ((part = list_next(iter))) {
		if (submission_check_open(part->name, settings->stripe_partitions, err)) {
			rc = -1;
			break;
		}
		if (check_partition(settings, r, part, choice, &g, first)) {
			first = &why;
			continue;
		}
		if (rc || g.cpus_per_node < grant->cpus_per_node)
			grant->cpus_per_node = g.cpus_per_node;
		if (g.memory_mb >= 0 && (grant->memory_mb < 0 || g.memory_mb < grant->memory_mb))
			grant->memory_mb = g.memory_mb;
		rc = 0;
	}
	list_iterator_destroy(iter);
	list_destroy(parts);
	return rc;
}

int partition_offer_check(const struct poppa_settings *settings, const struct submission *r,
	const struct partition_offer_where *where, struct submission_grant *grant,
	struct errmsg *err)
{
	struct node_limits choice = {.constraint = where->constraint};
	int rc;

	if (choice.constraint &&
		(!*choice.constraint || strnlen(choice.constraint, CONSTRAINT_BYTES_MAX + 1) >
						CONSTRAINT_BYTES_MAX))
		choice.constraint = NULL;
	/* Unknown names are for Slurm to refuse. */
	if (where->required && *where->required)
		compat_node_bitmap(where->required, &choice.required);
	if (where->excluded && *where->excluded)
		compat_node_bitmap(where->excluded, &choice.excluded);
	rc = check_partitions(settings, r, where->partitions, &choice, grant, err);
	FREE_NULL_BITMAP(choice.required);
	FREE_NULL_BITMAP(choice.excluded);
	return rc;
}
