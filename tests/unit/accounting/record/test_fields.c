/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/accounting/record/fields.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "accounting/record/fields.h"

enum colour { NONE, RED, BLUE };

struct sample {
	char name[8];
	int32_t below;
	uint32_t id;
	uint64_t big;
	double share;
	bool yes, maybe;
	enum colour colour;
	int later;
	int item_count;
	uint32_t item[3];
	bool weighed;
	double weight[3];
	int64_t pair[2];
};

#define AT(member) FIELD_AT(struct sample, member)
#define LIST(member) FIELD_LIST(struct sample, member)

static const char *const colours[] = {"", "red", "blue"};
static const struct field rows[] = {
	{"name", FIELD_TEXT, AT(name)},
	{"below", FIELD_INT, AT(below), .min = -5, .max = 5},
	{"id", FIELD_INT, AT(id), .min = 1, .max = UINT32_MAX},
	{"big", FIELD_INT, AT(big), .max = INT64_MAX},
	{"share", FIELD_REAL, AT(share), .max = 2},
	{"yes", FIELD_BOOL, AT(yes)},
	{"maybe", FIELD_BOOL, AT(maybe), .optional = true},
	{"colour", FIELD_WORD, AT(colour), .words = colours, .word_count = 3, .optional = true},
	{"later", FIELD_INT, AT(later), .max = 9, .optional = true},
	{"items", FIELD_INT, LIST(item), .min = 1, .max = UINT32_MAX,
		.count = offsetof(struct sample, item_count), .items = "ids"},
	{"weights", FIELD_REAL, LIST(weight), .max = 1,
		.count = offsetof(struct sample, item_count),
		.flag = offsetof(struct sample, weighed), .items = "weights"},
	{"pair", FIELD_INT, LIST(pair), .max = 100, .items = "numbers"},
};
static const struct field_table table = {"sample", rows, sizeof(rows) / sizeof(rows[0])};

static const char full[] =
	"{\"name\":\"seven77\",\"below\":-5,\"id\":4294967295,\"big\":9223372036854775807,"
	"\"share\":null,\"yes\":true,\"maybe\":true,\"colour\":\"blue\",\"later\":9,"
	"\"items\":[4294967295,7],\"weights\":[0.5,null],\"pair\":[1,100]}";
static const char least[] = "{\"name\":\"\",\"below\":5,\"id\":1,\"big\":0,\"share\":-2.0,"
			    "\"yes\":false,\"items\":[],\"pair\":[0,0]}";

/* A text becomes the same text again, byte by byte: order, and what is left out. */
static void there_and_back(void **state)
{
	const char *const texts[] = {full, least};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *json = json_loads(texts[i], 0, NULL), *again;
		struct sample s = {.below = 0};
		struct errmsg err = {""};
		char *text;

		assert_int_equal(fields_from_json(&table, json, &s, &err), 0);
		again = fields_to_json(&table, &s);
		text = json_dumps(again, JSON_COMPACT);
		assert_string_equal(text, texts[i]);
		if (i == 0) {
			assert_string_equal(s.name, "seven77");
			assert_true(s.below == -5 && s.id == UINT32_MAX && s.big == INT64_MAX);
			assert_true(isnan(s.share) && s.yes && s.maybe && s.colour == BLUE);
			assert_true(s.later == 9 && s.item_count == 2 && s.item[1] == 7);
			assert_true(s.weighed && s.weight[0] == 0.5 && isnan(s.weight[1]));
			assert_true(s.pair[1] == 100);
			assert_int_equal(field_value(&rows[1], &s, 0), -5);
			assert_int_equal(field_value(&rows[2], &s, 0), UINT32_MAX);
			assert_int_equal(field_value(&rows[5], &s, 0), 1);
			assert_int_equal(field_value(&rows[9], &s, 1), 7);
		}
		free(text);
		json_decref(json);
		json_decref(again);
	}
}

/* One field of what would be right is replaced; the message names it. */
static void faults(void **state)
{
	static const char *const fault[][2] = {{"name", "\"eight888\""}, {"name", "8"},
		{"below", "-6"}, {"below", "6"}, {"id", "0"}, {"id", "4294967296"}, {"id", "1.0"},
		{"big", "-1"}, {"share", "2.1"}, {"share", "-2.1"}, {"share", "\"1\""},
		{"yes", "1"}, {"later", "10"}, {"later", "\"9\""}, {"items", "[1,2,3,4]"},
		{"items", "[0,1]"}, {"items", "[1,null]"}, {"items", "7"}, {"weights", "[1]"},
		{"weights", "[1,1.1]"}, {"weights", "[1,true]"}, {"weights", "[1,1,1]"},
		{"pair", "[1]"}, {"pair", "[1,2,3]"}, {"pair", "[1,101]"}};
	/* And what only a later release can have written. */
	static const char *const unknown[][2] = {
		{"maybe", "\"much\""}, {"colour", "\"green\""}, {"new", "[{}]"}};
	struct errmsg err;
	struct sample s;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < sizeof(fault) / sizeof(fault[0]); i++) {
		json = json_loads(full, 0, NULL);
		err.text[0] = '\0';
		json_object_set_new(
			json, fault[i][0], json_loads(fault[i][1], JSON_DECODE_ANY, NULL));
		memset(&s, 0, sizeof(s));
		assert_int_equal(fields_from_json(&table, json, &s, &err), -1);
		assert_non_null(strstr(err.text, fault[i][0]));
		assert_non_null(strstr(err.text, "sample: "));
		json_decref(json);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		json = json_loads(full, 0, NULL);
		json_object_set_new(
			json, unknown[i][0], json_loads(unknown[i][1], JSON_DECODE_ANY, NULL));
		memset(&s, 0, sizeof(s));
		assert_int_equal(fields_from_json(&table, json, &s, &err), 0);
		assert_true(i != 0 || !s.maybe);
		assert_true(i != 1 || s.colour == NONE);
		json_decref(json);
	}
	/* Each field that is not optional must be there. */
	for (size_t i = 0; i < table.count; i++) {
		bool may_lack = rows[i].optional || rows[i].flag;

		json = json_loads(full, 0, NULL);
		json_object_del(json, rows[i].name);
		memset(&s, 0, sizeof(s));
		assert_int_equal(fields_from_json(&table, json, &s, &err), may_lack ? 0 : -1);
		json_decref(json);
	}
	json = json_array();
	assert_int_equal(fields_from_json(&table, json, &s, &err), -1);
	assert_string_equal(err.text, "sample: not a JSON object");
	json_decref(json);
	/* A text that is not UTF-8 has no JSON. */
	memset(&s, 0, sizeof(s));
	strcpy(s.name, "\xff");
	assert_null(fields_to_json(&table, &s));
}

static void single_fields(void **state)
{
	json_t *json = json_pack("{s:s, s:i, s:f, s:n}", "t", "abc", "i", 7, "r", 0.5, "n");
	struct errmsg err = {""};
	char text[4] = "old";
	int64_t number = 42;
	double real = 42;

	(void)state;
	assert_int_equal(field_text("w", json, "t", text, sizeof(text), &err), 0);
	assert_string_equal(text, "abc");
	assert_int_equal(field_text("w", json, "t", text, 3, &err), -1);
	assert_string_equal(err.text, "w: \"t\" must be a string of at most 2 characters");
	assert_int_equal(field_text("w", json, "none", text, sizeof(text), &err), -1);
	assert_int_equal(field_int("w", json, "i", 8, 9, &number, &err), -1);
	assert_int_equal(field_int("w", json, "r", 0, 9, &number, &err), -1);
	assert_int_equal(number, 42);
	assert_int_equal(field_int("w", json, "i", 7, 7, &number, &err), 0);
	assert_int_equal(number, 7);
	assert_int_equal(field_real("w", json, "t", &real, &err), -1);
	assert_true(real == 42);
	assert_int_equal(field_real("w", json, "i", &real, &err), 0);
	assert_true(real == 7);
	assert_int_equal(field_real("w", json, "n", &real, &err), 0);
	assert_true(isnan(real));
	json_decref(json);
	json = field_real_or_null(INFINITY);
	assert_true(json_is_null(json));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(faults),
		cmocka_unit_test(single_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
