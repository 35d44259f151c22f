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
	struct errmsg no_ledger;     /* why it did not answer; "" where it did */
	bool refused;                /* it would not answer this caller */
	struct bill own;             /* the bill with a price that only the ledger has, */
	struct settlement own_facts; /* and what its comment would tell */
	struct client_answer ledger; /* what the ledger answered; empty where it did not */
	bool has_policy;             /* this release can read the policy, so that these are set: */
	struct price_policy policy;
	struct explain_facts facts;
	struct explain explain;
	bool fits; /* the charge is what the policy makes of the facts */
};

/*
 * Works out the price of the run w->bill; the caller has set w->bills, w->bill and w->restart. With
 * ask it also asks the ledger, and slurmctld where sacct does not tell yet that the job is
 * co-located. Free with why_free().
 */
void why_gather(struct why *w, bool ask, const char *conf_path);
void why_free(struct why *w);

/* Everything as JSON, with the sentences; a new reference or NULL. */
json_t *why_json(const struct why *w);

/* An array of sentences that a user can read and quote; a new reference or NULL. */
json_t *why_sentences(const struct why *w);
