/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the shutter log's writer and reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/estimate/shutterlog.h"

#define MAX_BLOCKS 16
#define MAX_BAD 64

struct seen {
	int blocks, bad;
	uint32_t job[MAX_BLOCKS];
	uint64_t number[MAX_BLOCKS];
	struct est_block block[MAX_BLOCKS];
	uint64_t bad_line[MAX_BAD];
	char why[256]; /* of the last malformed row */
	int stop_after;
	int priors;
	uint32_t prior_of; /* the last one, and after how many blocks it came */
	struct slow_prior prior;
	int prior_after;
};

static int take_block(uint32_t job, uint64_t number, const struct est_block *b, void *arg)
{
	struct seen *s = arg;

	if (s->blocks < MAX_BLOCKS) {
		s->job[s->blocks] = job;
		s->number[s->blocks] = number;
		s->block[s->blocks] = *b;
	}
	s->blocks++;
	return s->stop_after && s->blocks == s->stop_after ? 77 : 0;
}

static void take_prior(uint32_t job, const struct slow_prior *prior, void *arg)
{
	struct seen *s = arg;

	s->priors++;
	s->prior_of = job;
	s->prior = *prior;
	s->prior_after = s->blocks;
}

static void take_bad(uint64_t line, const char *why, void *arg)
{
	struct seen *s = arg;

	if (s->bad < MAX_BAD)
		s->bad_line[s->bad] = line;
	s->bad++;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static int read_text(const char *text, size_t len, struct seen *s, struct shutterlog_count *count,
	struct errmsg *err)
{
	FILE *in = fmemopen((void *)text, len, "r");
	int rc;

	assert_non_null(in);
	err->text[0] = '\0';
	rc = shutterlog_read(in, "test.csv", take_block, take_prior, take_bad, s, count, err);
	fclose(in);
	return rc;
}

static int read_string(const char *text, struct seen *s, struct errmsg *err)
{
	struct shutterlog_count count;

	memset(s, 0, sizeof(*s));
	return read_text(text, strlen(text), s, &count, err);
}

#define H SHUTTERLOG_FIELDS "\n"

static void sums_over_tasks_and_interleaved_jobs(void **state)
{
	struct seen s;
	struct errmsg err;

	(void)state;
	assert_int_equal(read_string(H "0,7,1,before,0,1000,10,100,40\n"
				       "0,8,1,before,0,1000,10,5,0\n"
				       "0,7,2,before,0,1001,12,300,60\n"
				       "0,7,1,during,0,1012,10,200,40\n"
				       "0,7,2,during,0,1012,10,500,60\n"
				       "0,8,1,after,0,1022,10,5,0\n"
				       "0,7,1,after,0,1022,10,100,40\n"
				       "0,7,2,after,0,1022,10,300,60\n"
				       "1,8,1,before,0,2000,10,5,0\n"
				       "1,7,1,before,0,2000,10,5,0\n"
				       "1,8,1,during,0,2010,10,9,0\n"
				       "1,8,1,after,0,2020,10,5,0",
				 &s, &err),
		0);
	assert_int_equal(s.bad, 0);
	assert_int_equal(s.blocks, 2);
	assert_int_equal(s.job[0], 7);
	assert_int_equal(s.block[0].start_ns, 1000);
	assert_int_equal(s.block[0].before_n, 1);
	assert_int_equal(s.block[0].during_n, 1);
	assert_float_equal(s.block[0].before[0].progress, 400, 0);
	assert_float_equal(s.block[0].before[0].cycles, 100, 0);
	assert_float_equal(s.block[0].before[0].dur_ns, 11, 0);
	assert_float_equal(s.block[0].during[0].progress, 700, 0);
	assert_int_equal(s.job[1], 8);
	assert_int_equal(s.number[1], 1);
	assert_float_equal(s.block[1].during[0].progress, 9, 0);
}

static void marks_windows_that_are_not_whole(void **state)
{
	struct seen s;
	struct errmsg err;

	(void)state;
	/* k counts from 1; before 2 is missing, during 1 lacks a task, after 2 has a row twice. */
	assert_int_equal(read_string(H "5,7,1,before,1,1000,10,1,4\n5,7,2,before,1,1000,10,1,4\n"
				       "5,7,1,before,3,1020,20,1,4\n5,7,2,before,3,1020,20,1,4\n"
				       "5,7,1,during,1,1040,10,1,4\n"
				       "5,7,1,during,2,1050,10,3,4\n5,7,2,during,2,1050,10,4,4\n"
				       "5,7,1,after,1,1060,10,1,4\n5,7,2,after,1,1060,10,1,4\n"
				       "5,7,1,after,2,1070,10,1,4\n5,7,2,after,2,1070,10,1,4\n"
				       "5,7,2,after,2,1070,10,1,4\n",
				 &s, &err),
		0);
	assert_int_equal(s.blocks, 1);
	assert_int_equal(s.block[0].before_n, 3);
	assert_float_equal(s.block[0].before[0].progress, 2, 0);
	assert_true(isnan(s.block[0].before[1].progress));
	assert_float_equal(s.block[0].before[1].dur_ns, 15, 0);
	assert_float_equal(s.block[0].before[2].dur_ns, 20, 0);
	assert_int_equal(s.block[0].during_n, 2);
	assert_true(isnan(s.block[0].during[0].progress));
	assert_float_equal(s.block[0].during[0].dur_ns, 10, 0);
	assert_float_equal(s.block[0].during[1].progress, 7, 0);
	assert_float_equal(s.block[0].after[0].progress, 2, 0);
	assert_true(isnan(s.block[0].after[1].progress));
}

/* A log of `good` rows of one block each, then `bad` copies of a row. */
static char *with_bad_rows(int good, int bad, const char *row)
{
	char *text = malloc(80 * (size_t)(good + bad) + 200), *p = text;

	assert_non_null(text);
	p += sprintf(p, H);
	for (int i = 0; i < good; i++)
		p += sprintf(p, "%d,7,1,during,0,%d,10,100,40\n", i, 1000 + i);
	for (int i = 0; i < bad; i++)
		p += sprintf(p, "%s\n", row);
	return text;
}

static void reports_and_skips_malformed_rows(void **state)
{
	static const char *const bad[][2] = {
		{"1,7,1,during,0,1000,10,100", "9 fields"},
		{"1,7,1,during,0,1000,10,100,1,1", "9 fields"},
		{"x,7,1,during,0,1000,10,100,1", "block"},
		{"-1,7,1,during,0,1000,10,100,1", "block"},
		{"1,,1,during,0,1000,10,100,1", "job"},
		{"1,4294967296,1,during,0,1000,10,100,1", "job"},
		{"1,7, 1,during,0,1000,10,100,1", "task"},
		{"1,7,1,While,0,1000,10,100,1", "region"},
		{"1,7,1,during,17,1000,10,100,1", "k must"},
		{"1,7,1,during,0,,10,100,1", "start_ns"},
		{"1,7,1,during,0,1000,0,100,1", "dur_ns"},
		{"1,7,1,during,0,1000,10,nan,1", "progress"},
		{"1,7,1,during,0,1000,10,1e999,1", "progress"},
		{"1,7,1,during,0,1000,10,0x10,1", "progress"},
		{"1,7,1,during,0,1000,10,1.9e19,1", "progress"},
		{"1,7,1,during,0,1.9e19,10,100,1", "start_ns"},
		{"1,7,1,during,0,1000,10,100,-1", "cycles"},
	};
	struct seen s;
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *text = with_bad_rows(99, 1, bad[i][0]);

		assert_int_equal(read_string(text, &s, &err), 0);
		assert_int_equal(s.bad, 1);
		assert_int_equal(s.bad_line[0], 101);
		assert_non_null(strstr(s.why, bad[i][1]));
		assert_int_equal(s.blocks, 99);
		free(text);
	}
}

static void refuses_what_is_mostly_broken(void **state)
{
	char *text = with_bad_rows(98, 1, "broken");
	struct seen s;
	struct errmsg err;

	(void)state;
	assert_int_equal(read_string(text, &s, &err), -1);
	assert_non_null(strstr(err.text, "1 of 99 rows"));
	assert_non_null(strstr(err.text, "test.csv"));
	assert_int_equal(s.blocks, 98);
	free(text);
	assert_int_equal(read_string("block;job\n1;2\n", &s, &err), -1);
	assert_non_null(strstr(err.text, "first line"));
	assert_int_equal(read_string("\n", &s, &err), -1);
	assert_int_equal(read_string(H, &s, &err), 0);
	assert_int_equal(s.blocks, 0);
	/* A byte order mark, CR LF, blank lines and a second header do no harm. */
	assert_int_equal(read_string("\xef\xbb\xbf" SHUTTERLOG_FIELDS "\r\n"
				     "0,7,1,during,0,1,10,100,40\r\n\r\n" H
				     "1,7,1,during,0,1,1.5e1,100.25,40\n",
				 &s, &err),
		0);
	assert_int_equal(s.blocks, 2);
	assert_float_equal(s.block[1].during[0].progress, 100.25, 0);
}

/* Rows have as many fields as the header above them says, also where logs of both forms follow each
 * other. */
static void fields_are_those_of_the_header(void **state)
{
	struct errmsg err = {""};
	struct seen s;

	(void)state;
	assert_int_equal(read_string(SHUTTERLOG_HEADER
				 "\n0,7,1,before,0,1,100,5,0,20\n0,7,2,before,0,1,100,5,0,20\n"
				 "0,7,1,during,0,1,100,5,0,0\n0,7,2,during,0,1,100,5,0,0\n",
				 &s, &err),
		0);
	assert_float_equal(s.block[0].before[0].lent_ns, 20, 0);
	assert_float_equal(s.block[0].during[0].lent_ns, 0, 0);
	assert_int_equal(
		read_string(SHUTTERLOG_HEADER "\n0,7,1,during,0,1,100,5,0\n", &s, &err), -1);
	assert_non_null(strstr(s.why, "10 fields"));
	assert_int_equal(
		read_string(SHUTTERLOG_HEADER "\n0,7,1,during,0,1,100,5,0,101\n", &s, &err), -1);
	assert_non_null(strstr(s.why, "lent_ns"));
	assert_int_equal(read_string(H "0,7,1,during,0,1,100,5,0\n" SHUTTERLOG_HEADER
				       "\n1,7,1,during,0,201,100,5,0,20\n",
				 &s, &err),
		0);
	assert_int_equal(s.blocks, 2);
	assert_int_equal(s.bad, 0);
}

static void stops_when_told(void **state)
{
	char *text = with_bad_rows(10, 0, "");
	struct shutterlog_count count;
	struct seen s = {.stop_after = 3};
	struct errmsg err;

	(void)state;
	assert_int_equal(read_text(text, strlen(text), &s, &count, &err), 77);
	assert_int_equal(s.blocks, 3);
	free(text);
}

/* Random damage to a good log: it may be refused, but never crash or run away. */
static void survives_damage(void **state)
{
	char *good = with_bad_rows(60, 0, "");
	size_t len = strlen(good);
	uint32_t x = 12345;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		char *text = malloc(len + 1);
		struct shutterlog_count count;
		struct seen s;
		struct errmsg err;
		size_t cut;

		assert_non_null(text);
		memcpy(text, good, len + 1);
		for (int i = 0; i < 1 + round % 20; i++) {
			x = x * 1664525 + 1013904223;
			text[(x >> 8) % len] =
				round % 3 ? "0,9\nadeb-.\0"[x % 11] : (char)(x >> 24);
		}
		x = x * 1664525 + 1013904223;
		cut = 1 + (x >> 8) % len;
		memset(&s, 0, sizeof(s));
		if (read_text(text, cut, &s, &count, &err))
			assert_true(strlen(err.text) > 10);
		assert_int_equal((uint64_t)s.bad, count.malformed);
		assert_true(count.malformed <= count.rows);
		free(text);
	}
	free(good);
}

static void writes_what_it_reads(void **state)
{
	char path[] = "/tmp/test_shutterlog.XXXXXX";
	struct shutter_row row = {.job = 7, .task = 4321, .start_ns = 5000, .dur_ns = 800};
	struct shutterlog_count count;
	struct errmsg err = {""};
	struct seen s;
	FILE *in;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	/* Opened twice: one header. */
	for (uint64_t block = 0; block < 2; block++) {
		struct shutterlog_writer *w = shutterlog_open(path, &err);

		assert_non_null(w);
		for (int r = 0; r < SHUTTERLOG_REGIONS; r++) {
			for (row.k = 0; row.k < 4; row.k++) {
				row.block = block;
				row.region = r;
				row.progress = UINT64_C(1000) * (uint64_t)(r + 1);
				row.cycles = 500;
				row.lent_ns = 80;
				shutterlog_append(w, &row);
			}
		}
		assert_int_equal(shutterlog_flush(w, &err), 0);
		shutterlog_close(w);
	}
	in = fopen(path, "r");
	assert_non_null(in);
	memset(&s, 0, sizeof(s));
	assert_int_equal(
		shutterlog_read(in, path, take_block, take_prior, take_bad, &s, &count, &err), 0);
	fclose(in);
	assert_int_equal(count.rows, 32);
	assert_int_equal(s.bad, 0);
	assert_int_equal(s.blocks, 2);
	assert_int_equal(s.block[1].after_n, 4);
	assert_float_equal(s.block[1].after[3].progress, 3000, 0);
	assert_float_equal(s.block[1].after[3].lent_ns, 80, 0);
	assert_int_equal(s.block[1].beyond_n, 4);
	assert_float_equal(s.block[1].beyond[3].progress, 4000, 0);
	unlink(path);
	assert_null(shutterlog_open("/nonexistent/x.csv", &err));
	assert_non_null(strstr(err.text, "/nonexistent/x.csv"));
	shutterlog_close(NULL);
}

#define ONE_BLOCK "1,7,1,during,0,10,10,5,0\n"

/* A job's prior is in the log once, before its first block, to the last bit. */
static void has_priors(void **state)
{
	static const struct slow_prior prior = {{1 / 3.0, 0.1 + 0.2, 1 - 1 / 3.0 - (0.1 + 0.2)}};
	char path[] = "/tmp/test_shutterlog.XXXXXX";
	struct shutter_row row = {
		.task = 1, .region = SHUTTER_DURING, .start_ns = 5, .dur_ns = 8, .progress = 3};
	struct shutterlog_writer *w;
	struct shutterlog_count count;
	struct errmsg err = {""};
	struct seen s = {0};
	int fd = mkstemp(path);
	FILE *in;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	w = shutterlog_open(path, &err);
	assert_non_null(w);
	for (row.block = 0; row.block < 6; row.block++) {
		row.job = 7 + row.block % 2;
		shutterlog_prior(w, row.job, row.job == 7 ? &slow_prior_default : &prior);
		shutterlog_append(w, &row);
	}
	assert_int_equal(shutterlog_flush(w, &err), 0);
	shutterlog_close(w);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_int_equal(
		shutterlog_read(in, path, take_block, take_prior, take_bad, &s, &count, &err), 0);
	fclose(in);
	unlink(path);
	assert_int_equal(s.blocks, 6);
	assert_int_equal(s.bad, 0);
	assert_int_equal(count.rows, 6);
	assert_int_equal(s.priors, 2);
	assert_int_equal(s.prior_of, 8);
	assert_memory_equal(&s.prior, &prior, sizeof(prior));
	assert_int_equal(s.prior_after, 0);
	/* Nobody needs to take them. */
	in = fmemopen((void *)(H SHUTTERLOG_PRIOR "7,0.5,0.3,0.2\n" ONE_BLOCK),
		strlen(H SHUTTERLOG_PRIOR "7,0.5,0.3,0.2\n" ONE_BLOCK), "r");
	memset(&s, 0, sizeof(s));
	assert_int_equal(shutterlog_read(in, "it", take_block, NULL, NULL, &s, &count, &err), 0);
	fclose(in);
	assert_int_equal(s.blocks, 1);
}

/* Other estimates than poppad's would follow from it. */
static void refuses_a_malformed_prior(void **state)
{
	static const char *const bad[] = {"7,0.5,0.3", "7,0.5,0.3,0.2,0", "7,0.5,0.3,0.3",
		"7,1,0,0", "7,nan,0.5,0.5", "-7,0.5,0.3,0.2", "7,0.5,0.3,x", "", "7,0.5,0.8,-0.3"};
	char text[256];
	struct seen s;
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), H ONE_BLOCK SHUTTERLOG_PRIOR "%s\n" ONE_BLOCK, bad[i]);
		assert_int_equal(read_string(text, &s, &err), -1);
		assert_non_null(
			strstr(err.text, "line 3: not \"# prior,JOB,NONE,NARROW,WIDE\" with"));
		assert_int_equal(s.bad, 0);
		assert_int_equal(s.priors, 0);
	}
}

/* A long block of which a window beyond is lost: its length is the planned one. */
static void a_lost_window_beyond_has_its_length(void **state)
{
	struct seen s;
	struct errmsg err;

	(void)state;
	assert_int_equal(read_string(H "0,1,9,before,0,100,10,50,0\n"
				       "0,1,9,during,0,110,10,60,0\n"
				       "0,1,9,during,1,120,10,60,0\n"
				       "0,1,9,beyond,0,130,21,150,0\n"
				       "0,1,9,beyond,2,190,80,600,0\n",
				 &s, &err),
		0);
	assert_int_equal(s.bad, 0);
	assert_int_equal(s.blocks, 1);
	assert_int_equal(s.block[0].during_n, 2);
	assert_int_equal(s.block[0].beyond_n, 3);
	assert_float_equal(s.block[0].beyond[0].progress, 150, 0);
	assert_true(isnan(s.block[0].beyond[1].progress));
	assert_float_equal(s.block[0].beyond[1].dur_ns, 40, 0);
	assert_float_equal(s.block[0].beyond[2].progress, 600, 0);
	assert_int_equal(s.block[0].after_n, 0);
}

static void tells_of_a_full_disk(void **state)
{
	struct errmsg err = {""};
	struct shutterlog_writer *w;
	struct shutter_row row = {.dur_ns = 1};

	(void)state;
	w = shutterlog_open("/dev/full", &err);
	assert_non_null(w);
	for (int i = 0; i < 10000; i++)
		shutterlog_append(w, &row);
	assert_int_equal(shutterlog_flush(w, &err), -1);
	assert_non_null(strstr(err.text, "No space"));
	shutterlog_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_over_tasks_and_interleaved_jobs),
		cmocka_unit_test(marks_windows_that_are_not_whole),
		cmocka_unit_test(reports_and_skips_malformed_rows),
		cmocka_unit_test(refuses_what_is_mostly_broken),
		cmocka_unit_test(fields_are_those_of_the_header),
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(writes_what_it_reads),
		cmocka_unit_test(has_priors),
		cmocka_unit_test(refuses_a_malformed_prior),
		cmocka_unit_test(a_lost_window_beyond_has_its_length),
		cmocka_unit_test(tells_of_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
