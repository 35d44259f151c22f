/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the ledger's database, of its service and of the journal of refunds share. */
#pragma once

#include "accounting/ledgerd/ledger.h"
#include "accounting/ledgerd/ledger_file.h"
#include "common/log.h"

/* The test's folder, the ledger's file in it, and where the last one was set aside. */
extern char dir[], path[64], aside[128];

/* A sink of the log. */
void quiet(enum plog_level level, const char *line);

int make_dir(void **state);
int remove_dir(void **state);
#define LEDGER_TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

/* Fails the test where it cannot be opened. */
struct ledger *open_ledger(void);

/* The records of a run; to be freed. Fails the test where there is no answer. */
struct ledger_record *records_of(struct ledger *l, const char *cluster, uint32_t job,
	uint32_t restart, int64_t start, int *count);

struct ledger_record record_of(uint32_t job, const char *node, uint64_t seq);
struct settlement settlement_of(uint32_t job, uint64_t charged);

/* How many records the run has. *co_ns (may be NULL) becomes that of the first one. */
int count_records(struct ledger *l, uint32_t job, int64_t start, int64_t *co_ns);

/* Checks a ledger's file. The lines about its faults are in fault_lines[] then. */
extern char fault_lines[4096];
void note_fault(const char *line, void *arg);
struct ledger_check check_ledger(const char *file);

/* Executes SQL statements in the test's ledger, behind its back. */
void change_ledger(const char *statements);
