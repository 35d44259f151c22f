/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs sacct and reads its rows. */
#include "cli/ask/sacct.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/ask/run_program.h"
#include "common/fsio.h"

#define OUTPUT_MAX ((size_t)512 << 20)
#define WAIT_MS 300000
#define ARGS 17

/* Appends "--NAME=VALUE", which the caller frees, unless value is NULL. -1 without memory. */
static int add(char **argv, int *n, const char *name, const char *value)
{
	if (value && asprintf(&argv[*n], "--%s=%s", name, value) < 0) {
		argv[*n] = NULL;
		return -1;
	}
	*n += value != NULL;
	return 0;
}

int sacct_bills(const struct sacct_query *query, struct bills *bills, struct errmsg *err)
{
	static char name[] = "sacct", only_jobs[] = "--allocations", every_run[] = "--duplicates",
		    plain[] = "--parsable2", exact[] = "--noconvert", all[] = "--allusers";
	char *argv[ARGS] = {name, only_jobs, every_run, plain, exact}, delimiter[32], *text = NULL;
	int n = 5, fixed, rc;
	uint64_t salt;

	/* A random delimiter: nobody can choose a job name that contains it. */
	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return errmsg_set(err, "getrandom: %s", strerror(errno));
	snprintf(delimiter, sizeof(delimiter), "<%016llx>", (unsigned long long)salt);
	if (query->all_users)
		argv[n++] = all;
	fixed = n;
	rc = add(argv, &n, "delimiter", delimiter) || add(argv, &n, "format", BILL_FIELDS) ||
	     add(argv, &n, "starttime", query->start) || add(argv, &n, "endtime", query->end) ||
	     add(argv, &n, "user", query->user) || add(argv, &n, "accounts", query->account) ||
	     add(argv, &n, "partition", query->partition) || add(argv, &n, "jobs", query->jobs) ||
	     add(argv, &n, "name", query->name) || setenv("SLURM_TIME_FORMAT", "%s", 1);
	if (rc)
		errmsg_set(err, "out of memory");
	else
		text = run_program(argv, OUTPUT_MAX, WAIT_MS, err);
	while (n > fixed)
		free(argv[--n]);
	return text ? bills_read(text, bills, err) : -1;
}

int sacct_bills_of_file(const char *path, struct bills *bills, struct errmsg *err)
{
	struct errmsg why = {""};
	char *text = fsio_read(strcmp(path, "-") ? path : "/dev/stdin", OUTPUT_MAX, NULL, err);

	if (!text)
		return -1;
	if (!bills_read(text, bills, &why))
		return 0;
	return errmsg_set(err, "%s: %.400s", path, why.text);
}
