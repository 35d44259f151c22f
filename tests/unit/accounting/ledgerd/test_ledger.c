/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/ledgerd/ledger.c: the database as a whole, and its transactions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accounting/ledgerd/ledger.h"

#include "unit/accounting/ledger_fixture.h"

/* What ledger_put() has returned for is there after the process was killed. */
static void survives_kill(void **state)
{
	struct ledger *l;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct ledger_record r = record_of(5, "n1", 1);
		struct errmsg err;

		l = ledger_open(path, aside, sizeof(aside), &err);
		if (l && !ledger_put(l, &r, 1, "", NULL, &err))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	l = open_ledger();
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	assert_string_equal(aside, "");
	ledger_close(l);
}

static void overwrite(long at, size_t size)
{
	char junk[4096];
	int fd = open(path, O_WRONLY);

	memset(junk, 0xa5, sizeof(junk));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, junk, size, at), size);
	close(fd);
}

static void damaged_file_is_set_aside(void **state)
{
	struct ledger_record r = record_of(5, "n1", 1);
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_put(l, &r, 1, "", NULL, &err), 0);
	ledger_close(l);
	overwrite(0, 100);
	l = open_ledger();
	assert_true(*aside);
	assert_int_equal(access(aside, F_OK), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 0);
	assert_int_equal(ledger_put(l, &r, 1, "", NULL, &err), 0);
	ledger_close(l);
	unlink(aside);
	/* The header is sound, a page is not. */
	overwrite(4096, 2048);
	l = open_ledger();
	assert_true(*aside);
	ledger_close(l);
}

/* One bad request of a group does not take the others with it; what is not committed is not there.
 */
static void group_is_whole(void **state)
{
	struct ledger_record good = record_of(5, "n1", 1), bad = record_of(6, "n\xff", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_put(l, &good, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &bad, 1, "", NULL, &err), -1);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_int_equal(ledger_commit(l, &err), -1);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	assert_int_equal(ledger_group(l, &err), 0);
	s.start_unix += 1000;
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_close(l); /* as if it were killed */
	l = open_ledger();
	assert_int_equal(ledger_settlement(l, "c", 5, 0, s.start_unix, &got, &err), 0);
	/* The chain goes on where it ended. */
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	ledger_close(l);
	assert_int_equal(check_ledger(path).faults, 0);
	assert_int_equal(check_ledger(path).events, 2);
}

/*
 * SQLite may take a whole transaction back where the disk is full. What follows in the group must
 * not begin another one that ends well, or what went before would be taken for stored.
 */
static void full_disk_takes_the_group(void **state)
{
	struct ledger_record first = record_of(5, "n1", 1), later = record_of(7, "n1", 1);
	struct settlement s = settlement_of(5, 3600), got;
	struct rlimit all, little;
	struct ledger *l = open_ledger();
	struct errmsg err = {""};
	int stored = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	little = (struct rlimit){1 << 20, all.rlim_max};
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_put(l, &first, 1, "", NULL, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (uint32_t job = 100; !stored && job < 100000; job++) {
		struct ledger_record r = record_of(job, "n1", 1);

		stored = ledger_put(l, &r, 1, "", NULL, &err);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(stored, -1);
	/* The next requests of the same moment, for which there would be room. */
	if (!ledger_group(l, &err))
		ledger_put(l, &later, 1, "", NULL, &err);
	assert_int_equal(ledger_commit(l, &err), -1);
	assert_int_equal(count_records(l, 5, 0, NULL), 0);
	assert_int_equal(count_records(l, 7, 0, NULL), 0);
	/* And then all is well again. */
	assert_int_equal(ledger_group(l, &err), 0);
	assert_int_equal(ledger_put(l, &first, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_settle(l, &s, 0, &got, &err), 1);
	assert_int_equal(ledger_commit(l, &err), 0);
	assert_int_equal(count_records(l, 5, 0, NULL), 1);
	ledger_close(l);
	assert_int_equal(check_ledger(path).faults, 0);
	assert_int_equal(check_ledger(path).events, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(full_disk_takes_the_group),
		LEDGER_TEST(survives_kill),
		LEDGER_TEST(damaged_file_is_set_aside),
		LEDGER_TEST(group_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
