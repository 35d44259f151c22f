/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "poppa why" knows of a run, and how it says it. */
#pragma once

#include <jansson.h>

#include "accounting/bill/bill.h"
#include "accounting/record/client.h"
#include "accounting/bill/explain.h"

struct why {
	const struct bills *bills;
	const struct bill *bill;
	enum bill_status
		status; /* the bill's, or what slurmctld and the ledger know beyond sacct */
	uint32_t restart;
	bool asked;                  /* the ledger was asked */
	struct errmsg no_ledger;     /* why the ledger did not answer; "" where it did */
	bool refused;                /* the ledger would not answer this caller */
	struct bill own;             /* a copy of the bill, with a price that only the ledger has */
	struct settlement own_facts; /* the facts of own */
	struct client_answer ledger; /* its answer; empty without one */
	bool has_policy;             /* this release can read the policy, so that these are set: */
	struct price_policy policy;
	struct explain_facts facts;
	struct explain explain;
	bool fits; /* the charge is what the policy makes of the facts */
};

/*
 * Works out the price of the run w->bill; the caller has set w->bills, w->bill and w->restart. With
 * ask it also asks the ledger, and slurmctld where sacct does not tell yet that the job is
 * co-located. The caller frees w->ledger with client_answer_free().
 */
void why_gather(struct why *w, bool ask, const char *conf_path);

/* Everything as JSON, with the sentences; a new reference or NULL. */
json_t *why_json(const struct why *w);

/* An array of sentences that a user can read and quote; a new reference or NULL. */
json_t *why_sentences(const struct why *w);
