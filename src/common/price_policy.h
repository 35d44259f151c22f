/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a co-located job is charged: the kinds of prices, and the policies that choose one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"

#define PRICE_MAX_TIERS 8
/* Longest text of a policy, its end included. */
#define PRICE_MAX_TEXT 256

/*
 * The numbers of the rows of price_kinds[]. A new kind is a new number here and a new row there;
 * docs/pricing.md and poppa(1) describe it.
 */
enum price_kind {
	PRICE_THESIS, /* 1-D of the solo price (thesis 3.4, equations 3.1 to 3.4) */
	PRICE_SOLO,   /* the solo price: what the job would have paid alone on its lane */
	PRICE_LINEAR, /* a discount of D times a factor */
	PRICE_TIERS,  /* the discount of the highest tier that D reaches */
	PRICE_NONE,   /* no discount for a degradation */
	PRICE_KINDS
};

struct price_tier {
	double from, discount; /* D from which it holds; fraction of the price */
};

struct price_policy {
	enum price_kind kind;
	double factor;                           /* of PRICE_LINEAR */
	int tiers;                               /* of PRICE_TIERS */
	struct price_tier tier[PRICE_MAX_TIERS]; /* rising in both */
	double cap;     /* the largest discount, as a fraction of raw*(1-Z) */
	uint64_t floor; /* no discount takes a charge below this, in the unit of raw */
	bool upper;     /* D is the end of its 95 % interval that favours the user */
};

/*
 * All that is known of one kind. raw is what Slurm charges for the time that the job took, Z is the
 * fraction of that time for which POPPA held the job stopped, which nobody pays, and D is the
 * degradation over the rest. A job pays raw * (1-Z) * rate(D).
 */
struct price_kind_info {
	const char *name;
	const char *usage; /* the name with its value, as messages have it: "linear:FACTOR" */
	/* Reads the value after "NAME:" (NULL without one), and may modify it. 0, or -1 with err.
	 * NULL for a kind that takes no value. */
	int (*parse)(char *value, struct price_policy *policy, struct errmsg *err);
	/* Appends ":VALUE" to a text of PRICE_MAX_TEXT; NULL for a kind that takes no value. */
	void (*format)(const struct price_policy *policy, char *text);
	/* The factor on the price at a degradation of 0 to 1, before the policy's limits. */
	double (*rate)(const struct price_policy *policy, double degradation);
	/* The rate in words, and the same with numbers, where $D stands for the degradation, $K for
	 * the factor and $T for the discount; "" for 1. */
	const char *formula, *numbers;
	/* The kind and what it charges, as "poppa price --help" shows them; NULL: not shown. */
	const char *option, *help;
	/* A policy, and what it charges for raw = 100000, Z = 0.01 and D = 0.2 (docs/pricing.md) */
	struct price_example {
		const char *policy;
		uint64_t charged;
	} example;
};

extern const struct price_kind_info price_kinds[PRICE_KINDS];

/* Writes one text member of all rows, separated by ", ": "thesis, solo, linear:FACTOR, ...".
 * Returns buf. */
#define PRICE_KINDS_TEXT(buf, size, member)                                                        \
	price_kinds_text(buf, size, offsetof(struct price_kind_info, member))
char *price_kinds_text(char *buf, size_t size, size_t offset);

/*
 * Reads KIND[/cap=FRACTION][/floor=AMOUNT][/estimate=point|upper], where KIND is a row of
 * price_kinds[]. 0, or -1 with *policy untouched and err that names the part and what is allowed.
 */
int price_policy_parse(const char *text, struct price_policy *policy, struct errmsg *err);

/* Writes the canonical text, for price_policy_parse(); returns buf, of PRICE_MAX_TEXT. */
char *price_policy_format(const struct price_policy *policy, char *buf);

/*
 * Appends " x " and the policy's rate to buf, of size bytes: in words where degradation is NULL,
 * else in numbers for the degradation of this text. Appends nothing for a kind whose rate is
 * always 1.
 */
void price_policy_words(
	const struct price_policy *policy, const char *degradation, char *buf, size_t size);
