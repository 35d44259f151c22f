/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of ledger records and settlements as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sqlite3.h>

#include "accounting/ledgerd/ledger_file.h"
#include "accounting/ledgerd/service.h"
#include "accounting/record/record.h"
#include "accounting/record/settlement.h"
#include "poppa/report/spool.h"
#include "unit/accounting/ledger_fixture.h"

static struct ledger_record sample(void)
{
	return (struct ledger_record){.cluster = "c1",
		.job_id = 4294967294u,
		.restart = 2,
		.node = "n07",
		.uid = 1000,
		.seq = (uint64_t)1 << 40,
		.final = true,
		.lane = -1,
		.cores = 8,
		.start_unix = 1700000000,
		.end_unix = 1700003600,
		.co_ns = 3000000000000,
		.solo_ns = 500000000000,
		.paused_ns = 60000000000,
		.unmeasured_ns = 40000000000,
		.blocks = 900,
		.used = 850,
		.degradation = 0.4012345678901234,
		.variance = 1.5e-6,
		.lack = LACK_STEADINESS,
		.thesis_degradation = NAN,
		.method = "robust",
		.backend = "heartbeat",
		.sensing = true,
		.spin = true,
		.unkept = true,
		.partner_count = 2,
		.partner = {12, 4000000000u},
		.attributed = true,
		.partner_degradation = {0.375, NAN},
		.program = "lu.C.x",
		.node_type = "a model, L3 8M",
		.slow_known = true,
		.slow_likelihood = {0.25, 0.75, 0}};
}

static void survives_the_journey(void **state)
{
	struct ledger_record r = sample(), back;
	struct errmsg err = {""};
	json_t *json = record_to_json(&r), *again;
	char *text;

	(void)state;
	assert_non_null(json);
	text = json_dumps(json, JSON_COMPACT);
	again = json_loads(text, 0, NULL);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(record_from_json(again, &back, &err), 0);
	assert_true(isnan(back.thesis_degradation));
	back.thesis_degradation = r.thesis_degradation = 0;
	assert_true(back.sensing);
	assert_true(back.spin);
	assert_true(back.unkept);
	assert_int_equal(back.lack, LACK_STEADINESS);
	assert_string_equal(back.cluster, r.cluster);
	assert_string_equal(back.node, r.node);
	assert_int_equal(back.job_id, r.job_id);
	assert_int_equal(back.restart, r.restart);
	assert_int_equal(back.uid, r.uid);
	assert_true(back.seq == r.seq);
	assert_true(back.final);
	assert_int_equal(back.lane, -1);
	assert_int_equal(back.cores, 8);
	assert_true(back.start_unix == r.start_unix && back.end_unix == r.end_unix);
	assert_true(back.co_ns == r.co_ns && back.solo_ns == r.solo_ns);
	assert_true(back.paused_ns == r.paused_ns && back.unmeasured_ns == r.unmeasured_ns);
	assert_true(back.blocks == 900 && back.used == 850);
	assert_true(back.degradation == r.degradation);
	assert_true(back.variance == r.variance);
	assert_string_equal(back.method, "robust");
	assert_string_equal(back.backend, "heartbeat");
	assert_int_equal(back.partner_count, 2);
	assert_true(back.partner[1] == 4000000000u);
	assert_true(back.attributed);
	assert_true(back.partner_degradation[0] == 0.375 && isnan(back.partner_degradation[1]));
	assert_string_equal(back.program, "lu.C.x");
	assert_string_equal(back.node_type, "a model, L3 8M");
	assert_true(back.slow_known && back.slow_likelihood[SLOW_NARROW] == 0.75);
	/* Not every record has these. */
	json_object_del(again, "program");
	json_object_del(again, "node_type");
	json_object_del(again, "slow_likelihood");
	assert_int_equal(record_from_json(again, &back, &err), 0);
	assert_false(*back.program || *back.node_type || back.slow_known);
	/* A record of before there was this. */
	json_object_del(again, "partner_degradation");
	assert_int_equal(record_from_json(again, &back, &err), 0);
	assert_false(back.attributed);
	assert_int_equal(back.partner_count, 2);
	free(text);
	json_decref(json);
	json_decref(again);
}

/* Each fault in one field is refused, named, and leaves the record alone. */
static void refuses_faults(void **state)
{
	static const struct {
		const char *field, *value;
	} faults[] = {{"cluster", "7"}, {"cluster", "null"}, {"node", "[]"},
		{"node", "\"0123456789012345678901234567890123456789012345678901234567890123\""},
		{"job", "0"}, {"job", "-1"}, {"job", "4294967296"}, {"job", "1.5"},
		{"job", "\"1\""}, {"restart", "-1"}, {"uid", "4294967296"}, {"seq", "-1"},
		{"final", "1"}, {"lane", "-2"}, {"cores", "65536"}, {"start", "-5"},
		{"co_ns", "-1"}, {"solo_ns", "1e12"}, {"paused_ns", "true"},
		{"unmeasured_ns", "-1"}, {"blocks", "-1"}, {"degradation", "10.01"},
		{"degradation", "-11"}, {"degradation", "\"0.5\""}, {"variance", "\"nan\""},
		{"partners", "7"}, {"partners", "[0]"}, {"partners", "[1.5]"}, {"node_type", "7"},
		{"program", "7"}, {"slow_likelihood", "[0.5,0.5]"},
		{"slow_likelihood", "[0.5,0.5,\"0\"]"}, {"slow_likelihood", "[0.5,0.5,2]"},
		{"partner_degradation", "0.5"}, {"partner_degradation", "[0.5]"},
		{"partner_degradation", "[0.5,\"0.1\"]"}, {"partner_degradation", "[0.5,11]"},
		{"partners", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"}};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct ledger_record r = sample(), back = {.job_id = 42};
		struct errmsg err = {""};
		json_t *json = record_to_json(&r);

		json_object_set_new(
			json, faults[i].field, json_loads(faults[i].value, JSON_DECODE_ANY, NULL));
		assert_int_equal(record_from_json(json, &back, &err), -1);
		assert_non_null(strstr(err.text, faults[i].field));
		assert_int_equal(back.job_id, 42);
		json_object_del(json, faults[i].field);
		if (!strcmp(faults[i].field, "partner_degradation") ||
			!strcmp(faults[i].field, "node_type") ||
			!strcmp(faults[i].field, "program") ||
			!strcmp(faults[i].field, "slow_likelihood")) {
			/* These may be missing. */
			assert_int_equal(record_from_json(json, &back, &err), 0);
		} else {
			assert_int_equal(record_from_json(json, &back, &err), -1);
			assert_non_null(strstr(err.text, faults[i].field));
		}
		json_decref(json);
	}
	assert_int_equal(record_from_json(NULL, &(struct ledger_record){0}, NULL), -1);
}

/* --- every field of the table, in every form --- */

/* How many samples there are: in each one every field differs from what it is in the others. */
#define SAMPLES 2

static int *count_of(const struct field *f, void *r)
{
	return (int *)((char *)r + f->count);
}

/* Gives field number i of the table a value that no other field of its type has. */
static void set_field(struct ledger_record *r, const struct field *f, int i, int sample)
{
	size_t n = f->room ? f->room : 1;

	if (f->count)
		*count_of(f, r) = (int)(n = 2 + (size_t)sample);
	if (f->flag)
		*((char *)r + f->flag) = 1;
	for (size_t k = 0; k < n; k++) {
		char *at = (char *)r + f->offset + k * f->size;
		int64_t value = f->min + 1 + 2 * i + sample + 100 * (int64_t)k;

		switch (f->type) {
		case FIELD_TEXT:
			snprintf(at, f->size, "text-%d-%d", i, sample);
			break;
		case FIELD_REAL:
			*(double *)at = 0.01 * i + 0.1 * sample + 1.0 / (double)(k + 3);
			break;
		case FIELD_BOOL:
			*at = (char)((i + sample) % 2);
			break;
		case FIELD_WORD:
			*(unsigned *)at = 1 + (unsigned)sample % ((unsigned)f->word_count - 1);
			break;
		case FIELD_INT:
			assert_true(value <= f->max);
			if (f->size == 8)
				*(int64_t *)at = value;
			else
				*(int32_t *)at = (int32_t)value;
		}
	}
}

static struct ledger_record numbered_sample(int sample)
{
	struct ledger_record r;

	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < record_fields.count; i++)
		set_field(&r, &record_fields.field[i], (int)i, sample);
	return r;
}

/* Names the field that differs. */
static void assert_same(const struct ledger_record *a, const struct ledger_record *b)
{
	for (size_t i = 0; i < record_fields.count; i++) {
		const struct field *f = &record_fields.field[i];
		const char *one = (const char *)a + f->offset, *other = (const char *)b + f->offset;
		size_t n = f->count ? (size_t)*count_of(f, (void *)a) : f->room ? f->room : 1;
		bool same = f->type == FIELD_TEXT ? !strcmp(one, other)
						  : !memcmp(one, other, n * f->size);

		if (f->count)
			same &= *count_of(f, (void *)a) == *count_of(f, (void *)b);
		if (f->flag)
			same &= ((const char *)a)[f->flag] == ((const char *)b)[f->flag];
		if (!same)
			print_error("\"%s\" differs\n", f->name);
		assert_true(same);
	}
}

/* Each field that is in an object has the value of the record. */
static void assert_shown(const json_t *json, const struct ledger_record *r)
{
	struct ledger_record back;
	struct errmsg err = {""};

	assert_int_equal(record_from_json(json, &back, &err), 0);
	assert_same(&back, r);
	for (size_t i = 0; i < record_fields.count; i++) {
		const struct field *f = &record_fields.field[i];

		if (!f->optional && !json_object_get(json, f->name))
			print_error("\"%s\" is not there\n", f->name);
		assert_true(f->optional || json_object_get(json, f->name));
	}
}

static void every_field_through_json(void **state)
{
	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++) {
		struct ledger_record r = numbered_sample(sample);
		json_t *json = record_to_json(&r);

		assert_non_null(json);
		assert_shown(json, &r);
		json_decref(json);
	}
}

/* Each row of the table has the columns, and the body, of a record. */
static void assert_columns(const struct ledger_record *r)
{
	sqlite3_stmt *st;
	json_t *body;
	sqlite3 *db;
	int column;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM record", -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	for (size_t i = 0; i < record_fields.count; i++) {
		const struct field *f = &record_fields.field[i];
		const char *name = f->column_name ? f->column_name : f->name;
		const char *at = (const char *)r + f->offset;

		for (column = sqlite3_column_count(st) - 1; column >= 0; column--)
			if (!strcmp(sqlite3_column_name(st, column), name))
				break;
		if ((column >= 0) != (f->column != FIELD_NO_COLUMN))
			print_error("the column of \"%s\"\n", f->name);
		assert_int_equal(column >= 0, f->column != FIELD_NO_COLUMN);
		if (column < 0)
			continue;
		if (f->type == FIELD_TEXT)
			assert_string_equal((const char *)sqlite3_column_text(st, column), at);
		else if (f->type == FIELD_REAL)
			assert_true(sqlite3_column_double(st, column) == *(const double *)at);
		else
			assert_int_equal(sqlite3_column_int64(st, column), field_value(f, r, 0));
	}
	for (column = sqlite3_column_count(st) - 1; column >= 0; column--)
		if (!strcmp(sqlite3_column_name(st, column), "body"))
			break;
	body = json_loads((const char *)sqlite3_column_text(st, column), 0, NULL);
	assert_shown(body, r);
	json_decref(body);
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void no_fault(const char *line, void *arg)
{
	(void)arg;
	print_error("%s\n", line);
}

/* What "poppa ledger check" and "poppa ledger export" make of the file. */
static void assert_file(const struct ledger_record *r)
{
	struct ledger_check check;
	struct errmsg err = {""};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_int_equal(ledger_file_check(path, NULL, &check, no_fault, NULL, &err), 0);
	assert_int_equal(check.faults, 0);
	assert_int_equal(check.records, 1);
	assert_non_null(out);
	assert_int_equal(ledger_file_export(path, 0, out, &err), 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_shown(json, r);
	assert_string_equal(json_string_value(json_object_get(json, "kind")), "record");
	json_decref(json);
	free(text);
}

/* What the service says of a run. */
static void assert_answer(struct service *service, const struct ledger_record *r)
{
	json_t *request = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "op", "job", "nonce", "n",
		"cluster", r->cluster, "job", (json_int_t)r->job_id, "restart",
		(json_int_t)r->restart, "start", (json_int_t)r->start_unix);
	json_t *reply = service_answer(service, request, 0), *list;

	list = json_object_get(reply, "records");
	assert_int_equal(json_array_size(list), 1);
	assert_shown(json_array_get(list, 0), r);
	json_decref(reply);
	json_decref(request);
}

static void every_field_through_the_ledger(void **state)
{
	for (int sample = 0; sample < SAMPLES; sample++) {
		struct ledger_record r = numbered_sample(sample), *back;
		struct service service = {.ledger_uid = 64030, .started = time(NULL)};
		json_t *request, *reply;
		int n;

		make_dir(state);
		service.ledger = open_ledger();
		request = json_pack("{s:s, s:s, s:[o]}", "op", "record", "nonce", "n", "records",
			record_to_json(&r));
		reply = service_answer(&service, request, 0);
		assert_true(json_is_true(json_object_get(
			json_array_get(json_object_get(reply, "results"), 0), "ok")));
		json_decref(reply);
		json_decref(request);
		back = records_of(service.ledger, r.cluster, r.job_id, r.restart, r.start_unix, &n);
		assert_int_equal(n, 1);
		assert_same(&back[0], &r);
		free(back);
		assert_columns(&r);
		assert_answer(&service, &r);
		assert_file(&r);
		ledger_close(service.ledger);
		remove_dir(state);
	}
}

/* A newer record replaces each column that is to be replaced, and the body. */
static void every_field_is_replaced(void **state)
{
	struct ledger_record old = numbered_sample(0), new = numbered_sample(1), *back;
	struct errmsg err = {""};
	struct ledger *l;
	int n;

	make_dir(state);
	l = open_ledger();
	/* A final record would stay. */
	old.final = false;
	for (size_t i = 0; i < record_fields.count; i++) {
		const struct field *f = &record_fields.field[i];

		if (f->column == FIELD_KEY || f->column == FIELD_FIXED)
			memcpy((char *)&new + f->offset, (const char *)&old + f->offset, f->size);
	}
	assert_int_equal(ledger_put(l, &old, 1, "", NULL, &err), 0);
	assert_int_equal(ledger_put(l, &new, 1, "", NULL, &err), 0);
	back = records_of(l, old.cluster, old.job_id, old.restart, 0, &n);
	assert_int_equal(n, 1);
	assert_same(&back[0], &new);
	free(back);
	assert_columns(&new);
	assert_file(&new);
	ledger_close(l);
	remove_dir(state);
}

static void every_field_through_the_spool(void **state)
{
	char spool_dir[] = "/tmp/test_record.XXXXXX", command[64];
	struct ledger_record r[SAMPLES], back[SAMPLES];
	struct errmsg err = {""};
	struct spool spool;

	(void)state;
	assert_non_null(mkdtemp(spool_dir));
	assert_int_equal(spool_open(&spool, spool_dir, &err), 0);
	for (int sample = 0; sample < SAMPLES; sample++) {
		r[sample] = numbered_sample(sample);
		assert_int_equal(spool_record(&spool, &r[sample], &err), 0);
	}
	assert_int_equal(spool_records(&spool, back, SAMPLES, &err), SAMPLES);
	for (int sample = 0; sample < SAMPLES; sample++)
		assert_same(&back[sample], &r[sample]);
	snprintf(command, sizeof(command), "rm -rf %s", spool_dir);
	assert_int_equal(system(command), 0);
}

static void has_data(void **state)
{
	struct ledger_record r = {
		.co_ns = 100, .solo_ns = 50, .unmeasured_ns = 10, .degradation = 0.4};

	(void)state;
	assert_true(record_has_data(&r));
	r.degradation = NAN;
	assert_false(record_has_data(&r));
	r.co_ns = 0;
	assert_true(record_has_data(&r));
	r.solo_ns = 0;
	assert_false(record_has_data(&r));
	r.unmeasured_ns = 0;
	assert_true(record_has_data(&r));
}

/* The times of a record add up to no more than the run; what nobody saw gives way first. */
static void clipped(void **state)
{
	static const struct {
		int64_t run, times[4], want[4];
	} cases[] = {
		{45000, {44400, 0, 200, 2400}, {44400, 0, 200, 400}},
		{45000, {44000, 0, 200, 800}, {44000, 0, 200, 800}},
		{45000, {40000, 0, 200, 800}, {40000, 0, 200, 800}},
		{45000, {60000, 20000, 10000, 7}, {30000, 10000, 5000, 0}},
		{0, {0, 0, 0, 7}, {0, 0, 0, 0}},
		{0, {3, 2, 1, 7}, {0, 0, 0, 0}},
	};

	(void)state;
	struct ledger_record turned = {.co_ns = 2000,
		.solo_ns = 20000,
		.turned_ns = 20000,
		.unmeasured_ns = 500,
		.degradation = 0.5};

	assert_true(fabs(record_lost_ns(&turned) - 21000) < 1e-9);
	record_clip(&turned, 21000);
	assert_int_equal(turned.turned_ns, 10000);
	assert_int_equal(turned.unmeasured_ns, 0);
	turned.degradation = NAN;
	assert_true(isnan(record_lost_ns(&turned)));
	turned.co_ns = 0;
	assert_true(fabs(record_lost_ns(&turned) - 10000) < 1e-9);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t *t = cases[i].times, *want = cases[i].want;
		struct ledger_record r = {
			.co_ns = t[0], .solo_ns = t[1], .paused_ns = t[2], .unmeasured_ns = t[3]};

		record_clip(&r, cases[i].run);
		assert_int_equal(r.co_ns, want[0]);
		assert_int_equal(r.solo_ns, want[1]);
		assert_int_equal(r.paused_ns, want[2]);
		assert_int_equal(r.unmeasured_ns, want[3]);
	}
}

static void settlements(void **state)
{
	struct settlement s = {.cluster = "c1",
				  .job_id = 7,
				  .start_unix = 100,
				  .end_unix = 200,
				  .uid = 1000,
				  .settled_unix = 300,
				  .raw = 60000,
				  .charged = 21376,
				  .degradation = 0.4012,
				  .lo = NAN,
				  .hi = NAN,
				  .policy = "thesis",
				  .version = PRICE_VERSION,
				  .text = "d=0.4012 raw=60000 charged=21376"},
			  back;
	struct errmsg err = {""};
	json_t *json = settlement_to_json(&s);

	(void)state;
	assert_int_equal(settlement_from_json(json, &back, &err), 0);
	assert_int_equal(back.job_id, 7);
	assert_true(back.raw == 60000 && back.charged == 21376);
	assert_true(back.degradation == s.degradation && isnan(back.lo) && isnan(back.hi));
	assert_string_equal(back.text, s.text);
	assert_int_equal(back.version, PRICE_VERSION);
	json_object_set_new(json, "version", json_integer(0));
	assert_int_equal(settlement_from_json(json, &back, &err), -1);
	json_object_set_new(json, "version", json_integer(PRICE_VERSION));
	assert_true(back.start_unix == 100 && back.end_unix == 200 && back.settled_unix == 300);
	/* Nobody is charged more than Slurm charged. */
	json_object_set_new(json, "charged", json_integer(60001));
	assert_int_equal(settlement_from_json(json, &back, &err), -1);
	json_object_set_new(json, "charged", json_integer(-1));
	assert_int_equal(settlement_from_json(json, &back, &err), -1);
	json_decref(json);
	assert_int_equal(settlement_from_json(NULL, &back, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_the_journey),
		cmocka_unit_test(refuses_faults),
		cmocka_unit_test(every_field_through_json),
		cmocka_unit_test(every_field_through_the_ledger),
		cmocka_unit_test(every_field_is_replaced),
		cmocka_unit_test(every_field_through_the_spool),
		cmocka_unit_test(has_data),
		cmocka_unit_test(clipped),
		cmocka_unit_test(settlements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
