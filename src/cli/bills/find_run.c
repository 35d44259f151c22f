/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the run of a job that a user names. */
#include "cli/bills/find_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/ask/sacct.h"
#include "common/text_append.h"

void find_run_read(struct find_run *f, const char *arg)
{
	const char *run = strchr(arg, '.');
	size_t len = run ? (size_t)(run - arg) : strlen(arg);

	if (*f->job)
		cli_usage_error("\"%s\" is too much: one job at a time", arg);
	if (!isdigit((unsigned char)*arg) || strspn(arg, "0123456789_+") != len ||
		len >= sizeof(f->job))
		cli_usage_error(
			"\"%s\" is no job id: give 12, 12_3 for an array's task, or 12.1 for "
			"the run after the first requeue",
			arg);
	snprintf(f->job, sizeof(f->job), "%.*s", (int)len, arg);
	if (run) {
		f->run = (uint32_t)cli_int("the run of the job", run + 1, 0, UINT32_MAX);
		f->has_run = true;
	}
}

static bool is_asked_for(const struct find_run *f, const struct bill *b)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", b->job_id);
	return !strcmp(f->job, b->id) || !strcmp(f->job, id);
}

/* The run that was asked for, or else the latest. A job's rows are in the order of its runs. */
static const struct bill *find_bill(
	const struct find_run *f, const struct bills *bills, uint32_t *run)
{
	const struct bill *found = NULL;
	uint32_t next = 0;

	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = bills->by_id[i];
		uint32_t restart;

		/* The row of a resized job's last size tells of all its sizes. */
		if (!is_asked_for(f, b) || b->earlier_size)
			continue;
		if (found && b->job_id != found->job_id)
			break;
		restart = b->facts->restart ? b->facts->restart : next;
		next = restart + 1;
		if (f->has_run && restart != f->run)
			continue;
		found = b;
		*run = restart;
	}
	return found;
}

/* Reads the partners' rows, too, so that the partners that the caller may see have names. */
static void add_partners(const struct find_run *f, struct bills *bills, const struct bill *b)
{
	char ids[64 + 12 * SETTLEMENT_MAX_PARTNERS];
	struct sacct_query query = {.jobs = ids};
	struct bills more;
	struct errmsg err;

	snprintf(ids, sizeof(ids), "%s", f->job);
	for (int i = 0; i < b->facts->partner_count; i++)
		text_append(ids, sizeof(ids), ",%u", b->facts->partner[i]);
	if (!b->facts->partner_count || sacct_bills(&query, &more, &err))
		return;
	bills_free(bills);
	*bills = more;
}

static int read_bills(
	const struct find_run *f, const char *input, struct bills *bills, struct errmsg *err)
{
	const struct sacct_query query = {.jobs = f->job};
	const struct bill *b;
	uint32_t run;

	if (input)
		return sacct_bills_of_file(input, bills, err);
	if (sacct_bills(&query, bills, err))
		return -1;
	b = find_bill(f, bills, &run);
	if (b)
		add_partners(f, bills, b);
	return 0;
}

int find_run(const struct find_run *f, const char *input, struct bills *bills, struct why *w)
{
	struct errmsg err;

	if (!*f->job)
		cli_usage_error("a job id is needed, such as 12, 12_3 or 12.1");
	if (read_bills(f, input, bills, &err)) {
		cli_error("%s", err.text);
		return -1;
	}
	w->bills = bills;
	w->job = f->job;
	w->bill = find_bill(f, bills, &w->restart);
	if (!input && (w->bill ? why_waits(w->bill) : !f->has_run))
		why_ask_squeue(w);
	if (w->bill)
		return 0;
	if (bills->malformed)
		cli_error("%s", bills->first.text);
	else
		cli_error("sacct shows you no %s %s: it does not exist, is not known there yet, or "
			  "is not yours to see",
			f->has_run ? "such run of job" : "job", f->job);
	bills_free(bills);
	return -1;
}

void find_run_free(struct bills *bills, struct why *w)
{
	client_answer_free(&w->ledger);
	bills_free(bills);
	free(w->waiting.id);
}
