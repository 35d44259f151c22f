/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/report/spool.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"

#include "unit/poppa/spool_in_tmp.h"

ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __real_write(int fd, const void *data, size_t size);

static bool disk_full;

/* A disk that takes half of what it is given, and then nothing. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (!disk_full)
		return __real_write(fd, data, size);
	if (size > 20)
		return __real_write(fd, data, size / 2);
	errno = ENOSPC;
	return -1;
}

static void quiet(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

static void records(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX", path[128];
	struct ledger_record r = {.job_id = 30,
				     .seq = 4,
				     .lane = -1,
				     .degradation = 0.25,
				     .variance = NAN,
				     .thesis_degradation = NAN},
			     got[4];
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	make_spool(dir, &spool);
	assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	strcpy(r.cluster, "c");
	strcpy(r.node, "n");
	strcpy(r.method, "robust");
	strcpy(r.backend, "perf");
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	r.job_id = 4;
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	snprintf(path, sizeof(path), "%s/records/5.0", dir);
	assert_int_equal(fsio_write(path, "{\"job\":", 7, 0600, 0, &err), 0);
	assert_int_equal(spool_records(&spool, got, 4, &err), 2);
	assert_int_equal(got[0].job_id, 4);
	assert_int_equal(got[1].job_id, 30);
	assert_true(got[1].degradation == 0.25);
	assert_int_equal(access(path, F_OK), -1); /* set aside, not lost */
	strcat(path, ".bad");
	assert_int_equal(access(path, F_OK), 0);
	/* A newer record of the same job came while the older one was acked. */
	r.seq = 5;
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	spool_acked(&spool, &got[0]);
	assert_int_equal(spool_records(&spool, got, 4, &err), 2);
	assert_int_equal(got[0].seq, 5);
	spool_acked(&spool, &got[0]);
	spool_refused(&spool, &got[1]);
	assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	snprintf(path, sizeof(path), "%s/records/30.0.refused", dir);
	assert_int_equal(access(path, F_OK), 0);
	remove_dir(dir);
}

/* What a ledger acknowledged is kept for a while, and sent again to another one. */
static void sent_records(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX", path[128];
	struct ledger_record r = {.job_id = 4,
				     .seq = 4,
				     .lane = -1,
				     .degradation = NAN,
				     .variance = NAN,
				     .thesis_degradation = NAN},
			     got[4];
	struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	make_spool(dir, &spool);
	spool.keep_days = 7;
	strcpy(r.cluster, "c");
	strcpy(r.node, "n");
	strcpy(r.method, "robust");
	strcpy(r.backend, "perf");
	assert_int_equal(spool_know_ledger(&spool, "first", &err), 0);
	for (r.job_id = 4; r.job_id <= 6; r.job_id++) {
		assert_int_equal(spool_record(&spool, &r, &err), 0);
		spool_acked(&spool, &r);
	}
	assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	assert_int_equal(spool_know_ledger(&spool, "first", &err), 0);
	assert_int_equal(spool_know_ledger(&spool, "", &err), 0);
	snprintf(path, sizeof(path), "%s/sent/6.0", dir);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	spool_expire(&spool);
	assert_int_equal(access(path, F_OK), -1);
	/* Job 5 has had another run meanwhile. */
	r.job_id = 5;
	r.seq = 9;
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	assert_int_equal(spool_know_ledger(&spool, "second", &err), 1);
	assert_int_equal(spool_records(&spool, got, 4, &err), 2);
	assert_int_equal(got[0].job_id, 4);
	assert_int_equal(got[1].seq, 9);
	spool_acked(&spool, &got[0]);
	spool_acked(&spool, &got[1]);
	assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	assert_int_equal(spool_know_ledger(&spool, "second", &err), 0);
	/* Nothing is kept where nothing is to be kept. */
	spool.keep_days = 0;
	r.job_id = 7;
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	spool_acked(&spool, &r);
	assert_int_equal(spool_know_ledger(&spool, "third", &err), 2);
	remove_dir(dir);
}

/*
 * slurmctld that was killed gives a job's id out again. The record of the run that it has forgotten
 * still waits for the ledger, and neither it nor the next one's is lost, whichever is acked first.
 */
static void records_of_a_reused_id(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX", path[128];
	struct ledger_record first = {.cluster = "c",
				     .node = "n",
				     .method = "robust",
				     .backend = "perf",
				     .job_id = 4,
				     .seq = 9,
				     .lane = -1,
				     .start_unix = 1700000000,
				     .degradation = NAN,
				     .variance = NAN,
				     .thesis_degradation = NAN},
			     second, got[4];
	struct spool_counts counts;
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	make_spool(dir, &spool);
	spool.keep_days = 7;
	assert_int_equal(spool_know_ledger(&spool, "first", &err), 0);
	second = first;
	second.start_unix += 20;
	second.seq = 4;
	for (int order = 0; order < 2; order++) {
		assert_int_equal(spool_record(&spool, &first, &err), 0);
		assert_int_equal(spool_record(&spool, &second, &err), 0);
		second.seq++;
		assert_int_equal(spool_record(&spool, &second, &err), 0);
		assert_int_equal(spool_records(&spool, got, 4, &err), 2);
		assert_int_equal(got[0].start_unix + got[1].start_unix, 3400000020);
		assert_int_equal(spool_acked(&spool, order ? &first : &second), 0);
		assert_int_equal(spool_records(&spool, got, 4, &err), 1);
		assert_int_equal(got[0].start_unix - 1700000000, order ? 20 : 0);
		assert_int_equal(spool_acked(&spool, order ? &first : &second), 0);
		assert_int_equal(spool_records(&spool, got, 4, &err), 1);
		assert_int_equal(spool_acked(&spool, &got[0]), 0);
		assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	}
	/* A ledger that was lost gets both again. */
	assert_int_equal(spool_know_ledger(&spool, "second", &err), 2);
	assert_int_equal(spool_records(&spool, got, 4, &err), 2);
	assert_int_equal(got[0].start_unix + got[1].start_unix, 3400000020);
	assert_int_equal(spool_refused(&spool, &second), 0);
	spool_count(&spool, &counts);
	assert_int_equal(counts.records, 1);
	assert_int_equal(counts.refused, 1);
	assert_int_equal(spool_records(&spool, got, 4, &err), 1);
	assert_int_equal(got[0].start_unix, 1700000000);
	snprintf(path, sizeof(path), "%s/records/4.0.123456", dir);
	assert_int_equal(fsio_write(path, "{", 1, 0600, 0, &err), 0);
	assert_int_equal(spool_records(&spool, got, 4, &err), 1);
	assert_int_equal(access(path, F_OK), 0);
	remove_dir(dir);
}

static struct ledger_record record_of(uint32_t job_id, int64_t start_unix, uint64_t seq)
{
	return (struct ledger_record){.cluster = "c",
		.node = "n",
		.method = "robust",
		.backend = "perf",
		.job_id = job_id,
		.seq = seq,
		.final = true,
		.lane = -1,
		.start_unix = start_unix,
		.degradation = NAN,
		.variance = NAN,
		.thesis_degradation = NAN};
}

/* How many files a folder of the spool has. */
static int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void note_job(uint32_t job_id, uint32_t restart, void *arg)
{
	*(unsigned *)arg += 10 * job_id + restart;
}

static void checkpoints(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX", path[128];
	struct errmsg err = {""};
	struct spool spool;
	unsigned seen = 0;
	json_t *json;

	(void)state;
	make_spool(dir, &spool);
	assert_null(spool_restore(&spool, 7, 2, &err));
	assert_int_equal(errno, ENOENT);
	json = json_pack("{s:i}", "a", 1);
	assert_int_equal(spool_checkpoint(&spool, 7, 2, json, &err), 0);
	json_object_set_new(json, "a", json_integer(2));
	assert_int_equal(spool_checkpoint(&spool, 7, 2, json, &err), 0);
	assert_int_equal(spool_checkpoint(&spool, 8, 0, json, &err), 0);
	json_decref(json);
	json = spool_restore(&spool, 7, 2, &err);
	assert_int_equal(json_integer_value(json_object_get(json, "a")), 2);
	json_decref(json);
	/* What is no checkpoint's name is nobody's. */
	snprintf(path, sizeof(path), "%s/state/007.2", dir);
	assert_int_equal(fsio_write(path, "{}", 2, 0600, 0, &err), 0);
	spool_each(&spool, note_job, &seen);
	assert_int_equal(seen, 72 + 80);
	spool_forget(&spool, 7, 2);
	assert_null(spool_restore(&spool, 7, 2, &err));
	assert_int_equal(errno, ENOENT);
	/* A damaged one is not taken for none. */
	snprintf(path, sizeof(path), "%s/state/8.0", dir);
	assert_int_equal(fsio_write(path, "{\"a\":", 5, 0600, 0, &err), 0);
	assert_null(spool_restore(&spool, 8, 0, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, path));
	remove_dir(dir);
}

/* A kill within a write leaves a file with six more characters: those of checkpoints go at the next
 * start, those of records are never read. */
static void leftovers_of_a_kill(void **state)
{
	static const char *const left[] = {"state/7.0.aB3xY_", "state/7.0.123456",
		"records/7.0.aB3xY_", "records/7.0.123456", "records/7.0.1700000000.aB3xY_"};
	char dir[] = "/tmp/test_spool-XXXXXX", path[128];
	struct ledger_record r = record_of(7, 1700000000, 1), got[4];
	struct spool_counts counts;
	struct errmsg err = {""};
	struct spool spool;
	unsigned seen = 0;
	json_t *json = json_object();

	(void)state;
	make_spool(dir, &spool);
	assert_int_equal(spool_checkpoint(&spool, 7, 0, json, &err), 0);
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	json_decref(json);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, left[i]);
		assert_int_equal(fsio_write(path, "{", 1, 0600, 0, &err), 0);
	}
	assert_int_equal(spool_open(&spool, dir, &err), 0);
	assert_int_equal(files_in(spool.state_dir), 1);
	spool_each(&spool, note_job, &seen);
	assert_int_equal(seen, 70);
	assert_int_equal(spool_records(&spool, got, 4, &err), 1);
	assert_int_equal(got[0].start_unix, 1700000000);
	spool_count(&spool, &counts);
	assert_int_equal(counts.records, 1);
	assert_int_equal(counts.bad, 0);
	assert_int_equal(files_in(spool.record_dir), 4);
	remove_dir(dir);
}

/* What was there stays whole, and nothing half is beside it. */
static void full_disk(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX";
	struct ledger_record r = record_of(7, 1700000000, 1), got[4];
	struct errmsg err = {""};
	struct spool spool;
	json_t *json = json_pack("{s:i}", "a", 1), *back;

	(void)state;
	make_spool(dir, &spool);
	spool.keep_days = 7;
	assert_int_equal(spool_checkpoint(&spool, 7, 0, json, &err), 0);
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	assert_int_equal(spool_know_ledger(&spool, "first", &err), 0);
	r.seq = 2;
	disk_full = true;
	assert_int_equal(spool_record(&spool, &r, &err), -1);
	assert_non_null(strstr(err.text, "No space left"));
	r.job_id = 8;
	assert_int_equal(spool_record(&spool, &r, &err), -1);
	json_object_set_new(json, "a", json_integer(2));
	assert_int_equal(spool_checkpoint(&spool, 7, 0, json, &err), -1);
	assert_int_equal(spool_know_ledger(&spool, "second", &err), -1);
	disk_full = false;
	back = spool_restore(&spool, 7, 0, &err);
	assert_int_equal(json_integer_value(json_object_get(back, "a")), 1);
	assert_int_equal(spool_records(&spool, got, 4, &err), 1);
	assert_int_equal(got[0].seq, 1);
	assert_int_equal(files_in(spool.record_dir), 1);
	assert_int_equal(files_in(spool.state_dir), 1);
	/* Which ledger acks is as if it had not been told. */
	assert_int_equal(spool_acked(&spool, &got[0]), 0);
	assert_int_equal(spool_know_ledger(&spool, "second", &err), 1);
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	json_decref(json);
	json_decref(back);
	remove_dir(dir);
}

/* A record is taken out by its name, also one whose file somebody has given another. */
static char logged[1024];

static void note(enum plog_level level, const char *line)
{
	(void)level;
	strncat(logged, line, sizeof(logged) - strlen(logged) - 2);
	strcat(logged, "\n");
}

static void prior_of_slow_refill(void **state)
{
	static const char *const damaged[] = {"", "{\"node_type\":\"a\",\"pri", "[]",
		"{\"node_type\":\"a\",\"prior\":{\"none\":0.5,\"narrow\":0.5,\"wide\":0.5}}",
		"{\"prior\":{\"none\":0.5,\"narrow\":0.25,\"wide\":0.25}}"};
	char dir[] = "/tmp/test_spool-XXXXXX", bad[PATH_MAX + 8];
	struct slow_prior p = {{1 / 3.0, 0.2, 1 - 1 / 3.0 - 0.2}}, kept = {{0}};
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	plog_set_sink(note);
	make_spool(dir, &spool);
	spool_kept_prior(&spool, "a", &kept);
	assert_memory_equal(&kept, &slow_prior_default, sizeof(kept));
	assert_int_equal(spool_keep_prior(&spool, "a", &p, &err), 0);
	spool_kept_prior(&spool, "a", &kept);
	assert_memory_equal(&kept, &p, sizeof(kept));
	/* Another processor. */
	spool_kept_prior(&spool, "b", &kept);
	assert_memory_equal(&kept, &slow_prior_default, sizeof(kept));
	assert_string_equal(logged, "");
	snprintf(bad, sizeof(bad), "%s.bad", spool.prior);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		assert_int_equal(
			fsio_write(spool.prior, damaged[i], strlen(damaged[i]), 0600, 0, &err), 0);
		logged[0] = '\0';
		spool_kept_prior(&spool, "a", &kept);
		assert_memory_equal(&kept, &slow_prior_default, sizeof(kept));
		assert_non_null(strstr(logged, "is set aside; the default is in force"));
		assert_ptr_equal(strchr(logged, '\n'), strrchr(logged, '\n'));
		assert_int_equal(access(spool.prior, F_OK), -1);
		assert_int_equal(access(bad, F_OK), 0);
		logged[0] = '\0';
		spool_kept_prior(&spool, "a", &kept);
		assert_string_equal(logged, "");
	}
	remove_dir(dir);
	plog_set_sink(quiet);
}

static void names(void **state)
{
	char dir[] = "/tmp/test_spool-XXXXXX", from[128], to[160];
	struct ledger_record r = record_of(4294967294u, 1700000000, 1), got[4];
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	make_spool(dir, &spool);
	r.restart = 3;
	assert_int_equal(spool_record(&spool, &r, &err), 0);
	snprintf(from, sizeof(from), "%s/records/4294967294.3.1700000000", dir);
	assert_int_equal(access(from, F_OK), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(to, sizeof(to), "%s/records/%s", dir,
			i ? "4294967294.3" : "5.0.1800000000");
		assert_int_equal(rename(from, to), 0);
		assert_int_equal(spool_records(&spool, got, 4, &err), 1);
		assert_int_equal(got[0].job_id, 4294967294u);
		assert_int_equal(access(from, F_OK), 0);
		assert_int_equal(access(to, F_OK), -1);
	}
	assert_int_equal(spool_refused(&spool, &got[0]), 0);
	assert_int_equal(spool_records(&spool, got, 4, &err), 0);
	snprintf(to, sizeof(to), "%s.refused", from);
	assert_int_equal(access(to, F_OK), 0);
	/* It is not there any more: nothing to take out, and nothing to keep. */
	assert_int_equal(spool_acked(&spool, &r), 0);
	assert_int_equal(spool_refused(&spool, &r), -1);
	/* As many as are asked for, the lowest job first. */
	for (uint32_t job = 30; job > 0; job -= 10) {
		r = record_of(job, 1700000000, 1);
		assert_int_equal(spool_record(&spool, &r, &err), 0);
	}
	assert_int_equal(spool_records(&spool, got, 2, &err), 2);
	assert_int_equal(got[0].job_id, 10);
	assert_int_equal(got[1].job_id, 20);
	remove_dir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checkpoints),
		cmocka_unit_test(records),
		cmocka_unit_test(sent_records),
		cmocka_unit_test(records_of_a_reused_id),
		cmocka_unit_test(leftovers_of_a_kill),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(names),
		cmocka_unit_test(prior_of_slow_refill),
	};

	plog_set_sink(quiet);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
