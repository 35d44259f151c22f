/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A settlement: what one run of one job was charged, and why. */
#ifndef POPPA_ACCOUNTING_RECORD_SETTLEMENT_H
#define POPPA_ACCOUNTING_RECORD_SETTLEMENT_H

#include <stdint.h>
#include <jansson.h>

#include "accounting/record/price.h"
#include "common/errmsg.h"

/* Its end included; test_settle has the longest. */
#define SETTLEMENT_MAX_TEXT 1280
/* Most sizes that a run may have had before its last one. */
#define SETTLEMENT_MAX_SIZES 8

/* A size that the run had before its last one. Slurm has a row of its own for each, and bills it by
 * itself. */
struct settlement_size {
	uint64_t raw; /* billing that Slurm charged */
	int64_t seconds;
};

/* Identity: cluster, job_id, restart, start_unix. Written once; an administrator's change stands
 * beside it in the ledger and has the same form. */
struct settlement {
	char cluster[64];
	uint32_t job_id;
	uint32_t restart;
	int64_t start_unix;   /* when slurmctld started this run, seconds since 1970 */
	int64_t end_unix;     /* when it ended */
	uint32_t uid;         /* the job's owner */
	int64_t settled_unix; /* when the price was made */
	uint64_t raw;         /* billing that Slurm charged */
	uint64_t charged;     /* billing after the discount, raw without data */
	double degradation;   /* D over the unpaused time of all nodes; NAN = no data */
	double lo, hi;        /* 95 % interval of D; NAN = unknown */
	double stopped;       /* Z, the share for which it was held stopped; NAN = no data */
	char policy[PRICE_MAX_TEXT];
	int changes;                    /* how often an administrator has changed it */
	int version;                    /* PRICE_VERSION of the formulas that made the price */
	char text[SETTLEMENT_MAX_TEXT]; /* the "poppa" part of the job's SystemComment */
};

/* Return a new reference, or 0 / -1 with err naming the field. NAN is JSON null. */
json_t *settlement_to_json(const struct settlement *s);
int settlement_from_json(const json_t *json, struct settlement *s, struct errmsg *err);

/*
 * Gives the settlement another price, as an administrator wants it: counts the change, and brings
 * charged= and changed= of the text up to date. charged is at most s->raw.
 */
void settlement_change(struct settlement *s, uint64_t charged);

/*
 * The same with the price that the settlement's own policy makes of another degradation, 0 to 1,
 * which then is the text's, too: what was measured no longer stands there. 0, or -1 with err where
 * this release does not know the policy.
 */
int settlement_change_degradation(struct settlement *s, double degradation, struct errmsg *err);

/* The sizes of a list "RAW:SECONDS,..." that ends with a blank or the text, oldest first: how many,
 * -1 where it is malformed. */
int settlement_sizes_parse(const char *list, struct settlement_size sizes[SETTLEMENT_MAX_SIZES]);

/* The list that a settlement's text has as "earlier=": how many, 0 without, -1 as above. */
int settlement_sizes(const char *text, struct settlement_size sizes[SETTLEMENT_MAX_SIZES]);

/* For how long the run had them, seconds: Slurm's row of the last size begins so much later. */
int64_t settlement_earlier_s(const char *text);

/* The raw billing that the text tells of, 0 without. */
uint64_t settlement_raw(const char *text);

/* What is charged for a size with this raw billing: the share that is charged for the last one. */
uint64_t settlement_share(uint64_t raw, uint64_t charged_of_last, uint64_t raw_of_last);

#endif
