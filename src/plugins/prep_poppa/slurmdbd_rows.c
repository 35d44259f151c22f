/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the rows of a run among those that slurmdbd has of its job id. */
#include "plugins/compat/accounting_compat.h"

#include <math.h>
#include <stdlib.h>

#include "src/common/list.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "common/tags.h"

#include "slurmdbd_rows.h"
#include "serving.h"

SLURM_WEAK(acct_db_conn)

void rows_select(const struct facts *f, slurm_selected_step_t *step, slurmdb_job_cond_t *condition)
{
	memset(step, 0, sizeof(*step));
	memset(condition, 0, sizeof(*condition));
	step->array_task_id = f->array_task_id;
	step->het_job_offset = NO_VAL;
	step->step_id.job_id = f->array_task_id == NO_VAL ? f->job_id : f->array_job_id;
	step->step_id.step_id = NO_VAL;
	step->step_id.step_het_comp = NO_VAL;
	condition->step_list = list_create(NULL);
	list_append(condition->step_list, step);
	condition->cluster_list = list_create(NULL);
	list_append(condition->cluster_list, f->cluster);
	condition->db_flags = SLURMDB_JOB_FLAG_NOTSET;
	condition->flags = JOBCOND_FLAG_NO_DEFAULT_USAGE | JOBCOND_FLAG_NO_WHOLE_HETJOB;
}

void rows_release(slurmdb_job_cond_t *condition)
{
	FREE_NULL_LIST(condition->step_list);
	FREE_NULL_LIST(condition->cluster_list);
}

/* All rows of the job id, or of the array task, a list to be destroyed, or NULL. */
static void *read_rows(const struct facts *f, bool by_task)
{
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;
	void *rows;

	if (!serving_begin())
		return NULL;
	rows_select(f, &step, &condition);
	if (!by_task) {
		step.array_task_id = NO_VAL;
		step.step_id.job_id = f->job_id;
	}
	condition.flags |= JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP;
	rows = jobacct_storage_g_get_jobs_cond(acct_db_conn, slurm_conf.slurm_user_id, &condition);
	rows_release(&condition);
	serving_end();
	return rows;
}

struct row_search {
	const struct facts *f;
	slurmdb_job_rec_t *found;
};

/*
 * A run without an index is known by its time: runs and sizes of a job follow each other, and where
 * slurmctld forgot a start, the row keeps that and the run has the one that came instead. A row
 * without an end may be that of a forgotten run; a later one is nearer. One without a start lost
 * that on its way to slurmdbd. The time of submission will not do, since a requeue changes it
 * before the run is through. Where slurmctld forgot a whole run and started the job anew, the
 * row, index and all, is the new run's.
 */
static int look_at_row(void *x, void *arg)
{
	slurmdb_job_rec_t *row = x;
	struct row_search *s = arg;
	time_t start = s->f->resized ? s->f->resized : s->f->start;
	bool matches;

	if (s->f->db_index)
		matches = row->db_index == s->f->db_index && row->start <= s->f->end;
	else
		matches = row->jobid == s->f->job_id && row->start <= start &&
			  (row->start ? !row->end || start <= row->end
				      : row->end && row->end == s->f->end);
	if (matches && (!s->found || row->db_index > s->found->db_index))
		s->found = row;
	return 0;
}

/* The run's row in a list that may be NULL; NULL: it has none. */
static slurmdb_job_rec_t *find_row(void *rows, const struct facts *f)
{
	struct row_search search = {.f = f};

	if (rows)
		list_for_each(rows, look_at_row, &search);
	return search.found;
}

/* Whether a row is of the same job id and a later run. */
static int is_later_row(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x, *ours = key;

	return row->jobid == ours->jobid && row->db_index > ours->db_index;
}

/*
 * The list with the run's row, to be destroyed, or NULL, and the row or NULL. *latest: it is that
 * of the job id's latest run, and a modification finds it. That finds no array task of whose start
 * slurmdbd has not heard: the row is still that of the tasks that wait, and has the job id alone.
 */
static void *read_run(const struct facts *f, slurmdb_job_rec_t **row, bool *latest)
{
	void *rows = read_rows(f, true);
	bool by_task = true;

	*row = find_row(rows, f);
	if (rows && !*row && f->array_task_id != NO_VAL) {
		FREE_NULL_LIST(rows);
		rows = read_rows(f, false);
		*row = find_row(rows, f);
		by_task = false;
	}
	*latest = *row && by_task && !list_find_first(rows, is_later_row, *row);
	return rows;
}

int rows_queue(void)
{
	int count = -1;

	if (!serving_begin())
		return -1;
	if (acct_storage_g_get_data(acct_db_conn, ACCT_STORAGE_INFO_AGENT_COUNT, &count))
		count = -1;
	serving_end();
	return count;
}

/*
 * slurmctld that is killed forgets what it has yet to tell slurmdbd. The row of this very run then
 * stays without an end, or runs until a slurmctld that starts has slurmdbd end all that run; unless
 * slurmctld has its record and will end it, for this run or for the one that came instead.
 */
static bool lacks_its_end(const struct facts *f, const slurmdb_job_rec_t *row)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	const job_record_t *job;
	bool ours;

	if ((row->end && row->state != JOB_RUNNING && row->state != JOB_SUSPENDED) ||
		!f->db_index || row->db_index != f->db_index || f->state == NO_VAL ||
		f->end <= f->start || row->start != (f->resized ? f->resized : f->start) ||
		!serving_begin())
		return false;
	lock_slurmctld(read_jobs);
	job = find_job_record(f->job_id);
	ours = job && (job->db_index == f->db_index || facts_same_run(f, job));
	unlock_slurmctld(read_jobs);
	serving_end();
	return !ours;
}

int rows_read(struct facts *f, bool all_told)
{
	slurmdb_job_rec_t *row;
	bool latest, lacks;
	void *rows = read_run(f, &row, &latest);
	int rc = rows ? 0 : -1;

	lacks = row && lacks_its_end(f, row);
	if (row && (lacks ? all_told : row->end != 0)) {
		f->db_index = row->db_index;
		/* A requeue changes it: that of the row is what slurmdbd knows the run by. */
		f->submit = row->submit;
		f->row_state = lacks ? f->state : row->state;
		f->row_end = lacks ? f->end : row->end;
		f->row_latest = latest;
		f->row_known = true;
		rc = 1;
	}
	FREE_NULL_LIST(rows);
	return rc;
}

static int is_row_of_start(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x;
	const struct settlement *s = key;

	return row->jobid == s->job_id && !(row->state & JOB_RESIZING) && row->end &&
	       (row->start == s->start_unix ||
		       row->start == s->start_unix + settlement_earlier_s(s));
}

/* What slurmctld charges a second is rounded to billing there. */
static void take_row(struct facts *f, slurmdb_job_rec_t *row, const char *cluster, uint32_t restart)
{
	f->job_id = row->jobid;
	f->restart = restart;
	f->uid = row->uid;
	f->array_job_id = row->array_job_id;
	f->array_task_id = row->array_job_id ? row->array_task_id : NO_VAL;
	f->db_index = row->db_index;
	f->submit = row->submit;
	f->start = row->start;
	f->end = row->end;
	f->assoc_id = row->associd;
	f->qos_id = row->qosid;
	f->partition = xstrdup(row->partition);
	f->cluster = xstrdup(cluster);
	f->nodes = xstrdup(row->nodes);
	f->tres = xstrdup(row->tres_alloc_str);
	f->colocate = xstrdup("");
	f->name = xstrdup(row->jobname);
	f->comment = xstrdup(row->system_comment);
	f->raw = facts_billing(row->tres_alloc_str);
	f->billable = (double)f->raw;
	f->usage_factor = NAN;
	f->part_qos = -1;
	f->wall_s = difftime(row->end, row->start) - row->suspended;
	f->exit_code = row->exitcode;
	f->derived_ec = row->derived_ec;
	f->requid = row->requid;
	f->state = row->state;
	f->row_state = row->state;
	f->row_end = row->end;
	f->row_known = true;
}

/* Of a settled run. */
static struct facts *facts_of_row(slurmdb_job_rec_t *row, const struct settlement *s)
{
	struct facts *f = xmalloc(sizeof(*f));

	take_row(f, row, s->cluster, s->restart);
	f->raw = s->raw;
	f->billable = (double)s->raw;
	if (settlement_earlier_s(s))
		f->resized = s->start_unix + settlement_earlier_s(s);
	f->wall_s += difftime(row->start, s->start_unix);
	f->start = s->start_unix;
	return f;
}

static int is_earlier_size(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x;
	const struct facts *f = key;

	return row->jobid == f->job_id && (row->state & JOB_RESIZING) && row->nodes &&
	       row->tres_alloc_str && row->start >= f->start && row->end > row->start &&
	       row->end <= f->resized;
}

static void take_size(struct facts *size, slurmdb_job_rec_t *row, const struct facts *f)
{
	take_row(size, row, f->cluster, f->restart);
	if (size->qos_id == f->qos_id)
		size->usage_factor = f->usage_factor;
	if (size->assoc_id == f->assoc_id)
		size->parent_id = f->parent_id;
	if (!xstrcmp(size->partition, f->partition))
		size->part_qos = f->part_qos;
}

static int compare_ends(const void *a, const void *b)
{
	const struct facts *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

/*
 * Whether they follow each other from the run's start to its last size. Where "scontrol update" has
 * resized a job, slurmdbd has the run's own start in each row, too, and counts from there (22.05);
 * a size began when the one before it ended.
 */
static bool follow_each_other(const struct facts *f, struct facts *size, int count)
{
	time_t at = f->start;

	for (int i = 0; i < count; at = size[i++].end) {
		if (size[i].start != at && size[i].start != f->start)
			return false;
		size[i].wall_s -= difftime(at, size[i].start);
		size[i].start = at;
		if (size[i].end <= at || size[i].wall_s < 0)
			return false;
	}
	return count && at == f->resized;
}

int rows_read_sizes(struct facts *f)
{
	void *rows = read_rows(f, true);
	struct facts *size;
	list_itr_t *each;
	slurmdb_job_rec_t *row;
	int count = 0;

	if (!rows)
		return -1;
	size = xcalloc(SETTLEMENT_MAX_SIZES, sizeof(*size));
	each = list_iterator_create(rows);
	while (count < SETTLEMENT_MAX_SIZES && (row = list_next(each)))
		if (is_earlier_size(row, f))
			take_size(&size[count++], row, f);
	list_iterator_destroy(each);
	FREE_NULL_LIST(rows);
	qsort(size, (size_t)count, sizeof(*size), compare_ends);
	if (follow_each_other(f, size, count)) {
		facts_set_sizes(f, size, count);
		f->sizes_read = true;
		return 1;
	}
	facts_free_sizes(size, count);
	return 0;
}

static struct facts *facts_of_record(const struct settlement *s)
{
	slurmctld_lock_t read_jobs = {.conf = READ_LOCK, .job = READ_LOCK};
	struct facts *f = NULL;
	const job_record_t *job;

	if (!serving_begin())
		return NULL;
	lock_slurmctld(read_jobs);
	job = find_job_record(s->job_id);
	if (job && job->start_time == s->start_unix && IS_JOB_FINISHED(job) &&
		!IS_JOB_COMPLETING(job))
		f = facts_take(job);
	unlock_slurmctld(read_jobs);
	serving_end();
	/* Its billing is what it is charged by now. */
	if (f)
		f->raw = s->raw;
	return f;
}

int rows_facts(const struct settlement *s, struct facts **f)
{
	struct facts key = {
		.job_id = s->job_id, .cluster = (char *)s->cluster, .array_task_id = NO_VAL};
	slurmdb_job_rec_t *row;
	void *rows;
	int rc;

	if (!serving())
		return -1;
	*f = facts_of_record(s);
	if (*f)
		return 1;
	rows = read_rows(&key, true);
	row = rows ? list_find_first(rows, is_row_of_start, (void *)s) : NULL;
	rc = rows ? row != NULL : -1;
	if (row) {
		*f = facts_of_row(row, s);
		(*f)->row_latest = !list_find_first(rows, is_later_row, row);
	}
	FREE_NULL_LIST(rows);
	return rc;
}

/* Of the earlier sizes. */
static bool sizes_agree(void *rows, const struct facts *f, const struct settlement *s)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	int n = facts_shares(f, s, sizes, charged);

	for (int i = 0; i < n; i++) {
		const slurmdb_job_rec_t *row = find_row(rows, &f->size[i]);

		if (!row || facts_billing(row->tres_alloc_str) != charged[i])
			return false;
	}
	return true;
}

static bool row_agrees(const slurmdb_job_rec_t *row, const struct settlement *s, bool commented)
{
	char *text;
	bool same;

	if (facts_billing(row->tres_alloc_str) != s->charged)
		return false;
	if (!commented)
		return true;
	text = tags_get(row->system_comment, SETTLED_TAG);
	same = text && !strcmp(text, s->text);
	free(text);
	return same;
}

int rows_check(const struct facts *f, const struct settlement *s, bool commented)
{
	slurmdb_job_rec_t *row;
	bool latest;
	void *rows = read_run(f, &row, &latest);
	int rc = -1;

	/* The comment has gone to a later row, if there is one: be it of a start that slurmctld
	 * has forgotten. */
	if (rows)
		rc = row && row_agrees(row, s, commented && latest) && sizes_agree(rows, f, s);
	FREE_NULL_LIST(rows);
	return rc;
}
