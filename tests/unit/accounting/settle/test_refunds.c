/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the journal of refunds, against a controller that is killed at any moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounting/settle/refunds.h"
#include "common/fsio.h"
#include "unit/accounting/ledger_fixture.h"

#define JOBS 40
#define MINUTE INT64_C(60000)

static const char *in_dir(const char *name)
{
	static char made[4][128];
	static int at;

	at = (at + 1) % 4;
	snprintf(made[at], sizeof(made[at]), "%s/%s", dir, name);
	return made[at];
}

/* As slurmctld does it: the old file is there, as NAME.old, while the new one is written. No two
 * files have the same time: the file system's clock does not stand still for three saves. */
static void save(const char *name, const void *data, size_t size)
{
	static long ns;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = ++ns}};
	char new[64], old[64];
	int fd;

	snprintf(new, sizeof(new), "%s.new", name);
	snprintf(old, sizeof(old), "%s.old", name);
	fd = creat(in_dir(new), 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	unlink(in_dir(old));
	link(in_dir(name), in_dir(old));
	unlink(in_dir(name));
	assert_int_equal(link(in_dir(new), in_dir(name)), 0);
	unlink(in_dir(new));
}

static void load(const char *name, void *data, size_t size)
{
	int fd = open(in_dir(name), O_RDONLY);

	memset(data, 0, size);
	if (fd < 0)
		return;
	assert_int_equal(read(fd, data, size), size);
	close(fd);
}

static struct refunds *open_journal(int64_t now_ms)
{
	struct errmsg err = {""};
	struct refunds *r = refunds_open(dir, now_ms, &err);

	if (!r)
		print_error("%s\n", err.text);
	assert_non_null(r);
	return r;
}

static struct refund refund_of(uint32_t job)
{
	struct refund r = {.job_id = job, .restart = 1, .start_unix = 1000 + job, .part_count = 2};

	r.part[0] = (struct refund_part){.assoc_id = 7,
		.qos_id = 3,
		.partition = "main",
		.start_unix = 1000 + job,
		.end_unix = 2000 + job,
		.billable = 2.25,
		.usage_factor = 0.5,
		.parent_id = 6,
		.part_qos = 4,
		.raw = 8000,
		.before = 8000,
		.after = 5120 + job};
	r.part[1] = r.part[0];
	r.part[1].before = 4000;
	r.part[1].usage_factor = NAN;
	r.part[1].parent_id = 0;
	r.part[1].part_qos = -1;
	return r;
}

static void enter(struct refunds *r, const struct refund *refund, int64_t now_ms)
{
	struct errmsg err = {""};
	struct refunds_saved saved;

	refunds_look(r, &saved);
	if (refunds_enter(r, refund, &saved, now_ms, &err))
		fail_msg("%s", err.text);
}

static bool knows(struct refunds *r, uint32_t job)
{
	uint64_t charged = 0;

	return refunds_charged(r, job, 1, 1000 + job, &charged) && charged == 5120 + job;
}

struct seen {
	int count;
	bool assoc, qos;
	struct refund last;
};

static void see(const struct refund *refund, bool assoc, bool qos, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	seen->assoc = assoc;
	seen->qos = qos;
	seen->last = *refund;
}

static struct seen lost(struct refunds *r)
{
	struct seen seen = {0};
	struct refunds_saved now;
	int count;

	refunds_look(r, &now);
	count = refunds_lost(r, &now, see, &seen);
	assert_int_equal(count, seen.count);
	return seen;
}

static void test_lost_and_found(void **state)
{
	struct refund refund = refund_of(5);
	struct refunds *r;
	struct seen seen;
	uint64_t charged;

	(void)state;
	save("assoc_usage", "a", 1);
	save("qos_usage", "q", 1);
	r = open_journal(0);
	assert_false(refunds_whole(r));
	enter(r, &refund, 0);
	refunds_close(r);

	/* Killed before anything was saved: both are lost, at each start. */
	for (int i = 0; i < 2; i++) {
		r = open_journal(0);
		assert_true(refunds_whole(r));
		assert_true(knows(r, 5));
		assert_false(refunds_charged(r, 5, 0, 1005, &charged));
		assert_false(refunds_charged(r, 5, 1, 1006, &charged));
		assert_false(refunds_charged(r, 6, 1, 1005, &charged));
		seen = lost(r);
		assert_int_equal(seen.count, 1);
		assert_true(seen.assoc && seen.qos);
		assert_memory_equal(&seen.last, &refund, sizeof(refund));
		refunds_close(r);
	}
	/* Killed between the two. */
	save("assoc_usage", "a", 1);
	r = open_journal(0);
	seen = lost(r);
	assert_true(seen.count == 1 && !seen.assoc && seen.qos);
	refunds_close(r);
	save("qos_usage", "q", 1);
	r = open_journal(0);
	assert_int_equal(lost(r).count, 0);
	assert_true(knows(r, 5));
	refunds_close(r);
}

/* Killed while the next file was put into its place: the file of then is there as .old. */
static void test_old_file_alone(void **state)
{
	struct refund refund = refund_of(5);
	uint64_t seconds = htobe64(1234567890123);
	char head[32] = {0};
	struct refunds *r;
	struct seen seen;

	(void)state;
	memcpy(head + 2, &seconds, sizeof(seconds));
	save("assoc_usage", head, sizeof(head));
	save("qos_usage", "q", 1);
	r = open_journal(0);
	enter(r, &refund, 0);
	assert_int_equal(rename(in_dir("assoc_usage"), in_dir("assoc_usage.old")), 0);
	seen = lost(r);
	assert_true(seen.count == 1 && seen.assoc && seen.qos);
	assert_int_equal(refunds_saved_unix(r), 1234567890123);
	refunds_close(r);
}

/* A usage that was loaded from nothing has nothing to give back. */
static void test_no_files(void **state)
{
	struct refund refund = refund_of(5);
	struct refunds *r = open_journal(0);

	(void)state;
	enter(r, &refund, 0);
	assert_int_equal(lost(r).count, 0);
	refunds_close(r);
}

static void test_last_price_counts(void **state)
{
	struct refund refund = refund_of(5);
	struct refunds *r = open_journal(0);
	uint64_t charged = 0;

	(void)state;
	enter(r, &refund, 0);
	refund.change = true;
	refund.part[0].after = 77;
	enter(r, &refund, 0);
	assert_true(refunds_charged(r, 5, 1, 1005, &charged));
	assert_int_equal(charged, 77);
	refunds_close(r);
	r = open_journal(0);
	assert_true(refunds_charged(r, 5, 1, 1005, &charged));
	assert_int_equal(charged, 77);
	refunds_close(r);
}

static void append(const char *text)
{
	FILE *f = fopen(in_dir(REFUNDS_FILE), "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_damage(void **state)
{
	struct refund refund = refund_of(5), second = refund_of(6);
	struct refunds *r = open_journal(0);

	(void)state;
	enter(r, &refund, 0);
	refunds_close(r);
	/* Cut where its writer was killed: nothing is missing, and nothing comes of it. */
	append("{\"job\":9,\"resta");
	r = open_journal(0);
	assert_true(refunds_whole(r));
	assert_true(knows(r, 5));
	enter(r, &second, 0);
	refunds_close(r);
	r = open_journal(0);
	assert_true(refunds_whole(r));
	assert_true(knows(r, 5) && knows(r, 6));
	refunds_close(r);
	append("[]\n\n{\"job\":0}\nnonsense\n");
	r = open_journal(0);
	assert_false(refunds_whole(r));
	assert_true(knows(r, 5) && knows(r, 6));
	refunds_close(r);
}

/* What is not known is there as such; a line without it, or with another kind of value, is none. */
static void test_unknown_values(void **state)
{
	static const char head[] = "{\"job\":5,\"restart\":1,\"start\":1005,"
				   "\"assoc_usage\":[%llu,%llu,1],\"qos_usage\":[0,0,0],"
				   "\"job_state\":[0,0,0],\"parts\":[{\"assoc\":7,\"qos\":3,"
				   "\"partition\":\"main\",\"start\":1005,\"end\":2005,"
				   "\"billable\":2.25,\"raw\":8000,"
				   "\"before\":8000,\"after\":5125%s}]}\n";
	struct refunds_saved now;
	struct refunds *r;
	struct seen seen;
	char line[512];

	(void)state;
	save("assoc_usage", "a", 1);
	r = open_journal(0);
	refunds_look(r, &now);
	refunds_close(r);
	snprintf(line, sizeof(line), head, (unsigned long long)now.assoc.inode,
		(unsigned long long)now.assoc.mtime_ns,
		",\"parent\":0,\"part_qos\":-1,\"usage_factor\":null");
	append(line);
	r = open_journal(0);
	assert_true(refunds_whole(r) && knows(r, 5));
	seen = lost(r);
	assert_true(seen.count == 1 && seen.assoc && !seen.qos);
	assert_true(isnan(seen.last.part[0].usage_factor));
	assert_int_equal(seen.last.part[0].parent_id, 0);
	assert_int_equal(seen.last.part[0].part_qos, -1);
	assert_int_equal(seen.last.part[0].after, 5125);
	refunds_close(r);
	snprintf(line, sizeof(line), head, (unsigned long long)now.assoc.inode,
		(unsigned long long)now.assoc.mtime_ns,
		",\"parent\":0,\"part_qos\":-1,\"usage_factor\":\"half\"");
	append(line);
	r = open_journal(0);
	assert_false(refunds_whole(r));
	assert_int_equal(refunds_damaged(r), 1);
	refunds_close(r);
}

/* What cannot be read stays in the file until that is written anew, and then beside it. */
static void test_damaged_is_kept(void **state)
{
	struct refund refund = refund_of(5), second = refund_of(6);
	struct refunds *r = open_journal(0);
	struct errmsg err = {""};
	char *text;

	(void)state;
	enter(r, &refund, 0);
	refunds_close(r);
	append("nonsense\n");
	r = open_journal(0);
	assert_int_equal(refunds_damaged(r), 1);
	enter(r, &second, 11 * MINUTE);
	save("assoc_usage", "a", 1);
	save("qos_usage", "q", 1);
	save("job_state", "j", 1);
	assert_int_equal(refunds_trim(r, 11 * MINUTE, NULL, 0, &err), 0);
	assert_false(knows(r, 5));
	assert_false(refunds_whole(r));
	assert_int_equal(refunds_damaged(r), 0);
	refunds_close(r);
	text = fsio_read(in_dir(REFUNDS_FILE ".damaged"), 65536, NULL, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, "\nnonsense\n"));
	free(text);
	r = open_journal(0);
	assert_true(refunds_whole(r) && knows(r, 6));
	refunds_close(r);
}

static void test_unreadable(void **state)
{
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(mkdir(in_dir(REFUNDS_FILE), 0700), 0);
	assert_null(refunds_open(dir, 0, &err));
	assert_non_null(strstr(err.text, REFUNDS_FILE));
	rmdir(in_dir(REFUNDS_FILE));
	assert_null(refunds_open("/nonexistent", 0, &err));
}

static void trim(struct refunds *r, int64_t now_ms, struct refunds_run *run, size_t count)
{
	struct errmsg err = {""};

	if (refunds_trim(r, now_ms, run, count, &err))
		fail_msg("%s", err.text);
}

static void test_trim(void **state)
{
	struct refunds_run waiting[] = {{9, 1}, {6, 1006}, {2, 7}};
	struct refund refund;
	struct refunds *r;

	(void)state;
	save("assoc_usage", "a", 1);
	save("qos_usage", "q", 1);
	save("job_state", "j", 1);
	r = open_journal(0);
	for (uint32_t job = 5; job <= 8; job++) {
		refund = refund_of(job);
		refund.change = job == 8;
		enter(r, &refund, 0);
	}
	/* The files of then are still there, each for itself. */
	trim(r, 20 * MINUTE, NULL, 0);
	save("assoc_usage", "a", 1);
	trim(r, 20 * MINUTE, NULL, 0);
	save("qos_usage", "q", 1);
	trim(r, 20 * MINUTE, NULL, 0);
	assert_true(knows(r, 5) && knows(r, 7));
	save("job_state", "j", 1);
	/* Too young. */
	trim(r, 9 * MINUTE, NULL, 0);
	assert_true(knows(r, 5) && knows(r, 7));
	/* One waits and one is a change. */
	trim(r, 11 * MINUTE, waiting, 3);
	assert_true(!knows(r, 5) && knows(r, 6) && !knows(r, 7) && knows(r, 8));
	refund = refund_of(9);
	enter(r, &refund, 11 * MINUTE);
	refunds_close(r);
	r = open_journal(12 * MINUTE);
	assert_true(refunds_whole(r));
	assert_true(!knows(r, 5) && knows(r, 6) && !knows(r, 7) && knows(r, 8) && knows(r, 9));
	save("job_state", "j", 1);
	trim(r, 12 * MINUTE + 24 * 60 * MINUTE, NULL, 0);
	assert_false(knows(r, 6) || knows(r, 8));
	refunds_close(r);
}

static void test_charged_until(void **state)
{
	struct refunds_base base = {.saved_unix = 1000, .charged_unix = 900, .loaded_unix = 2000};
	uint64_t seconds = htobe64(1234567890123);
	char head[32] = {0};
	struct refunds *r = open_journal(0);

	(void)state;
	assert_int_equal(refunds_charged_until(&base, 800), 800);
	assert_int_equal(refunds_charged_until(&base, 1000), 1000);
	/* Its end was charged and forgotten. */
	assert_int_equal(refunds_charged_until(&base, 1001), 900);
	assert_int_equal(refunds_charged_until(&base, 1999), 900);
	/* It ended in this process. */
	assert_int_equal(refunds_charged_until(&base, 2000), 2000);
	base.saved_unix = 0;
	assert_int_equal(refunds_charged_until(&base, 1001), 1001);

	assert_int_equal(refunds_saved_unix(r), 0);
	memcpy(head + 2, &seconds, sizeof(seconds));
	save("assoc_usage", head, sizeof(head));
	assert_int_equal(refunds_saved_unix(r), 1234567890123);
	save("assoc_usage", head, 5);
	assert_int_equal(refunds_saved_unix(r), 0);
	refunds_close(r);
}

/* How often each job was refunded in the usage of its association and of its QOS, and whether its
 * record shows that. */
struct memory {
	unsigned char assoc[JOBS], qos[JOBS], shown[JOBS];
};

struct controller {
	struct memory memory;
	bool settled[JOBS];
	struct refunds *journal;
	int64_t now_ms;
};

static void make_again(const struct refund *refund, bool assoc, bool qos, void *arg)
{
	struct memory *m = arg;

	m->assoc[refund->job_id - 1] += assoc;
	m->qos[refund->job_id - 1] += qos;
}

static void check(const struct controller *c)
{
	for (int j = 0; j < JOBS; j++) {
		assert_int_equal(c->memory.assoc[j], c->settled[j]);
		assert_int_equal(c->memory.qos[j], c->settled[j]);
	}
}

static void start(struct controller *c)
{
	struct refunds_saved now;

	load("assoc_usage", c->memory.assoc, sizeof(c->memory.assoc));
	load("qos_usage", c->memory.qos, sizeof(c->memory.qos));
	load("job_state", c->memory.shown, sizeof(c->memory.shown));
	c->journal = open_journal(c->now_ms);
	refunds_look(c->journal, &now);
	refunds_lost(c->journal, &now, make_again, &c->memory);
	check(c);
}

static void save_usage(const struct controller *c)
{
	save("assoc_usage", c->memory.assoc, sizeof(c->memory.assoc));
	save("qos_usage", c->memory.qos, sizeof(c->memory.qos));
}

/* No usage is saved between the refund and its line. */
static void settle(struct controller *c, int j)
{
	struct refund refund = refund_of((uint32_t)j + 1);

	if (!c->memory.shown[j] && !knows(c->journal, refund.job_id)) {
		c->memory.assoc[j]++;
		c->memory.qos[j]++;
		c->settled[j] = true;
		enter(c->journal, &refund, c->now_ms);
	} else if (!c->memory.shown[j]) {
		refunds_keep(c->journal, refund.job_id, 1, refund.start_unix, c->now_ms);
	}
	c->memory.shown[j] = true;
}

/* Killed within the write of the line: nobody has the refund, which was in memory alone. Or right
 * after it: then the next slurmctld makes the refund. */
static void settle_in_part(struct controller *c, int j)
{
	struct refund refund = refund_of((uint32_t)j + 1);
	struct stat st, after;

	if (c->memory.shown[j] || knows(c->journal, (uint32_t)j + 1))
		return;
	assert_int_equal(stat(in_dir(REFUNDS_FILE), &st), 0);
	enter(c->journal, &refund, c->now_ms);
	assert_int_equal(stat(in_dir(REFUNDS_FILE), &after), 0);
	c->settled[j] = rand() % 2;
	if (!c->settled[j])
		assert_int_equal(truncate(in_dir(REFUNDS_FILE),
					 st.st_size + rand() % (after.st_size - st.st_size)),
			0);
	refunds_close(c->journal);
	start(c);
}

static void kill_and_start(struct controller *c)
{
	refunds_close(c->journal);
	start(c);
}

/* Those whose records do not show it will be settled once more. */
static void trim_now(struct controller *c)
{
	struct refunds_run waiting[JOBS];
	size_t count = 0;

	for (uint32_t j = 0; j < JOBS; j++)
		if (!c->memory.shown[j])
			waiting[count++] = (struct refunds_run){j + 1, 1001 + j};
	c->now_ms += rand() % (5 * MINUTE);
	trim(c->journal, c->now_ms, waiting, count);
}

static void one_step(struct controller *c)
{
	switch (rand() % 10) {
	case 0:
		save("job_state", c->memory.shown, sizeof(c->memory.shown));
		break;
	case 1:
		save("assoc_usage", c->memory.assoc, sizeof(c->memory.assoc));
		if (rand() % 2)
			return kill_and_start(c);
		save("qos_usage", c->memory.qos, sizeof(c->memory.qos));
		break;
	case 2:
		kill_and_start(c);
		break;
	case 3:
		trim_now(c);
		break;
	case 4:
		settle_in_part(c, rand() % JOBS);
		break;
	default:
		settle(c, rand() % JOBS);
	}
	check(c);
}

static void test_probe(void **state)
{
	struct refunds *r = open_journal(0);
	struct errmsg err = {""};

	(void)state;
	assert_int_equal(refunds_probe(r, &err), 0);
	assert_int_equal(access(in_dir("poppa_probe"), F_OK), -1);
	refunds_close(r);
}

static void test_kills(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 60; seed++) {
		struct controller c = {.now_ms = 0};

		srand(seed);
		memset(&c.memory, 0, sizeof(c.memory));
		save_usage(&c);
		save("job_state", c.memory.shown, sizeof(c.memory.shown));
		unlink(in_dir(REFUNDS_FILE));
		start(&c);
		for (int step = 0; step < 150; step++)
			one_step(&c);
		for (int j = 0; j < JOBS; j++)
			settle(&c, j);
		kill_and_start(&c);
		refunds_close(c.journal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(test_lost_and_found),
		LEDGER_TEST(test_no_files),
		LEDGER_TEST(test_old_file_alone),
		LEDGER_TEST(test_last_price_counts),
		LEDGER_TEST(test_damage),
		LEDGER_TEST(test_unknown_values),
		LEDGER_TEST(test_damaged_is_kept),
		LEDGER_TEST(test_unreadable),
		LEDGER_TEST(test_trim),
		LEDGER_TEST(test_charged_until),
		LEDGER_TEST(test_probe),
		LEDGER_TEST(test_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
