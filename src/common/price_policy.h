/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a co-located job is charged, as text: the price policies. */
#ifndef POPPA_COMMON_PRICE_POLICY_H
#define POPPA_COMMON_PRICE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errmsg.h"

#define PRICE_MAX_TIERS 8
/* Longest text of a policy, its end included. */
#define PRICE_MAX_TEXT 256

/*
 * raw is what Slurm charges for the time the job took, stopped = Z is the fraction of that time for
 * which POPPA held it stopped, which nobody pays, and D the degradation over the rest.
 */
enum price_kind {
	PRICE_THESIS, /* raw * (1-Z) * (1-D)^2: (1-D) of the solo price (thesis 3.4, equations 3.1
			 to 3.4) */
	PRICE_SOLO,   /* raw * (1-Z) * (1-D): the solo price */
	PRICE_LINEAR, /* raw * (1-Z) * (1 - factor*D) */
	PRICE_TIERS,  /* raw * (1-Z) * (1 - discount of the highest tier that D reaches) */
	PRICE_NONE,   /* raw * (1-Z) */
};

struct price_tier {
	double from, discount; /* D from which it holds; fraction of the price */
};

struct price_policy {
	enum price_kind kind;
	double factor;
	int tiers;
	struct price_tier tier[PRICE_MAX_TIERS]; /* rising in both */
	double cap;     /* a degradation takes at most this fraction of raw*(1-Z) off */
	uint64_t floor; /* nor does it take a charge below this, in the unit of raw */
	bool upper;     /* D is the end of its 95 % interval that favours the user */
};

/*
 * KIND[/cap=FRACTION][/floor=AMOUNT][/estimate=point|upper] with KIND one of thesis, solo,
 * linear:FACTOR, tiers:D=DISCOUNT[:D=DISCOUNT]... and none. 0, or -1 with err that names the part
 * and what is allowed, and *policy untouched.
 */
int price_policy_parse(const char *text, struct price_policy *policy, struct errmsg *err);

/* The canonical text, which price_policy_parse() reads; returns buf, of PRICE_MAX_TEXT. */
char *price_policy_format(const struct price_policy *policy, char *buf);

#endif
