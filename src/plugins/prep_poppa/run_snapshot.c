/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a run's facts out of slurmctld's job record. */
#include "plugins/compat/slurm_compat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/assoc_mgr.h"
#include "src/common/hostlist.h"
#include "src/common/job_resources.h"
#include "src/common/slurmdb_defs.h"

#include "accounting/record/fields.h"
#include "common/tags.h"
#include "common/units.h"
#include "striping/submit/colocate_option.h"

#include "run_snapshot.h"

SLURM_WEAK(acct_db_conn)

const char *facts_colocate(const job_record_t *job)
{
	return colocate_env(job->spank_job_env, job->spank_job_env_size, COLOCATE_ENV);
}

int64_t facts_settled_restart(const job_record_t *job)
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
static void take_nodes(struct facts *f, const job_record_t *job)
{
	const struct job_resources *r = job->job_resrcs;
	compat_hostlist_t *list = hostlist_create(f->nodes);
	int n = hostlist_count(list);
	char *name;

	f->node = xcalloc(n > 0 ? n : 1, sizeof(*f->node));
	while (f->node_count < n && (name = hostlist_shift(list))) {
		struct settle_node *node = &f->node[f->node_count];

		snprintf(node->name, sizeof(node->name), "%s", name);
		node->weight = 1;
		if (r && r->cpus && (uint32_t)f->node_count < r->nhosts && r->cpus[f->node_count])
			node->weight = r->cpus[f->node_count];
		f->node_count++;
		free(name);
	}
	f->last_node_count = f->node_count;
	hostlist_destroy(list);
}

static slurmdb_qos_rec_t *find_qos(uint32_t id)
{
	slurmdb_qos_rec_t wanted = {.id = id}, *qos = NULL;

	if (id)
		assoc_mgr_fill_in_qos(acct_db_conn, &wanted, 0, &qos, true);
	return qos;
}

/* By the time of the refund the QOS may have another, or be gone. */
static double usage_factor_of(uint32_t qos_id)
{
	assoc_mgr_lock_t read_qos = {.qos = READ_LOCK};
	const slurmdb_qos_rec_t *qos;
	double factor = NAN;

	assoc_mgr_lock(&read_qos);
	qos = find_qos(qos_id);
	if (qos || !qos_id)
		factor = qos && qos->usage_factor >= 0 ? qos->usage_factor : 1;
	assoc_mgr_unlock(&read_qos);
	return factor;
}

/* By the time of the refund the job's association, or the partition, may be gone. */
static void take_charged(struct facts *f, const job_record_t *job)
{
	assoc_mgr_lock_t locks = {.assoc = READ_LOCK, .qos = READ_LOCK, .user = READ_LOCK};
	slurmdb_assoc_rec_t wanted = {.id = f->assoc_id}, *assoc = NULL;

	assoc_mgr_lock(&locks);
	if (f->assoc_id)
		assoc_mgr_fill_in_assoc(acct_db_conn, &wanted, 0, &assoc, true);
	if (assoc && assoc->usage && assoc->usage->parent_assoc_ptr)
		f->parent_id = assoc->usage->parent_assoc_ptr->id;
	f->part_qos = -1;
	if (job->part_ptr)
		f->part_qos = job->part_ptr->qos_ptr ? job->part_ptr->qos_ptr->id : 0;
	assoc_mgr_unlock(&locks);
}

struct facts *facts_take(const job_record_t *job)
{
	const char *colocate = facts_colocate(job);
	const char *nodes =
		job->job_resrcs && job->job_resrcs->nodes ? job->job_resrcs->nodes : job->nodes;
	struct facts *f;
	uint64_t raw;

	if (!colocate || !job->start_time || !nodes || !job->tres_alloc_str)
		return NULL;
	raw = slurmdb_find_tres_count_in_string(job->tres_alloc_str, TRES_BILLING);
	f = xmalloc(sizeof(*f));
	f->job_id = job->job_id;
	/* Where a run ends in a requeue, Slurm counts the restart first and runs the epilog then.
	 */
	f->restart = job->restart_cnt - (IS_JOB_PENDING(job) && job->restart_cnt ? 1 : 0);
	f->uid = job->user_id;
	f->array_job_id = job->array_job_id;
	f->array_task_id = job->array_job_id ? job->array_task_id : NO_VAL;
	f->start = job->start_time;
	f->submit = job->details ? job->details->submit_time : 0;
	f->assoc_id = job->assoc_id;
	f->qos_id = job->qos_id;
	f->partition = xstrdup(job->partition);
	f->cluster = xstrdup(slurm_conf.cluster_name);
	f->nodes = xstrdup(nodes);
	f->tres = xstrdup(job->tres_alloc_str);
	f->colocate = xstrdup(colocate);
	f->name = xstrdup(job->name);
	f->raw = raw == INFINITE64 ? 0 : raw;
	f->billable = job->billable_tres;
	f->usage_factor = usage_factor_of(f->qos_id);
	take_charged(f, job);
	/* What is left of an earlier run has nothing to say about this one. */
	f->resized = job->resize_time > job->start_time ? job->resize_time : 0;
	take_nodes(f, job);
	facts_update_end(f, job);
	return f;
}

/* Sizes have no sizes of their own. */
static void free_parts(struct facts *f)
{
	xfree(f->partition);
	xfree(f->cluster);
	xfree(f->nodes);
	xfree(f->tres);
	xfree(f->colocate);
	xfree(f->comment);
	xfree(f->name);
	xfree(f->node);
}

void facts_free_sizes(struct facts *size, int count)
{
	for (int i = 0; i < count; i++)
		free_parts(&size[i]);
	xfree(size);
}

void facts_free(struct facts *f)
{
	if (!f)
		return;
	facts_free_sizes(f->size, f->size_count);
	xfree(f->earlier);
	free_parts(f);
	xfree(f);
}

/* What is not UTF-8 cannot be kept; nothing that a price depends on can be that. */
static json_t *text_or_empty(const char *text)
{
	json_t *json = json_string(text ? text : "");

	return json ? json : json_string("");
}

json_t *facts_to_json(const struct facts *f)
{
	json_t *nodes = json_array(), *json;

	/* Those of earlier sizes are asked for again. */
	for (int i = 0; nodes && i < f->last_node_count; i++)
		json_array_append_new(nodes, json_pack("{s:s, s:f}", "name", f->node[i].name,
						     "weight", f->node[i].weight));
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"job", (json_int_t)f->job_id, "restart", (json_int_t)f->restart, "uid",
		(json_int_t)f->uid, "array_job", (json_int_t)f->array_job_id, "array_task",
		(json_int_t)f->array_task_id, "db_index", (json_int_t)f->db_index, "submit",
		(json_int_t)f->submit, "start", (json_int_t)f->start, "end", (json_int_t)f->end,
		"assoc", (json_int_t)f->assoc_id, "qos", (json_int_t)f->qos_id, "raw",
		(json_int_t)f->raw, "exit_code", (json_int_t)f->exit_code, "derived_ec",
		(json_int_t)f->derived_ec, "requid", (json_int_t)f->requid, "state",
		(json_int_t)f->state, "billable", f->billable, "wall", f->wall_s, "resized",
		(json_int_t)f->resized, "usage_factor", field_real_or_null(f->usage_factor),
		"partition", text_or_empty(f->partition), "cluster", text_or_empty(f->cluster),
		"nodes", text_or_empty(f->nodes), "tres", text_or_empty(f->tres), "colocate",
		text_or_empty(f->colocate), "comment", text_or_empty(f->comment), "name",
		text_or_empty(f->name), "node", nodes);
	json_object_set_new(json, "parent", json_integer(f->parent_id));
	json_object_set_new(json, "part_qos", json_integer(f->part_qos));
	return json;
}

static int take_number(const json_t *json, const char *field, int64_t max, int64_t *out)
{
	return field_int("facts", json, field, 0, max, out, NULL);
}

static int take_u32(const json_t *json, const char *field, uint32_t *out)
{
	int64_t n;

	if (take_number(json, field, UINT32_MAX, &n))
		return -1;
	*out = (uint32_t)n;
	return 0;
}

static int take_time(const json_t *json, const char *field, time_t *out)
{
	int64_t n;

	if (take_number(json, field, INT64_MAX, &n))
		return -1;
	*out = n;
	return 0;
}

static int take_text(const json_t *json, const char *field, char **out)
{
	*out = xstrdup(json_string_value(json_object_get(json, field)));
	return *out ? 0 : -1;
}

static int take_node_list(const json_t *list, struct facts *f)
{
	size_t n = json_array_size(list);

	f->node = xcalloc(n ? n : 1, sizeof(*f->node));
	for (; (size_t)f->node_count < n; f->node_count++) {
		const json_t *item = json_array_get(list, f->node_count);
		struct settle_node *node = &f->node[f->node_count];

		if (field_text("facts", item, "name", node->name, sizeof(node->name), NULL) ||
			field_real("facts", item, "weight", &node->weight, NULL))
			return -1;
	}
	f->last_node_count = f->node_count;
	return 0;
}

struct facts *facts_from_json(const json_t *json)
{
	struct facts *f = xmalloc(sizeof(*f));
	int64_t db_index, raw;

	f->state = NO_VAL;
	f->usage_factor = NAN;
	f->part_qos = -1;
	if (take_u32(json, "job", &f->job_id) || take_u32(json, "restart", &f->restart) ||
		take_u32(json, "uid", &f->uid) || take_u32(json, "array_job", &f->array_job_id) ||
		take_u32(json, "array_task", &f->array_task_id) ||
		field_int("facts", json, "db_index", INT64_MIN, INT64_MAX, &db_index, NULL) ||
		take_time(json, "submit", &f->submit) || take_time(json, "start", &f->start) ||
		take_time(json, "end", &f->end) || take_time(json, "resized", &f->resized) ||
		take_u32(json, "assoc", &f->assoc_id) || take_u32(json, "qos", &f->qos_id) ||
		take_number(json, "raw", INT64_MAX, &raw) ||
		take_u32(json, "exit_code", &f->exit_code) ||
		take_u32(json, "derived_ec", &f->derived_ec) ||
		take_u32(json, "requid", &f->requid) ||
		/* Earlier releases did not keep these four. */
		(json_object_get(json, "parent") && take_u32(json, "parent", &f->parent_id)) ||
		(json_object_get(json, "part_qos") &&
			field_int("facts", json, "part_qos", -1, UINT32_MAX, &f->part_qos, NULL)) ||
		(json_object_get(json, "state") && take_u32(json, "state", &f->state)) ||
		(json_object_get(json, "usage_factor") &&
			field_real("facts", json, "usage_factor", &f->usage_factor, NULL)) ||
		field_real("facts", json, "billable", &f->billable, NULL) ||
		field_real("facts", json, "wall", &f->wall_s, NULL) ||
		take_text(json, "partition", &f->partition) ||
		take_text(json, "cluster", &f->cluster) || take_text(json, "nodes", &f->nodes) ||
		take_text(json, "tres", &f->tres) || take_text(json, "colocate", &f->colocate) ||
		take_text(json, "comment", &f->comment) || take_text(json, "name", &f->name) ||
		take_node_list(json_object_get(json, "node"), f)) {
		facts_free(f);
		return NULL;
	}
	/*
	 * Since 24.11 the uppermost bits are the cluster's number, so half of all clusters have
	 * indices that are negative numbers in JSON. NO_VAL64: not known when it was written.
	 */
	f->db_index = (uint64_t)db_index == NO_VAL64 ? 0 : (uint64_t)db_index;
	f->raw = (uint64_t)raw;
	return f;
}

bool facts_same_run(const struct facts *f, const job_record_t *job)
{
	return job && job->job_id == f->job_id && job->start_time == f->start;
}

void facts_update_end(struct facts *f, const job_record_t *job)
{
	/* NO_VAL64: slurmdbd was asked for it, and has yet to answer. */
	f->db_index = job->db_index == NO_VAL64 ? 0 : job->db_index;
	f->end = job->end_time;
	f->exit_code = job->exit_code;
	f->derived_ec = job->derived_ec;
	f->requid = job->requid;
	/* One that is to run again waits already. */
	f->state = IS_JOB_PENDING(job) ? JOB_REQUEUE : job->job_state & JOB_STATE_BASE;
	xfree(f->comment);
	f->comment = xstrdup(job->system_comment);
	f->wall_s = difftime(f->end, f->start) - difftime(job->tot_sus_time, 0);
}

char *facts_qos_name(const struct facts *f)
{
	assoc_mgr_lock_t read_qos = {.qos = READ_LOCK};
	const slurmdb_qos_rec_t *qos;
	char *name;

	assoc_mgr_lock(&read_qos);
	qos = find_qos(f->qos_id);
	name = qos ? xstrdup(qos->name) : NULL;
	assoc_mgr_unlock(&read_qos);
	return name;
}

static struct settle_node *find_node(struct facts *f, const char *name)
{
	for (int i = 0; i < f->node_count; i++)
		if (!strcmp(f->node[i].name, name))
			return &f->node[i];
	return NULL;
}

/* Adds the nodes of a size, and its time to those that it shares with later ones. */
static void add_nodes(struct facts *f, const struct facts *size)
{
	uint64_t cpus = slurmdb_find_tres_count_in_string(size->tres, TRES_CPU);
	compat_hostlist_t *list = hostlist_create(size->nodes);
	int before = f->node_count;
	double left = cpus == INFINITE64 ? 0 : (double)cpus;
	char *name;

	xrecalloc(f->node, before + hostlist_count(list) + 1, sizeof(*f->node));
	while ((name = hostlist_shift(list))) {
		struct settle_node *node = find_node(f, name);

		if (!node) {
			node = &f->node[f->node_count++];
			snprintf(node->name, sizeof(node->name), "%s", name);
		} else {
			left -= node->weight;
		}
		node->wall_ns += (int64_t)(size->wall_s * (double)NS_PER_S);
		free(name);
	}
	hostlist_destroy(list);
	for (int i = before; i < f->node_count; i++)
		f->node[i].weight = left >= 1 ? left / (f->node_count - before) : 1;
}

void facts_set_sizes(struct facts *f, struct facts *size, int count)
{
	struct facts last;

	f->size = size;
	f->size_count = count;
	f->earlier = xcalloc(count + 1, sizeof(*f->earlier));
	for (int i = 0; i < count; i++)
		f->earlier[i] = (struct settlement_size){
			.raw = size[i].raw, .seconds = size[i].end - size[i].start};
	last = facts_last_size(f);
	for (int i = 0; i < f->node_count; i++)
		f->node[i].wall_ns = (int64_t)(last.wall_s * (double)NS_PER_S) + 1;
	for (int i = count - 1; i >= 0; i--)
		add_nodes(f, &size[i]);
}

struct facts facts_last_size(const struct facts *f)
{
	struct facts last = *f;

	if (!f->resized)
		return last;
	last.start = f->resized;
	for (int i = 0; i < f->size_count; i++)
		last.wall_s -= f->size[i].wall_s;
	/* Where they are not known, suspended time is taken to be spread evenly. */
	if (!f->size_count && f->end > f->start)
		last.wall_s *= difftime(f->end, f->resized) / difftime(f->end, f->start);
	if (last.wall_s < 0)
		last.wall_s = 0;
	return last;
}

struct settle_job facts_settle_job(const struct facts *f)
{
	return (struct settle_job){
		.cluster = f->cluster,
		.job_id = f->job_id,
		.restart = f->restart,
		.uid = f->uid,
		.start_unix = f->start,
		.end_unix = f->end > f->start ? f->end : f->start,
		.wall_ns = f->wall_s > 0 ? (int64_t)(f->wall_s * (double)NS_PER_S) : 0,
		.raw = f->raw,
		.nodes = f->node,
		.node_count = f->node_count,
		.sizes = f->earlier,
		.size_count = f->size_count,
		.unpriced = f->resized && !f->size_count ? "resized" : NULL,
	};
}

uint64_t facts_billing(char *tres)
{
	uint64_t billing = slurmdb_find_tres_count_in_string(tres, TRES_BILLING);

	return billing == INFINITE64 ? 0 : billing;
}

int facts_shares(const struct facts *f, const struct settlement *s,
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES], uint64_t charged[SETTLEMENT_MAX_SIZES])
{
	int n = s->size_count;

	if (n != f->size_count)
		return 0;
	for (int i = 0; i < n; i++) {
		sizes[i] = s->size[i];
		charged[i] = settlement_share(sizes[i].raw, s->charged, s->raw);
	}
	return n;
}
