/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets sacct choose the jobs that the caller may see. */
#ifndef POPPA_CLI_ASK_SACCT_H
#define POPPA_CLI_ASK_SACCT_H

#include <stdbool.h>

#include "accounting/bill/bill.h"

/* As sacct's options of these names; NULL = not given. */
struct sacct_query {
	const char *start, *end, *user, *account, *partition, *jobs;
	bool all_users;
};

/*
 * Every run of the jobs, also earlier runs of requeued ones. Slurm's own sacct decides which jobs
 * that are (PrivateData). 0 and *bills to be freed with bills_free(), or -1 with err.
 */
int sacct_bills(const struct sacct_query *query, struct bills *bills, struct errmsg *err);

/* The same from a file that has what sacct printed, "-" for standard input. */
int sacct_bills_of_file(const char *path, struct bills *bills, struct errmsg *err);

#endif
