/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of ledger records and settlements as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "accounting/record/record.h"
#include "accounting/record/settlement.h"

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
		.partner_count = 2,
		.partner = {12, 4000000000u},
		.attributed = true,
		.partner_degradation = {0.375, NAN}};
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
		{"partners", "7"}, {"partners", "[0]"}, {"partners", "[1.5]"},
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
		if (!strcmp(faults[i].field, "partner_degradation")) {
			/* This one may be missing. */
			assert_int_equal(record_from_json(json, &back, &err), 0);
		} else {
			assert_int_equal(record_from_json(json, &back, &err), -1);
			assert_non_null(strstr(err.text, faults[i].field));
		}
		json_decref(json);
	}
	assert_int_equal(record_from_json(NULL, &(struct ledger_record){0}, NULL), -1);
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
	json_object_del(json, "version");
	assert_int_equal(settlement_from_json(json, &back, &err), 0);
	assert_int_equal(back.version, 1);
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
		cmocka_unit_test(has_data),
		cmocka_unit_test(settlements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
