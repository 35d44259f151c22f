/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads jobs from sacct, which shows only those that the caller may see. */
#pragma once

#include <stdbool.h>

#include "accounting/bill/bill.h"

/* The options of sacct with these names; NULL = not given. */
struct sacct_query {
	const char *start, *end, *user, *account, *partition, *jobs, *name;
	bool all_users;
};

/*
 * Reads every run of the jobs, with the earlier runs of requeued jobs. sacct leaves out the jobs
 * that PrivateData hides from the caller. Returns 0, and the caller frees *bills with bills_free();
 * or -1 with err.
 */
int sacct_bills(const struct sacct_query *query, struct bills *bills, struct errmsg *err);

/* The same from a file with what sacct printed; "-" is standard input. */
int sacct_bills_of_file(const char *path, struct bills *bills, struct errmsg *err);
