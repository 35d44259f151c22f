/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores settlements that the ledger has lost from what sacct shows. */
#include "cli/bills/ledger_rebuild.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "accounting/record/client.h"
#include "cli/ask/cli.h"
#include "cli/ask/find_ledger.h"
#include "cli/ask/sacct.h"

struct rebuild {
	struct client client;
	char cluster[64];
	bool json;
	json_t *lines;
	int restored, known, lost;
};

/* Reports a run whose settlement cannot be restored, or not with all its facts. */
static void __attribute__((format(printf, 3, 4)))
lose(struct rebuild *r, const struct bill *b, const char *fmt, ...)
{
	char why[256], line[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "job %.40s: %s", b->id, why);
	r->lost++;
	if (r->json)
		json_array_append_new(r->lines, json_string(line));
	else
		printf("%s\n", line);
}

/* Makes a settlement of a bill; -1 where this host does not know the user. SystemComment does not
 * say when and by which version the price was made, so it gets the end of the run and this version.
 */
static int settlement_of(const struct rebuild *r, const struct bill *b, struct settlement *s)
{
	const struct passwd *user = getpwnam(b->user);

	if (!user)
		return -1;
	*s = *b->facts;
	s->changes = 0;
	s->job_id = b->job_id;
	s->start_unix = b->run_start;
	s->end_unix = s->settled_unix = b->end;
	s->uid = user->pw_uid;
	s->version = PRICE_VERSION;
	snprintf(s->cluster, sizeof(s->cluster), "%s", r->cluster);
	return 0;
}

static int restore(struct rebuild *r, const struct bill *b, struct errmsg *err)
{
	struct settlement s, stored;
	bool first;

	if (b->facts->charged > b->facts->raw) {
		lose(r, b, "sacct shows a charge above the raw price");
		return 0;
	}
	if (settlement_of(r, b, &s)) {
		lose(r, b, "its user %.64s is not known on this host", b->user);
		return 0;
	}
	if (client_restore(&r->client, &s, &stored, &first, err))
		return -1;
	r->restored += first;
	r->known += !first;
	if (first && b->facts->changes)
		lose(r, b, "its price is back; who changed it, when and why is lost");
	else if (!first && !stored.changes && stored.charged != s.charged)
		lose(r, b, "the ledger has a price of %llu, and sacct shows %llu",
			(unsigned long long)stored.charged, (unsigned long long)s.charged);
	return 0;
}

static int each(struct rebuild *r, const struct bills *bills, struct errmsg *err)
{
	for (int i = 0; i < bills->count; i++) {
		const struct bill *b = &bills->bill[i];

		if (strcmp(b->cluster, r->cluster) || !b->start || !b->end || b->earlier_size)
			continue;
		if (b->price) {
			if (restore(r, b, err))
				return -1;
		} else if (b->status == BILL_UNSETTLED) {
			lose(r, b,
				"it has no price yet: slurmctld settles it if it still waits "
				"there");
		} else if (b->status == BILL_PLAIN && bills_later_colocated(bills, b)) {
			/* slurmdbd may have no comment for an earlier run of a requeued job, but a
			 * later run shows that the job was co-located. */
			lose(r, b,
				"the price of its run from %lld to %lld is not in sacct, which "
				"shows a billing of %llu",
				(long long)b->start, (long long)b->end,
				(unsigned long long)b->billing);
		}
	}
	if (bills->malformed)
		cli_error(
			"%d rows of sacct were left out: %s", bills->malformed, bills->first.text);
	return 0;
}

int ledger_rebuild(const char *since, const char *conf, bool json)
{
	const struct sacct_query query = {.start = since, .all_users = true};
	struct rebuild r = {.json = json, .lines = json_array()};
	struct errmsg err = {""};
	struct bills bills;
	int rc;

	rc = find_ledger(conf, &r.client, r.cluster, &err) || sacct_bills(&query, &bills, &err);
	if (!rc) {
		rc = each(&r, &bills, &err);
		bills_free(&bills);
	}
	if (rc) {
		json_decref(r.lines);
		return cli_error("%s", err.text);
	}
	if (json)
		return cli_print_json(json_pack("{s:i, s:i, s:i, s:o}", "restored", r.restored,
			"known", r.known, "lost", r.lost, "lines", r.lines));
	json_decref(r.lines);
	printf("%d prices brought back, %d were there, %d not or not whole\n", r.restored, r.known,
		r.lost);
	return CLI_OK;
}
