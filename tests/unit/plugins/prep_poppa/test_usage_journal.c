/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/plugins/prep_poppa/usage_journal.c in a slurmctld that is killed at every
 * moment of a refund, and that has saved its usage at every other. */
#include "plugins/compat/accounting_compat.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/prep_poppa/controller.h"
#include "plugins/prep_poppa/fairshare.h"
#include "plugins/prep_poppa/usage_journal.h"
#include "unit/accounting/ledger_fixture.h"

#define PARTS 2
#define SAVES 2

/* A refund is a sequence of moments: each is before or after something that others can see. 0:
 * never. */
static int moment, kill_at, save_at[SAVES], saves_due;
static assoc_mgr_lock_t held;
static bool slurmctld_locked, full, told;

/* slurmctld's memory: how many parts were given back. And how many files it has ever saved: this
 * outlives it, as a file system's clock does. */
static struct usage {
	int assoc, qos;
} usage;
static long *files_saved;

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
void __real_refunds_look(const struct refunds *r, struct refunds_saved *saved);
void __wrap_refunds_look(const struct refunds *r, struct refunds_saved *saved);
int __real_refunds_enter(struct refunds *r, const struct refund *refund,
	const struct refunds_saved *saved, int64_t now_ms, struct errmsg *err);
int __wrap_refunds_enter(struct refunds *r, const struct refund *refund,
	const struct refunds_saved *saved, int64_t now_ms, struct errmsg *err);

static void impossible(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

static const char *in_dir(const char *name, const char *end)
{
	static char made[4][256];
	static int at;

	at = (at + 1) % 4;
	snprintf(made[at], sizeof(made[at]), "%s/%s%s", dir, name, end);
	return made[at];
}

static void die_if_due(void)
{
	if (++moment == kill_at)
		raise(SIGKILL);
}

/* As slurmctld does it. No two files have the same time. */
static void save_file(const char *name, int count)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
	int fd = creat(in_dir(name, ".new"), 0600);

	times[1].tv_nsec = ++*files_saved;
	if (fd < 0 || __real_write(fd, &count, sizeof(count)) != sizeof(count) ||
		futimens(fd, times))
		impossible("no file can be saved");
	close(fd);
	unlink(in_dir(name, ".old"));
	link(in_dir(name, ""), in_dir(name, ".old"));
	unlink(in_dir(name, ""));
	die_if_due();
	if (link(in_dir(name, ".new"), in_dir(name, "")))
		impossible("no file can be saved");
	unlink(in_dir(name, ".new"));
}

/* Since 25.05 slurmctld loads the older file where there is no other. */
static int load_file(const char *name)
{
	int fd = open(in_dir(name, ""), O_RDONLY), count = -1;

	if (fd < 0)
		fd = open(in_dir(name, ".old"), O_RDONLY);
	if (fd < 0 || read(fd, &count, sizeof(count)) != sizeof(count))
		impossible("no file can be loaded");
	close(fd);
	return count;
}

/* The locks that dump_assoc_mgr_state() has from its first file to its last: read locks, but for
 * the one on files. */
static bool may_save(void)
{
	return held.assoc != WRITE_LOCK && held.qos != WRITE_LOCK && held.file == NO_LOCK;
}

int dump_assoc_mgr_state(void)
{
	save_file("assoc_usage", usage.assoc);
	die_if_due();
	save_file("qos_usage", usage.qos);
	return 0;
}

/* A save that slurmctld's other threads begin waits for its locks. */
static void come(void)
{
	die_if_due();
	for (int i = 0; i < SAVES; i++)
		saves_due += moment == save_at[i];
	for (; saves_due && may_save(); saves_due--)
		dump_assoc_mgr_state();
}

void lock_slurmctld(slurmctld_lock_t locks)
{
	(void)locks;
	come();
	slurmctld_locked = true;
}

void unlock_slurmctld(slurmctld_lock_t locks)
{
	(void)locks;
	slurmctld_locked = false;
	come();
}

void assoc_mgr_lock(assoc_mgr_lock_t *locks)
{
	come();
	held = *locks;
	come();
}

void assoc_mgr_unlock(assoc_mgr_lock_t *locks)
{
	held.assoc = locks->assoc ? NO_LOCK : held.assoc;
	held.file = locks->file ? NO_LOCK : held.file;
	held.qos = locks->qos ? NO_LOCK : held.qos;
	held.tres = locks->tres ? NO_LOCK : held.tres;
	held.user = locks->user ? NO_LOCK : held.user;
	come();
}

void fairshare_adjust(const struct refund_part *p, const struct decay *clock, bool assoc, bool qos)
{
	(void)p;
	(void)clock;
	if (held.assoc != WRITE_LOCK || held.qos != WRITE_LOCK || held.user != READ_LOCK ||
		!slurmctld_locked)
		impossible("a refund is made without its locks");
	usage.assoc += assoc;
	usage.qos += qos;
	come();
}

/* What slurmctld's other threads wait for is free while a file is touched. */
static void touch_file(void)
{
	come();
#ifdef NDEBUG
	if (held.assoc || held.qos || held.res || held.tres || held.user || held.wckey ||
		slurmctld_locked)
		impossible("a file is touched while slurmctld waits");
#endif
}

void __wrap_refunds_look(const struct refunds *r, struct refunds_saved *saved)
{
	touch_file();
	__real_refunds_look(r, saved);
	come();
}

int __wrap_refunds_enter(struct refunds *r, const struct refund *refund,
	const struct refunds_saved *saved, int64_t now_ms, struct errmsg *err)
{
	int rc;

	touch_file();
	rc = __real_refunds_enter(r, refund, saved, now_ms, err);
	come();
	return rc;
}

/* The line. Its writer may be killed within it. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (++moment == kill_at && __real_write(fd, data, size / 2) >= 0)
		raise(SIGKILL);
	if (full) {
		errno = ENOSPC;
		return -1;
	}
	return __real_write(fd, data, size);
}

bool controller_hold(void)
{
	return true;
}

void controller_release(void)
{
}

char *controller_state_path(const char *name, char *buf, size_t size)
{
	(void)name;
	snprintf(buf, size, "%s", dir);
	return buf;
}

void fairshare_clock(struct decay *clock)
{
	*clock = (struct decay){.period_s = 60};
}

int slurm_get_log_level(void)
{
	return LOG_LEVEL_INFO;
}

void slurm_log_var(const log_level_t level, const char *format, ...)
{
	(void)level;
	(void)format;
}

int slurm_error(const char *format, ...)
{
	(void)format;
	told = true;
	return SLURM_ERROR;
}

static void start(struct usage_journal *u)
{
	struct errmsg err = {""};

	*u = (struct usage_journal){.refunds = NULL};
	usage = (struct usage){load_file("assoc_usage"), load_file("qos_usage")};
	if (usage_journal_follow(u, &err))
		fail_msg("%s", err.text);
}

/* As write_back() does, where nothing but the journal tells of the refund. */
static void settle(struct usage_journal *u)
{
	struct refund refund = {.job_id = 5, .start_unix = 1000, .part_count = PARTS};
	struct decay clock;
	uint64_t charged;

	for (int i = 0; i < PARTS; i++)
		refund.part[i] = (struct refund_part){.assoc_id = 7,
			.start_unix = 1000,
			.end_unix = 2000,
			.billable = 1,
			.raw = 8,
			.before = 8,
			.after = 4};
	fairshare_clock(&clock);
	if (!refunds_charged(u->refunds, refund.job_id, 0, refund.start_unix, &charged))
		usage_journal_refund(u, &refund, &clock);
}

/* Whether a slurmctld that makes the refund is killed at that moment. It saves at the other two. */
static bool is_killed(int at, int first, int second)
{
	struct usage_journal u;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		start(&u);
		moment = 0;
		kill_at = at;
		save_at[0] = first;
		save_at[1] = second;
		settle(&u);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	assert_int_equal(status, 0);
	return false;
}

/* Slurmctlds that are not killed: the first finds what a kill left, and the next what that saved.
 */
static void check_later(void)
{
	struct usage_journal u;

	for (int i = 0; i < 2; i++) {
		start(&u);
		settle(&u);
		assert_int_equal(usage.assoc, PARTS);
		assert_int_equal(usage.qos, PARTS);
		dump_assoc_mgr_state();
		usage_journal_close(&u);
	}
}

static void test_killed(void **state)
{
	bool killed = true;
	int kills = 0;

	(void)state;
	for (int at = 1; killed; at++)
		for (int first = 0; first <= at; first++)
			for (int second = 0; second <= first; second++) {
				save_file("assoc_usage", 0);
				save_file("qos_usage", 0);
				unlink(in_dir(REFUNDS_FILE, ""));
				killed = is_killed(at, first, second);
				kills += killed;
				check_later();
			}
	assert_true(kills > 500);
	assert_false(told);
}

/* A journal that takes nothing: the refund is made once, and the log tells what a kill would do. */
static void test_no_line(void **state)
{
	struct usage_journal u;

	(void)state;
	save_file("assoc_usage", 0);
	save_file("qos_usage", 0);
	start(&u);
	full = true;
	settle(&u);
	full = false;
	assert_true(told);
	settle(&u);
	assert_int_equal(usage.assoc, PARTS);
	assert_int_equal(usage.qos, PARTS);
	assert_false(held.assoc || held.file || held.qos || held.tres || held.user);
	usage_journal_close(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(test_killed),
		LEDGER_TEST(test_no_line),
	};

	files_saved = mmap(NULL, sizeof(*files_saved), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return files_saved == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
