/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks slurmdbd for all rows of a job id, and finds the rows of one run among them. */
#include "plugins/compat/accounting_compat.h"

#include <math.h>
#include <stdlib.h>

#include "src/common/list.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "controller.h"
#include "slurmdbd_rows.h"

void slurmdbd_rows_select(
	const struct run_snapshot *run, slurm_selected_step_t *step, slurmdb_job_cond_t *condition)
{
	memset(step, 0, sizeof(*step));
	memset(condition, 0, sizeof(*condition));
	step->array_task_id = run->array_task_id;
	step->het_job_offset = NO_VAL;
	step->step_id.job_id = run->array_task_id == NO_VAL ? run->job_id : run->array_job_id;
	step->step_id.step_id = NO_VAL;
	step->step_id.step_het_comp = NO_VAL;
	condition->step_list = list_create(NULL);
	list_append(condition->step_list, step);
	condition->cluster_list = list_create(NULL);
	list_append(condition->cluster_list, run->cluster);
	condition->db_flags = SLURMDB_JOB_FLAG_NOTSET;
	condition->flags = JOBCOND_FLAG_NO_DEFAULT_USAGE | JOBCOND_FLAG_NO_WHOLE_HETJOB;
}

void slurmdbd_rows_release(slurmdb_job_cond_t *condition)
{
	FREE_NULL_LIST(condition->step_list);
	FREE_NULL_LIST(condition->cluster_list);
}

/* All rows of the job id, or of the array task: a list for list_destroy(), or NULL. */
static void *read_rows(const struct run_snapshot *run, bool by_task)
{
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;
	struct accounting_code code;
	void *rows;

	if (!controller_hold())
		return NULL;
	if (!controller_keep_code(&code)) {
		controller_release();
		return NULL;
	}
	slurmdbd_rows_select(run, &step, &condition);
	if (!by_task) {
		step.array_task_id = NO_VAL;
		step.step_id.job_id = run->job_id;
	}
	condition.flags |= JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP;
	rows = jobacct_storage_g_get_jobs_cond(NULL, slurm_conf.slurm_user_id, &condition);
	controller_let_code(&code);
	slurmdbd_rows_release(&condition);
	controller_release();
	return rows;
}

/*
 * Whether a row can be that of one of the run's sizes.
 *
 * A size whose index is known is the row with that index. But a slurmctld that was killed may have
 * forgotten a whole run and started the job anew: the new run then has the row with that index, and
 * the row begins after our run has ended.
 *
 * A size without an index is found by its time, because the runs and sizes of a job follow each
 * other. Its row begins at the start of the size or earlier: a slurmctld that was killed may have
 * forgotten a start that slurmdbd has heard of, and then have started the job a second time. The
 * row keeps the first start, the run has the second. A row without an end may be that of a
 * forgotten run, so of several rows that match, the latest one counts. A row without a start lost
 * that on its way to slurmdbd, and is known by its end.
 *
 * The time of submission tells nothing, since a requeue changes it before the run is through.
 */
static bool can_be_row_of(
	const slurmdb_job_rec_t *row, uint32_t job_id, const struct run_size *size)
{
	if (size->db_index)
		return row->db_index == size->db_index && row->start <= size->end;
	return row->jobid == job_id && row->start <= size->start &&
	       (row->start ? !row->end || size->start <= row->end
			   : row->end && row->end == size->end);
}

/* The row of one of the run's sizes, or NULL; rows may be NULL, too. */
static slurmdb_job_rec_t *find_row(
	void *rows, const struct run_snapshot *run, const struct run_size *size)
{
	slurmdb_job_rec_t *row, *found = NULL;
	list_itr_t *each;

	if (!rows)
		return NULL;
	each = list_iterator_create(rows);
	while ((row = list_next(each)))
		if (can_be_row_of(row, run->job_id, size) &&
			(!found || row->db_index > found->db_index))
			found = row;
	list_iterator_destroy(each);
	return found;
}

/* Whether a row is of the same job id and a later run. */
static int is_later_row(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x, *ours = key;

	return row->jobid == ours->jobid && row->db_index > ours->db_index;
}

/*
 * Reads the rows among which that of the run's last size is: a list for list_destroy(), or NULL.
 * *row: that row, or NULL. *latest: the row is that of the job id's latest run, and a modification
 * finds it. A modification does not find an array task whose start slurmdbd has not heard of: its
 * row is still that of all waiting tasks, and only the job id finds that.
 */
static void *read_run(const struct run_snapshot *run, slurmdb_job_rec_t **row, bool *latest)
{
	void *rows = read_rows(run, true);
	bool by_task = true;

	*row = find_row(rows, run, &run->last);
	if (rows && !*row && run->array_task_id != NO_VAL) {
		FREE_NULL_LIST(rows);
		rows = read_rows(run, false);
		*row = find_row(rows, run, &run->last);
		by_task = false;
	}
	*latest = *row && by_task && !list_find_first(rows, is_later_row, *row);
	return rows;
}

int slurmdbd_rows_queue(void)
{
	int count = -1;

	if (!controller_hold())
		return -1;
	if (controller_begin_sending()) {
		if (acct_storage_g_get_data(NULL, ACCT_STORAGE_INFO_AGENT_COUNT, &count))
			count = -1;
		controller_end_sending();
	}
	controller_release();
	return count;
}

/*
 * Whether the row is that of this very run and will not get the right end from slurmctld any more.
 * A slurmctld that is killed forgets what it has yet to tell slurmdbd. The row then stays without
 * an end; or it runs on, until a slurmctld that starts has slurmdbd end all rows that run. But
 * while slurmctld has a record of the job with this row, it will end the row itself: for this run,
 * or for the run that it has started instead.
 */
static bool lacks_its_end(const struct run_snapshot *run, const slurmdb_job_rec_t *row)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	const job_record_t *job;
	bool ours;

	if ((row->end && row->state != JOB_RUNNING && row->state != JOB_SUSPENDED) ||
		!run->last.db_index || row->db_index != run->last.db_index ||
		run->last.state == NO_VAL || run->last.end <= run->start ||
		row->start != run->last.start || !controller_hold())
		return false;
	lock_slurmctld(read_jobs);
	job = find_job_record(run->job_id);
	ours = job && (job->db_index == run->last.db_index || run_snapshot_is_of(run, job));
	unlock_slurmctld(read_jobs);
	controller_release();
	return !ours;
}

int slurmdbd_rows_read(struct run_snapshot *run, bool all_told)
{
	slurmdb_job_rec_t *row;
	bool latest, lacks;
	void *rows = read_run(run, &row, &latest);
	int rc = rows ? 0 : -1;

	lacks = row && lacks_its_end(run, row);
	if (row && (lacks ? all_told : row->end != 0)) {
		run->last.db_index = row->db_index;
		run->last.submit = row->submit;
		run->row.state = lacks ? run->last.state : row->state;
		run->row.end = lacks ? run->last.end : row->end;
		run->row.latest = latest;
		run->row.known = true;
		rc = 1;
	}
	FREE_NULL_LIST(rows);
	return rc;
}

/* Of a run that is settled: whether the row is that of its last size. */
static int is_row_of_settled(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x;
	const struct settlement *s = key;

	return row->jobid == s->job_id && !(row->state & JOB_RESIZING) && row->end &&
	       compat_is_start_of_size(
		       row->start, s->start_unix + settlement_earlier_s(s), s->start_unix);
}

/* A row has billing as a whole number; what slurmctld charged a second may have had a fraction. */
static void take_row(struct run_size *size, slurmdb_job_rec_t *row)
{
	uint64_t raw = run_snapshot_billing(row->tres_alloc_str);

	*size = (struct run_size){.db_index = row->db_index,
		.submit = row->submit,
		.start = row->start,
		.end = row->end,
		.wall_s = difftime(row->end, row->start) - row->suspended,
		.partition = xstrdup(row->partition),
		.nodes = xstrdup(row->nodes),
		.tres = xstrdup(row->tres_alloc_str),
		.charge = {.assoc_id = row->associd,
			.qos_id = row->qosid,
			.part_qos = -1,
			.usage_factor = NAN,
			.raw = raw,
			.billable = (double)raw},
		.state = row->state,
		.exit_code = row->exitcode,
		.derived_ec = row->derived_ec,
		.requid = row->requid};
}

/* The row of a settled run may show what is charged by now; the settlement has the raw billing. */
static struct run_snapshot *snapshot_of_row(
	slurmdb_job_rec_t *row, const struct settlement *s, bool latest)
{
	struct run_snapshot *run = xmalloc(sizeof(*run));

	run->cluster = xstrdup(s->cluster);
	run->job_id = row->jobid;
	run->restart = s->restart;
	run->uid = row->uid;
	run->array_job_id = row->array_job_id;
	run->array_task_id = row->array_job_id ? row->array_task_id : NO_VAL;
	run->start = s->start_unix;
	run->name = xstrdup(row->jobname);
	run->colocate = xstrdup("");
	run->comment = xstrdup(row->system_comment);
	run->wall_s = difftime(row->end, s->start_unix) - row->suspended;
	take_row(&run->last, row);
	run->last.start = s->start_unix + settlement_earlier_s(s);
	run->last.charge.raw = s->raw;
	run->last.charge.billable = (double)s->raw;
	run->row.known = true;
	run->row.latest = latest;
	run->row.state = row->state;
	run->row.end = row->end;
	return run;
}

static int is_earlier_size(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x;
	const struct run_snapshot *run = key;

	return row->jobid == run->job_id && (row->state & JOB_RESIZING) && row->nodes &&
	       row->tres_alloc_str && row->start >= run->start && row->end > row->start &&
	       row->end <= run->last.start;
}

/* A row tells less of the charge than the job's record did, so the last size tells the rest. */
static void take_size(struct run_size *size, slurmdb_job_rec_t *row, const struct run_size *last)
{
	take_row(size, row);
	if (size->charge.qos_id == last->charge.qos_id)
		size->charge.usage_factor = last->charge.usage_factor;
	if (size->charge.assoc_id == last->charge.assoc_id)
		size->charge.parent_id = last->charge.parent_id;
	if (!xstrcmp(size->partition, last->partition))
		size->charge.part_qos = last->charge.part_qos;
}

static int compare_ends(const void *a, const void *b)
{
	const struct run_size *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

/*
 * Whether the sizes follow each other from the run's start to its last size. A size began when the
 * one before it ended, whatever its row shows.
 */
static bool follow_each_other(const struct run_snapshot *run, struct run_size *size, int count)
{
	time_t at = run->start;

	for (int i = 0; i < count; at = size[i++].end) {
		if (!compat_is_start_of_size(size[i].start, at, run->start))
			return false;
		size[i].wall_s -= difftime(at, size[i].start);
		size[i].start = at;
		if (size[i].end <= at || size[i].wall_s < 0)
			return false;
	}
	return count && at == run->last.start;
}

int slurmdbd_rows_read_sizes(struct run_snapshot *run)
{
	void *rows = read_rows(run, true);
	struct run_size *size;
	list_itr_t *each;
	slurmdb_job_rec_t *row;
	int count = 0;

	if (!rows)
		return -1;
	size = xcalloc(SETTLEMENT_MAX_SIZES, sizeof(*size));
	each = list_iterator_create(rows);
	while (count < SETTLEMENT_MAX_SIZES && (row = list_next(each)))
		if (is_earlier_size(row, run))
			take_size(&size[count++], row, &run->last);
	list_iterator_destroy(each);
	FREE_NULL_LIST(rows);
	qsort(size, (size_t)count, sizeof(*size), compare_ends);
	if (follow_each_other(run, size, count)) {
		run_snapshot_set_sizes(run, size, count);
		run->sizes_known = true;
		return 1;
	}
	run_snapshot_free_sizes(size, count);
	return 0;
}

static struct run_snapshot *snapshot_of_record(const struct settlement *s)
{
	slurmctld_lock_t read_jobs = {.conf = READ_LOCK, .job = READ_LOCK};
	struct run_snapshot *run = NULL;
	const job_record_t *job;

	if (!controller_hold())
		return NULL;
	lock_slurmctld(read_jobs);
	job = find_job_record(s->job_id);
	if (job && job->start_time == s->start_unix && IS_JOB_FINISHED(job) &&
		!IS_JOB_COMPLETING(job))
		run = run_snapshot_take(job);
	unlock_slurmctld(read_jobs);
	controller_release();
	/* The billing of the record is what the run is charged by now. */
	if (run)
		run->last.charge.raw = s->raw;
	return run;
}

int slurmdbd_rows_snapshot(const struct settlement *s, struct run_snapshot **run)
{
	const struct run_snapshot key = {
		.job_id = s->job_id, .cluster = (char *)s->cluster, .array_task_id = NO_VAL};
	slurmdb_job_rec_t *row;
	void *rows;
	int rc;

	if (!controller_serves())
		return -1;
	*run = snapshot_of_record(s);
	if (*run)
		return 1;
	rows = read_rows(&key, true);
	row = rows ? list_find_first(rows, is_row_of_settled, (void *)s) : NULL;
	rc = rows ? row != NULL : -1;
	if (row)
		*run = snapshot_of_row(row, s, !list_find_first(rows, is_later_row, row));
	FREE_NULL_LIST(rows);
	return rc;
}

/* Whether the rows of the earlier sizes show what is charged for them. */
static bool sizes_agree(void *rows, const struct run_snapshot *run, const struct settlement *s)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	int n = run_snapshot_shares(run, s, sizes, charged);

	for (int i = 0; i < n; i++) {
		const slurmdb_job_rec_t *row = find_row(rows, run, &run->size[i]);

		if (!row || run_snapshot_billing(row->tres_alloc_str) != charged[i])
			return false;
	}
	return true;
}

static bool row_agrees(const slurmdb_job_rec_t *row, const struct settlement *s, bool commented)
{
	return run_snapshot_billing(row->tres_alloc_str) == s->charged &&
	       (!commented || run_snapshot_comment_shows(row->system_comment, s));
}

int slurmdbd_rows_check(const struct run_snapshot *run, const struct settlement *s, bool commented)
{
	slurmdb_job_rec_t *row;
	bool latest;
	void *rows = read_run(run, &row, &latest);
	int rc = -1;

	/* The comment goes to the latest row, even if slurmctld has forgotten that row's start. */
	if (rows)
		rc = row && row_agrees(row, s, commented && latest) && sizes_agree(rows, run, s);
	FREE_NULL_LIST(rows);
	return rc;
}
