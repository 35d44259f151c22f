/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of striping/colocate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "striping/submit/colocate_option.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *canonical(const char *text)
{
	static char buf[COLOCATE_TEXT_MAX];
	struct errmsg err = {""};
	struct colocate c;

	if (colocate_parse(text, &c, &err)) {
		print_message("\"%s\": %s\n", text ? text : "(null)", err.text);
		return NULL;
	}
	return colocate_format(&c, buf);
}

static void canonical_texts(void **state)
{
	static const char *const good[][2] = {
		{NULL, "stripe"},
		{"", "stripe"},
		{" , ,", "stripe"},
		{"stripe", "stripe"},
		{"stripe,with:12", "with:12"},
		{"spread", "spread"},
		{"class:cfd.v2,spread", "spread,class:cfd.v2"},
		{"shape:stripe", "shape:stripe"},
		{"stripe,shape:stripe", "shape:stripe"},
		{"class:cfd,shape:socket", "shape:socket,class:cfd"},
		{"spread, shape:socket", "spread,shape:socket"},
		{"with:1234", "with:1234"},
		{"not:b, not:a ,not:b", "not:a,not:b"},
		{"max-degradation:20%", "max-degradation:20"},
		{"max-degradation:12.5,not:x,with:7", "with:7,not:x,max-degradation:12.5"},
		{"not:my job", "not:my%20job"},
		{"not:a%2cb%3Bc%25", "not:a%2Cb%3Bc%25"},
		{"not:%61", "not:a"},
		{"not:Gr\xc3\xbc\xc3\x9f", "not:Gr%C3%BC%C3%9F"},
		{"not:with:1", "not:with:1"},
		{"not:a=b", "not:a=b"},
		{"not:$(reboot)#\"'", "not:%24%28reboot%29%23%22%27"},
		{"help", "stripe"},
		{"no", "no"},
		{"sm:50", "sm:50"},
		{"sm:auto,class:md", "class:md,sm:auto"},
		{"sm:100, spread", "spread,sm:100"},
		{"map:auto", "map:auto"},
		{"map:auto,sm:5,spread", "spread,sm:5,map:auto"},
		{" no, ,no", "no"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		char first[COLOCATE_TEXT_MAX];
		const char *text = canonical(good[i][0]);

		assert_non_null(text);
		assert_string_equal(text, good[i][1]);
		strcpy(first, text);
		assert_string_equal(canonical(first), first);
	}
}

static void fields(void **state)
{
	struct errmsg err = {""};
	struct colocate c;

	(void)state;
	assert_int_equal(
		colocate_parse("with:9,not:b%2C,not:a,max-degradation:25,class:k", &c, &err), 0);
	assert_int_equal(c.with, 9);
	assert_int_equal(c.not_count, 2);
	assert_string_equal(c.not_name[0], "a");
	assert_string_equal(c.not_name[1], "b,");
	assert_float_equal(c.max_degradation, 0.25, 1e-12);
	assert_string_equal(c.class_name, "k");
	assert_false(c.spread);
	assert_true(colocate_excludes(&c, "b,"));
	assert_false(colocate_excludes(&c, "b"));
	assert_false(colocate_excludes(&c, NULL));
	assert_int_equal(colocate_parse("help", &c, &err), 0);
	assert_true(c.help);
	assert_non_null(strstr(colocate_help(), "max-degradation:"));
}

static void errors_say_what_is_wrong(void **state)
{
	static const char *const bad[][2] = {
		{"sprad", "unknown key \"sprad\"; the keys are stripe, spread, shape:"},
		{"Spread", "\"Spread\""},
		{"spread=1", "unknown key \"spread=1\""},
		{"spread:yes", "spread takes no value"},
		{"stripe:2", "stripe takes no value"},
		{"help:me", "help takes no value"},
		{"with", "with needs a value"},
		{"with:", "with:1234"},
		{"with:abc", "with:abc"},
		{"with:0", "with:0"},
		{"with:-1", "with:-1"},
		{"with:4294967296", "with:4294967296"},
		{"with:1,with:2", "twice"},
		{"not", "not needs a value"},
		{"not:", "not needs a value"},
		{"not:a;b", "%3B"},
		{"not:100%", "%25"},
		{"not:%2", "%25"},
		{"not:%00", "%25"},
		{"not:a\nb", "%0A"},
		{"max-degradation:0", "max-degradation:0"},
		{"max-degradation:101", "max-degradation:101"},
		{"max-degradation:nan", "max-degradation:nan"},
		{"max-degradation:5,max-degradation:6", "twice"},
		{"class:a b", "class:a b"},
		{"class:a/b", "class:a/b"},
		{"class:a,class:b", "twice"},
		{"spread,with:3", "spread and with: exclude each other"},
		{"not:x,spread", "spread and not: exclude each other"},
		{"max-degradation:3,spread", "spread and max-degradation:"},
		{"stripe,spread", "spread and stripe"},
		{"no:1", "no takes no value"},
		{"No", "unknown key \"No\""},
		{"no,stripe", "no and stripe exclude each other"},
		{"spread,no", "no and spread exclude each other"},
		{"class:k,no", "no and class: exclude each other"},
		{"not:a,no", "no and not: exclude each other"},
		{"with:3,no", "no and with: exclude each other"},
		{"shape", "shape needs a value, as in shape:socket"},
		{"shape:", "shape needs a value"},
		{"shape:row", "shape:row is unknown: choose shape:stripe or shape:socket"},
		{"shape:socket,shape:stripe", "twice"},
		{"shape:socket,stripe", "stripe and shape:socket exclude each other"},
		{"shape:stripe,no", "no and shape: exclude each other"},
		{"sm", "sm needs a value, as in sm:50"},
		{"sm:0", "sm:0 is neither a whole percentage from 1 to 100 nor auto"},
		{"sm:101", "sm:101"},
		{"sm:12.5", "sm:12.5"},
		{"sm:Auto", "sm:Auto"},
		{"sm:5,sm:5", "twice"},
		{"sm:auto", "sm:auto needs class:NAME"},
		{"no,sm:5", "no and sm: exclude each other"},
		{"map", "map needs a value, as in map:auto"},
		{"map:socket", "map:socket is unknown: write map:auto"},
		{"map:auto,map:auto", "twice"},
		{"no,map:auto", "no and map: exclude each other"},
		{"no,max-degradation:3", "no and max-degradation: exclude each other"},
		{"with:3,\x1b[31m", "control character 0x1b"},
		{":", "unknown key \"\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct errmsg err = {""};
		struct colocate c = {.with = 42};

		assert_int_equal(colocate_parse(bad[i][0], &c, &err), -1);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("\"%s\" gave: %s", bad[i][0], err.text);
		assert_int_equal(c.with, 42);
	}
}

static void limits(void **state)
{
	char text[8192], name[COLOCATE_NAME_MAX + 2];
	struct errmsg err;
	struct colocate c;
	size_t n = 0;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[COLOCATE_NAME_MAX] = '\0';
	sprintf(text, "not:%s", name);
	assert_int_equal(colocate_parse(text, &c, &err), 0);
	strcat(text, "n");
	assert_int_equal(colocate_parse(text, &c, &err), -1);
	for (int i = 0; i < COLOCATE_NAMES_MAX; i++)
		n += (size_t)sprintf(text + n, "not:n%d,", i);
	assert_int_equal(colocate_parse(text, &c, &err), 0);
	assert_int_equal(c.not_count, COLOCATE_NAMES_MAX);
	sprintf(text + n, "not:n0");
	assert_int_equal(colocate_parse(text, &c, &err), 0);
	sprintf(text + n, "not:more");
	assert_int_equal(colocate_parse(text, &c, &err), -1);
	assert_non_null(strstr(err.text, "more than 16"));
	n = 0;
	memset(name, '(', 120);
	name[120] = '\0';
	for (int i = 0; i < 4; i++)
		n += (size_t)sprintf(text + n, "not:%d%s,", i, name);
	assert_int_equal(colocate_parse(text, &c, &err), -1);
	assert_non_null(strstr(err.text, "too long together"));
	memset(text, 'x', 5000);
	text[5000] = '\0';
	assert_int_equal(colocate_parse(text, &c, &err), -1);
	memset(name, 'c', COLOCATE_CLASS_MAX + 1);
	sprintf(text, "class:%.*s", COLOCATE_CLASS_MAX + 1, name);
	assert_int_equal(colocate_parse(text, &c, &err), -1);
	text[strlen(text) - 1] = '\0';
	assert_int_equal(colocate_parse(text, &c, &err), 0);
}

/* Random texts: whatever is accepted has a canonical form that means the same and stays itself. */
static void random_texts(void **state)
{
	static const char *const pieces[] = {"spread", "stripe",
		"with:", "not:", "max-degradation:", "class:", ",", ",", ",", "1", "20", "%", "%2C",
		"%41", "a", "Z", " ", ";", ":", "\x01", "\xff", "help", "no", "0.5", "e3", "-",
		"."};
	unsigned int seed = 20240229;
	int accepted = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char text[256] = "", first[COLOCATE_TEXT_MAX], again[COLOCATE_TEXT_MAX];
		struct errmsg err = {""};
		struct colocate a, b;
		int count = rand_r(&seed) % 12;

		for (int i = 0; i < count; i++)
			strcat(text, pieces[(size_t)rand_r(&seed) % COUNT(pieces)]);
		if (colocate_parse(text, &a, &err)) {
			assert_true(*err.text);
			continue;
		}
		accepted++;
		colocate_format(&a, first);
		assert_int_equal(colocate_parse(first, &b, &err), 0);
		assert_string_equal(colocate_format(&b, again), first);
		assert_int_equal(a.no, b.no);
		assert_int_equal(a.spread, b.spread);
		assert_int_equal(a.with, b.with);
		assert_int_equal(a.not_count, b.not_count);
		for (int i = 0; i < a.not_count; i++)
			assert_string_equal(a.not_name[i], b.not_name[i]);
		for (const char *p = first; *p; p++)
			assert_true(*p > ' ' && *p < 0x7f && *p != ';' && *p != '"' && *p != '#');
	}
	assert_true(accepted > 1000);
}

/* An entry without a value, which no client of ours sends, hides none that has one. */
static void environments(void **state)
{
	char other[] = "COLOCATED=0", bare[] = "SEED", seed[] = "SEED=1", wish[] = "COLOCATE=x";
	char again[] = "COLOCATE", *env[] = {other, bare, seed, wish, NULL, again};
	uint32_t at = 9;

	(void)state;
	assert_string_equal(colocate_env(env, 6, "SEED"), "1");
	assert_string_equal(colocate_env(env, 6, "COLOCATE"), "x");
	assert_null(colocate_env(env, 2, "SEED"));
	assert_null(colocate_env(NULL, 6, "SEED"));
	assert_int_equal(colocate_find_env(env, 4, "COLOCATE", &at), 1);
	assert_int_equal(at, 3);
	assert_int_equal(colocate_find_env(env, 6, "COLOCATE", &at), -1);
	assert_int_equal(colocate_find_env(env, 2, "SEED", &at), 1);
	assert_int_equal(colocate_find_env(env, 6, "NONE", &at), 0);
}

/* A job of which its user has said no is like one of which nobody has said anything. */
static void who_is_colocated(void **state)
{
	char no[] = "COLOCATE=no", wish[] = "COLOCATE=not:no", by[] = "COLOCATE_BY=by-site";
	char other[] = "COLOCATE_BY=me", *refuses[] = {no, by}, *asks[] = {wish, other};

	(void)state;
	assert_null(colocate_request(refuses, 1));
	assert_null(colocate_request(NULL, 0));
	assert_string_equal(colocate_request(asks, 2), "not:no");
	assert_true(colocate_by_site(refuses, 2));
	assert_false(colocate_by_site(refuses, 1));
	assert_false(colocate_by_site(asks, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_texts),
		cmocka_unit_test(fields),
		cmocka_unit_test(errors_say_what_is_wrong),
		cmocka_unit_test(limits),
		cmocka_unit_test(random_texts),
		cmocka_unit_test(environments),
		cmocka_unit_test(who_is_colocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
