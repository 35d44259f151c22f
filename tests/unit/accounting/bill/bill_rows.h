/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as sacct prints them, made up for tests of bills. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>

#include "accounting/bill/bill.h"

/* One row: what differs between the tests. */
struct row {
	unsigned id;
	const char *user, *name;
	long start;
	int elapsed;
	unsigned billing;
	double energy;
	const char *comment;
	unsigned cpus, nodes;          /* 0 = not shown */
	const char *state, *partition; /* NULL = COMPLETED, p */
};

#define ROW_ON(id_, user_, name_, start_, elapsed_, billing_, energy_, comment_, cpus_, nodes_)    \
	{                                                                                          \
		.id = (id_), .user = (user_), .name = (name_), .start = (start_),                  \
		.elapsed = (elapsed_), .billing = (billing_), .energy = (energy_),                 \
		.comment = (comment_), .cpus = (cpus_), .nodes = (nodes_)                          \
	}
#define ROW(id, user, name, start, elapsed, billing, energy, comment)                              \
	ROW_ON(id, user, name, start, elapsed, billing, energy, comment, 0, 0)
#define DAY1 1790000000
#define PRICED(d, co, dco, partners, charged)                                                      \
	"poppa: d=" d " co=" co " dco=" dco " stopped=0.0000 partners=" partners                   \
	" raw=100 charged=" charged " policy=solo"

static inline bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static inline struct bills bills_of(const struct row *rows, int n)
{
	struct bills bills;
	struct errmsg err;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (const char *p = BILL_FIELDS; *p; p++)
		fputc(*p == ',' ? '|' : *p, f);
	fputc('\n', f);
	for (int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		fprintf(f, "%u|%u|c|%s|a|%s|q|%s|%ld|%ld|%ld|%d|billing=%u", r->id, r->id, r->user,
			r->partition ? r->partition : "p", r->state ? r->state : "COMPLETED",
			r->start, r->start, r->start + r->elapsed, r->elapsed, r->billing);
		if (r->cpus)
			fprintf(f, ",cpu=%u,mem=1G,node=%u", r->cpus, r->nodes);
		fprintf(f, "|%g|%s|%s\n", r->energy, r->comment, r->name);
	}
	fclose(f);
	assert_int_equal(bills_read(text, &bills, &err), 0);
	assert_int_equal(bills.malformed, 0);
	assert_int_equal(bills.count, n);
	return bills;
}
