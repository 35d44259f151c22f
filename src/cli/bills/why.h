/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "poppa why" knows of a run, and how it says it. */
#pragma once

#include <jansson.h>

#include "accounting/bill/bill.h"
#include "accounting/bill/compact.h"
#include "accounting/record/client.h"
#include "accounting/bill/explain.h"
#include "accounting/settle/time_limit.h"
#include "cli/ask/squeue.h"
#include "striping/submit/apart.h"

struct why {
	const char *job; /* the job id that was asked for */
	const struct bills *bills;
	const struct bill *bill;
	enum bill_status
		status; /* the bill's, or what slurmctld and the ledger know beyond sacct */
	uint32_t restart;
	bool asked;                /* the ledger was asked */
	struct errmsg no_ledger;   /* why the ledger did not answer; "" where it did */
	bool refused;              /* the ledger would not answer this caller */
	struct squeue_job waiting; /* why a job has not started; .id is NULL without an answer */
	char patient_until[32];    /* waits so long at most for a better partner; "" = for none */
	char behind[16];           /* the job for whose start it waits; "" = none */
	char lane[32];      /* that the run has on its nodes, as "0" or "0,1"; "" = unknown */
	const char *shape;  /* of those lanes: colocate_shape_shown() */
	bool by_site;       /* the site co-located it, and its user did not say a word */
	struct apart apart; /* whom it has left for its max-degradation */
	struct time_limit_state limit; /* of a running job; all 0 where its end was not touched */
	struct bill own;               /* a bill that sacct does not show, or not with its price */
	struct settlement own_facts;   /* the facts of a price that only the ledger has */
	struct client_answer ledger;   /* its answer; empty without one */
	bool has_policy; /* this release can read the policy, so that these are set: */
	struct price_policy policy;
	struct explain_facts facts;
	struct explain explain;
	bool fits; /* the charge is what the policy makes of the facts */
	/* Against plain runs; of jobs with a price, or with none for want of data. */
	struct compact compact, of_partner;
	const struct bill *partner; /* the only one; NULL = none, or not shown */
	double stp;                 /* of the two; NAN = unknown */
};

/* Whether the run has not started and may still do so. */
bool why_waits(const struct bill *b);

/*
 * Asks squeue about a job that has not started. Where sacct does not show the job (w->bill is
 * NULL), because it may not start yet, w->bill is what squeue shows of it. The caller frees
 * w->waiting.id.
 */
void why_ask_squeue(struct why *w);

/*
 * Works out the price of the run w->bill; the caller has set w->bills, w->bill, w->job and
 * w->restart. With ask it also asks the ledger, and slurmctld where sacct does not tell yet that
 * the job is co-located. The caller frees w->ledger with client_answer_free().
 */
void why_gather(struct why *w, bool ask, const char *conf_path);

/* Whether the run is one that plain runs can be compared with. */
bool why_compares(const struct why *w);

/* Compares it and its only partner with the plain runs in `plain`, after why_gather(). Returns 0,
 * or -1 without memory. */
int why_compare(struct why *w, const struct bills *plain);

/* Everything as JSON, with the sentences; a new reference or NULL. */
json_t *why_json(const struct why *w);

/* An array of sentences that a user can read and quote; a new reference or NULL. */
json_t *why_sentences(const struct why *w);
