/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rewrites a settled run's billing in the job's record, in Slurm's usage and in slurmdbd. */
#include "plugins/compat/accounting_compat.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/common/assoc_mgr.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#include "common/tags.h"

#include "controller.h"
#include "fairshare.h"
#include "slurmdbd_rows.h"
#include "write_back.h"

SLURM_WEAK(acct_db_conn)
SLURM_WEAK(last_job_update)

/* A number that no row of slurmdbd's job table reaches; NO_VAL64 and above have a meaning. */
#define NO_ROW INT64_MAX

/* A simple TRES string with another billing; for xfree(). */
static char *with_billing(const char *tres, uint64_t billing)
{
	char *text = xstrdup(tres), *part = NULL;

	xstrfmtcat(part, "%d=%llu", TRES_BILLING, (unsigned long long)billing);
	slurmdb_combine_tres_strings(
		&text, part, TRES_STR_FLAG_REPLACE | TRES_STR_FLAG_SIMPLE | TRES_STR_FLAG_SORT_ID);
	xfree(part);
	return text;
}

static void rewrite_record(
	job_record_t *job, const struct run_snapshot *run, const struct settlement *s)
{
	char *comment = tags_set(job->system_comment, SETTLED_TAG, s->text);

	xfree(job->tres_alloc_str);
	job->tres_alloc_str = with_billing(run->last.tres, s->charged);
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

/* While TRES_STR_CALC is set the message leaves the TRES out. */
static void send_complete(job_record_t *job)
{
	job->bit_flags &= ~TRES_STR_CALC;
	jobacct_storage_g_job_complete(acct_db_conn, job);
}

/* As send_complete(), for a size without a record: slurmdbd learns nothing new but the TRES. */
static void send_complete_of_size(const struct run_snapshot *run, const struct run_size *size,
	time_t start, time_t end, uint32_t state, uint64_t charged)
{
	job_details_t details = {.submit_time = size->submit};
	job_record_t job = {
		.magic = JOB_MAGIC,
		.job_id = run->job_id,
		.assoc_id = size->charge.assoc_id,
		.db_index = size->db_index,
		.derived_ec = size->derived_ec,
		.exit_code = size->exit_code,
		.start_time = start,
		.end_time = end,
		.resize_time = state & JOB_RESIZING ? end : 0,
		.job_state = state,
		.requid = size->requid,
		.nodes = size->nodes,
		.details = &details,
		.tres_alloc_str = with_billing(size->tres, charged),
	};

	jobacct_storage_g_job_complete(acct_db_conn, &job);
	xfree(job.tres_alloc_str);
}

/*
 * Has slurmdbd roll the run's usage up again from its start. When slurmdbd is told of a job's end,
 * it rolls up only from that end on; but the hours of a long run before its end were rolled up with
 * the full price. A completion at the run's start that matches no row makes slurmdbd begin there,
 * and changes nothing else (COMPAT_MODIFY_TRES says in which releases).
 */
static void send_reroll(const struct run_snapshot *run)
{
	job_details_t details = {.submit_time = run->last.submit};
	job_record_t job = {
		.magic = JOB_MAGIC,
		.job_id = run->job_id,
		.assoc_id = run->last.charge.assoc_id,
		.db_index = NO_ROW,
		.derived_ec = NO_VAL,
		.start_time = run->start,
		.end_time = run->start,
		.job_state = JOB_COMPLETE,
		.details = &details,
	};

	jobacct_storage_g_job_complete(acct_db_conn, &job);
}

/*
 * Sends the SystemComment, for which a completion has no field, as a modification, and the billing
 * with it where slurmdbd takes that. A modification reaches only the job's latest run.
 */
static void send_change(const struct run_snapshot *run, char *comment, uint64_t charged)
{
	slurmdb_job_rec_t change = {.derived_ec = NO_VAL, .system_comment = comment};
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;

	if (COMPAT_MODIFY_TRES)
		change.tres_alloc_str = with_billing(NULL, charged);
	slurmdbd_rows_select(run, &step, &condition);
	condition.flags |= JOBCOND_FLAG_NO_WAIT;
	acct_storage_g_modify_job(acct_db_conn, slurm_conf.slurm_user_id, &condition, &change);
	slurmdbd_rows_release(&condition);
	xfree(change.tres_alloc_str);
}

/* Tells slurmdbd of a run that slurmctld still has a record of: it is the job's latest run. */
static void tell_of_record(const struct run_snapshot *run, job_record_t *job, uint64_t charged)
{
	if (!COMPAT_MODIFY_TRES) {
		send_complete(job);
		send_reroll(run);
	}
	send_change(run, job->system_comment, charged);
}

/* Tells slurmdbd of a run whose record is gone or is about a later run; run->row is known. */
static void tell_of_snapshot(const struct run_snapshot *run, const struct settlement *s)
{
	char *comment = run->row.latest ? tags_set(run->comment, SETTLED_TAG, s->text) : NULL;

	if (!COMPAT_MODIFY_TRES || !comment) {
		send_complete_of_size(
			run, &run->last, run->start, run->row.end, run->row.state, s->charged);
		send_reroll(run);
	}
	if (comment)
		send_change(run, comment, s->charged);
	free(comment);
}

static void tell_of_earlier_sizes(const struct run_snapshot *run, const struct settlement *s)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	int n = run_snapshot_shares(run, s, sizes, charged);

	for (int i = 0; i < n; i++) {
		const struct run_size *size = &run->size[i];

		send_complete_of_size(run, size, size->start, size->end, size->state, charged[i]);
	}
}

static void add_part(struct refund *r, const struct run_size *size, double billable, uint64_t raw,
	uint64_t before, uint64_t after)
{
	struct refund_part *p = &r->part[r->part_count++];

	*p = (struct refund_part){.assoc_id = size->charge.assoc_id,
		.qos_id = size->charge.qos_id,
		.start_unix = size->start,
		.end_unix = size->end,
		.billable = billable,
		.usage_factor = size->charge.usage_factor,
		.parent_id = size->charge.parent_id,
		.part_qos = size->charge.part_qos,
		.raw = raw,
		.before = before,
		.after = after};
	snprintf(p->partition, sizeof(p->partition), "%s", size->partition ? size->partition : "");
}

/* Each size was charged by itself; the same share of each one's charge is given back. */
static struct refund refund_of(
	const struct run_snapshot *run, const struct settlement *s, uint64_t before, bool change)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	struct refund r = {.job_id = run->job_id,
		.restart = run->restart,
		.start_unix = run->start,
		.change = change};
	int n = run_snapshot_shares(run, s, sizes, charged);

	add_part(&r, &run->last, run->last.charge.billable, s->raw, before, s->charged);
	for (int i = 0; i < n; i++)
		add_part(&r, &run->size[i], (double)sizes[i].raw, sizes[i].raw,
			settlement_share(sizes[i].raw, before, s->raw), charged[i]);
	return r;
}

/* The price that the record shows is the right one, whatever the ledger has or has lost. */
static void adopt_shown(const job_record_t *job, struct settlement *s)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG);
	struct settlement shown;
	struct errmsg ignored;

	settlement_clear(&shown);
	if (text)
		settlement_read_comment(text, &shown, &ignored);
	s->charged = run_snapshot_billing(job->tres_alloc_str);
	s->raw = shown.raw;
	s->size_count = shown.size_count;
	memcpy(s->size, shown.size, sizeof(s->size));
	snprintf(s->text, sizeof(s->text), "%s", text ? text : "");
	free(text);
}

static bool shows(const job_record_t *job, const struct settlement *s)
{
	return run_snapshot_billing(job->tres_alloc_str) == s->charged &&
	       run_snapshot_comment_shows(job->system_comment, s);
}

/* The job's record if it is about this run. Slurm's lock on jobs is held. */
static job_record_t *record_of(const struct run_snapshot *run)
{
	job_record_t *job = find_job_record(run->job_id);

	return run_snapshot_is_of(run, job) && IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job)
		       ? job
		       : NULL;
}

/* A record gets the first price once, whatever billing it shows, and each change once. */
static bool has_price(const job_record_t *job, const struct run_snapshot *run,
	const struct settlement *s, bool change)
{
	return job && (change ? shows(job, s)
			      : run_snapshot_settled_restart(job) == (int64_t)run->restart);
}

/*
 * Whether a refund is due, and which. A refund is made once: the journal tells what was refunded.
 * Where it has no line of the run, and no record is left, the refund is made only if the journal
 * has lost nothing.
 */
static bool is_due(const struct run_snapshot *run, const struct settlement *s,
	const struct usage_journal *usage, struct write_back_order order, struct refund *refund)
{
	slurmctld_lock_t read_jobs = {.job = READ_LOCK};
	uint64_t before = s->raw;
	bool known =
		refunds_charged(usage->refunds, run->job_id, run->restart, run->start, &before);
	const job_record_t *job;
	bool due;

	lock_slurmctld(read_jobs);
	job = record_of(run);
	if (order.change && !known)
		before = run_snapshot_billing(job ? job->tres_alloc_str : run->last.tres);
	if (known)
		due = before != s->charged;
	else
		due = job || order.never_written || refunds_whole(usage->refunds);
	due &= (job || run->row.known) && !has_price(job, run, s, order.change);
	unlock_slurmctld(read_jobs);
	*refund = refund_of(run, s, before, order.change);
	return due;
}

struct write_back_result write_back(const struct run_snapshot *run, struct settlement *s,
	struct usage_journal *usage, struct write_back_order order)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK, .job = WRITE_LOCK, .part = READ_LOCK};
	assoc_mgr_lock_t read_tres = {.tres = READ_LOCK};
	struct write_back_result result = {.done = false};
	struct refund refund;
	struct decay clock;
	job_record_t *job; /* NULL: there is none about this run */
	bool shown;

	if (!controller_hold())
		return result;
	fairshare_clock(&clock);
	result.refunded = is_due(run, s, usage, order, &refund);
	if (result.refunded)
		usage_journal_refund(usage, &refund, &clock);
	lock_slurmctld(locks);
	job = record_of(run);
	shown = has_price(job, run, s, order.change);
	if (job && !shown) {
		assoc_mgr_lock(&read_tres);
		rewrite_record(job, run, s);
		assoc_mgr_unlock(&read_tres);
	}
	result.needs_row = !job && !run->row.known;
	result.done = !result.needs_row;
	if (shown && !order.change)
		adopt_shown(job, s);
	result.commented = job || run->row.latest;
	result.told = result.done && order.tell && controller_begin_sending();
	if (result.told && job)
		tell_of_record(run, job, s->charged);
	else if (result.told)
		tell_of_snapshot(run, s);
	if (result.told) {
		/* This comes last: what tell_of_record() sends by the job's id reaches all sizes'
		 * rows. */
		tell_of_earlier_sizes(run, s);
		controller_end_sending();
	}
	/* Keeps Slurm from making tres_alloc_str again from its counts. */
	if (job)
		job->bit_flags |= TRES_STR_CALC;
	unlock_slurmctld(locks);
	if (!result.refunded && job && !shown)
		usage_journal_keep(usage, &refund);
	if (job)
		schedule_job_save();
	controller_release();
	return result;
}
