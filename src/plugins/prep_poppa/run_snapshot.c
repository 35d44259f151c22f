/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies what slurmctld knows of a run out of the job's record, and keeps that as JSON. */
#include "plugins/compat/accounting_compat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/assoc_mgr.h"
#include "src/common/hostlist.h"
#include "src/common/job_resources.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"

#include "accounting/record/fields.h"
#include "common/clock.h"
#include "common/tags.h"
#include "common/units.h"
#include "striping/submit/colocate_option.h"

#include "controller.h"
#include "run_snapshot.h"

#define ALIKE_MS 10000

SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(node_record_count)

const char *run_snapshot_colocate(const job_record_t *job)
{
	return colocate_request(job->spank_job_env, job->spank_job_env_size);
}

/* Whether all nodes of the cluster are of one type, as of the last ten seconds: many jobs are asked
 * about under one hold of the locks. The settlement's thread alone asks. */
static bool all_alike(void)
{
	static int64_t until_ms;
	static bool alike;
	const node_record_t *first = NULL;

	if (clock_now_ms() < until_ms)
		return alike;
	until_ms = clock_now_ms() + ALIKE_MS;
	alike = true;
	for (int i = 0; alike && i < node_record_count; i++) {
		first = first ? first : compat_node(i);
		alike = !compat_node(i) || compat_nodes_alike(compat_node(i), first);
	}
	return alike;
}

/* The type of nodes that are like this one (NULL: they are not alike) with the lanes that the job
 * of this SystemComment has there; the caller has the read lock on nodes. */
static const char *type_like(const node_record_t *node, const char *comment, char *buf)
{
	char *shown = tags_get(comment, COLOCATE_TAG);
	const char *shape = colocate_shape_shown(shown ? shown : "");
	bool sockets = !strcmp(shape, "socket");

	buf[0] = '\0';
	if (node && strcmp(shape, "both") && (sockets || !all_alike()))
		class_node_type(node->tot_sockets, node->cores, node->tpc, sockets, buf);
	free(shown);
	return buf;
}

/* The node that stands for both; NULL: they differ, or one is not known. */
static const node_record_t *both(const node_record_t *a, const node_record_t *b)
{
	return a && b && compat_nodes_alike(a, b) ? a : NULL;
}

const char *run_snapshot_type_of_record(const job_record_t *job, char *buf)
{
	bitstr_t *nodes = job->node_bitmap;
	bitoff_t first = nodes ? bit_ffs(nodes) : -1;
	const node_record_t *node = NULL;

	if (first >= 0 && first < node_record_count)
		node = compat_node((int)first);
	for (bitoff_t n = first; node && n < MIN(bit_size(nodes), node_record_count); n++)
		if (bit_test(nodes, n))
			node = both(node, compat_node((int)n));
	return type_like(node, job->system_comment, buf);
}

const char *run_snapshot_type(const struct run_snapshot *s, char *buf)
{
	slurmctld_lock_t read_nodes = {.node = READ_LOCK};
	const node_record_t *node = NULL;

	lock_slurmctld(read_nodes);
	if (s->last_node_count)
		node = find_node_record((char *)s->node[0].name);
	for (int i = 1; node && i < s->last_node_count; i++)
		node = both(node, find_node_record((char *)s->node[i].name));
	type_like(node, s->comment, buf);
	unlock_slurmctld(read_nodes);
	return buf;
}

int64_t run_snapshot_settled_restart(const job_record_t *job)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG), *restart;
	int64_t n = -1;

	if (text) {
		restart = strstr(text, " restart=");
		n = restart ? strtoll(restart + strlen(" restart="), NULL, 10) : 0;
	}
	free(text);
	return n;
}

/* Weights are the CPUs of the job on each node, which is what billing counts, too. */
static void take_nodes(struct run_snapshot *run, const job_record_t *job)
{
	const struct job_resources *r = job->job_resrcs;
	compat_hostlist_t *list = hostlist_create(run->last.nodes);
	int n = hostlist_count(list);
	char *name;

	run->node = xcalloc(n > 0 ? n : 1, sizeof(*run->node));
	while (run->node_count < n && (name = hostlist_shift(list))) {
		struct settle_node *node = &run->node[run->node_count];

		snprintf(node->name, sizeof(node->name), "%s", name);
		node->weight = 1;
		if (r && r->cpus && (uint32_t)run->node_count < r->nhosts &&
			r->cpus[run->node_count])
			node->weight = r->cpus[run->node_count];
		run->node_count++;
		free(name);
	}
	run->last_node_count = run->node_count;
	hostlist_destroy(list);
}

static void take_charge(struct run_charge *charge, const job_record_t *job)
{
	assoc_mgr_lock_t locks = {.assoc = READ_LOCK, .qos = READ_LOCK, .user = READ_LOCK};
	const slurmdb_assoc_rec_t *assoc;
	const slurmdb_qos_rec_t *qos;

	*charge = (struct run_charge){.assoc_id = job->assoc_id,
		.qos_id = job->qos_id,
		.part_qos = -1,
		.usage_factor = NAN,
		.raw = run_snapshot_billing(job->tres_alloc_str),
		.billable = job->billable_tres};
	assoc_mgr_lock(&locks);
	qos = controller_qos(charge->qos_id);
	if (qos || !charge->qos_id)
		charge->usage_factor = qos && qos->usage_factor >= 0 ? qos->usage_factor : 1;
	assoc = controller_assoc(charge->assoc_id);
	if (assoc && assoc->usage && assoc->usage->parent_assoc_ptr)
		charge->parent_id = assoc->usage->parent_assoc_ptr->id;
	if (job->part_ptr)
		charge->part_qos = job->part_ptr->qos_ptr ? job->part_ptr->qos_ptr->id : 0;
	assoc_mgr_unlock(&locks);
}

/* What the comment says of the limit of this run, of which the record may say no more. */
static void take_limit(struct run_snapshot *run)
{
	char *text = tags_get(run->comment, TIME_LIMIT_TAG);

	run->limit = (struct time_limit_state){0};
	if (text && (time_limit_parse(text, &run->limit) || run->limit.restart != run->restart))
		run->limit = (struct time_limit_state){0};
	free(text);
}

struct run_snapshot *run_snapshot_take(const job_record_t *job)
{
	const char *colocate = run_snapshot_colocate(job);
	const char *nodes =
		job->job_resrcs && job->job_resrcs->nodes ? job->job_resrcs->nodes : job->nodes;
	struct run_snapshot *run;

	if (!colocate || !job->start_time || !nodes || !job->tres_alloc_str)
		return NULL;
	run = xmalloc(sizeof(*run));
	run->cluster = xstrdup(slurm_conf.cluster_name);
	run->job_id = job->job_id;
	/* Where a run ends in a requeue, Slurm counts the restart before it runs the epilog. */
	run->restart = job->restart_cnt - (IS_JOB_PENDING(job) && job->restart_cnt ? 1 : 0);
	run->uid = job->user_id;
	run->array_job_id = job->array_job_id;
	run->array_task_id = job->array_job_id ? job->array_task_id : NO_VAL;
	run->start = job->start_time;
	run->name = xstrdup(job->name);
	run->colocate = xstrdup(colocate);
	run->last.submit = job->details ? job->details->submit_time : 0;
	/* An earlier run of the job may have left a resize time, which is not this run's. */
	run->last.start = job->resize_time > job->start_time ? job->resize_time : job->start_time;
	run->last.partition = xstrdup(job->partition);
	run->last.nodes = xstrdup(nodes);
	run->last.tres = xstrdup(job->tres_alloc_str);
	take_charge(&run->last.charge, job);
	take_nodes(run, job);
	run_snapshot_update_end(run, job);
	return run;
}

struct spread_run run_snapshot_spread(const struct run_snapshot *run)
{
	double cpus = 0;

	for (int i = 0; i < run->last_node_count; i++)
		cpus += run->node[i].weight;
	return (struct spread_run){.uid = run->uid,
		.job_name = run->name,
		.partition = run->last.partition,
		.cpus = (uint32_t)cpus};
}

/* Whether the job had all CPUs of its nodes, and nobody else had them, too. */
static bool has_whole_nodes(const job_record_t *job)
{
	const struct job_resources *r = job->job_resrcs;
	int last = bit_fls(r->node_bitmap);
	uint32_t n = 0;

	if (job->details->share_res == 1)
		return false;
	if (job->details->whole_node == WHOLE_NODE_REQUIRED)
		return true;
	for (int i = bit_ffs(r->node_bitmap); i >= 0 && i <= last; i++) {
		if (!bit_test(r->node_bitmap, i))
			continue;
		if (n >= r->nhosts || !compat_node(i) || r->cpus[n++] < compat_node(i)->cpus)
			return false;
	}
	return n;
}

bool run_snapshot_plain(const job_record_t *job, struct spread_run *run)
{
	const struct job_resources *r = job->job_resrcs;
	double seconds = difftime(job->end_time, job->start_time) - difftime(job->tot_sus_time, 0);

	/* The cheapest tests come first: most jobs are short, or have parts of nodes. */
	if (seconds < SPREAD_LEAST_S || (job->job_state & JOB_STATE_BASE) != JOB_COMPLETE ||
		!job->start_time || job->resize_time > job->start_time || job->het_job_id ||
		!job->details || !job->part_ptr || !r || !r->node_bitmap || !r->cpus ||
		run_snapshot_colocate(job) || !has_whole_nodes(job))
		return false;
	*run = (struct spread_run){.uid = job->user_id,
		.job_name = job->name,
		.partition = job->part_ptr->name,
		.seconds = seconds};
	for (uint32_t i = 0; i < r->nhosts; i++)
		run->cpus += r->cpus[i];
	return run->cpus;
}

static void free_texts(struct run_size *size)
{
	xfree(size->partition);
	xfree(size->nodes);
	xfree(size->tres);
}

void run_snapshot_free_sizes(struct run_size *size, int count)
{
	for (int i = 0; i < count; i++)
		free_texts(&size[i]);
	xfree(size);
}

void run_snapshot_free(struct run_snapshot *run)
{
	if (!run)
		return;
	run_snapshot_free_sizes(run->size, run->size_count);
	xfree(run->earlier);
	free_texts(&run->last);
	xfree(run->cluster);
	xfree(run->name);
	xfree(run->colocate);
	xfree(run->comment);
	xfree(run->node);
	xfree(run);
}

#define NUMBER(text, member, least, most)                                                          \
	{                                                                                          \
		.name = text, .type = FIELD_INT, FIELD_AT(struct run_snapshot, member),            \
		.min = least, .max = most                                                          \
	}
#define REAL(name, member)                                                                         \
	{                                                                                          \
		name, FIELD_REAL, FIELD_AT(struct run_snapshot, member)                            \
	}
#define U32(name, member) NUMBER(name, member, 0, UINT32_MAX)
#define I64(name, member) NUMBER(name, member, 0, INT64_MAX)

static const struct field numbers[] = {
	U32("job", job_id),
	U32("restart", restart),
	U32("uid", uid),
	U32("array_job", array_job_id),
	U32("array_task", array_task_id),
	/* All 64 bits may be set (compat_db_index()): then it is negative here. */
	NUMBER("db_index", last.db_index, INT64_MIN, INT64_MAX),
	I64("submit", last.submit),
	I64("start", start),
	I64("end", last.end),
	U32("assoc", last.charge.assoc_id),
	U32("qos", last.charge.qos_id),
	I64("raw", last.charge.raw),
	U32("exit_code", last.exit_code),
	U32("derived_ec", last.derived_ec),
	U32("requid", last.requid),
	U32("state", last.state),
	REAL("billable", last.charge.billable),
	REAL("wall", wall_s),
	REAL("usage_factor", last.charge.usage_factor),
	U32("parent", last.charge.parent_id),
	NUMBER("part_qos", last.charge.part_qos, -1, UINT32_MAX),
};
static const struct field_table number_table = {"run", numbers, sizeof(numbers) / sizeof(*numbers)};

/* Texts that are allocated (struct field has arrays only). */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{"partition", offsetof(struct run_snapshot, last.partition)},
	{"cluster", offsetof(struct run_snapshot, cluster)},
	{"nodes", offsetof(struct run_snapshot, last.nodes)},
	{"tres", offsetof(struct run_snapshot, last.tres)},
	{"colocate", offsetof(struct run_snapshot, colocate)},
	{"comment", offsetof(struct run_snapshot, comment)},
	{"name", offsetof(struct run_snapshot, name)},
};
#define TEXT_COUNT (sizeof(texts) / sizeof(*texts))

static char **text_at(const struct run_snapshot *run, size_t n)
{
	return (char **)((char *)run + texts[n].offset);
}

json_t *run_snapshot_to_json(const struct run_snapshot *run)
{
	json_t *json = fields_to_json(&number_table, run), *nodes = json_array();

	json_object_set_new(
		json, "resized", json_integer(run_snapshot_resized(run) ? run->last.start : 0));
	/* JSON cannot keep text that is not UTF-8. No price depends on a text that may be that. */
	for (size_t i = 0; i < TEXT_COUNT; i++)
		if (json_object_set_new(json, texts[i].name, json_string(*text_at(run, i))))
			json_object_set_new(json, texts[i].name, json_string(""));
	for (int i = 0; i < run->last_node_count; i++)
		json_array_append_new(nodes, json_pack("{s:s, s:f}", "name", run->node[i].name,
						     "weight", run->node[i].weight));
	json_object_set_new(json, "node", nodes);
	return json;
}

static int take_node_list(const json_t *list, struct run_snapshot *run)
{
	size_t n = json_array_size(list);

	run->node = xcalloc(n ? n : 1, sizeof(*run->node));
	for (; (size_t)run->node_count < n; run->node_count++) {
		const json_t *item = json_array_get(list, run->node_count);
		struct settle_node *node = &run->node[run->node_count];

		if (field_text("run", item, "name", node->name, sizeof(node->name), NULL) ||
			field_real("run", item, "weight", &node->weight, NULL))
			return -1;
	}
	run->last_node_count = run->node_count;
	return 0;
}

static int take_run(const json_t *json, struct run_snapshot *run)
{
	int64_t resized;

	if (fields_from_json(&number_table, json, run, NULL) ||
		field_int("run", json, "resized", 0, INT64_MAX, &resized, NULL))
		return -1;
	run->last.start = resized ? resized : run->start;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		*text_at(run, i) = xstrdup(json_string_value(json_object_get(json, texts[i].name)));
		if (!*text_at(run, i))
			return -1;
	}
	take_limit(run);
	return take_node_list(json_object_get(json, "node"), run);
}

struct run_snapshot *run_snapshot_from_json(const json_t *json)
{
	struct run_snapshot *run = xmalloc(sizeof(*run));

	if (take_run(json, run)) {
		run_snapshot_free(run);
		return NULL;
	}
	return run;
}

bool run_snapshot_is_of(const struct run_snapshot *run, const job_record_t *job)
{
	return job && job->job_id == run->job_id && job->start_time == run->start;
}

bool run_snapshot_resized(const struct run_snapshot *run)
{
	return run->last.start != run->start;
}

void run_snapshot_update_end(struct run_snapshot *run, const job_record_t *job)
{
	struct run_size *last = &run->last;

	last->db_index = compat_db_index(job);
	last->end = job->end_time;
	last->exit_code = job->exit_code;
	last->derived_ec = job->derived_ec;
	last->requid = job->requid;
	/* The record of a job that is to run again says already that it is pending. */
	last->state = IS_JOB_PENDING(job) ? JOB_REQUEUE : job->job_state & JOB_STATE_BASE;
	xfree(run->comment);
	run->comment = xstrdup(job->system_comment);
	take_limit(run);
	run->wall_s = difftime(last->end, run->start) - difftime(job->tot_sus_time, 0);
}

char *run_snapshot_qos_name(const struct run_snapshot *run)
{
	assoc_mgr_lock_t read_qos = {.qos = READ_LOCK};
	const slurmdb_qos_rec_t *qos;
	char *name;

	assoc_mgr_lock(&read_qos);
	qos = controller_qos(run->last.charge.qos_id);
	name = qos ? xstrdup(qos->name) : NULL;
	assoc_mgr_unlock(&read_qos);
	return name;
}

static struct settle_node *find_node(struct run_snapshot *run, const char *name)
{
	for (int i = 0; i < run->node_count; i++)
		if (!strcmp(run->node[i].name, name))
			return &run->node[i];
	return NULL;
}

/* Adds the nodes of a size, and its time to the nodes that it shares with later sizes. */
static void add_nodes(struct run_snapshot *run, const struct run_size *size)
{
	uint64_t cpus = slurmdb_find_tres_count_in_string(size->tres, TRES_CPU);
	compat_hostlist_t *list = hostlist_create(size->nodes);
	int before = run->node_count;
	double left = cpus == INFINITE64 ? 0 : (double)cpus;
	char *name;

	xrecalloc(run->node, before + hostlist_count(list) + 1, sizeof(*run->node));
	while ((name = hostlist_shift(list))) {
		struct settle_node *node = find_node(run, name);

		if (!node) {
			node = &run->node[run->node_count++];
			snprintf(node->name, sizeof(node->name), "%s", name);
		} else {
			left -= node->weight;
		}
		node->wall_ns += (int64_t)(size->wall_s * (double)NS_PER_S);
		free(name);
	}
	hostlist_destroy(list);
	for (int i = before; i < run->node_count; i++)
		run->node[i].weight = left >= 1 ? left / (run->node_count - before) : 1;
}

void run_snapshot_set_sizes(struct run_snapshot *run, struct run_size *size, int count)
{
	run->size = size;
	run->size_count = count;
	run->earlier = xcalloc(count + 1, sizeof(*run->earlier));
	run->last.wall_s = run->wall_s;
	for (int i = 0; i < count; i++) {
		run->earlier[i] = (struct settlement_size){
			.raw = size[i].charge.raw, .seconds = size[i].end - size[i].start};
		run->last.wall_s -= size[i].wall_s;
	}
	if (run->last.wall_s < 0)
		run->last.wall_s = 0;
	/* 0 would mean all of the run (struct settle_node). */
	for (int i = 0; i < run->node_count; i++)
		run->node[i].wall_ns = (int64_t)(run->last.wall_s * (double)NS_PER_S) + 1;
	for (int i = count - 1; i >= 0; i--)
		add_nodes(run, &size[i]);
}

struct settle_job run_snapshot_settle_job(const struct run_snapshot *run)
{
	return (struct settle_job){
		.cluster = run->cluster,
		.job_id = run->job_id,
		.restart = run->restart,
		.uid = run->uid,
		.start_unix = run->start,
		.end_unix = run->last.end > run->start ? run->last.end : run->start,
		.wall_ns = run->wall_s > 0 ? (int64_t)(run->wall_s * (double)NS_PER_S) : 0,
		.raw = run->last.charge.raw,
		.nodes = run->node,
		.node_count = run->node_count,
		.sizes = run->earlier,
		.size_count = run->size_count,
		.extended = run->limit.extended,
		.bound = run->limit.bound,
		.unpriced = run_snapshot_resized(run) && !run->size_count ? "resized" : NULL,
	};
}

uint64_t run_snapshot_billing(char *tres)
{
	uint64_t billing = slurmdb_find_tres_count_in_string(tres, TRES_BILLING);

	return billing == INFINITE64 ? 0 : billing;
}

bool run_snapshot_comment_shows(const char *comment, const struct settlement *s)
{
	char *text = tags_get(comment, SETTLED_TAG);
	bool same = text && !strcmp(text, s->text);

	free(text);
	return same;
}

int run_snapshot_shares(const struct run_snapshot *run, const struct settlement *s,
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES], uint64_t charged[SETTLEMENT_MAX_SIZES])
{
	int n = s->size_count;

	if (n != run->size_count)
		return 0;
	for (int i = 0; i < n; i++) {
		sizes[i] = s->size[i];
		charged[i] = settlement_share(sizes[i].raw, s->charged, s->raw);
	}
	return n;
}
