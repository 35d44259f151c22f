/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "striping/submit/submission.h"

#define LANES 2
/* What lanes_of_node() makes of sockets without spare cores. */
#define SHAPE(s, c)                                                                                \
	.sockets = (s), .cores_per_socket = (c), .lanes = LANES,                                   \
	.lane_cores = (s) * ((c) / LANES), .lane_socket_cores = (c) / LANES, .lane_sockets = (s)

/* Four nodes of 2 sockets x 8 cores, 16000 MB: a lane is 8 CPUs and 8000 MB. */
static const struct node_shape small[] = {
	{SHAPE(2, 8), .threads_per_core = 1, .cpus_per_core = 1, .mem_mb = 16000, .count = 4}};
/* Two of these and one with twice the cores, memory and threads. */
static const struct node_shape mixed[] = {
	{SHAPE(2, 8), .threads_per_core = 2, .cpus_per_core = 1, .mem_mb = 16000, .count = 2},
	{SHAPE(2, 16), .threads_per_core = 2, .cpus_per_core = 2, .mem_mb = 64000, .count = 1}};

static struct submission_partition partition(const struct node_shape *shape, int count)
{
	return (struct submission_partition){.name = "p",
		.max_cpus_per_node = SUBMISSION_UNSET,
		.max_nodes = SUBMISSION_UNSET,
		.shape = shape,
		.shape_count = count};
}

static struct submission request(void)
{
	struct submission r;

	submission_init(&r);
	r.memory_counted = true;
	return r;
}

static void granted(const struct submission *r, const struct submission_partition *p, int64_t cpus,
	int64_t memory_mb)
{
	struct submission_grant g;
	struct errmsg err = {""};

	if (submission_check(r, p, &g, &err))
		fail_msg("%s", err.text);
	assert_int_equal(g.cpus_per_node, cpus);
	assert_int_equal(g.memory_mb, memory_mb);
}

static void refused(const struct submission *r, const struct submission_partition *p,
	const char *why, const char *fix)
{
	struct submission_grant g = {77, 77};
	struct errmsg err = {""};

	assert_int_equal(submission_check(r, p, &g, &err), -1);
	if (!strstr(err.text, why) || !strstr(err.text, fix))
		fail_msg("expected \"%s\" and \"%s\" in: %s", why, fix, err.text);
	assert_int_equal(g.cpus_per_node, 77);
}

static void a_job_gets_whole_lanes(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	granted(&r, &p, 8, 8000);
	r.tasks = 4;
	granted(&r, &p, 8, 8000);
	r.tasks = 32;
	granted(&r, &p, 8, 8000);
	r.memory_counted = false;
	granted(&r, &p, 8, SUBMISSION_UNSET);
}

static void conflicts(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	r.sharing = SHARING_NONE;
	refused(&r, &p, "--exclusive ", "leave one");
	r.sharing = SHARING_USER;
	refused(&r, &p, "--exclusive=user", "leave one");
	r.sharing = SHARING_MCS;
	refused(&r, &p, "--exclusive=mcs", "leave one");
	r.sharing = SHARING_TOPO;
	refused(&r, &p, "--exclusive=topo", "leave one");
	r.sharing = SHARING_CORES;
	refused(&r, &p, "--oversubscribe", "leave one");
	r = request();
	r.overcommit = true;
	refused(&r, &p, "--overcommit", "leave one");
	r = request();
	r.core_spec = true;
	refused(&r, &p, "--core-spec", "leave one");
	r = request();
	r.reboot = true;
	refused(&r, &p, "--reboot", "leave one");
	r = request();
	p.exclusive = true;
	refused(&r, &p, "partition p", "another partition");
	p.exclusive = false;
	p.exclusive_topo = true;
	refused(&r, &p, "ExclusiveTopo=YES", "another partition");
}

static void too_many_tasks(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	r.tasks = 33;
	refused(&r, &p, "33 tasks", "fewer tasks");
	r.tasks = 17;
	r.max_nodes = 2;
	refused(&r, &p, "hold 16", "more nodes");
	r.tasks = 16;
	granted(&r, &p, 8, 8000);
	r.max_nodes = 1;
	refused(&r, &p, "16 tasks on one node", "more nodes");
	r.tasks = 8;
	granted(&r, &p, 8, 8000);
	r.cpus_per_task = 3; /* two tasks a lane, not 8/3 */
	refused(&r, &p, "8 tasks of 3 CPUs", "a lane holds 2");
	r = request();
	r.tasks_per_node = 9;
	refused(&r, &p, "9 tasks", "--ntasks-per-node=8");
	r.tasks_per_node = 4;
	r.cpus_per_task = 3;
	refused(&r, &p, "4 tasks of 3 CPUs", "--ntasks-per-node=2");
	r = request();
	r.tasks_per_socket = 5;
	refused(&r, &p, "5 tasks on a socket", "--ntasks-per-socket=4");
	r = request();
	r.cpus_per_task = 9;
	refused(&r, &p, "a task of 9 CPUs", "--cpus-per-task=8");
	r = request();
	r.cpus_per_node = 9;
	refused(&r, &p, "--mincpus=9", "8 CPUs");
	r = request();
	r.cores_per_socket = 5;
	refused(&r, &p, "--cores-per-socket=5", "4 cores");
	r.cores_per_socket = 4;
	granted(&r, &p, 8, 8000);
	r = request();
	r.cpus = 33;
	refused(&r, &p, "33 CPUs", "fewer CPUs");
	r = request();
	r.min_nodes = 5;
	refused(&r, &p, "5 nodes", "only 4 of partition p");
}

static void nodes_of_a_job_in_the_partition(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	p.max_nodes = 2;
	r.tasks = 16;
	granted(&r, &p, 8, 8000);
	r.tasks = 17;
	refused(&r, &p,
		"the lanes of 2 nodes, the most that a job may have in partition p, which hold 16",
		"fewer tasks, or for another partition");
	r.max_nodes = 3; /* as many as it gets */
	refused(&r, &p, "the most that a job may have in partition p", "another partition");
	r.max_nodes = 1; /* its own limit is the narrower one */
	refused(&r, &p, "17 tasks on one node", "more nodes");
	r = request();
	r.cpus = 17;
	refused(&r, &p, "17 CPUs do not fit in the lanes of 2 nodes", "fewer CPUs, or for another");
	/* It asks for more than the partition allows, lanes or not: Slurm says so. */
	r.min_nodes = 3;
	granted(&r, &p, 8, 8000);
	r.min_nodes = 5;
	/* Of the nodes that it leaves itself. */
	p.constrained = true;
	p.max_nodes = SUBMISSION_UNSET;
	refused(&r, &p, "--constraint: 5 nodes are asked for, and only 4", "have a lane");
	p.constrained = false;
	/* As wide as the partition's nodes are many. */
	r = request();
	r.tasks = 33;
	p.max_nodes = 4;
	refused(&r, &p, "33 tasks do not fit in the lanes of 4 nodes, which hold 32",
		"fewer tasks");
}

static void memory_that_comes_with_gpus(void **state)
{
	static const struct node_shape shapes[] = {
		{SHAPE(2, 8), .cpus_per_core = 1, .mem_mb = 16000, .gpus = 4, .count = 2}};
	struct submission_partition p = partition(shapes, 1);
	struct submission r = request();

	(void)state;
	r.gpus_per_node = 2;
	r.mb_per_gpu = 4000;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.mb_per_gpu = 4001;
	refused(&r, &p, "2 GPUs of a node with 4001 MB each take more than the 8000 MB",
		"--mem-per-gpu=4000M");
	r.memory_counted = false;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.memory_counted = true;
	r.spread = true; /* the node's other lanes and their memory are its own */
	r.mb_per_gpu = 8000;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r = request();
	r.gpus = 5;
	r.gpus_per_node = 2;
	r.mb_per_gpu = 4000; /* two of each node's four */
	refused(&r, &p, "5 GPUs do not fit in the lanes of 2 nodes, which hold 4",
		"less with each");
	r.gpus = 4;
	granted(&r, &p, 8, SUBMISSION_UNSET);
}

/* Slurm chooses how many GPUs of a node it takes, and their memory must not be other lanes'. */
static void memory_that_would_come_with_more_gpus(void **state)
{
	static const struct node_shape shapes[] = {
		{SHAPE(2, 8), .cpus_per_core = 1, .mem_mb = 16000, .gpus = 4, .count = 2}};
	struct submission_partition p = partition(shapes, 1);
	struct submission r = request();

	(void)state;
	r.gpus = 4;
	r.mb_per_gpu = 2001;
	refused(&r, &p, "4 GPUs of a node, and with 2001 MB each they take more than the 8000 MB",
		"--mem-per-gpu=2000M");
	r.min_nodes = 2;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.mb_per_gpu = 3000;
	refused(&r, &p, "3 GPUs of a node", "2 GPUs of a node by --gpus-per-node");
	r.spread = true;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r = request();
	r.gpus_per_task = 1;
	r.mb_per_gpu = 4000;
	r.tasks = 2;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.tasks = 3;
	refused(&r, &p, "3 GPUs of a node", "--mem-per-gpu=2666M");
	r.tasks_per_node = 2;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	/* A default is replaced by the share. */
	r = request();
	p.default_memory = (struct submission_memory){MEMORY_PER_CPU, 100};
	p.default_mb_per_gpu = 3000;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.gpus_per_node = 2;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.gpus_per_node = 3;
	granted(&r, &p, 8, 8000);
	r.memory = (struct submission_memory){MEMORY_PER_NODE, 500};
	granted(&r, &p, 8, SUBMISSION_UNSET);
}

static void nodes_of_one_user(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	p.default_memory = (struct submission_memory){MEMORY_PER_CPU, 1000};
	p.exclusive_user = true;
	refused(&r, &p, "partition p gives a node to one user at a time (ExclusiveUser=YES)",
		"choose another partition");
	p.exclusive_user = false;
	granted(&r, &p, 8, SUBMISSION_UNSET);
}

/* Where nodes differ, an amount that one of them needs must not be more than the share of another.
 */
static void shares_of_unlike_nodes(void **state)
{
	static const struct node_shape shapes[] = {
		{SHAPE(2, 8), .cpus_per_core = 1, .mem_mb = 8000, .count = 1},
		{SHAPE(1, 2), .cpus_per_core = 1, .mem_mb = 6000, .count = 1}};
	struct submission_partition p = partition(shapes, 2);
	struct submission r = request();

	(void)state;
	p.default_memory = (struct submission_memory){MEMORY_PER_CPU, 1000};
	granted(&r, &p, 1, 3000);
}

static void counts_of_gpus(void **state)
{
	(void)state;
	assert_int_equal(submission_gpus(NULL), SUBMISSION_UNSET);
	assert_int_equal(submission_gpus(""), SUBMISSION_UNSET);
	assert_int_equal(submission_gpus("gres:nic:2"), SUBMISSION_UNSET);
	assert_int_equal(submission_gpus("gres:gpus:2"), SUBMISSION_UNSET);
	assert_int_equal(submission_gpus("gres:gpu"), 1);
	assert_int_equal(submission_gpus("gres:gpu:4"), 4);
	assert_int_equal(submission_gpus("gres/gpu:a100:4"), 4);
	assert_int_equal(submission_gpus("gres/gpu=3"), 3);
	assert_int_equal(submission_gpus("gpu:a100"), 1);
	assert_int_equal(submission_gpus("gres:nic:2,gres:gpu:a100:1,gres:gpu:k80:2"), 3);
	assert_int_equal(submission_gpus("gpu:a100:4(S:0-1),slot:3"), 4);
}

static void gpus(void **state)
{
	const struct node_shape shape[] = {
		{SHAPE(2, 8), .cpus_per_core = 1, .mem_mb = 16000, .gpus = 4, .count = 4},
		{SHAPE(2, 16), .cpus_per_core = 1, .mem_mb = 16000, .count = 2}};
	struct submission_partition p = partition(shape, 2);
	struct submission r = request();

	(void)state;
	r.gpus_per_node = 4;
	granted(&r, &p, 8, 8000);
	r.cpus_per_gpu = 2;
	granted(&r, &p, 8, 8000);
	r.cpus_per_gpu = 3;
	refused(&r, &p, "4 GPUs of a node with 3 CPUs each", "--cpus-per-gpu=2");
	r.cpus_per_gpu = SUBMISSION_UNSET;
	r.gpus_per_node = 5;
	refused(&r, &p, "5 GPUs of a node", "it has 4: ask for fewer");
	r = request();
	r.gpus = 8;
	r.cpus_per_gpu = 4;
	granted(&r, &p, 8, 8000);
	r.gpus = 9;
	refused(&r, &p, "9 GPUs do not fit in the lanes of 4 nodes", "ask for fewer GPUs");
	r.gpus = 4;
	r.tasks = 1;
	refused(&r, &p, "4 GPUs of a node with 4 CPUs each", "--cpus-per-gpu=2");
	r.gpus_per_task = 3;
	r.gpus = SUBMISSION_UNSET;
	refused(&r, &p, "3 GPUs of a node with 4 CPUs each", "--cpus-per-gpu=2");
	r = request();
	r.gpus = 4;
	r.tasks = 16;
	r.tasks_per_gpu = 4;
	refused(&r, &p, "16 tasks with --ntasks-per-gpu", "ask for --nodes=2");
	r.min_nodes = 2;
	granted(&r, &p, 8, 8000);
	r.gpus_per_node = 3;
	refused(&r, &p, "3 GPUs of a node with 4 tasks each", "--ntasks-per-gpu=2");
}

static void memory(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	r.memory = (struct submission_memory){MEMORY_PER_NODE, 8000};
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.memory.mb = 8001;
	refused(&r, &p, "--mem=8001M", "8000 MB");
	r.memory.mb = 0;
	refused(&r, &p, "--mem=0", "leave --mem out");
	r.memory = (struct submission_memory){MEMORY_PER_CPU, 1000};
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.memory.mb = 1001;
	refused(&r, &p, "--mem-per-cpu=1001M", "--mem-per-cpu=1000M");
	r.memory_counted = false;
	granted(&r, &p, 8, SUBMISSION_UNSET);
	/* All CPUs of the lane count, which are billed; of their threads those that it asks for. */
	p = partition(mixed + 1, 1);
	r = request();
	r.memory = (struct submission_memory){MEMORY_PER_CPU, 1000};
	r.tasks_per_core = 1;
	granted(&r, &p, 16, SUBMISSION_UNSET);
	r.memory.mb = 1001;
	refused(&r, &p, "32 CPUs of a lane", "--mem-per-cpu=1000M");
	r.tasks_per_core = SUBMISSION_UNSET;
	r.threads_per_core = 1;
	r.memory.mb = 2000;
	granted(&r, &p, 16, SUBMISSION_UNSET);
	r.memory.mb = 2001;
	refused(&r, &p, "16 CPUs of a lane", "--mem-per-cpu=2000M");
	p = partition(small, 1);
	r = request();
	r.spread = true;
	granted(&r, &p, 8, 8000);
	r.memory = (struct submission_memory){MEMORY_PER_NODE, 16000};
	granted(&r, &p, 8, SUBMISSION_UNSET);
	r.memory.mb = 16001;
	refused(&r, &p, "--mem=16001M", "16000 MB");
}

static void defaults_and_limits_of_memory(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	p.default_memory = (struct submission_memory){MEMORY_PER_CPU, 500};
	granted(&r, &p, 8, SUBMISSION_UNSET);
	p.default_memory.mb = 2000;
	granted(&r, &p, 8, 8000);
	p.default_memory = (struct submission_memory){MEMORY_PER_NODE, 0};
	granted(&r, &p, 8, 8000);
	/* More per CPU would make Slurm raise the CPUs beyond the lane. */
	p.max_memory = (struct submission_memory){MEMORY_PER_CPU, 600};
	granted(&r, &p, 8, 4800);
	r.memory = (struct submission_memory){MEMORY_PER_NODE, 4801};
	refused(&r, &p, "--mem=4801M", "4800 MB");
}

static void nodes_of_several_kinds(void **state)
{
	struct submission_partition p = partition(mixed, 2);
	struct submission r = request();

	(void)state;
	granted(&r, &p, 8, 8000);
	r.tasks_per_node = 20; /* only the large node holds it */
	granted(&r, &p, 32, 32000);
	r = request();
	r.max_nodes = 1;
	r.tasks = 32;
	granted(&r, &p, 32, 32000);
	r.tasks = 33;
	refused(&r, &p, "33 tasks on one node", "32");
	r.max_nodes = 2;
	r.tasks = 40;
	granted(&r, &p, 8, 8000);
	r.tasks = 41;
	refused(&r, &p, "41 tasks", "hold 40");
	r = request();
	r.tasks_per_node = 33; /* the reason is that of the largest node */
	refused(&r, &p, "33 tasks", "--ntasks-per-node=32");
	r = request();
	r.min_nodes = 2;
	r.tasks_per_node = 20;
	refused(&r, &p, "2 nodes are asked for", "only 1 of partition p");
}

static void partitions_that_are_not_open(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(submission_check_open("p", "", &err), 0);
	assert_int_equal(submission_check_open("p", "pp,q,p", &err), 0);
	assert_int_equal(submission_check_open("pp", "pp,q,p", &err), 0);
	assert_int_equal(submission_check_open("p", "pp,q", &err), -1);
	assert_non_null(strstr(err.text, "partition p is not for co-located jobs"));
	assert_non_null(strstr(err.text, "one of pp,q"));
}

static void nodes_the_job_insists_on(void **state)
{
	struct node_shape shapes[2] = {mixed[0], mixed[1]};
	struct submission_partition p = partition(shapes, 2);
	struct submission r = request();

	(void)state;
	r.tasks_per_node = 20;
	granted(&r, &p, 32, 32000);
	shapes[0].required = 1;
	refused(&r, &p, "--nodelist", "--ntasks-per-node=8");
}

static void hyperthreads(void **state)
{
	struct submission_partition p = partition(mixed + 1, 1);
	struct submission r = request();

	(void)state;
	granted(&r, &p, 32, 32000);
	r.threads_per_core = 1;
	granted(&r, &p, 16, 32000);
	r.tasks_per_node = 17;
	refused(&r, &p, "17 tasks", "--ntasks-per-node=16");
	r = request();
	r.tasks_per_core = 1;
	granted(&r, &p, 16, 32000);
	r.cpus_per_task = 2;
	granted(&r, &p, 32, 32000);
}

static void nodes_that_cannot_be_striped(void **state)
{
	struct node_shape one = {.sockets = 2,
		.cores_per_socket = 1,
		.lanes = LANES,
		.cpus_per_core = 2,
		.mem_mb = 1000,
		.count = 1};
	struct submission_partition p = partition(&one, 1);
	struct submission r = request();

	(void)state;
	refused(&r, &p, "2 sockets of 1 cores has no 2 lanes", "another partition");
	one = (struct node_shape){SHAPE(2, 2), .cpus_per_core = 2, .mem_mb = 1000, .count = 1};
	granted(&r, &p, 4, 500);
	one.lane_cores = 1;
	one.reserved = true;
	granted(&r, &p, 2, 500);
	one.lane_cores = 0;
	refused(&r, &p, "core specialisation", "another partition");
	p.shape_count = 0;
	refused(&r, &p, "no node", "");
	p = partition(small, 1);
	p.max_cpus_per_node = 7;
	refused(&r, &p, "7 CPUs", "another partition");
	p.max_cpus_per_node = 8;
	granted(&r, &p, 8, 8000);
}

static void nodes_of_another_shape(void **state)
{
	struct submission_partition p = partition(small, 1);
	struct submission r = request();

	(void)state;
	r.sockets_per_node = 2;
	r.threads_per_core = 1;
	granted(&r, &p, 8, 8000);
	r.sockets_per_node = 3;
	refused(&r, &p, "--sockets-per-node=3", "2 sockets");
	r.sockets_per_node = SUBMISSION_UNSET;
	r.threads_per_core = 2;
	refused(&r, &p, "--threads-per-core=2", "1 thread of");
	p = partition(mixed, 2);
	r.sockets_per_node = 2;
	granted(&r, &p, 8, 8000);
}

static int more_first(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* The lanes of the partition's nodes, one by one, the largest first. Returns how many. */
static int64_t all_lanes(const struct submission_partition *p, int64_t task_cpus, int64_t *tasks)
{
	int64_t n = 0;

	for (int i = 0; i < p->shape_count; i++)
		for (int k = 0; k < p->shape[i].count; k++)
			tasks[n++] = p->shape[i].lane_cores / task_cpus;
	qsort(tasks, (size_t)n, sizeof(*tasks), more_first);
	return n;
}

static int64_t sum_of(const int64_t *tasks, int64_t n)
{
	int64_t sum = 0;

	while (n-- > 0)
		sum += tasks[n];
	return sum;
}

/* What the largest lanes hold, and how many nodes are enough, is what counting them node by node
 * says. */
static void nodes_that_are_enough(void **state)
{
	enum { SHAPES = 6, NODES = 12 };
	int refusals = 0;

	(void)state;
	srand(9);
	for (int round = 0; round < 20000; round++) {
		int64_t lane[SHAPES * NODES], nodes, limit, needed;
		struct node_shape shape[SHAPES];
		struct submission_partition p = partition(shape, 1 + rand() % SHAPES);
		struct submission r = request();
		struct submission_grant g;
		struct errmsg err = {""};
		char expected[160] = "";

		for (int i = 0; i < p.shape_count; i++)
			shape[i] = (struct node_shape){SHAPE(2, 2 * (1 + rand() % 8)),
				.threads_per_core = 1, .cpus_per_core = 1, .mem_mb = 16000,
				.gpus = 4, .count = 1 + rand() % NODES};
		r.cpus_per_task = 1 + rand() % 2;
		r.gpus = 1;
		r.tasks_per_gpu = 1;
		r.min_nodes = 1 + rand() % 3;
		limit = all_lanes(&p, r.cpus_per_task, lane);
		if (rand() % 3 == 0)
			p.max_nodes = r.min_nodes + rand() % NODES;
		if (rand() % 3 == 0)
			r.max_nodes = r.min_nodes + 1 + rand() % NODES;
		r.tasks = 1 + rand() % (rand() % 4 ? 24 : 3 * NODES * 8);
		nodes = r.min_nodes;
		if (nodes > limit)
			continue;
		if (r.max_nodes > 0 && r.max_nodes < limit)
			limit = r.max_nodes;
		if (p.max_nodes > 0 && p.max_nodes < limit)
			limit = p.max_nodes;
		for (needed = nodes; needed < limit && sum_of(lane, needed) < r.tasks;)
			needed++;
		if (sum_of(lane, limit) < r.tasks)
			snprintf(expected, sizeof(expected),
				"which hold %lld:", (long long)sum_of(lane, limit));
		else if (needed > nodes)
			snprintf(expected, sizeof(expected),
				"do not fit in the lanes of %lld node%s: ask for --nodes=%lld",
				(long long)nodes, nodes == 1 ? "" : "s", (long long)needed);
		assert_int_equal(submission_check(&r, &p, &g, &err), *expected ? -1 : 0);
		refusals += *expected != '\0';
		if (*expected && !strstr(err.text, expected))
			fail_msg("expected \"%s\" in: %s", expected, err.text);
	}
	assert_in_range(refusals, 4000, 16000);
}

/* The least processor time that the check takes, ns. */
static int64_t cost(const struct submission *r, const struct submission_partition *p)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct timespec a, b;
		struct submission_grant g;
		struct errmsg err;
		int64_t took;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		submission_check(r, p, &g, &err);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		took = (b.tv_sec - a.tv_sec) * INT64_C(1000000000) + b.tv_nsec - a.tv_nsec;
		least = took < least ? took : least;
	}
	return least;
}

/* slurmctld holds its locks meanwhile: to say how many nodes are enough takes no longer than to
 * find that they are, and as many times longer as there are more shapes. */
static void refusals_cost_little(void **state)
{
	enum { SHAPES = 200 };
	static struct node_shape shape[SHAPES];
	struct submission_partition p = partition(shape, SHAPES);
	struct submission r = request();
	int64_t granted_ns, refused_ns, few_ns;

	(void)state;
	for (int i = 0; i < SHAPES; i++)
		shape[i] = (struct node_shape){SHAPE(2, 2 * (1 + i)), .threads_per_core = 1,
			.cpus_per_core = 1, .mem_mb = 16000, .gpus = 4, .count = 50};
	r.gpus = 1;
	r.tasks_per_gpu = 1;
	r.tasks = 1;
	granted_ns = cost(&r, &p);
	r.tasks = 50 * SHAPES * (SHAPES + 1);
	refused(&r, &p, "tasks with --ntasks-per-gpu", "ask for --nodes=10000");
	refused_ns = cost(&r, &p);
	p.shape_count = SHAPES / 10;
	r.tasks = 50 * p.shape_count * (p.shape_count + 1);
	few_ns = cost(&r, &p);
	print_message("%lld ns where they are enough, %lld where all are needed, %lld with a tenth "
		      "of the shapes\n",
		(long long)granted_ns, (long long)refused_ns, (long long)few_ns);
	assert_true(refused_ns < 10 * granted_ns);
	assert_true(refused_ns < 40 * few_ns);
}

static void lanes_of_whole_sockets(void **state)
{
	/* A lane is one of two sockets: all of its eight cores. */
	const struct node_shape sockets = {.sockets = 2,
		.cores_per_socket = 8,
		.threads_per_core = 1,
		.cpus_per_core = 1,
		.lanes_of = SHAPE_SOCKET,
		.lanes = 2,
		.lane_cores = 8,
		.lane_socket_cores = 8,
		.lane_sockets = 1,
		.mem_mb = 16000,
		.count = 1};
	const struct node_shape none = {.sockets = 1,
		.cores_per_socket = 8,
		.threads_per_core = 1,
		.cpus_per_core = 1,
		.lanes_of = SHAPE_SOCKET,
		.lanes = 2,
		.mem_mb = 16000,
		.count = 1};
	struct submission_partition p = partition(&sockets, 1), without = partition(&none, 1);
	struct submission r = request();

	(void)state;
	granted(&r, &p, 8, 8000);
	r.cores_per_socket = 8;
	granted(&r, &p, 8, 8000);
	r.tasks_per_socket = 8;
	granted(&r, &p, 8, 8000);
	r.tasks_per_socket = 4;
	r.tasks = 8;
	r.max_nodes = 1;
	refused(&r, &p, "a lane holds 4", "ask for more nodes or fewer tasks");
	r = request();
	r.sockets_per_node = 2;
	refused(&r, &p, "--sockets-per-node=2 is more than", "the 1 socket of a lane");
	r = request();
	refused(&r, &without,
		"a node with 1 socket of 8 cores has no 2 lanes of whole sockets that are as large as",
		"leave shape:socket out");
	r.gres_bound = true;
	refused(&r, &p, "--gres-flags=enforce-binding", "or ask for shape:stripe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_of_whole_sockets),
		cmocka_unit_test(nodes_of_another_shape),
		cmocka_unit_test(a_job_gets_whole_lanes),
		cmocka_unit_test(conflicts),
		cmocka_unit_test(too_many_tasks),
		cmocka_unit_test(nodes_of_a_job_in_the_partition),
		cmocka_unit_test(memory_that_comes_with_gpus),
		cmocka_unit_test(memory_that_would_come_with_more_gpus),
		cmocka_unit_test(nodes_of_one_user),
		cmocka_unit_test(shares_of_unlike_nodes),
		cmocka_unit_test(counts_of_gpus),
		cmocka_unit_test(gpus),
		cmocka_unit_test(memory),
		cmocka_unit_test(defaults_and_limits_of_memory),
		cmocka_unit_test(nodes_of_several_kinds),
		cmocka_unit_test(partitions_that_are_not_open),
		cmocka_unit_test(nodes_the_job_insists_on),
		cmocka_unit_test(hyperthreads),
		cmocka_unit_test(nodes_that_cannot_be_striped),
		cmocka_unit_test(nodes_that_are_enough),
		cmocka_unit_test(refusals_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
