/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides at submission whether a co-located job can ever run. */
#include "striping/submit/submission.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_TEXT_MAX 64

/* How much of the job one lane of a node holds. */
struct lane {
	int64_t socket_cpus; /* per socket */
	int64_t cpus;        /* per node, after core specialisation */
	int64_t memory_cpus; /* those for which memory per CPU counts */
	int64_t cores_per_socket;
	int64_t share_mb;  /* its part of a node's memory */
	int64_t memory_mb; /* the most it may ask for on a node */
	int64_t tasks;     /* how many of its tasks fit on a node */
	int64_t gpus;      /* how many of the node's it has CPUs, tasks and memory for */
};

void submission_init(struct submission *r)
{
	*r = (struct submission){
		.tasks = SUBMISSION_UNSET,
		.tasks_per_node = SUBMISSION_UNSET,
		.tasks_per_socket = SUBMISSION_UNSET,
		.tasks_per_core = SUBMISSION_UNSET,
		.cpus_per_task = SUBMISSION_UNSET,
		.cpus = SUBMISSION_UNSET,
		.cpus_per_node = SUBMISSION_UNSET,
		.sockets_per_node = SUBMISSION_UNSET,
		.cores_per_socket = SUBMISSION_UNSET,
		.threads_per_core = SUBMISSION_UNSET,
		.gpus = SUBMISSION_UNSET,
		.gpus_per_node = SUBMISSION_UNSET,
		.gpus_per_task = SUBMISSION_UNSET,
		.cpus_per_gpu = SUBMISSION_UNSET,
		.tasks_per_gpu = SUBMISSION_UNSET,
		.mb_per_gpu = SUBMISSION_UNSET,
		.min_nodes = SUBMISSION_UNSET,
		.max_nodes = SUBMISSION_UNSET,
	};
}

int64_t submission_gpus(const char *list)
{
	int64_t sum = SUBMISSION_UNSET;

	for (const char *at = list ? list : ""; *at; at += strcspn(at, ","), at += *at == ',') {
		const char *name = at, *last;
		size_t len;

		if (!strncmp(name, "gres:", 5) || !strncmp(name, "gres/", 5))
			name += 5;
		if (strncmp(name, "gpu", 3) || !strchr(",:=(", name[3]))
			continue;
		len = strcspn(name, ",(");
		last = name + len;
		while (last > name && last[-1] >= '0' && last[-1] <= '9')
			last--;
		if (sum < 0)
			sum = 0;
		sum += last < name + len && strchr(":=", last[-1]) ? strtoll(last, NULL, 10) : 1;
	}
	return sum;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t at_least_one(int64_t n)
{
	return n > 1 ? n : 1;
}

static int64_t per_node(const struct submission_memory *m, int64_t cpus)
{
	return m->per == MEMORY_PER_CPU ? m->mb * cpus : m->mb;
}

/* The memory of a node that --mem-per-gpu may ask for; the partition's limits do not count. */
static int64_t memory_for_gpus(const struct submission *r, const struct node_shape *s)
{
	return r->spread ? s->mem_mb : s->mem_mb / s->lanes;
}

static struct lane lane_of(const struct submission *r, const struct submission_partition *p,
	const struct node_shape *s)
{
	int64_t task_cpus = at_least_one(r->cpus_per_task), per_core = s->cpus_per_core;
	struct lane l = {.cores_per_socket = s->lane_socket_cores};

	if (r->threads_per_core > 0)
		per_core = min64(per_core, r->threads_per_core);
	l.memory_cpus = s->lane_cores * per_core;
	if (r->tasks_per_core > 0)
		per_core = min64(per_core, r->tasks_per_core * task_cpus);
	l.socket_cpus = l.cores_per_socket * per_core;
	l.cpus = s->lane_cores * per_core;
	l.share_mb = s->mem_mb / s->lanes;
	l.memory_mb = r->spread ? s->mem_mb : l.share_mb;
	if (p->max_memory.per != MEMORY_UNSET && p->max_memory.mb > 0) {
		l.memory_mb = min64(l.memory_mb, per_node(&p->max_memory, l.memory_cpus));
		l.share_mb = min64(l.share_mb, l.memory_mb);
	}
	l.tasks = l.cpus / task_cpus;
	if (r->tasks_per_node > 0)
		l.tasks = min64(l.tasks, r->tasks_per_node);
	if (r->tasks_per_socket > 0)
		l.tasks = min64(l.tasks, r->tasks_per_socket * s->lane_sockets);
	l.gpus = s->gpus;
	if (r->cpus_per_gpu > 0)
		l.gpus = min64(l.gpus, l.cpus / r->cpus_per_gpu);
	if (r->tasks_per_gpu > 0)
		l.gpus = min64(l.gpus, l.tasks / r->tasks_per_gpu);
	if (r->memory_counted && r->mb_per_gpu > 0)
		l.gpus = min64(l.gpus, memory_for_gpus(r, s) / r->mb_per_gpu);
	return l;
}

/* "8 tasks", or "8 tasks of 2 CPUs". */
static const char *tasks_text(const struct submission *r, int64_t tasks, char *buf)
{
	int n = snprintf(buf, TASKS_TEXT_MAX, "%" PRId64 " task%s", tasks, tasks == 1 ? "" : "s");

	if (r->cpus_per_task > 1)
		snprintf(buf + n, TASKS_TEXT_MAX - (size_t)n, " of %" PRId64 " CPUs",
			r->cpus_per_task);
	return buf;
}

static int check_conflicts(
	const struct submission *r, const struct submission_partition *p, struct errmsg *err)
{
	static const char *const sharing[] = {
		[SHARING_CORES] = "--oversubscribe",
		[SHARING_NONE] = "--exclusive",
		[SHARING_USER] = "--exclusive=user",
		[SHARING_MCS] = "--exclusive=mcs",
		[SHARING_TOPO] = "--exclusive=topo",
	};

	if (r->sharing == SHARING_CORES)
		return errmsg_set(err,
			"%s shares cores, a co-located job has its lane's cores "
			"alone: leave one of the two out",
			sharing[r->sharing]);
	if (r->sharing != SHARING_DEFAULT)
		return errmsg_set(err,
			"%s keeps others off the nodes, which a co-located job "
			"shares: leave one of the two out",
			sharing[r->sharing]);
	if (r->core_spec)
		return errmsg_set(err,
			"--core-spec and --thread-spec take whole nodes, a co-located "
			"job has one lane of each: leave one of the two out");
	if (r->reboot)
		return errmsg_set(err,
			"--reboot takes whole nodes, a co-located job has one lane of "
			"each: leave one of the two out");
	if (r->overcommit)
		return errmsg_set(err, "--overcommit puts several tasks on a core, whose slow-down "
				       "would be taken for a partner's: leave one of the two out");
	if (p->exclusive)
		return errmsg_set(err,
			"partition %s gives whole nodes to one job "
			"(OverSubscribe=EXCLUSIVE): choose another partition",
			p->name);
	if (p->exclusive_topo)
		return errmsg_set(err,
			"partition %s gives whole parts of the network to one job "
			"(ExclusiveTopo=YES): choose another partition",
			p->name);
	if (p->exclusive_user)
		return errmsg_set(err,
			"partition %s gives a node to one user at a time (ExclusiveUser=YES), at "
			"the price of a lane, which this cluster does not allow "
			"(stripe_alone=no): choose another partition",
			p->name);
	if (r->memory_counted && !r->spread && r->memory.per != MEMORY_UNSET && r->memory.mb == 0)
		return errmsg_set(err, "--mem=0 asks for all memory of a node, a co-located job "
				       "shares it: leave --mem out for the lane's share");
	return 0;
}

static int check_memory(const struct submission *r, const struct lane *l, struct errmsg *err)
{
	int64_t asked = per_node(&r->memory, l->memory_cpus);

	if (!r->memory_counted || r->memory.per == MEMORY_UNSET || asked <= l->memory_mb)
		return 0;
	if (r->memory.per == MEMORY_PER_CPU)
		return errmsg_set(err,
			"--mem-per-cpu=%" PRId64 "M on the %" PRId64 " CPUs of a lane is %" PRId64
			" MB, more than the lane's share of %" PRId64
			" MB: ask for at most --mem-per-cpu=%" PRId64 "M, or leave it out",
			r->memory.mb, l->memory_cpus, asked, l->memory_mb,
			l->memory_mb / l->memory_cpus);
	return errmsg_set(err,
		"--mem=%" PRId64 "M is more than the %" PRId64
		" MB of a node that the job may have: ask for at most that, or leave it out",
		asked, l->memory_mb);
}

/* The least number of GPUs that a node with a part of the job must give; SUBMISSION_UNSET: any. */
static int64_t gpus_at_once(const struct submission *r)
{
	int64_t gpus = r->gpus > 0 ? 1 : SUBMISSION_UNSET;

	if (r->max_nodes == 1 || r->tasks == 1)
		gpus = r->gpus;
	if (r->gpus_per_node > gpus)
		gpus = r->gpus_per_node;
	return r->gpus_per_task > gpus ? r->gpus_per_task : gpus;
}

/* The most GPUs of such a node that Slurm may give the job; the rest of it has a node each left. */
static int64_t gpus_at_most(
	const struct submission *r, const struct node_shape *s, const struct lane *l)
{
	int64_t others = at_least_one(r->min_nodes) - 1, tasks = l->tasks, gpus = s->gpus;

	if (gpus_at_once(r) < 1)
		return 0;
	if (r->tasks > 0)
		tasks = min64(tasks, r->tasks - others);
	if (r->gpus_per_node > 0)
		gpus = min64(gpus, r->gpus_per_node);
	if (r->gpus_per_task > 0)
		gpus = min64(gpus, tasks * r->gpus_per_task);
	if (r->gpus > 0)
		gpus = min64(gpus, r->gpus - others);
	return gpus;
}

/* Slurm may take more GPUs of one node than the share of its memory is enough for. */
static int check_memory_of_gpus(const struct submission *r, const struct node_shape *s,
	const struct lane *l, struct errmsg *err)
{
	int64_t most = gpus_at_most(r, s, l), share = memory_for_gpus(r, s);

	if (!r->memory_counted || r->spread || r->mb_per_gpu <= 0 || most * r->mb_per_gpu <= share)
		return 0;
	return errmsg_set(err,
		"the job may get %" PRId64 " GPUs of a node, and with %" PRId64
		" MB each they take more than the %" PRId64
		" MB of it that the job may have: ask for at most --mem-per-gpu=%" PRId64
		"M, or limit it to %" PRId64 " GPU%s of a node by --gpus-per-node",
		most, r->mb_per_gpu, share, share / most, share / r->mb_per_gpu,
		share / r->mb_per_gpu == 1 ? "" : "s");
}

static int check_gpus(const struct submission *r, const struct node_shape *s, const struct lane *l,
	struct errmsg *err)
{
	int64_t gpus = gpus_at_once(r);

	if (gpus <= l->gpus)
		return check_memory_of_gpus(r, s, l, err);
	if (gpus > s->gpus)
		return errmsg_set(err,
			"%" PRId64 " GPU%s of a node %s asked for, and it has %" PRId64
			": ask for fewer",
			gpus, gpus == 1 ? "" : "s", gpus == 1 ? "is" : "are", s->gpus);
	if (r->cpus_per_gpu > 0 && gpus > l->cpus / r->cpus_per_gpu)
		return errmsg_set(err,
			"%" PRId64 " GPU%s of a node with %" PRId64
			" CPUs each do not fit in a lane of %" PRId64
			" CPUs: ask for at most --cpus-per-gpu=%" PRId64
			", or for fewer GPUs of a node",
			gpus, gpus == 1 ? "" : "s", r->cpus_per_gpu, l->cpus, l->cpus / gpus);
	if (r->memory_counted && r->mb_per_gpu > 0 && gpus > memory_for_gpus(r, s) / r->mb_per_gpu)
		return errmsg_set(err,
			"%" PRId64 " GPU%s of a node with %" PRId64
			" MB each take more than the %" PRId64
			" MB of a node that the job may have: ask for at most "
			"--mem-per-gpu=%" PRId64 "M, or for fewer GPUs of a node",
			gpus, gpus == 1 ? "" : "s", r->mb_per_gpu, memory_for_gpus(r, s),
			memory_for_gpus(r, s) / gpus);
	return errmsg_set(err,
		"%" PRId64 " GPU%s of a node with %" PRId64
		" tasks each do not fit in a lane, which holds %" PRId64
		" tasks: ask for at most --ntasks-per-gpu=%" PRId64 ", or for fewer GPUs of a node",
		gpus, gpus == 1 ? "" : "s", r->tasks_per_gpu, l->tasks, l->tasks / gpus);
}

/* Whether a node of this shape can take a part of the job. */
static int check_lane(const struct submission *r, const struct submission_partition *p,
	const struct node_shape *s, const struct lane *l, struct errmsg *err)
{
	int64_t task_cpus = at_least_one(r->cpus_per_task);
	char text[TASKS_TEXT_MAX];

	if (l->cpus < 1 && s->lanes_of == SHAPE_SOCKET)
		return errmsg_set(err,
			"a node with %d socket%s of %d core%s%s has no %d lanes of whole sockets that are as "
			"large as stripes: leave shape:socket out, or choose another partition",
			s->sockets, s->sockets == 1 ? "" : "s", s->cores_per_socket,
			s->cores_per_socket == 1 ? "" : "s",
			s->reserved ? ", some of them specialised," : "", s->lanes);
	if (s->lanes_of == SHAPE_SOCKET && r->gres_bound)
		return errmsg_set(err,
			"--gres-flags=enforce-binding does not go together with lanes of whole sockets, "
			"as devices may belong to another one: leave it out, or ask for shape:stripe");
	if (l->cpus < 1 && s->reserved)
		return errmsg_set(err,
			"core specialisation leaves a node with %d sockets of %d cores no %d "
			"lanes: choose another partition",
			s->sockets, s->cores_per_socket, s->lanes);
	if (l->cpus < 1)
		return errmsg_set(err,
			"a node with %d sockets of %d cores has no %d lanes: choose another "
			"partition",
			s->sockets, s->cores_per_socket, s->lanes);
	if (p->max_cpus_per_node >= 0 && l->cpus > p->max_cpus_per_node)
		return errmsg_set(err,
			"a lane has %" PRId64 " CPUs, but partition %s gives jobs %" PRId64
			" CPUs of a node at most: choose another partition",
			l->cpus, p->name, p->max_cpus_per_node);
	if (task_cpus > l->cpus)
		return errmsg_set(err,
			"a task of %" PRId64 " CPUs does not fit in a lane of %" PRId64
			" CPUs: ask for at most --cpus-per-task=%" PRId64,
			task_cpus, l->cpus, l->cpus);
	if (r->tasks_per_node > 0 && r->tasks_per_node * task_cpus > l->cpus)
		return errmsg_set(err,
			"%s on a node do not fit in a lane of %" PRId64
			" CPUs: ask for at most --ntasks-per-node=%" PRId64,
			tasks_text(r, r->tasks_per_node, text), l->cpus, l->cpus / task_cpus);
	if (r->tasks_per_socket > 0 && r->tasks_per_socket * task_cpus > l->socket_cpus)
		return errmsg_set(err,
			"%s on a socket do not fit in a lane, which has %" PRId64
			" CPUs of a socket: ask for at most --ntasks-per-socket=%" PRId64,
			tasks_text(r, r->tasks_per_socket, text), l->socket_cpus,
			l->socket_cpus / task_cpus);
	if (r->cores_per_socket > l->cores_per_socket)
		return errmsg_set(err,
			"--cores-per-socket=%" PRId64 " is more than the %" PRId64
			" cores that a lane has of a socket",
			r->cores_per_socket, l->cores_per_socket);
	if (r->sockets_per_node > s->lane_sockets)
		return errmsg_set(err,
			"--sockets-per-node=%" PRId64 " is more than the %d socket%s of a %s",
			r->sockets_per_node, s->lane_sockets, s->lane_sockets == 1 ? "" : "s",
			s->lanes_of == SHAPE_SOCKET ? "lane" : "node");
	if (r->threads_per_core > s->threads_per_core)
		return errmsg_set(err,
			"--threads-per-core=%" PRId64 " is more than the %d thread%s of a core",
			r->threads_per_core, s->threads_per_core,
			s->threads_per_core == 1 ? "" : "s");
	if (r->cpus_per_node > l->cpus)
		return errmsg_set(err,
			"--mincpus=%" PRId64 " is more than the %" PRId64 " CPUs of a lane",
			r->cpus_per_node, l->cpus);
	if (r->max_nodes == 1 && r->tasks > l->tasks)
		return errmsg_set(err,
			"%s on one node: a lane holds %" PRId64
			"; ask for more nodes or fewer tasks",
			tasks_text(r, r->tasks, text), l->tasks);
	if (check_gpus(r, s, l, err))
		return -1;
	return check_memory(r, l, err);
}

/* Whether the lane of shape i can take a part of the job; *l: that lane. */
static bool fitting_lane(const struct submission *r, const struct submission_partition *p, int i,
	struct lane *l, struct errmsg *why)
{
	*l = lane_of(r, p, &p->shape[i]);
	return !check_lane(r, p, &p->shape[i], l, why);
}

enum what { TASKS, CPUS, GPUS };

/* What the fitting lanes hold of something: the most first. */
struct supply {
	int count;
	struct lanes_alike {
		int64_t holds, nodes;
	} * alike; /* to be freed */
};

static int most_first(const void *a, const void *b)
{
	const struct lanes_alike *x = a, *y = b;

	return (x->holds < y->holds) - (x->holds > y->holds);
}

/* 0, or -1 without memory. A partition may have as many shapes as nodes: whatever is asked of the
 * supply takes one pass through it. */
static int find_supply(const struct submission *r, const struct submission_partition *p,
	enum what what, struct supply *supply)
{
	supply->count = 0;
	supply->alike = calloc((size_t)p->shape_count + 1, sizeof(*supply->alike));
	if (!supply->alike)
		return -1;
	for (int i = 0; i < p->shape_count; i++) {
		struct errmsg ignored;
		struct lane l;
		int64_t holds;

		if (!fitting_lane(r, p, i, &l, &ignored))
			continue;
		holds = what == TASKS ? l.tasks : what == CPUS ? l.cpus : l.gpus;
		if (holds > 0)
			supply->alike[supply->count++] =
				(struct lanes_alike){holds, p->shape[i].count};
	}
	qsort(supply->alike, (size_t)supply->count, sizeof(*supply->alike), most_first);
	return 0;
}

/* What the lanes of the best `nodes` fitting nodes hold together. */
static int64_t capacity(const struct supply *supply, int64_t nodes)
{
	int64_t sum = 0;

	for (int i = 0; i < supply->count && nodes > 0; i++) {
		int64_t take = min64(supply->alike[i].nodes, nodes);

		sum += take * supply->alike[i].holds;
		nodes -= take;
	}
	return sum;
}

/* How many of the best nodes hold so much; all of them where they do not. */
static int64_t nodes_for(const struct supply *supply, int64_t asked)
{
	int64_t nodes = 0;

	for (int i = 0; i < supply->count && asked > 0; i++) {
		const struct lanes_alike *a = &supply->alike[i];
		int64_t take = min64(a->nodes, (asked + a->holds - 1) / a->holds);

		asked -= take * a->holds;
		nodes += take;
	}
	return nodes;
}

/* With --ntasks-per-gpu Slurm takes no more nodes than it is asked for, however many it needs. */
static int check_spread_of_gpus(
	const struct submission *r, const struct supply *tasks, int64_t fitting, struct errmsg *err)
{
	int64_t nodes = at_least_one(r->min_nodes), enough;

	if (r->tasks_per_gpu <= 0 || r->tasks <= capacity(tasks, nodes))
		return 0;
	enough = min64(nodes_for(tasks, r->tasks), fitting);
	return errmsg_set(err,
		"%" PRId64 " tasks with --ntasks-per-gpu do not fit in the lanes of %" PRId64
		" node%s: ask for --nodes=%" PRId64,
		r->tasks, nodes, nodes == 1 ? "" : "s", enough > nodes ? enough : nodes);
}

/* The most nodes with a fitting lane that the job could have. */
struct node_limit {
	int64_t nodes;
	const char *partition; /* whose limit it is; NULL: the job's own, or as many as there are */
	bool more;             /* fitting nodes are left */
};

static struct node_limit node_limit(
	const struct submission *r, const struct submission_partition *p, int64_t fitting)
{
	struct node_limit limit = {.nodes = fitting};

	if (r->max_nodes > 0 && r->max_nodes < limit.nodes)
		limit.nodes = r->max_nodes;
	/* Slurm itself refuses a job that asks for more nodes than that, or lets it wait. */
	if (p->max_nodes >= at_least_one(r->min_nodes) && p->max_nodes < limit.nodes) {
		limit.nodes = p->max_nodes;
		limit.partition = p->name;
	}
	limit.more = limit.nodes < fitting;
	return limit;
}

static int too_many(const struct submission *r, enum what what, int64_t asked,
	const struct node_limit *limit, int64_t holds, struct errmsg *err)
{
	static const char *const units[] = {[TASKS] = "tasks", [CPUS] = "CPUs", [GPUS] = "GPUs"};
	const bool own = limit->more && !limit->partition;
	char text[TASKS_TEXT_MAX];

	if (what == TASKS)
		tasks_text(r, asked, text);
	else
		snprintf(text, sizeof(text), "%" PRId64 " %s", asked, units[what]);
	return errmsg_set(err,
		"%s do not fit in the lanes of %" PRId64 " node%s%s%s, which hold %" PRId64
		": ask for %sfewer %s%s%s",
		text, limit->nodes, limit->nodes == 1 ? "" : "s",
		limit->partition ? ", the most that a job may have in partition " : "",
		limit->partition ? limit->partition : "", holds, own ? "more nodes or " : "",
		units[what], what == GPUS ? ", or for less with each" : "",
		limit->partition ? ", or for another partition" : "");
}

static int check_total(const struct submission *r, const struct submission_partition *p,
	int64_t fitting, struct errmsg *err)
{
	const int64_t asked[] = {[TASKS] = r->tasks, [CPUS] = r->cpus, [GPUS] = r->gpus};
	const struct node_limit limit = node_limit(r, p, fitting);
	struct errmsg later;
	int rc = 0, spread = 0;

	if (r->min_nodes > fitting)
		return errmsg_set(err,
			"%" PRId64 " nodes are asked for, and only %" PRId64
			" of partition %s have a lane that can take the job",
			r->min_nodes, fitting, p->name);
	for (enum what what = TASKS; !rc && what <= GPUS; what++) {
		struct supply supply;
		int64_t holds;

		if (asked[what] <= 0)
			continue;
		if (find_supply(r, p, what, &supply))
			return errmsg_set(err, "out of memory");
		holds = capacity(&supply, limit.nodes);
		if (asked[what] > holds)
			rc = too_many(r, what, asked[what], &limit, holds, err);
		else if (what == TASKS)
			spread = check_spread_of_gpus(r, &supply, limit.nodes, &later);
		free(supply.alike);
	}
	/* What no number of nodes is enough for is said first. */
	return !rc && spread ? errmsg_set(err, "%s", later.text) : rc;
}

/* Only a job that would otherwise take more of its nodes' memory than its share is given an amount.
 */
static bool needs_memory(const struct submission *r, const struct submission_partition *p,
	const struct node_shape *s, const struct lane *l)
{
	const struct submission_memory *m = &p->default_memory;

	if (!r->memory_counted || r->memory.per != MEMORY_UNSET || r->mb_per_gpu > 0)
		return false;
	if (gpus_at_most(r, s, l) * p->default_mb_per_gpu > l->share_mb)
		return true;
	return m->per == MEMORY_UNSET || m->mb == 0 || per_node(m, l->memory_cpus) > l->share_mb;
}

int submission_check_open(const char *partition, const char *open, struct errmsg *err)
{
	size_t len = strlen(partition);

	if (!*open)
		return 0;
	for (const char *at = open; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && !strncmp(at, partition, len))
			return 0;
	return errmsg_set(err,
		"partition %s is not for co-located jobs: choose one of %s, or submit without the "
		"option",
		partition, open);
}

int submission_check(const struct submission *r, const struct submission_partition *p,
	struct submission_grant *grant, struct errmsg *err)
{
	struct submission_grant g = {SUBMISSION_UNSET, SUBMISSION_UNSET};
	struct errmsg why = {""};
	int64_t fitting = 0, most = -1, least_share = SUBMISSION_UNSET;
	bool needs = false;

	if (check_conflicts(r, p, err))
		return -1;
	for (int i = 0; i < p->shape_count; i++) {
		struct errmsg reason;
		struct lane l;

		if (!fitting_lane(r, p, i, &l, &reason)) {
			/* The reason that counts is that of the largest node with the GPUs. */
			int64_t size = gpus_at_once(r) > p->shape[i].gpus ? 0 : l.cpus;

			if (size > most)
				why = reason;
			most = size > most ? size : most;
			if (p->shape[i].required)
				return errmsg_set(err, "--nodelist: %s", reason.text);
			continue;
		}
		fitting += p->shape[i].count;
		if (g.cpus_per_node < 0 || l.cpus < g.cpus_per_node)
			g.cpus_per_node = l.cpus;
		if (least_share < 0 || l.share_mb < least_share)
			least_share = l.share_mb;
		needs = needs || needs_memory(r, p, &p->shape[i], &l);
	}
	g.memory_mb = needs ? least_share : SUBMISSION_UNSET;
	if (!fitting)
		errmsg_set(err, "%s",
			*why.text ? why.text : "the partition has no node that the job may use");
	else if (!check_total(r, p, fitting, err)) {
		*grant = g;
		return 0;
	}
	return p->constrained ? errmsg_set(err, "--constraint: %s", err->text) : -1;
}
