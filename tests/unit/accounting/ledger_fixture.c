/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for each test of the ledger, and what is put into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>

#include "unit/accounting/ledger_fixture.h"

char dir[] = "/tmp/test_ledger.XXXXXX", path[64], aside[128];

void quiet(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

int make_dir(void **state)
{
	(void)state;
	plog_set_sink(quiet);
	strcpy(strrchr(dir, '.'), ".XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/ledger.sqlite", dir);
	return 0;
}

int remove_dir(void **state)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	(void)state;
	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	return rmdir(dir);
}

struct ledger *open_ledger(void)
{
	struct errmsg err = {""};
	struct ledger *l = ledger_open(path, aside, sizeof(aside), &err);

	if (!l)
		print_error("%s\n", err.text);
	assert_non_null(l);
	return l;
}

struct ledger_record *records_of(struct ledger *l, const char *cluster, uint32_t job,
	uint32_t restart, int64_t start, int *count)
{
	struct errmsg err = {""};
	json_t *list = ledger_records(l, cluster, job, restart, start, NULL, &err), *item;
	struct ledger_record *records;
	size_t i;

	assert_non_null(list);
	*count = (int)json_array_size(list);
	records = calloc(json_array_size(list) + 1, sizeof(*records));
	json_array_foreach(list, i, item)
	{
		assert_int_equal(record_from_json(item, &records[i], &err), 0);
	}
	json_decref(list);
	return records;
}

struct ledger_record record_of(uint32_t job, const char *node, uint64_t seq)
{
	struct ledger_record r = {.cluster = "c",
		.job_id = job,
		.uid = 1000,
		.seq = seq,
		.cores = 8,
		.start_unix = 1000000,
		.end_unix = 1000100,
		.co_ns = (int64_t)seq * 1000,
		.degradation = 0.4,
		.variance = NAN,
		.thesis_degradation = NAN,
		.method = "robust",
		.backend = "heartbeat"};

	snprintf(r.node, sizeof(r.node), "%s", node);
	return r;
}

struct settlement settlement_of(uint32_t job, uint64_t charged)
{
	return (struct settlement){.cluster = "c",
		.job_id = job,
		.start_unix = 1000000,
		.end_unix = 1000100,
		.uid = 1000,
		.settled_unix = 1000200,
		.raw = 10000,
		.charged = charged,
		.degradation = 0.4,
		.lo = NAN,
		.hi = NAN,
		.co = NAN,
		.co_degradation = NAN,
		.turned = NAN,
		.unmeasured = NAN,
		.policy = "thesis",
		.version = PRICE_VERSION,
		.text = "d=0.4000"};
}

int count_records(struct ledger *l, uint32_t job, int64_t start, int64_t *co_ns)
{
	struct ledger_record *records;
	int n;

	records = records_of(l, "c", job, 0, start, &n);
	if (n && co_ns)
		*co_ns = records[0].co_ns;
	free(records);
	return n;
}

char fault_lines[4096];

void note_fault(const char *line, void *arg)
{
	(void)arg;
	strncat(fault_lines, line, sizeof(fault_lines) - strlen(fault_lines) - 1);
	strncat(fault_lines, "\n", sizeof(fault_lines) - strlen(fault_lines) - 1);
}

struct ledger_check check_ledger(const char *file)
{
	struct ledger_check found;
	struct errmsg err = {""};

	fault_lines[0] = '\0';
	if (ledger_file_check(file, NULL, &found, note_fault, NULL, &err))
		fail_msg("%s", err.text);
	return found;
}

void change_ledger(const char *statements)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}
