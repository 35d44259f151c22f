/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A settlement: what one run of one job was charged, and why. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "accounting/record/fields.h"
#include "accounting/record/price.h"
#include "common/errmsg.h"

/* Of the comment, its end included; test_settle has the longest. */
#define SETTLEMENT_MAX_TEXT 1280
/* Most sizes that a run may have had before its last one. */
#define SETTLEMENT_MAX_SIZES 8
/* Most partners that a settlement names. */
#define SETTLEMENT_MAX_PARTNERS 8

/* A size that the run had before its last one. Slurm has a row of its own for each size, and bills
 * each by itself. */
struct settlement_size {
	uint64_t raw; /* billing that Slurm charged */
	int64_t seconds;
};

/*
 * Identity: cluster, job_id, restart, start_unix. Written once; an administrator's change stands
 * beside it in the ledger and has the same form. What is not known is NAN, 0 or "".
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
	double stopped;        /* Z, the share of the run for which it was held stopped */
	double unmeasured;     /* share of the run that nobody measured; NAN = next to nothing */
	int partner_count;
	uint32_t partner[SETTLEMENT_MAX_PARTNERS];
	double partner_cost[SETTLEMENT_MAX_PARTNERS]; /* part of degradation that each one caused */
	int more_partners;                            /* partners that are not named */
	char policy[PRICE_MAX_TEXT];
	int version;    /* PRICE_VERSION of the formulas that made the price */
	int size_count; /* sizes of a resized job before its last one, oldest first */
	struct settlement_size size[SETTLEMENT_MAX_SIZES];
	char backend[64];     /* what counted progress: "perf", "heartbeat+perf" */
	int with_data, nodes; /* so many of its nodes have data; 0 and 0 where all have */
	bool spin;            /* its tasks may wait for each other in a loop: D is rather too low */
	char nodata[32];      /* why there is no degradation, one word */
	int changes;          /* how often an administrator has changed the price */
	/* The "poppa" part of the job's SystemComment: the comment form of the members above, as
	 * it was written for this settlement. sacct's is compared with it byte for byte. */
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

/* What a row of settlement_fields has as struct field's forms. */
struct settlement_forms {
	/* Keys (NULL: not in that form). Keys of lower rank come first; those of one rank are in
	 * the order of the table. */
	struct {
		const char *key;
		int rank;
	} in[SETTLEMENT_FORMS];
	/* In the comment: digits of a real; the word of a bool; whether 0 is written, too. A fact
	 * that is unknown, false or "" is not written. */
	int digits;
	const char *word;
	bool zero;
	/* A fact of several members: writes the comment's value ("" = nothing to tell), reads it
	 * (0, or -1 for a malformed one). */
	void (*write)(const struct settlement *s, char *value, size_t size);
	int (*read)(char *value, struct settlement *s);
	/* The value in the other forms, where it is not as in the settlement's JSON. */
	json_t *(*show)(const struct settlement *s);
};

/*
 * The one table of a settlement's fields, in the order of its JSON: its JSON, the ledger's columns,
 * the comment and its parser, and what poppa why and poppa report show walk it. A new member of
 * struct settlement is one row here (a new column is also a new schema of the ledger). A row
 * without a name is not in JSON by itself: "text" brings it.
 */
extern const struct field_table settlement_fields;

/* The rows of a form, in its order, into list[] (room for all rows); returns how many. */
int settlement_form_fields(enum settlement_form form, const struct field **list);

/* Makes everything unknown. */
void settlement_clear(struct settlement *s);

/* Return a new reference, or 0 / -1 with err naming the field. NAN is JSON null. */
json_t *settlement_to_json(const struct settlement *s);
int settlement_from_json(const json_t *json, struct settlement *s, struct errmsg *err);

/* Sets s->text to the comment form of the other members. */
void settlement_write_comment(struct settlement *s);

/*
 * Sets the members that a comment tells of, and s->text to it; the others stay what they are. Keys
 * that are not known are passed over. 0, or -1 with err naming the fact and *s untouched.
 */
int settlement_read_comment(const char *text, struct settlement *s, struct errmsg *err);

/* A JSON object with one of the other forms; a new reference or NULL. */
json_t *settlement_show(const struct settlement *s, enum settlement_form form);

/* Gives the settlement another price, as an administrator wants it, and counts the change. charged
 * is at most s->raw. */
void settlement_change(struct settlement *s, uint64_t charged);

/*
 * The same with the price that the settlement's own policy makes of another degradation, 0 to 1,
 * which replaces what was measured. 0, or -1 with err where this release does not know the policy.
 */
int settlement_change_degradation(struct settlement *s, double degradation, struct errmsg *err);

/* For how long the run had its sizes before the last one, seconds: Slurm's row of the last size
 * begins so much later than the run. */
int64_t settlement_earlier_s(const struct settlement *s);

/* What is charged for a size with this raw billing: the share that is charged for the last one. */
uint64_t settlement_share(uint64_t raw, uint64_t charged_of_last, uint64_t raw_of_last);
