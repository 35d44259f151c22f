/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rewrites a settled job's billing everywhere in Slurm. */
#include "plugins/compat/accounting_compat.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/common/assoc_mgr.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#include "common/tags.h"

#include "fairshare.h"
#include "slurmdbd_rows.h"
#include "serving.h"
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

/* While TRES_STR_CALC is set the message leaves the TRES out. */
static void send_complete(job_record_t *job)
{
	job->bit_flags &= ~TRES_STR_CALC;
	jobacct_storage_g_job_complete(acct_db_conn, job);
}

/* The same for a run whose record is gone or about a later run, or a size that the job no longer
 * has: nothing but the TRES is new. */
static void send_complete_of_facts(const struct facts *f, uint64_t charged)
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
		.resize_time = f->row_state & JOB_RESIZING ? f->row_end : 0,
		.job_state = f->row_state,
		.requid = f->requid,
		.nodes = f->nodes,
		.details = &details,
		.tres_alloc_str = with_billing(f->tres, charged),
	};

	jobacct_storage_g_job_complete(acct_db_conn, &job);
	xfree(job.tres_alloc_str);
}

/*
 * slurmdbd re-rolls the usage from the end of a job that it is told of, and the hours before that
 * end have been rolled up with the full price when the run was long. A completion at the run's
 * start that matches no row makes it begin there, and changes nothing else. A slurmdbd of 25.11 or
 * later would add a row for it if it found none of this job id and time of submission.
 */
static void send_reroll(const struct facts *f)
{
	job_details_t details = {.submit_time = f->submit};
	job_record_t job = {
		.magic = JOB_MAGIC,
		.job_id = f->job_id,
		.assoc_id = f->assoc_id,
		.db_index = NO_ROW,
		.derived_ec = NO_VAL,
		.start_time = f->start,
		.end_time = f->start,
		.job_state = JOB_COMPLETE,
		.details = &details,
	};

	jobacct_storage_g_job_complete(acct_db_conn, &job);
}

/*
 * A completion has no SystemComment, a modification has; where slurmdbd takes the billing in one,
 * too, it goes with it. It reaches the job's latest run only.
 */
static void send_change(const struct facts *f, char *comment, uint64_t charged)
{
	slurmdb_job_rec_t change = {.derived_ec = NO_VAL, .system_comment = comment};
	slurm_selected_step_t step;
	slurmdb_job_cond_t condition;

	if (COMPAT_MODIFY_TRES)
		change.tres_alloc_str = with_billing(NULL, charged);
	rows_select(f, &step, &condition);
	condition.flags |= JOBCOND_FLAG_NO_WAIT;
	acct_storage_g_modify_job(acct_db_conn, slurm_conf.slurm_user_id, &condition, &change);
	rows_release(&condition);
	xfree(change.tres_alloc_str);
}

/* Tells slurmdbd of a run that slurmctld still has a record of, which is its latest. */
static void tell_of_record(const struct facts *f, job_record_t *job, uint64_t charged)
{
	if (!COMPAT_MODIFY_TRES) {
		send_complete(job);
		send_reroll(f);
	}
	send_change(f, job->system_comment, charged);
}

/* The same of a run whose record is gone, or about a later run. */
static void tell_of_facts(const struct facts *f, const struct settlement *s)
{
	char *comment = f->row_latest ? tags_set(f->comment, SETTLED_TAG, s->text) : NULL;

	if (!COMPAT_MODIFY_TRES || !comment) {
		send_complete_of_facts(f, s->charged);
		send_reroll(f);
	}
	if (comment)
		send_change(f, comment, s->charged);
	free(comment);
}

static void tell_of_sizes(const struct facts *f, const struct settlement *s)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	int n = facts_shares(f, s, sizes, charged);

	for (int i = 0; i < n; i++)
		send_complete_of_facts(&f->size[i], charged[i]);
}

static void add_part(struct refund *r, const struct facts *f, double billable, uint64_t raw,
	uint64_t before, uint64_t after)
{
	struct refund_part *p = &r->part[r->part_count++];

	*p = (struct refund_part){.assoc_id = f->assoc_id,
		.qos_id = f->qos_id,
		.start_unix = f->start,
		.end_unix = f->end,
		.billable = billable,
		.usage_factor = f->usage_factor,
		.parent_id = f->parent_id,
		.part_qos = f->part_qos,
		.raw = raw,
		.before = before,
		.after = after};
	snprintf(p->partition, sizeof(p->partition), "%s", f->partition ? f->partition : "");
}

/* Each size is charged, and given back, by itself, the same share of all. */
static struct refund refund_of(
	const struct facts *f, const struct settlement *s, uint64_t before, bool change)
{
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	uint64_t charged[SETTLEMENT_MAX_SIZES];
	struct facts last = facts_last_size(f);
	struct refund r = {.job_id = f->job_id,
		.restart = f->restart,
		.start_unix = f->start,
		.change = change};
	int n = facts_shares(f, s, sizes, charged);

	add_part(&r, &last, f->billable, s->raw, before, s->charged);
	for (int i = 0; i < n; i++)
		add_part(&r, &f->size[i], (double)sizes[i].raw, sizes[i].raw,
			settlement_share(sizes[i].raw, before, s->raw), charged[i]);
	return r;
}

/* What the record shows counts, whatever the ledger has or has lost. */
static void adopt_shown(const job_record_t *job, struct settlement *s)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG);

	struct settlement shown;
	struct errmsg ignored;

	settlement_clear(&shown);
	if (text)
		settlement_read_comment(text, &shown, &ignored);
	s->charged = facts_billing(job->tres_alloc_str);
	s->raw = shown.raw;
	s->size_count = shown.size_count;
	memcpy(s->size, shown.size, sizeof(s->size));
	snprintf(s->text, sizeof(s->text), "%s", text ? text : "");
	free(text);
}

static bool shows(const job_record_t *job, const struct settlement *s)
{
	char *text = tags_get(job->system_comment, SETTLED_TAG);
	bool same =
		text && !strcmp(text, s->text) && facts_billing(job->tres_alloc_str) == s->charged;

	free(text);
	return same;
}

/*
 * Brings *s to where it counts: a run's first price, or a later change of it. The first is written
 * into the record once, whatever that shows; a change where it does not show it yet.
 */
static struct write_back_result write_price(const struct facts *f, struct settlement *s,
	struct usage *usage, bool first, bool change, bool tell)
{
	slurmctld_lock_t locks = {.conf = READ_LOCK, .job = WRITE_LOCK, .part = READ_LOCK};
	assoc_mgr_lock_t assoc_locks = {
		.assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
	struct write_back_result result = {.done = false};
	bool ours, shown, known;
	struct refund refund;
	struct decay clock;
	uint64_t before = s->raw;
	job_record_t *job;

	if (!serving_begin())
		return result;
	fairshare_clock(&clock);
	usage_look(usage);
	known = refunds_charged(usage->journal, f->job_id, f->restart, f->start, &before);
	lock_slurmctld(locks);
	job = find_job_record(f->job_id);
	ours = facts_same_run(f, job) && IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job);
	if (!ours && !f->row_known) {
		unlock_slurmctld(locks);
		serving_end();
		result.needs_row = true;
		return result;
	}
	result.done = true;
	shown = ours &&
		(change ? shows(job, s) : facts_settled_restart(job) == (int64_t)f->restart);
	if (change && !known)
		before = facts_billing(ours ? job->tres_alloc_str : f->tres);
	if (known)
		result.refunded = !shown && before != s->charged;
	else
		result.refunded = !shown && (ours || first || refunds_whole(usage->journal));
	if (result.refunded || (ours && !shown)) {
		refund = refund_of(f, s, before, change);
		assoc_mgr_lock(&assoc_locks);
		if (ours)
			rewrite_record(job, f, s);
		if (result.refunded)
			usage_refund(usage, &refund, &clock);
		else
			usage_keep(usage, &refund);
		assoc_mgr_unlock(&assoc_locks);
	}
	if (shown && !change)
		adopt_shown(job, s);
	result.commented = ours || f->row_latest;
	result.told = tell;
	if (tell && ours)
		tell_of_record(f, job, s->charged);
	else if (tell)
		tell_of_facts(f, s);
	/* A change by the job's id reaches the rows of all sizes. */
	if (tell)
		tell_of_sizes(f, s);
	/* The string is final, and nothing may make it anew from the counts. */
	if (ours)
		job->bit_flags |= TRES_STR_CALC;
	unlock_slurmctld(locks);
	if (ours)
		schedule_job_save();
	serving_end();
	return result;
}

struct write_back_result write_back(
	const struct facts *f, struct settlement *s, struct usage *usage, bool first, bool tell)
{
	return write_price(f, s, usage, first, false, tell);
}

struct write_back_result write_back_change(const struct facts *f, const struct settlement *s,
	struct usage *usage, bool first, bool tell)
{
	struct settlement changed = *s;

	return write_price(f, &changed, usage, first, true, tell);
}
