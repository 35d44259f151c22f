/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes what poppa report and poppa why read: sacct's rows and squeue's, in which users choose
 * names, and comments. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/bill/bill.h"
#include "accounting/bill/explain.h"
#include "accounting/bill/summary.h"
#include "cli/ask/squeue.h"
#include "common/tags.h"
#include "fuzz.h"

/* Our part of a comment comes and goes; what others wrote stays byte for byte. */
static void try_tags(const char *comment)
{
	char *with = tags_set(comment, "poppa", "d=0.1 raw=2"), *got, *without;
	char *mine = tags_get(comment, "poppa");

	MUST(with);
	got = tags_get(with, "poppa");
	MUST(got && !strcmp(got, "d=0.1 raw=2"));
	without = tags_set(with, "poppa", NULL);
	MUST(without);
	/* It appears once, also where it was there before. */
	if (!mine)
		MUST(!strcmp(without, comment));
	free(mine);
	free(with);
	free(got);
	free(without);
}

/* Whatever the name is: nothing in the texts steers a terminal, and none but the name has a bar. */
static void try_squeue(const uint8_t *data, size_t size)
{
	char *line = fuzz_text(data, size);
	struct squeue_queued queued;
	struct squeue_job job;

	if (!squeue_parse(line, &job)) {
		const char *const text[] = {job.id, job.user, job.account, job.partition, job.qos,
			job.reason, job.dependency};

		for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
			MUST(!strpbrk(text[i], "|\n\033"));
		MUST(!strpbrk(job.name, "\n\033"));
	}
	free(line);
	line = fuzz_text(data, size);
	if (!squeue_parse_queued(line, &queued))
		MUST(!strpbrk(queued.nodes, "\x1f") && !strpbrk(queued.system_comment, "\x1f") &&
			queued.name > queued.system_comment);
	free(line);
}

static void try_facts(const struct bill *b)
{
	const struct settlement *f = b->facts;
	struct price_policy policy;
	struct explain_facts facts = {
		.raw = f->raw, .degradation = f->degradation, .hi = f->hi, .stopped = f->stopped};
	struct explain out;
	struct errmsg err;

	MUST(f->partner_count >= 0 && f->partner_count <= SETTLEMENT_MAX_PARTNERS);
	if (b->status != BILL_PRICED || price_policy_parse(f->policy, &policy, &err))
		return;
	MUST(isfinite(f->degradation));
	explain_price(&policy, &facts, &out);
	MUST(out.charged <= f->raw);
	MUST(out.least <= out.charged && out.charged <= out.most);
}

static void try_summary(const struct bills *bills, enum summary_by by)
{
	struct summary s;

	MUST(!summary_make(bills, by, &s));
	MUST(s.total.jobs + s.others == bills->count);
	for (int i = 0; i < s.pair_count; i++)
		MUST(s.pairs[i].program >= 0 && s.pairs[i].program < s.program_count &&
			s.pairs[i].partner < s.program_count);
	summary_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct settlement facts;
	struct errmsg err = {""};
	struct bills bills;

	try_tags(text);
	try_squeue(data, size);
	if (bill_facts_parse(text, &facts, &err))
		MUST(*err.text);
	if (bills_read(text, &bills, &err)) {
		MUST(*err.text);
		return 0;
	}
	for (int i = 0; i < bills.count; i++) {
		try_facts(&bills.bill[i]);
		bill_raw(&bills.bill[i]);
		bills_partner(&bills, &bills.bill[i], bills.bill[0].job_id);
	}
	for (int by = 0; by < SUMMARY_KINDS; by++)
		try_summary(&bills, by);
	bills_free(&bills);
	return 0;
}
