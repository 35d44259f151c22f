/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of the decision what a run is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "accounting/settle/settle.h"

#define S INT64_C(1000000000)

static const struct settle_node two_nodes[] = {{"n1", 8, 0}, {"n2", 8, 0}};

static struct settle_job job_of(const struct settle_node *nodes, int n)
{
	return (struct settle_job){.cluster = "c",
		.job_id = 12,
		.uid = 1000,
		.start_unix = 1000,
		.end_unix = 1100,
		.wall_ns = 100 * S,
		.raw = 10000,
		.nodes = nodes,
		.node_count = n};
}

static struct ledger_record record_of(const char *node, double degradation)
{
	struct ledger_record r = {.cluster = "c",
		.job_id = 12,
		.uid = 1000,
		.final = true,
		.cores = 8,
		.start_unix = 1001,
		.end_unix = 1101,
		.co_ns = 100 * S,
		.blocks = 100,
		.used = 100,
		.degradation = degradation,
		.variance = 1e-4,
		.method = "robust",
		.backend = "heartbeat",
		.partner_count = 1,
		.partner = {13}};

	snprintf(r.node, sizeof(r.node), "%s", node);
	return r;
}

static struct settlement decide(
	const struct settle_job *job, const struct ledger_record *records, int n)
{
	const struct price_policy thesis = {.kind = PRICE_THESIS, .cap = 1};
	struct settlement s;

	settle_decide(job, records, n, &thesis, 2000, &s);
	assert_true(s.raw == job->raw && s.charged <= s.raw);
	assert_int_equal(s.job_id, job->job_id);
	assert_int_equal(s.settled_unix, 2000);
	return s;
}

/* What a comment tells. */
static struct settlement of_text(const char *text)
{
	struct settlement s;
	struct errmsg err = {""};

	settlement_clear(&s);
	if (settlement_read_comment(text, &s, &err))
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(s.text, text);
	return s;
}

/* Mind the square: D = 0.2 is 0.64 of what Slurm charged. */
static void one_node(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.2);
	struct settlement s = decide(&job, &r, 1);

	(void)state;
	assert_int_equal(s.charged, 6400);
	assert_true(fabs(s.degradation - 0.2) < 1e-12);
	assert_true(fabs(s.hi - 0.2196) < 1e-9 && fabs(s.lo - 0.1804) < 1e-9);
	assert_string_equal(s.text,
		"d=0.2000 ci=0.180..0.220 co=1.00 dco=0.2000 stopped=0.0000 partners=13 "
		"raw=10000 charged=6400 policy=thesis backend=heartbeat");
	assert_string_equal(s.policy, "thesis");
}

/* Half the time alone halves D; time held stopped is taken off before. */
static void solo_and_paused_time(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.4);
	struct settlement s;

	(void)state;
	r.co_ns = 50 * S;
	r.solo_ns = 50 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - 0.2) < 1e-12);
	assert_int_equal(s.charged, 6400);
	r.solo_ns = 40 * S;
	r.paused_ns = 10 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - 20.0 / 90) < 1e-12);
	assert_int_equal(s.charged, lround(10000 * 0.9 * pow(70.0 / 90, 2)));
	assert_non_null(strstr(s.text, " stopped=0.1000 "));
	assert_non_null(strstr(s.text, " co=0.50 "));
}

/* Who runs for half of the time, with nobody beside it, makes half of the progress: D = 0.5. What a
 * job loses in the slices side by side comes on top. */
static void turns_are_degradation(void **state)
{
	const struct price_policy solo = {.kind = PRICE_SOLO, .cap = 1};
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.75);
	struct settlement s;

	(void)state;
	r.co_ns = 0;
	r.degradation = NAN;
	r.solo_ns = r.turned_ns = 50 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - 0.5) < 1e-12);
	assert_true(fabs(s.turned - 0.5) < 1e-12);
	assert_int_equal(s.charged, 2500);
	settle_decide(&job, &r, 1, &solo, 2000, &s);
	assert_int_equal(s.charged, 5000);
	r.co_ns = 8 * S;
	r.degradation = 0.75;
	r.solo_ns = r.turned_ns = 45 * S;
	r.paused_ns = 2 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - (45 + 6) / 98.0) < 1e-12);
	assert_true(fabs(s.hi - s.degradation - 1.96 * 0.01 * 8 / 98) < 1e-9);
	assert_non_null(strstr(s.text, " co=0.53 dco=0.9623 stopped=0.0200 turned=0.4500 "));
	assert_int_equal(s.charged, lround(10000 * 0.98 * pow(1 - 51 / 98.0, 2)));
	assert_true(isnan(s.unmeasured) && !*s.nodata);
	/* One partner caused all of it; of several nobody knows. */
	assert_true(fabs(s.partner_cost[0] - s.degradation) < 1e-9 || isnan(s.partner_cost[0]));
	/* What is not known otherwise leaves what was held, for which nobody pays. */
	r.degradation = NAN;
	r.lack = LACK_PRECISION;
	s = decide(&job, &r, 1);
	assert_string_equal(s.nodata, "uncertain");
	assert_true(fabs(s.stopped - 0.47) < 1e-12);
	assert_int_equal(s.charged, 5300);
}

/* What the records do not cover, and what poppad did not see, has no discount. */
static void uncovered_time(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.4);
	struct settlement s;

	(void)state;
	r.co_ns = 50 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - 0.2) < 1e-12);
	assert_null(strstr(s.text, "unmeasured"));
	r.unmeasured_ns = 50 * S;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 6400);
	assert_non_null(strstr(s.text, " unmeasured=0.50"));
	/* It was down, and takes that for time of the job. */
	r.unmeasured_ns = 5000 * S;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 6400);
	assert_non_null(strstr(s.text, " unmeasured=0.50"));
}

/* A node whose clock or epilog ran longer than the run cannot discount more than the run. */
static void too_much_time(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.2);
	struct settlement s;

	(void)state;
	r.co_ns = 300 * S;
	r.paused_ns = 100 * S;
	s = decide(&job, &r, 1);
	assert_non_null(strstr(s.text, " co=0.75 dco=0.2000 stopped=0.2500 "));
	assert_int_equal(s.charged, lround(10000 * 0.75 * 0.8 * 0.8));
}

static void weights(void **state)
{
	static const struct settle_node uneven[] = {{"n1", 12, 0}, {"n2", 4, 0}};
	struct settle_job job = job_of(uneven, 2);
	struct ledger_record r[] = {record_of("n2", 0.4), record_of("n1", 0)};
	struct settlement s;

	(void)state;
	r[1].partner[0] = 7;
	strcpy(r[0].backend, "perf");
	s = decide(&job, r, 2);
	assert_true(fabs(s.degradation - 0.1) < 1e-12);
	assert_int_equal(s.charged, 8100);
	assert_non_null(strstr(s.text, " partners=7:0.000,13:0.100 "));
	assert_non_null(strstr(s.text, " backend=heartbeat+perf"));
	assert_null(strstr(s.text, "partial"));
	assert_true(settle_complete(&job, r, 2));
	r[0].final = false;
	assert_false(settle_complete(&job, r, 2));
	assert_false(settle_complete(&job, r + 1, 1));
}

/* The share of a node without a record, or without a degradation, is charged in full. */
static void partial_data(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.4), record_of("n2", NAN)};
	struct settlement s;

	(void)state;
	r[1].co_ns = 90 * S;
	r[1].paused_ns = 10 * S;
	s = decide(&job, r, 1);
	assert_true(fabs(s.degradation - 0.2) < 1e-12);
	assert_int_equal(s.charged, 6400);
	assert_non_null(strstr(s.text, " partial=1/2"));
	assert_non_null(strstr(s.text, " stopped=0.0000 "));
	/* For how long it held the job stopped it knows without a degradation. */
	s = decide(&job, r, 2);
	assert_true(fabs(s.degradation - 40.0 / 190) < 1e-12);
	assert_int_equal(s.charged, lround(10000 * 0.95 * pow(150.0 / 190, 2)));
	assert_non_null(strstr(s.text, " partial=1/2"));
	assert_non_null(strstr(s.text, " stopped=0.0500 "));
}

static void no_data(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", NAN), record_of("n2", NAN)};
	struct settlement s;

	(void)state;
	s = decide(&job, NULL, 0);
	assert_int_equal(s.charged, 10000);
	assert_true(isnan(s.degradation));
	assert_string_equal(s.text, "nodata=no-record raw=10000 charged=10000 policy=thesis");
	s = decide(&job, r, 2);
	assert_string_equal(
		s.text, "nodata=too-few-blocks partners=13 raw=10000 charged=10000 policy=thesis");
	for (int lack = LACK_BLOCKS; lack < LACK_COUNT; lack++) {
		static const char *const words[] = {NULL, "nodata=too-few-blocks ",
			"nodata=no-progress ", "nodata=unsteady ", "nodata=unmeasured ",
			"nodata=uncertain ", "nodata=no-core "};

		r[0].lack = (enum record_lack)lack;
		s = decide(&job, r, 2);
		assert_int_equal(s.charged, 10000);
		assert_non_null(strstr(s.text, words[lack]));
	}
	strcpy(r[0].backend, "none");
	strcpy(r[1].backend, "none");
	r[0].paused_ns = 50 * S;
	/* 50 s of the 150 s that this node tells of, scaled down to the 100 s that it had. */
	s = decide(&job, r, 2);
	assert_int_equal(s.charged, lround(10000 * (1 - 50 / 1.5 / 200)));
	assert_non_null(strstr(s.text, "nodata=no-signal stopped=0.1667 "));
	assert_true(isnan(s.degradation));
	r[0] = record_of("n1", NAN);
	r[0].co_ns = 0;
	r[0].unmeasured_ns = 100 * S;
	s = decide(&job, r, 1);
	assert_non_null(strstr(s.text, "nodata=unmeasured "));
	job.unpriced = "resized";
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, "nodata=resized "));
	job.unpriced = NULL;
	job.wall_ns = 0;
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, "nodata=no-time "));
	assert_int_equal(s.charged, 10000);
	/* A node the job did not run on has no say. */
	job = job_of(two_nodes, 1);
	r[0] = record_of("n9", 0.9);
	s = decide(&job, r, 1);
	assert_int_equal(s.charged, 10000);
	assert_non_null(strstr(s.text, "nodata=no-record "));
}

/* 40 s on both nodes, 60 s on the first: D is that of all node time, and both sizes pay one share.
 */
static void resized(void **state)
{
	static const struct settle_node nodes[] = {{"n1", 8, 100 * S}, {"n2", 8, 40 * S}};
	static const struct settlement_size before = {20000, 40};
	struct settle_job job = job_of(nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.1), record_of("n2", 0.45)};
	struct settlement s;

	(void)state;
	job.sizes = &before;
	job.size_count = 1;
	r[1].co_ns = 40 * S;
	s = decide(&job, r, 2);
	assert_true(fabs(s.degradation - 0.2) < 1e-12);
	assert_int_equal(s.charged, 6400);
	assert_string_equal(s.text,
		"d=0.2000 ci=0.185..0.215 co=1.00 dco=0.2000 stopped=0.0000 partners=13 "
		"raw=10000 charged=6400 policy=thesis earlier=20000:40 backend=heartbeat");
	assert_int_equal(s.size_count, 1);
	assert_int_equal(s.size[0].raw, 20000);
	assert_int_equal(s.size[0].seconds, 40);
	assert_int_equal(settlement_share(s.size[0].raw, s.charged, s.raw), 12800);
	/* A record that goes on after the node has left the job does not count for longer. */
	r[1].co_ns = 100 * S;
	s = decide(&job, r, 2);
	assert_int_equal(s.charged, 6400);
	/* What is changed later is still known of the other sizes. */
	settlement_change(&s, 5000);
	assert_non_null(strstr(s.text, " charged=5000 policy=thesis earlier=20000:40 "));
	assert_int_equal(settlement_earlier_s(&s), 40);
	/* Without data, too. */
	s = decide(&job, r, 0);
	assert_string_equal(
		s.text, "nodata=no-record raw=10000 charged=10000 policy=thesis earlier=20000:40");
}

/* The longest text ends with what tells the runs of a job apart, as slurmctld goes by that. */
static void longest_text(void **state)
{
	struct price_policy policy = {
		.kind = PRICE_TIERS, .cap = 0.987654, .floor = UINT64_MAX, .upper = true};
	struct settlement_size sizes[SETTLEMENT_MAX_SIZES];
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r = record_of("n1", 0.5);
	struct settlement s;

	(void)state;
	for (int i = 0; i < PRICE_MAX_TIERS; i++)
		policy.tier[policy.tiers++] = (struct price_tier){0.111111 + i / 1e6, 0.123456};
	for (int i = 0; i < SETTLEMENT_MAX_SIZES; i++)
		sizes[i] = (struct settlement_size){INT64_MAX, INT32_MAX};
	job.sizes = sizes;
	job.size_count = SETTLEMENT_MAX_SIZES;
	job.restart = UINT32_MAX;
	job.raw = INT64_MAX;
	r.restart = job.restart;
	r.spin = r.attributed = true;
	r.unmeasured_ns = 30 * S;
	r.co_ns = 70 * S;
	for (r.partner_count = 0; r.partner_count < RECORD_MAX_PARTNERS; r.partner_count++) {
		r.partner[r.partner_count] = UINT32_MAX - (uint32_t)r.partner_count;
		r.partner_degradation[r.partner_count] = 0.1;
	}
	settle_decide(&job, &r, 1, &policy, 2000, &s);
	assert_non_null(strstr(s.text, " partial=1/2 "));
	assert_non_null(strstr(s.text, " spin=suspected restart=4294967295"));
	settlement_change(&s, 5000);
	assert_non_null(strstr(s.text, " restart=4294967295"));
	assert_non_null(strstr(s.text, " changed=1"));
	assert_int_equal(of_text(s.text).size_count, SETTLEMENT_MAX_SIZES);
}

static void sizes_of_a_text(void **state)
{
	static const char *const bad[] = {"x earlier=", "x earlier=1",
		"x earlier=1:", "x earlier=:1", "x earlier=1:0", "x earlier=-1:1",
		"x earlier=1:1,2", "x earlier=1:1:1",
		"x earlier=1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1"};
	struct settlement s = {.job_id = 7};
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(settlement_read_comment(bad[i], &s, &err), -1);
	assert_int_equal(s.job_id, 7);
	assert_int_equal(s.size_count, 0);
	assert_int_equal(of_text("d=0.1 raw=1").size_count, 0);
	s = of_text("x earlier=16000:5,8000:7 backend=y");
	assert_int_equal(s.size_count, 2);
	assert_true(s.size[0].raw == 16000 && s.size[0].seconds == 5);
	assert_true(s.size[1].raw == 8000 && s.size[1].seconds == 7);
	assert_int_equal(of_text("earlier=16000:5 backend=y").size_count, 1);
	s = of_text("x earlier=16000:5,8000:7");
	assert_int_equal(settlement_earlier_s(&s), 12);
	s = of_text("d=0.1 raw=8000 charged=10");
	assert_int_equal(settlement_earlier_s(&s), 0);
	assert_int_equal(s.raw, 8000);
	assert_int_equal(of_text("d=0.1 charged=10").raw, 0);
	assert_int_equal(settlement_share(16000, 8000, 8000), 16000);
	assert_int_equal(settlement_share(16000, 0, 0), 16000);
	assert_int_equal(settlement_share(16000, 0, 8000), 0);
	assert_int_equal(settlement_share(3, 5, 10), 2);
}

/* Alone all the time is data: no discount, and no excuse. */
static void always_alone(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", NAN);
	struct settlement s;

	(void)state;
	r.co_ns = 0;
	r.solo_ns = 100 * S;
	r.partner_count = 0;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 10000);
	assert_string_equal(s.text, "d=0.0000 co=0.00 stopped=0.0000 raw=10000 charged=10000 "
				    "policy=thesis backend=heartbeat");
}

/* What says too little makes no price. */
static void uncertain(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.5);
	struct settlement s;

	(void)state;
	r.variance = 0.0162; /* +-0.2495 */
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 2500);
	r.variance = 0.0163; /* +-0.2502 */
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 10000);
	assert_non_null(strstr(s.text, "nodata=uncertain "));
	r.variance = NAN;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 2500);
	r.degradation = 1.1;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 10000);
	assert_non_null(strstr(s.text, "nodata=uncertain "));
}

/* One node that caught the job is enough, however good the measurements look. */
static void shutter_sensing(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.4), record_of("n2", 0.4)};
	struct settlement s;
	struct settle_pair pair[SETTLE_MAX_PAIRS];

	(void)state;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 1);
	r[1].sensing = true;
	s = decide(&job, r, 2);
	assert_int_equal(s.charged, 10000);
	assert_string_equal(s.text, "nodata=shutter-sensing partners=13 raw=10000 charged=10000 "
				    "policy=thesis");
	/* Nor do others learn from it. */
	assert_int_equal(settle_pairs(&job, r, 2, pair), 0);
}

static void noise_below_zero(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", -0.03);
	struct settlement s = decide(&job, &r, 1);

	(void)state;
	assert_int_equal(s.charged, 10000);
	assert_non_null(strstr(s.text, "d=-0.0300 "));
	r.degradation = -0.00001;
	s = decide(&job, &r, 1);
	assert_non_null(strstr(s.text, "d=0.0000 "));
}

/*
 * slurmctld that is killed may start a job again that has run: then a node has two records that
 * could be the run's.
 */
static void record_of_its_run(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r[] = {
		record_of("n1", 0.8), record_of("n1", 0.2), record_of("n1", 0.9)};
	struct settlement s;

	(void)state;
	r[0].start_unix = 970;
	r[0].end_unix = 980;
	r[2].start_unix = 1130;
	r[2].end_unix = 1140;
	s = decide(&job, r, 3);
	assert_int_equal(s.charged, 6400);
	assert_true(settle_complete(&job, r, 3));
	/* Before its own has come, nothing is concluded from the one before. */
	assert_false(settle_complete(&job, r, 1));
	/* A job that was cancelled at once may have ended before its node heard of it. */
	assert_true(settle_complete(&job, r + 2, 1));
	/* One that ended before comes last, and first the nearest of the others. */
	r[1].start_unix = 1040;
	s = decide(&job, r, 3);
	assert_int_equal(s.charged, 6400);
	r[0].end_unix = 1005;
	r[0].degradation = 0.5;
	s = decide(&job, r, 3);
	assert_int_equal(s.charged, 2500);
}

/* Records that are of another run or job do not count, whatever they say. */
static void records_of_others(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record ours = record_of("n1", 0.2), r[6];
	struct settlement s;

	(void)state;
	for (int i = 0; i < 6; i++)
		r[i] = record_of("n1", 0.9);
	r[0].uid = 1001;
	r[1].restart = 1;
	r[2].job_id = 13;
	strcpy(r[3].cluster, "d");
	/* The id was used before and will be again. */
	r[4].start_unix = job.start_unix - 301;
	r[5].start_unix = job.end_unix + 301;
	s = decide(&job, r, 6);
	assert_non_null(strstr(s.text, "nodata=no-record "));
	assert_int_equal(s.charged, 10000);
	assert_false(settle_complete(&job, r, 6));
	r[0] = ours;
	s = decide(&job, r, 6);
	assert_int_equal(s.charged, 6400);
	assert_true(settle_complete(&job, r, 6));
	/* Clocks that differ by less do no harm. */
	for (int i = -300; i <= 400; i += 700) {
		ours.start_unix = job.start_unix + i;
		s = decide(&job, &ours, 1);
		assert_int_equal(s.charged, 6400);
	}
}

/* A node's clock has no say in its times; that of the controller makes what Slurm charges. */
static void clock_steps(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.2);
	struct settlement s;

	(void)state;
	/* The node's clock was set back by a day after the job had been registered. */
	r.end_unix = r.start_unix - 86400;
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 6400);
	/* The controller's went on by 900 s: nobody measured those. */
	job.end_unix += 900;
	job.wall_ns += 900 * S;
	s = decide(&job, &r, 1);
	assert_true(fabs(s.degradation - 0.02) < 1e-12);
	assert_int_equal(s.charged, lround(10000 * 0.98 * 0.98));
	/* It went back by more than the run took. */
	job = job_of(two_nodes, 1);
	job.end_unix = job.start_unix;
	job.wall_ns = -50 * S;
	s = decide(&job, &r, 1);
	assert_non_null(strstr(s.text, "nodata=no-time "));
	assert_int_equal(s.charged, 10000);
}

/* The last word of a node that was killed never comes; what it said before counts, for its time. */
static void last_word_missing(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = record_of("n1", 0.4);
	struct settlement s;

	(void)state;
	r.final = false;
	r.co_ns = 50 * S;
	assert_false(settle_complete(&job, &r, 1));
	s = decide(&job, &r, 1);
	assert_int_equal(s.charged, 6400);
	assert_non_null(strstr(s.text, " unmeasured=0.50"));
}

/* Who cost what, on one node and over several; as names only while some of it is not known. */
static void costs_of_partners(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.3), record_of("n2", 0.2)};
	struct settlement s;

	(void)state;
	r[0].partner_count = 3;
	r[0].partner[1] = 7;
	r[0].partner[2] = 9;
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, " partners=7,9,13 "));
	r[0].attributed = true;
	r[0].partner_degradation[0] = 0.1;
	r[0].partner_degradation[1] = 0.2;
	r[0].partner_degradation[2] = NAN;
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, "d=0.2500 "));
	assert_non_null(strstr(s.text, " partners=7:0.100,9,13:0.150 "));
	assert_null(strstr(s.text, "spin"));
	r[1].spin = true;
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, " spin=suspected"));
	job.node_count = 1;
	s = decide(&job, r, 1);
	assert_non_null(strstr(s.text, " partners=7:0.200,9,13:0.100 "));
	r[0].degradation = NAN;
	s = decide(&job, r, 1);
	assert_non_null(strstr(s.text, "nodata=too-few-blocks partners=7,9,13 "));
}

/* A co-runner for which a node could not measure is named, with data from others or without. */
static void culprits(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", NAN), record_of("n2", 0.2)};
	struct settlement s, back;

	(void)state;
	r[0].lack = LACK_STILLNESS;
	r[0].culprit = 13;
	s = decide(&job, r, 2);
	assert_int_equal(s.culprit, 13);
	assert_non_null(strstr(s.text, " partial=1/2 "));
	assert_non_null(strstr(s.text, " culprit=13"));
	settlement_clear(&back);
	assert_int_equal(settlement_read_comment(s.text, &back, NULL), 0);
	assert_int_equal(back.culprit, 13);
	r[1].culprit = 14;
	r[1].lack = LACK_STILLNESS;
	r[1].degradation = NAN;
	s = decide(&job, r, 2);
	assert_int_equal(s.charged, 10000);
	assert_int_equal(strncmp(s.text, "nodata=unmeasured ", 18), 0);
	assert_true(s.culprit == 13 || s.culprit == 14);
	r[0].culprit = r[1].culprit = 0;
	s = decide(&job, r, 2);
	assert_null(strstr(s.text, "culprit"));
}

static void requeued_and_many_partners(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.2)};
	struct settlement s;

	(void)state;
	job.restart = r[0].restart = r[1].restart = 3;
	r[0].partner_count = RECORD_MAX_PARTNERS;
	for (int i = 0; i < RECORD_MAX_PARTNERS; i++)
		r[0].partner[i] = 4294967200u + i;
	s = decide(&job, r, 2);
	assert_non_null(strstr(s.text, " partners=13,4294967200,"));
	assert_non_null(strstr(s.text, ",+9 raw="));
	assert_non_null(strstr(s.text, " restart=3"));
	assert_true(strlen(s.text) < sizeof(s.text) - 1);
}

static void pairs(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.4)};
	struct settle_pair pair[SETTLE_MAX_PAIRS];

	(void)state;
	r[1].co_ns = 50 * S;
	r[1].solo_ns = 50 * S;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 1);
	assert_int_equal(pair->partner, 13);
	assert_true(fabs(pair->degradation - 40.0 / 150) < 1e-12);
	assert_true(pair->seconds == 100);
	/* A node that was never shared says nothing against it. */
	r[1].co_ns = 0;
	r[1].partner_count = 0;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 1);
	assert_true(pair->degradation == 0.2);
	r[1] = record_of("n2", NAN);
	assert_int_equal(settle_pairs(&job, r, 2, pair), 0);
	assert_int_equal(settle_pairs(&job, NULL, 0, pair), 0);
}

/* Beside several partners a run shows something about those whose part is known, and that were on
 * all of the shared nodes. */
static void pairs_of_several(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.2)};
	struct settle_pair pair[SETTLE_MAX_PAIRS];

	(void)state;
	r[1].partner[0] = 14;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 0);
	r[0].partner_count = 2;
	r[0].partner[1] = 14;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 0);
	/* 13 was on one node of the two. Of 100 s beside 14 on that it cost 0.5 in 20 s. */
	r[0].attributed = r[0].timed = true;
	r[0].partner_ns[0] = 80 * S;
	r[0].partner_ns[1] = 20 * S;
	r[0].partner_degradation[0] = 0.1;
	r[0].partner_degradation[1] = 0.1;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 1);
	assert_int_equal(pair->partner, 14);
	assert_true(fabs(pair->degradation - (20 * 0.5 + 100 * 0.2) / 120) < 1e-12);
	assert_true(pair->seconds == 100);
	/* Both on both. */
	r[1] = r[0];
	snprintf(r[1].node, sizeof(r[1].node), "n2");
	r[1].partner[0] = 14;
	r[1].partner[1] = 13;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 2);
	assert_int_equal(pair[0].partner, 13);
	assert_true(fabs(pair[0].degradation - 0.2) < 1e-12);
	assert_true(pair[0].seconds == 80);
	/* What one node does not know, the run does not show. A node of an earlier release knows
	 * costs and no times. */
	r[1].partner_degradation[1] = NAN;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 1);
	assert_int_equal(pair->partner, 14);
	r[1].timed = false;
	assert_int_equal(settle_pairs(&job, r, 2, pair), 0);
	/* Noise of a short time. */
	r[0].partner_ns[0] = S;
	assert_int_equal(settle_pairs(&job, r, 1, pair), 2);
	assert_true(pair->degradation == 1);
}

/* While the job runs, a partner of the node that has told may be on no other: so all must have. */
static void pairs_so_far(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.4)};
	struct settle_pair pair[SETTLE_MAX_PAIRS];

	(void)state;
	r[0].final = r[1].final = false;
	assert_int_equal(settle_pairs_so_far(&job, r, 1, pair), 0);
	assert_int_equal(settle_pairs_so_far(&job, r, 2, pair), 1);
	assert_int_equal(pair->partner, 13);
	assert_true(fabs(pair->degradation - 0.3) < 1e-12);
	/* It has told of no time yet. */
	r[1].co_ns = 0;
	r[1].partner_count = 0;
	assert_int_equal(settle_pairs_so_far(&job, r, 2, pair), 0);
	r[1].solo_ns = 10 * S;
	assert_int_equal(settle_pairs_so_far(&job, r, 2, pair), 1);
	r[0].sensing = true;
	assert_int_equal(settle_pairs_so_far(&job, r, 2, pair), 0);
}

/* The first node that knows a program tells it; records of other jobs do not count. */
static void program_of_a_run(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.2)};

	(void)state;
	assert_string_equal(settle_program(&job, r, 2), "");
	strcpy(r[1].program, "cg");
	assert_string_equal(settle_program(&job, r, 2), "cg");
	strcpy(r[0].program, "lu");
	assert_string_equal(settle_program(&job, r, 2), "lu");
	r[0].job_id++;
	assert_string_equal(settle_program(&job, r, 2), "cg");
	assert_string_equal(settle_program(&job, r, 0), "");
}

/* What the run would have taken alone: by the time that it ran, and only where all of it is known.
 */
static void time_alone(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.2)};
	struct settlement s = decide(&job, r, 2);

	(void)state;
	assert_float_equal(settle_spread_s(&job, &s), 80, 1e-9);
	/* A quarter of it alone, and a tenth held. */
	for (int i = 0; i < 2; i++) {
		r[i].co_ns = 65 * S;
		r[i].solo_ns = 25 * S;
		r[i].paused_ns = 10 * S;
	}
	s = decide(&job, r, 2);
	assert_float_equal(settle_spread_s(&job, &s), 100 - 10 - 0.2 * 65, 1e-9);
	/* All of it alone. */
	for (int i = 0; i < 2; i++) {
		r[i].co_ns = 0;
		r[i].solo_ns = 90 * S;
		r[i].degradation = NAN;
	}
	s = decide(&job, r, 2);
	assert_float_equal(settle_spread_s(&job, &s), 90, 1e-9);
}

static void time_alone_is_not_certain(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {record_of("n1", 0.2), record_of("n2", 0.2)};
	struct settlement s;

	(void)state;
	/* No data, or of one node only. */
	s = decide(&job, r, 0);
	assert_true(isnan(settle_spread_s(&job, &s)));
	s = decide(&job, r, 1);
	assert_true(isnan(settle_spread_s(&job, &s)));
	/* A wide interval, or none. */
	r[0].variance = r[1].variance = 0.005; /* of each; of both D plus or minus 0.098 */
	s = decide(&job, r, 2);
	assert_float_equal(settle_spread_s(&job, &s), 80, 1e-9);
	r[0].variance = r[1].variance = 0.0053;
	s = decide(&job, r, 2);
	assert_true(isnan(settle_spread_s(&job, &s)));
	r[0].variance = NAN;
	s = decide(&job, r, 2);
	assert_true(isnan(settle_spread_s(&job, &s)));
	r[0].variance = r[1].variance = 1e-4;
	/* Not all of the time. */
	r[0].co_ns = 90 * S;
	r[0].unmeasured_ns = 10 * S;
	s = decide(&job, r, 2);
	assert_true(isnan(settle_spread_s(&job, &s)));
	r[0] = r[1];
	strcpy(r[0].node, "n1");
	/* Waiting in a loop counts as progress. */
	r[0].spin = true;
	s = decide(&job, r, 2);
	assert_true(isnan(settle_spread_s(&job, &s)));
	r[0].spin = false;
	s = decide(&job, r, 2);
	job.size_count = 1;
	assert_true(isnan(settle_spread_s(&job, &s)));
	job.size_count = 0;
	job.unpriced = "resized";
	assert_true(isnan(settle_spread_s(&job, &s)));
}

static bool has_line(const struct settle_job *job, const struct ledger_record *r, int n)
{
	struct settlement s = decide(job, r, n);
	struct settle_miss line;

	return settle_miss(job, r, n, &s, &line);
}

static struct ledger_record with_line(const char *node, double base, double miss, uint32_t blocks)
{
	struct ledger_record r = record_of(node, 0.2);

	r.miss_known = true;
	r.miss_line[0] = base;
	r.miss_line[1] = miss;
	r.miss_blocks = blocks;
	return r;
}

/* Of 30 and 90 blocks the fourth root of one number and the cube of the other. */
static void cost_of_a_miss(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {with_line("n1", 1, 40, 30), with_line("n2", 1.5, 60, 90)};
	struct settlement s = decide(&job, r, 2);
	struct settle_miss line;

	(void)state;
	assert_true(settle_miss(&job, r, 2, &s, &line));
	assert_float_equal(line.base_cycles, pow(1.5, 0.75), 1e-9);
	assert_float_equal(line.miss_cycles, 40 * pow(1.5, 0.75), 1e-9);
	/* A node that knows none says nothing against it. */
	r[0].miss_known = false;
	assert_true(settle_miss(&job, r, 2, &s, &line));
	assert_float_equal(line.base_cycles, 1.5, 1e-9);
	assert_float_equal(line.miss_cycles, 60, 1e-9);
	r[0].miss_known = true;
	r[0].miss_blocks = 29;
	assert_true(settle_miss(&job, r, 2, &s, &line));
	assert_float_equal(line.miss_cycles, 60, 1e-9);
	/* A job that was alone all the time knows it as well. */
	for (int i = 0; i < 2; i++) {
		r[i].solo_ns = r[i].co_ns;
		r[i].co_ns = 0;
		r[i].partner_count = 0;
	}
	assert_true(has_line(&job, r, 2));
	/* Records of other jobs, and of an earlier run, do not count. */
	r[1].job_id++;
	assert_false(has_line(&job, r, 2));
	r[1].job_id--;
	r[1].start_unix = 980;
	r[1].end_unix = 990;
	assert_false(settle_miss(&job, r, 2, &s, &line));
	assert_false(settle_miss(&job, NULL, 0, &s, &line));
}

static void no_cost_of_a_miss(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[] = {with_line("n1", 1, 40, 30), with_line("n2", 1, 80, 4000000000)};

	(void)state;
	assert_true(has_line(&job, r, 2));
	/* More than twice, of either number. */
	r[1].miss_line[1] = 80.1;
	assert_false(has_line(&job, r, 2));
	r[1].miss_line[1] = 40;
	r[1].miss_line[0] = 0.49;
	assert_false(has_line(&job, r, 2));
	r[1].miss_line[0] = 1;
	assert_true(has_line(&job, r, 2));
	/* No such line. */
	r[1].miss_line[1] = 0;
	assert_false(has_line(&job, r, 2));
	r[0].miss_line[1] = 0;
	assert_false(has_line(&job, r, 2));
	r[0].miss_line[1] = r[1].miss_line[1] = 40;
	r[0].miss_line[0] = r[1].miss_line[0] = 0;
	assert_false(has_line(&job, r, 2));
	r[0].miss_line[0] = r[1].miss_line[0] = 1;
	assert_true(has_line(&job, r, 2));
	/* No price by what was measured. */
	r[0].sensing = true;
	assert_false(has_line(&job, r, 2));
	r[0].sensing = false;
	r[1].spin = true;
	assert_false(has_line(&job, r, 2));
	r[1].spin = false;
	r[0].degradation = r[1].degradation = NAN;
	assert_false(has_line(&job, r, 2));
	r[0].degradation = r[1].degradation = 0.2;
	job.unpriced = "resized";
	assert_false(has_line(&job, r, 2));
}

/* A record as a node sends it while the job runs: half lost of so many seconds. */
static struct ledger_record interim(const char *node, int seconds)
{
	struct ledger_record r = record_of(node, 0.5);

	r.final = false;
	r.co_ns = seconds * S;
	r.variance = 0;
	return r;
}

static void assert_loss(const struct settle_job *job, const struct ledger_record *r, int n,
	double told, double lost)
{
	struct settle_loss l;

	settle_loss(job, r, n, &l);
	assert_true(l.known && !l.sensing);
	assert_true(fabs(l.told_s - told) < 1e-6);
	if (fabs(l.lost_s - lost) > 1e-6)
		fail_msg("lost %g s and not %g", l.lost_s, lost);
}

/* Nobody has told of the time since a node's last record, so it is no loss and no gain. */
static void a_node_that_lags(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[2] = {interim("n1", 90), interim("n2", 60)};

	(void)state;
	assert_loss(&job, r, 2, 90, 45);
	/* Its loss counts by what it has told of. */
	r[0].degradation = r[1].degradation = 0.1;
	r[0].variance = 0.1 * 0.1;
	assert_loss(&job, r, 2, 90, 90 * (0.1 + 0.196 * 90 / 150));
	/* A first record that comes late. */
	r[0] = interim("n1", 90);
	assert_loss(&job, r, 1, 90, 45);
	/* A node that is silent for minutes. */
	job.wall_ns = 1000 * S;
	job.end_unix = 2000;
	r[0] = interim("n1", 950);
	r[0].variance = 0.2 * 0.2;
	assert_loss(&job, r, 1, 950, (0.5 + 0.392) * 950 * 950 / (950 + 800));
	r[1] = interim("n2", 60);
	assert_loss(&job, r, 2, 950, 950 * (475.0 + 30 + 0.392 * 950) / (950 + 800));
	r[0].variance = 0;
	/* More than the job's time. */
	job.wall_ns = 60 * S;
	assert_loss(&job, r, 2, 60, 30);
}

/* A wide job waits for its slowest node, if one certainly is slower. */
static void the_slowest_node(void **state)
{
	struct settle_job job = job_of(two_nodes, 2);
	struct ledger_record r[2] = {interim("n1", 80), interim("n2", 80)};
	struct settle_loss l;

	(void)state;
	r[1].degradation = 0.1;
	r[0].variance = 0.01 * 0.01;
	assert_loss(&job, r, 2, 80, 80 * (0.5 + 0.0196));
	assert_true(fabs(decide(&job, r, 2).degradation - 0.24) < 1e-6);
	/* Perhaps it is not. */
	r[0].variance = 0.12 * 0.12;
	assert_loss(&job, r, 2, 80, 80 * (0.3 + 0.2352 / 2));
	/* No partner on the other one. */
	r[0].variance = 0;
	r[1].co_ns = 0;
	r[1].solo_ns = 80 * S;
	assert_loss(&job, r, 2, 80, 40);
	/* A job that reacts to shutters anywhere loses nothing. */
	r[1].sensing = true;
	settle_loss(&job, r, 2, &l);
	assert_true(!l.known && l.lost_s == 0);
}

static void a_loss_so_far(void **state)
{
	struct settle_job job = job_of(two_nodes, 1);
	struct ledger_record r = interim("n1", 40);
	struct settle_loss l;

	(void)state;
	/* Alone and held for part of it. */
	r.solo_ns = 20 * S;
	r.paused_ns = 20 * S;
	assert_loss(&job, &r, 1, 80, 20);
	settle_loss(&job, &r, 1, &l);
	assert_true(fabs(l.held_s - 20) < 1e-6);
	/* Doubt favours the user. */
	r = interim("n1", 80);
	r.variance = 0.01 * 0.01;
	assert_loss(&job, &r, 1, 80, 80 * (0.5 + 0.0196));
	/* Much doubt, but surely a loss. */
	r.variance = 0.2 * 0.2;
	assert_loss(&job, &r, 1, 80, 80 * 0.75);
	/* Perhaps none. */
	r.variance = 0.3 * 0.3;
	settle_loss(&job, &r, 1, &l);
	assert_true(!l.known && l.lost_s == 0 && l.told_s == 80);
	/* Too few blocks for a price: at most their upper end. */
	r = interim("n1", 80);
	r.degradation = r.variance = NAN;
	r.lack = LACK_BLOCKS;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.known);
	r.rough_known = true;
	r.rough[0] = 0.3;
	r.rough[1] = 0.5;
	assert_loss(&job, &r, 1, 80, 40);
	r.rough[0] = 0.1;
	r.rough[1] = 0.9;
	assert_loss(&job, &r, 1, 80, 60);
	r.rough[1] = 1.7;
	assert_loss(&job, &r, 1, 80, 80);
	r.rough[1] = 1.9;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.known);
	r.rough[1] = NAN;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.known);
	r.rough[1] = 0.05;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.known);
	r.rough[0] = -0.01;
	r.rough[1] = 0.9;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.known);
	/* It makes no price. */
	r.rough[0] = 0.3;
	r.final = true;
	assert_string_equal(decide(&job, &r, 1).nodata, "too-few-blocks");
	r = interim("n1", 80);
	r.sensing = true;
	settle_loss(&job, &r, 1, &l);
	assert_true(!l.known && l.sensing && l.lost_s == 0);
	/* Its limit is not kept, as its last record says of its own run. */
	assert_false(l.unkept);
	r = interim("n1", 80);
	r.unkept = true;
	settle_loss(&job, &r, 1, &l);
	assert_true(l.known && l.unkept);
	r.restart = 1;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.unkept);
	r.restart = 0;
	r.final = true;
	settle_loss(&job, &r, 1, &l);
	assert_false(l.unkept);
	/* No counter, but it was held. */
	r = interim("n1", 70);
	r.paused_ns = 10 * S;
	r.degradation = r.variance = NAN;
	settle_loss(&job, &r, 1, &l);
	assert_true(!l.known && l.lost_s == 0 && fabs(l.held_s - 10) < 1e-6);
	settle_loss(&job, &r, 0, &l);
	assert_true(!l.known && l.told_s == 0 && l.held_s == 0);
	job.unpriced = "resized";
	r = interim("n1", 80);
	settle_loss(&job, &r, 1, &l);
	assert_true(!l.known && l.lost_s == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_node),
		cmocka_unit_test(solo_and_paused_time),
		cmocka_unit_test(turns_are_degradation),
		cmocka_unit_test(uncovered_time),
		cmocka_unit_test(too_much_time),
		cmocka_unit_test(weights),
		cmocka_unit_test(resized),
		cmocka_unit_test(longest_text),
		cmocka_unit_test(sizes_of_a_text),
		cmocka_unit_test(partial_data),
		cmocka_unit_test(no_data),
		cmocka_unit_test(always_alone),
		cmocka_unit_test(uncertain),
		cmocka_unit_test(shutter_sensing),
		cmocka_unit_test(noise_below_zero),
		cmocka_unit_test(record_of_its_run),
		cmocka_unit_test(records_of_others),
		cmocka_unit_test(clock_steps),
		cmocka_unit_test(last_word_missing),
		cmocka_unit_test(costs_of_partners),
		cmocka_unit_test(culprits),
		cmocka_unit_test(requeued_and_many_partners),
		cmocka_unit_test(pairs),
		cmocka_unit_test(pairs_of_several),
		cmocka_unit_test(pairs_so_far),
		cmocka_unit_test(program_of_a_run),
		cmocka_unit_test(time_alone),
		cmocka_unit_test(time_alone_is_not_certain),
		cmocka_unit_test(cost_of_a_miss),
		cmocka_unit_test(no_cost_of_a_miss),
		cmocka_unit_test(a_node_that_lags),
		cmocka_unit_test(the_slowest_node),
		cmocka_unit_test(a_loss_so_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
