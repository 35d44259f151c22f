/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of reading bills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting/bill/bill.h"

#define ROW "12|12|c|ada|phys|std|normal|COMPLETED|1000|1005|1105|100|billing=640,cpu=1|0|"
#define FACTS                                                                                      \
	"d=0.2000 ci=0.180..0.220 co=1.00 stopped=0.0000 partners=13,14,+2 raw=1000 charged=640 "  \
	"policy=thesis backend=perf"

static int read_text(const char *header, const char *rows, struct bills *bills, struct errmsg *err)
{
	char *text = NULL, *p;
	int rc;

	assert_true(asprintf(&text, "%s\n%s", header ? header : BILL_FIELDS, rows) > 0);
	for (p = text; !header && *p != '\n'; p++)
		if (*p == ',')
			*p = '|';
	rc = bills_read(text, bills, err);
	return rc;
}

/* slurmdbd has a row for each size, and a comment for the last. */
static void sizes_of_a_resized_job(void **state)
{
	static const char *const rows =
		"12|12|c|ada|phys|std|normal|RESIZING|1000|1005|1045|40|billing=1280,cpu=2|0||run\n"
		"12|12|c|ada|phys|std|normal|RESIZING|1045|1045|1050|5|billing=192,cpu=1|0||run\n"
		"12|12|c|ada|phys|std|normal|COMPLETED|1050|1050|1110|60|billing=640,cpu=1|0|"
		"colocate: class:w; poppa: " FACTS " earlier=2000:40,300:5|run\n"
		"12|12|c|ada|phys|std|normal|RESIZING|905|905|945|40|billing=2000,cpu=2|0||run\n";
	struct errmsg err = {""};
	struct bills bills;

	(void)state;
	assert_int_equal(read_text(NULL, rows, &bills, &err), 0);
	assert_int_equal(bills.count, 4);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bills.bill[i].status, BILL_PRICED);
		assert_int_equal(bills.bill[i].run_start, 1005);
		assert_int_equal(bills.bill[i].facts->charged, bills.bill[i].billing);
		assert_int_equal(bills.bill[i].earlier_size, i < 2);
		assert_string_equal(bills.bill[i].program, "w");
	}
	assert_int_equal(bill_raw(&bills.bill[0]), 2000);
	assert_int_equal(bill_raw(&bills.bill[1]), 300);
	assert_null(bills.bill[0].price);
	/* That of another run of the id. */
	assert_int_equal(bills.bill[3].status, BILL_PLAIN);
	bills_free(&bills);
	/* After "scontrol update": all rows have the run's start, and the comment. */
	assert_int_equal(
		read_text(NULL,
			"12|12|c|ada|phys|std|normal|RESIZING|1000|1005|1045|40|billing=1280,"
			"cpu=2|0|poppa: " FACTS " earlier=2000:40|run\n"
			"12|12|c|ada|phys|std|normal|COMPLETED|1045|1005|1110|105|billing=640,"
			"cpu=1|0|poppa: " FACTS " earlier=2000:40|run\n",
			&bills, &err),
		0);
	assert_int_equal(bill_raw(&bills.bill[0]), 2000);
	assert_int_equal(bills.bill[0].facts->charged, 1280);
	assert_null(bills.bill[0].price);
	assert_non_null(bills.bill[1].price);
	assert_int_equal(bills.bill[1].run_start, 1005);
	bills_free(&bills);
}

/* As many as 100,000 rows hold: what looks each of them up among all takes minutes. */
static void many_resized_jobs(void **state)
{
	enum { JOBS = 50000 };
	char *rows = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&rows, &len);
	struct errmsg err = {""};
	struct bills bills;

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < JOBS; i++)
		fprintf(f,
			"%d|%d|c|ada|phys|std|normal|RESIZING|1000|1005|1045|40|billing=%d|0||"
			"run\n",
			i + 1, i + 1, 2 * i);
	for (int i = 0; i < JOBS; i++)
		fprintf(f,
			"%d|%d|c|ada|phys|std|normal|COMPLETED|1045|1045|1105|60|billing=640|0|"
			"poppa: " FACTS " earlier=%d:40|run\n",
			i + 1, i + 1, 3 * i);
	fclose(f);
	assert_int_equal(read_text(NULL, rows, &bills, &err), 0);
	free(rows);
	assert_int_equal(bills.count, 2 * JOBS);
	for (int i = 0; i < JOBS; i++)
		if (bills.bill[i].status != BILL_PRICED ||
			bill_raw(&bills.bill[i]) != (uint64_t)(3 * i))
			fail_msg(
				"job %d has %d of %d", i + 1, (int)bill_raw(&bills.bill[i]), 3 * i);
	bills_free(&bills);
}

static void rows_are_read(void **state)
{
	struct bills bills;
	struct errmsg err;
	const struct bill *b;

	(void)state;
	assert_int_equal(
		read_text(NULL,
			ROW "colocate: stripe,class:weather; poppa: " FACTS "|a|b\n" ROW "|c\n"
			    "13|13|c|bob|phys|std|normal|CANCELLED by 7|1000|1100|1200|100|"
			    "billing=5|1500|site: x; colocate: stripe|d\n"
			    "14|14|c|bob|phys|std|normal|PENDING|1000|Unknown|Unknown|0||||e\n",
			&bills, &err),
		0);
	assert_int_equal(bills.malformed, 0);
	assert_int_equal(bills.count, 4);
	b = &bills.bill[0];
	assert_int_equal(b->status, BILL_PRICED);
	assert_string_equal(b->name, "a|b");
	assert_string_equal(b->program, "weather");
	assert_string_equal(b->option, "stripe,class:weather");
	assert_true(isnan(b->energy_j));
	assert_int_equal(b->billing, 640);
	assert_int_equal(bill_raw(b), 1000);
	assert_true(b->facts->degradation == 0.2 && b->facts->lo == 0.18 && b->facts->hi == 0.22);
	assert_int_equal(b->facts->partner_count, 2);
	assert_int_equal(b->facts->partner[1], 14);
	assert_int_equal(b->facts->more_partners, 2);
	assert_int_equal(bills.bill[1].status, BILL_PLAIN);
	assert_int_equal(bills.bill[2].status, BILL_UNSETTLED);
	assert_string_equal(bills.bill[2].state, "CANCELLED");
	assert_true(bills.bill[2].energy_j == 1500);
	assert_int_equal(bills.bill[3].status, BILL_PLAIN);
	/* 13 ran beside 12 for five seconds; 14 never ran. */
	assert_ptr_equal(bills_partner(&bills, b, 13), &bills.bill[2]);
	assert_null(bills_partner(&bills, b, 15));
	bills_free(&bills);
}

/* Of a requeued job the last run's row alone tells that it was co-located. */
static void later_runs(void **state)
{
	struct errmsg err = {""};
	struct bills bills;

	(void)state;
	assert_int_equal(read_text(NULL,
				 "12|12|c|ada|a|p|q|REQUEUED|1|1000|1010|10|billing=8|||x\n"
				 "12|12|c|ada|a|p|q|COMPLETED|1|1020|1030|10|billing=8||"
				 "colocate: stripe|x\n"
				 "12|12|d|ada|a|p|q|REQUEUED|1|1000|1010|10|billing=8|||x\n"
				 "13|13|c|ada|a|p|q|COMPLETED|1|1000|1010|10|billing=8|||x\n",
				 &bills, &err),
		0);
	assert_int_equal(bills.count, 4);
	assert_true(bills_later_colocated(&bills, &bills.bill[0]));
	assert_false(bills_later_colocated(&bills, &bills.bill[1]));
	assert_false(bills_later_colocated(&bills, &bills.bill[2])); /* of another cluster */
	assert_false(bills_later_colocated(&bills, &bills.bill[3]));
	bills_free(&bills);
}

/* A name with line ends and delimiters cannot become a row of its own. */
static void names_forge_nothing(void **state)
{
	struct bills bills;
	struct errmsg err;
	char *header = strdup(BILL_FIELDS ","), *out = NULL, *row = strdup(ROW "|");
	size_t len;
	FILE *f = open_memstream(&out, &len);

	(void)state;
	for (char *p = header, *q; (q = strchr(p, ',')); p = q + 1)
		fprintf(f, "%.*s%s", (int)(q - p), p, q[1] ? "<salt>" : "\n");
	for (char *p = row, *q; (q = strchr(p, '|')); p = q + 1)
		fprintf(f, "%.*s<salt>", (int)(q - p), p);
	fprintf(f, "innocent\n" ROW "|forged\n");
	fclose(f);
	free(header);
	free(row);
	assert_int_equal(bills_read(out, &bills, &err), 0);
	assert_int_equal(bills.count, 1);
	assert_string_equal(bills.bill[0].name, "innocent");
	bills_free(&bills);
}

static void bad_rows_are_counted(void **state)
{
	struct bills bills;
	struct errmsg err;

	(void)state;
	assert_int_equal(read_text(NULL,
				 "12|12|c\n" ROW "|fine\n" ROW "poppa: d=x raw=1 charged=1|bad\n"
				 "x" ROW "|bad\n",
				 &bills, &err),
		0);
	assert_int_equal(bills.count, 1);
	assert_int_equal(bills.malformed, 3);
	assert_string_equal(bills.first.text, "line 2: 3 fields instead of 16");
	bills_free(&bills);
	assert_int_equal(read_text("JobID|State", ROW "|x\n", &bills, &err), -1);
	assert_non_null(strstr(err.text, "no header line"));
	assert_int_equal(read_text(NULL, "", &bills, &err), 0);
	assert_int_equal(bills.count, 0);
	assert_null(bills_partner(&bills, NULL, 1));
	bills_free(&bills);
}

static void bad_facts_are_named(void **state)
{
	static const char *const bad[] = {"raw=1 charged=x d=1", "raw=-1 charged=1 d=0",
		"raw=1 d=0.1", "raw=1 charged=1", "raw=1 charged=1 d=0 ci=1",
		"raw=1 charged=1 d=0 partners=a",
		"raw=1 charged=1 d=0 partners=", "raw=1 charged=1 d=0 partners=1:x",
		"raw=1 charged=1 d=0 partial=1", "raw=1 charged=1 d=nan",
		"raw=1 charged=1 nodata="};
	struct settlement f;
	struct errmsg err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!bill_facts_parse(bad[i], &f, &err))
			fail_msg("%s was taken", bad[i]);
	assert_int_equal(
		bill_facts_parse("later=1 raw=1 charged=1 nodata=no-time odd", &f, &err), 0);
	assert_string_equal(f.nodata, "no-time");
	assert_true(isnan(f.degradation));
	assert_int_equal(
		bill_facts_parse(
			"d=0.4 raw=1 charged=1 partners=12:0.310,13,14:0.090,+2 spin=suspected", &f,
			&err),
		0);
	assert_true(f.partner_count == 3 && f.partner[2] == 14 && f.more_partners == 2 && f.spin);
	assert_true(
		f.partner_cost[0] == 0.31 && isnan(f.partner_cost[1]) && f.partner_cost[2] == 0.09);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(sizes_of_a_resized_job),
		cmocka_unit_test(many_resized_jobs),
		cmocka_unit_test(later_runs),
		cmocka_unit_test(names_forge_nothing),
		cmocka_unit_test(bad_rows_are_counted),
		cmocka_unit_test(bad_facts_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
