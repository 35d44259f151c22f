/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A settlement: what one run of one job was charged, and why. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/fields.h"
#include "accounting/record/price.h"
#include "common/errmsg.h"

/* Size of the comment with its end; test_settle makes the longest comment. */
#define SETTLEMENT_MAX_TEXT 1280
/* Most sizes that a run may have had before its last one. */
#define SETTLEMENT_MAX_SIZES 8
/* Most partners that a settlement names. */
#define SETTLEMENT_MAX_PARTNERS 8

/* A size that the run had before its last one. Slurm has a row and a bill for each size. */
struct settlement_size {
	uint64_t raw; /* billing that Slurm charged */
	int64_t seconds;
};

/*
 * Identity: cluster, job_id, restart, start_unix. A settlement is written once. An administrator's
 * change has the same form and stands beside it in the ledger. What is not known is NAN, 0 or "".
 */
struct settlement {
	char cluster[64];
	uint32_t job_id;
	uint32_t restart;
	int64_t start_unix;    /* when slurmctld started this run, seconds since 1970 */
	int64_t end_unix;      /* when it ended */
	uint32_t uid;          /* the job's owner */
	int64_t settled_unix;  /* when the price was made */
	uint64_t raw;          /* billing that Slurm charged */
	uint64_t charged;      /* billing after the discount; without data raw * (1-Z) */
	double degradation;    /* D over the unpaused time of all nodes; NAN = no data */
	double lo, hi;         /* 95 % interval of D */
	double co;             /* share of the run with a co-runner */
	double co_degradation; /* D over that share */
	double stopped;        /* Z, the share of the run for which poppad held it stopped */
	double turned;         /* share of the run for which it was held for the turns of
				  co-runners, a part of co that is lost as a whole; NAN = none */
	double unmeasured;     /* share of the run that nobody measured; NAN = almost none */
	int partner_count;
	uint32_t partner[SETTLEMENT_MAX_PARTNERS];
	double partner_cost[SETTLEMENT_MAX_PARTNERS]; /* part of degradation that each caused */
	int more_partners;                            /* partners that are not named */
	char policy[PRICE_MAX_TEXT];
	int version;    /* PRICE_VERSION of the formulas that made the price */
	int size_count; /* sizes of a resized job before its last one, oldest first */
	struct settlement_size size[SETTLEMENT_MAX_SIZES];
	char backend[64];     /* what counted progress: "perf", "heartbeat+perf" */
	int with_data, nodes; /* how many of its nodes have data; both 0 where all have */
	bool spin;            /* its tasks may wait for each other in a loop: D may be too low */
	uint32_t culprit;     /* the co-runner for which it was not measured; 0 = none */
	char nodata[32];      /* why there is no degradation, one word */
	int64_t extended;     /* how far the end of its time limit was moved, seconds */
	char bound[16];       /* which bound kept that from being more, one word; "" = none */
	int changes;          /* how often an administrator has changed the price */
	/* The pair history's class of the job, "" = none. A partner that ends later needs it for
	 * what it tells the history; by then slurmctld may have forgotten this job. */
	char class_name[256];
	/* The "poppa" part of the job's SystemComment: the comment form of the members above. It
	 * is kept as written, because sacct's text is compared with it byte for byte. */
	char text[SETTLEMENT_MAX_TEXT];
};

/* The forms that a settlement has beside its JSON and the ledger's columns. */
enum settlement_form {
	SETTLEMENT_COMMENT, /* KEY=VALUE facts with blanks between them, in SystemComment */
	SETTLEMENT_WHY,     /* "price" of "poppa why --json" */
	SETTLEMENT_REPORT,  /* a job of "poppa report --json" */
	SETTLEMENT_CSV,     /* a job of "poppa report --csv" */
	SETTLEMENT_FORMS
};

/* What the member forms of struct field points to in settlement_fields. */
struct settlement_forms {
	/* The key in each form (NULL: not in that form). Keys of a lower rank come first; keys of
	 * one rank have the order of the table. */
	struct {
		const char *key;
		int rank;
	} in[SETTLEMENT_FORMS];
	/* For the comment: digits of a real; the word of a bool; whether an integer of 0 is
	 * written. A fact that is unknown, false or "" is not written. */
	int digits;
	const char *word;
	bool zero;
	/* For a fact of several members: write the comment's value ("" = leave it out), and read it
	 * (0, or -1 where it is malformed). */
	void (*write)(const struct settlement *s, char *value, size_t size);
	int (*read)(char *value, struct settlement *s);
	/* The value in the other forms, where it differs from the settlement's JSON. */
	json_t *(*show)(const struct settlement *s);
};

/*
 * The one table of a settlement's fields, in the order of its JSON. Its JSON, the ledger's columns,
 * the comment and its parser, and the output of poppa why and poppa report are made from it. A new
 * member of struct settlement needs one row here (a new column is also a new schema of the ledger).
 * A row without a name has no JSON key: the comment in "text" carries its value.
 */
extern const struct field_table settlement_fields;

/* The rows of a form, in its order, into list[] (room for all rows); returns how many. */
int settlement_form_fields(enum settlement_form form, const struct field **list);

/* Makes everything unknown. */
void settlement_clear(struct settlement *s);

/* A new reference; 0, or -1 with an err that names the field. NAN is JSON null. */
json_t *settlement_to_json(const struct settlement *s);
int settlement_from_json(const json_t *json, struct settlement *s, struct errmsg *err);

/* Sets s->text to the comment form of the other members. */
void settlement_write_comment(struct settlement *s);

/* Sets the members that the comment has, and s->text to the comment; the other members keep their
 * values. Unknown keys are ignored. 0, or -1 with an err that names the fact and *s untouched. */
int settlement_read_comment(const char *text, struct settlement *s, struct errmsg *err);

/* A JSON object with one of the other forms; a new reference or NULL. */
json_t *settlement_show(const struct settlement *s, enum settlement_form form);

/* Sets the price to what an administrator wants, at most s->raw, and counts the change. */
void settlement_change(struct settlement *s, uint64_t charged);

/* Replaces the measured degradation by another, 0 to 1, and the price by what the settlement's own
 * policy makes of it; counts the change. 0, or -1 with err where the policy is unknown. */
int settlement_change_degradation(struct settlement *s, double degradation, struct errmsg *err);

/* How long the run had its sizes before the last one, seconds. Slurm's row of the last size begins
 * that much later than the run. */
int64_t settlement_earlier_s(const struct settlement *s);

/* The part of the raw billing that is not charged; NAN where that is 0. */
double settlement_discount(const struct settlement *s);

/* The charge for a size with this raw billing: the same share as is charged for the last size. */
uint64_t settlement_share(uint64_t raw, uint64_t charged_of_last, uint64_t raw_of_last);
