/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rewrites a settled job's billing everywhere in Slurm. */
#include "plugins/compat/accounting_compat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/common/assoc_mgr.h"
#include "src/common/list.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#include "common/tags.h"

#include "write_back.h"

SLURM_WEAK(acct_db_conn)
SLURM_WEAK(accounting_enforce)
SLURM_WEAK(last_job_update)
SLURM_WEAK(slurmctld_config)

/* The billing in a simple TRES string ("1=2,5=2000"). */
static uint64_t billing_of(char *tres)
{
	uint64_t billing = slurmdb_find_tres_count_in_string(tres, TRES_BILLING);

	return billing == INFINITE64 ? 0 : billing;
}

/* The same string with another billing; for xfree(). */
static char *with_billing(const char *tres, uint64_t billing)
{
	char *text = xstrdup(tres), *part = NULL;

	xstrfmtcat(part, "%d=%llu", TRES_BILLING, (unsigned long long)billing);
	slurmdb_combine_tres_strings(
		&text, part, TRES_STR_FLAG_REPLACE | TRES_STR_FLAG_SIMPLE | TRES_STR_FLAG_SORT_ID);
	xfree(part);
	return text;
}

/*
 * What is left at `now` of one unit a second charged from start to end, seconds. With a half-life,
 * Slurm's usage decays by 1 - 0.693/half-life a second.
 */
static double decayed_seconds(double wall_s, time_t end, time_t now)
{
	double half_life = slurm_conf.priority_decay_hl, rate, age = difftime(now, end);

	if (half_life <= 0)
		return wall_s;
	rate = -log1p(-0.693 / half_life);
	return (exp(-rate * fmax(age, 0)) - exp(-rate * (fmax(age, 0) + wall_s))) / rate;
}

static void take_off(long double *usage, long double amount)
{
	*usage = *usage > amount ? *usage - amount : 0;
}

static void refund_qos(
	slurmdb_qos_rec_t *qos, double seconds, double whole_seconds, double billable, double count)
{
	if (!qos || !qos->usage)
		return;
	if (qos->flags & QOS_FLAG_NO_DECAY)
		seconds = whole_seconds;
	take_off(&qos->usage->usage_raw, seconds * billable);
	if ((accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) && qos->usage->usage_tres_raw)
		take_off(&qos->usage->usage_tres_raw[TRES_ARRAY_BILLING], seconds * count);
}

/*
 * Gives a part of the job's usage back (or, below 0, charges it) to everybody who was charged when
 * it ended: its association and all above, its QOS, and its partition's QOS.
 */
static void refund_part(const struct facts *f, double part)
{
	slurmdb_assoc_rec_t wanted_assoc = {.id = f->assoc_id}, *assoc = NULL;
	slurmdb_qos_rec_t wanted_qos = {.id = f->qos_id}, *qos = NULL, *part_qos;
	double billable = f->billable * part, count = (double)f->raw * part;
	part_record_t *partition = find_part_record(f->partition);
	double whole = f->wall_s, seconds;

	if (part == 0 || whole <= 0 || xstrcmp(slurm_conf.priority_type, "priority/multifactor"))
		return;
	assoc_mgr_fill_in_assoc(acct_db_conn, &wanted_assoc, 0, &assoc, true);
	if (f->qos_id)
		assoc_mgr_fill_in_qos(acct_db_conn, &wanted_qos, 0, &qos, true);
	if (qos && qos->usage_factor >= 0)
		whole *= qos->usage_factor;
	seconds = decayed_seconds(f->wall_s, f->end, time(NULL)) * (whole / f->wall_s);
	for (; assoc && assoc->usage; assoc = assoc->usage->parent_assoc_ptr) {
		take_off(&assoc->usage->usage_raw, seconds * billable);
		if ((accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) &&
			assoc->usage->usage_tres_raw)
			take_off(
				&assoc->usage->usage_tres_raw[TRES_ARRAY_BILLING], seconds * count);
	}
	refund_qos(qos, seconds, whole, billable, count);
	part_qos = partition ? partition->qos_ptr : NULL;
	if (part_qos != qos)
		refund_qos(part_qos, seconds, whole, billable, count);
}

/* Gives back the part that it is not charged for. */
static void refund(const struct facts *f, const struct settlement *s)
{
	refund_part(f, s->raw ? 1 - (double)s->charged / (double)s->raw : 0);
}

static void rewrite_record(job_record_t *job, const struct facts *f, const struct settlement *s)
{
	char *comment = tags_set(job->system_comment, SETTLED_TAG, s->text);

	xfree(job->tres_alloc_str);
	job->tres_alloc_str = with_billing(f->tres, s->charged);
	xfree(job->tres_fmt_alloc_str);
	job->tres_fmt_alloc_str = slurmdb_make_tres_string_from_simple(job->tres_alloc_str,
		assoc_mgr_tres_list, NO_VAL, CONVERT_NUM_UNIT_EXACT,
		TRES_STR_CONVERT_UNITS | TRES_STR_FLAG_SORT_ID, NULL);
	if (comment) {
		xfree(job->system_comment);
		job->system_comment = xstrdup(comment);
	}
	free(comment);
	last_job_update = time(NULL);
}

/*
 * While TRES_STR_CALC is set the message leaves the TRES out. Afterwards it is set for good: the
 * string is final, and nothing may make it anew from the counts.
 */
static void send_complete(job_record_t *job)
{
	job->bit_flags &= ~TRES_STR_CALC;
	jobacct_storage_g_job_complete(acct_db_conn, job);
	job->bit_flags |= TRES_STR_CALC;
}

/* The same for a run whose record is gone or about a later run: nothing but the TRES is new. */
static void send_complete_of_facts(const struct facts *f, const struct settlement *s)
{
	job_details_t details = {.submit_time = f->submit};
	job_record_t job = {
		.magic = JOB_MAGIC,
		.job_id = f->job_id,
		.assoc_id = f->assoc_id,
		.db_index = f->db_index,
		.derived_ec = f->derived_ec,
		.exit_code = f->exit_code,
		.start_time = f->start,
		.end_time = f->row_end,
		.job_state = f->row_state,
		.requid = f->requid,
		.nodes = f->nodes,
		.details = &details,
		.tres_alloc_str = with_billing(f->tres, s->charged),
	};

	jobacct_storage_g_job_complete(acct_db_conn, &job);
	xfree(job.tres_alloc_str);
}

/* The condition that selects this job in slurmdbd; the lists hold what the caller owns. */
static void select_run(
	const struct facts *f, slurm_selected_step_t *step, slurmdb_job_cond_t *condition)
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

static void release_selection(slurmdb_job_cond_t *condition)
{
	FREE_NULL_LIST(condition->step_list);
	FREE_NULL_LIST(condition->cluster_list);
}

/* DBD_JOB_COMPLETE has no SystemComment in this release; a modification has. It reaches the job's
 * latest run only. */
static void send_comment(const struct facts *f, char *comment)
{
	slurmdb_job_rec_t change = {.derived_ec = NO_VAL, .system_comment = comment};
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;

	select_run(f, &step, &condition);
	condition.flags |= JOBCOND_FLAG_NO_WAIT;
	acct_storage_g_modify_job(acct_db_conn, slurm_conf.slurm_user_id, &condition, &change);
	release_selection(&condition);
}

/* The comment of a job whose record slurmctld has forgotten. */
static void send_comment_of_facts(const struct facts *f, const struct settlement *s)
{
	char *comment = tags_set(f->comment, SETTLED_TAG, s->text);

	if (comment)
		send_comment(f, comment);
	free(comment);
}

bool write_back_possible(void)
{
	return acct_db_conn && compat_serves() && !slurmctld_config.shutdown_time;
}

/* A shutdown waits for those that are counted before it closes the connection to slurmdbd. */
static bool begin(void)
{
	server_thread_incr();
	if (write_back_possible())
		return true;
	server_thread_decr();
	return false;
}

static void end(void)
{
	server_thread_decr();
}

/* What the record shows counts, whatever the ledger has or has lost. */
static void adopt_shown(const job_record_t *job, struct settlement *s)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG);

	s->charged = billing_of(job->tres_alloc_str);
	snprintf(s->text, sizeof(s->text), "%s", text ? text : "");
	free(text);
}

struct write_back_result write_back(const struct facts *f, struct settlement *s, bool refund_gone)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK, .job = WRITE_LOCK, .part = READ_LOCK};
	assoc_mgr_lock_t assoc_locks = {
		.assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
	struct write_back_result result = {.done = false};
	job_record_t *job;
	bool ours;

	if (!begin())
		return result;
	lock_slurmctld(locks);
	job = find_job_record(f->job_id);
	ours = facts_same_run(f, job) && IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job);
	if (!ours && !f->row_known) {
		unlock_slurmctld(locks);
		end();
		result.needs_row = true;
		return result;
	}
	result.done = true;
	result.refunded = ours ? facts_settled_restart(job) != (int64_t)f->restart : refund_gone;
	if (result.refunded) {
		assoc_mgr_lock(&assoc_locks);
		if (ours)
			rewrite_record(job, f, s);
		refund(f, s);
		assoc_mgr_unlock(&assoc_locks);
	}
	if (ours && !result.refunded)
		adopt_shown(job, s);
	result.commented = ours || f->row_latest;
	if (ours) {
		send_complete(job);
		send_comment(f, job->system_comment);
	} else {
		send_complete_of_facts(f, s);
		if (f->row_latest)
			send_comment_of_facts(f, s);
	}
	unlock_slurmctld(locks);
	if (ours)
		schedule_job_save();
	end();
	return result;
}

static bool shows(const job_record_t *job, const struct settlement *s)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG);
	bool same = text && !strcmp(text, s->text) && billing_of(job->tres_alloc_str) == s->charged;

	free(text);
	return same;
}

struct write_back_result write_back_change(
	const struct facts *f, const struct settlement *s, bool refund_gone)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK, .job = WRITE_LOCK, .part = READ_LOCK};
	assoc_mgr_lock_t assoc_locks = {
		.assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
	struct write_back_result result = {.done = false};
	uint64_t before = billing_of(f->tres);
	job_record_t *job;
	bool ours;

	if (!begin())
		return result;
	lock_slurmctld(locks);
	job = find_job_record(f->job_id);
	ours = facts_same_run(f, job) && IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job);
	if (!ours && !f->row_known) {
		unlock_slurmctld(locks);
		end();
		result.needs_row = true;
		return result;
	}
	result.done = true;
	result.refunded = ours ? !shows(job, s) : refund_gone;
	if (ours)
		before = billing_of(job->tres_alloc_str);
	if (result.refunded) {
		assoc_mgr_lock(&assoc_locks);
		if (ours)
			rewrite_record(job, f, s);
		if (s->raw)
			refund_part(f, ((double)before - (double)s->charged) / (double)s->raw);
		assoc_mgr_unlock(&assoc_locks);
	}
	result.commented = ours || f->row_latest;
	if (ours) {
		send_complete(job);
		send_comment(f, job->system_comment);
	} else {
		send_complete_of_facts(f, s);
		if (f->row_latest)
			send_comment_of_facts(f, s);
	}
	unlock_slurmctld(locks);
	if (ours)
		schedule_job_save();
	end();
	return result;
}

/* All rows of the job id, a list to be destroyed, or NULL. */
static void *read_rows(const struct facts *f)
{
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;
	void *rows;

	if (!begin())
		return NULL;
	select_run(f, &step, &condition);
	condition.flags |= JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP;
	rows = jobacct_storage_g_get_jobs_cond(acct_db_conn, slurm_conf.slurm_user_id, &condition);
	release_selection(&condition);
	end();
	return rows;
}

static int is_row_of(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x;
	const struct facts *f = key;

	return f->db_index ? row->db_index == f->db_index
			   : row->jobid == f->job_id && row->submit == f->submit;
}

/* Whether a row is of the same job id and a later run. */
static int is_later_row(void *x, void *key)
{
	const slurmdb_job_rec_t *row = x, *ours = key;

	return row->jobid == ours->jobid && row->db_index > ours->db_index;
}

int write_back_read_row(struct facts *f)
{
	void *rows = read_rows(f);
	slurmdb_job_rec_t *row = rows ? list_find_first(rows, is_row_of, f) : NULL;
	int rc = rows ? 0 : -1;

	if (row && row->end) {
		f->db_index = row->db_index;
		f->row_state = row->state;
		f->row_end = row->end;
		f->row_latest = !list_find_first(rows, is_later_row, row);
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

	return row->jobid == s->job_id && row->start == s->start_unix && row->end;
}

/* What slurmctld charges a second is rounded to billing there. */
static struct facts *facts_of_row(const slurmdb_job_rec_t *row, const struct settlement *s)
{
	struct facts *f = xmalloc(sizeof(*f));

	f->job_id = row->jobid;
	f->restart = s->restart;
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
	f->cluster = xstrdup(s->cluster);
	f->nodes = xstrdup(row->nodes);
	f->tres = xstrdup(row->tres_alloc_str);
	f->colocate = xstrdup("");
	f->name = xstrdup(row->jobname);
	f->comment = xstrdup(row->system_comment);
	f->raw = s->raw;
	f->billable = (double)s->raw;
	f->wall_s = difftime(row->end, row->start) - row->suspended;
	f->exit_code = row->exitcode;
	f->derived_ec = row->derived_ec;
	f->requid = row->requid;
	f->row_state = row->state;
	f->row_end = row->end;
	f->row_known = true;
	return f;
}

static struct facts *facts_of_record(const struct settlement *s)
{
	slurmctld_lock_t read_jobs = {.conf = READ_LOCK, .job = READ_LOCK};
	struct facts *f = NULL;
	const job_record_t *job;

	lock_slurmctld(read_jobs);
	job = find_job_record(s->job_id);
	if (job && job->start_time == s->start_unix && IS_JOB_FINISHED(job) &&
		!IS_JOB_COMPLETING(job))
		f = facts_take(job);
	unlock_slurmctld(read_jobs);
	/* Its billing is what it is charged by now. */
	if (f)
		f->raw = s->raw;
	return f;
}

int write_back_facts(const struct settlement *s, struct facts **f)
{
	struct facts key = {
		.job_id = s->job_id, .cluster = (char *)s->cluster, .array_task_id = NO_VAL};
	slurmdb_job_rec_t *row;
	void *rows;
	int rc;

	if (!write_back_possible())
		return -1;
	*f = facts_of_record(s);
	if (*f)
		return 1;
	rows = read_rows(&key);
	row = rows ? list_find_first(rows, is_row_of_start, (void *)s) : NULL;
	rc = rows ? row != NULL : -1;
	if (row) {
		*f = facts_of_row(row, s);
		(*f)->row_latest = !list_find_first(rows, is_later_row, row);
	}
	FREE_NULL_LIST(rows);
	return rc;
}

static bool row_agrees(const slurmdb_job_rec_t *row, const struct settlement *s, bool commented)
{
	char *text;
	bool same;

	if (billing_of(row->tres_alloc_str) != s->charged)
		return false;
	if (!commented)
		return true;
	text = tags_get(row->system_comment, SETTLED_TAG);
	same = text && !strcmp(text, s->text);
	free(text);
	return same;
}

int write_back_check(const struct facts *f, const struct settlement *s, bool commented)
{
	void *rows = read_rows(f);
	const slurmdb_job_rec_t *row = rows ? list_find_first(rows, is_row_of, (void *)f) : NULL;
	int rc = rows ? row && row_agrees(row, s, commented) : -1;

	FREE_NULL_LIST(rows);
	return rc;
}
