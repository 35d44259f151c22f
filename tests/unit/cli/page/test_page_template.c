/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of filling values into a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "cli/page/page_template.h"

static void expect(const char *template, const char *values, const char *wanted)
{
	json_t *json = json_loads(values, 0, NULL);
	char *page = NULL;
	size_t len;
	FILE *out = open_memstream(&page, &len);

	assert_non_null(json);
	page_template_fill(out, template, json);
	fclose(out);
	assert_string_equal(page, wanted);
	free(page);
	json_decref(json);
}

static void test_values(void **state)
{
	(void)state;
	expect("no tags } { {x}", "{}", "no tags } { {x}");
	expect("a{{x}}b{{y.z}}c{{y.l.1}}", "{\"x\":12,\"y\":{\"z\":\"w\",\"l\":[1,-2]}}",
		"a12bwc-2");
	expect("{{x|real 2}} {{x|percent}} {{none|real 2}} {{none|percent}}", "{\"x\":0.1234}",
		"0.12 12.3 % - -");
	expect("{{x|percent}} {{x|real 2}} {{y|real 2}}", "{\"x\":-0.0004,\"y\":-0.5}",
		"0.0 % 0.00 -0.50");
	expect("{{s|hours}} {{s|plain_hours}} {{s|short_hours}} {{x|short}}",
		"{\"s\":4444443600,\"x\":1500}", "1,234,567.7 1234567.7 1.235M 1.5k");
	expect("{{s|hours}}", "{\"s\":3596400}", "999.0");
	expect("{{s|hours}}", "{\"s\":-360000000}", "-100,000.0");
	expect("{{s|hours}}", "{\"s\":-100}", "0.0");
	expect("{{x|count job}} {{s|count job}}", "{\"x\":1,\"s\":0}", "1 job 0 jobs");
	expect("{{none|minute}}", "{}", "-");
	expect("{{name|cut 9}}", "{\"name\":\"abcdefghijklmnop\"}", "abcde…nop");
}

/* Whatever users choose as a name stays a text. */
static void test_escapes(void **state)
{
	(void)state;
	expect("<b title=\"{{x}}\">{{x}}</b>", "{\"x\":\"\\\"'<script>&\"}",
		"<b title=\"&quot;&#39;&lt;script&gt;&amp;\">&quot;&#39;&lt;script&gt;&amp;</b>");
	expect("{{x|cut 3}}", "{\"x\":\"<<<<<<\"}", "&lt;…&lt;");
	expect("{{x}}", "{\"x\":\"{{y}}\",\"y\":\"no\"}", "{{y}}");
	expect("{{x|real 1}}{{x|hours}}", "{\"x\":\"<i>\"}", "&lt;i&gt;&lt;i&gt;");
}

static void test_sections(void **state)
{
	static const char yes_or_no[] = "{{#x}}yes{{/x}}{{^x}}no{{/x}}";

	(void)state;
	for (const char *const *v = (const char *const[]){"{}", "{\"x\":null}", "{\"x\":false}",
		     "{\"x\":0}", "{\"x\":\"\"}", "{\"x\":[]}", NULL};
		*v; v++)
		expect(yes_or_no, *v, "no");
	for (const char *const *v = (const char *const[]){"{\"x\":true}", "{\"x\":0.1}",
		     "{\"x\":\"a\"}", "{\"x\":[0]}", "{\"x\":{}}", NULL};
		*v; v++)
		expect(yes_or_no, *v, "yes");
	expect("{{#l}}({{n}}{{all}}){{/l}}.",
		"{\"l\":[{\"n\":1},{\"n\":2},{\"n\":3}],\"all\":\"!\"}", "(1!)(2!)(3!).");
	/* The element's own member comes before that of the page, also where it is false. */
	expect("{{#l}}{{#n}}{{n}}{{/n}}{{/l}}", "{\"l\":[{\"n\":0},{}],\"n\":7}", "7");
	expect("{{#a}}{{#b}}x{{/b}}{{^b}}y{{#c}}z{{/c}}{{/b}}{{/a}}end", "{\"b\":1,\"c\":[1,2]}",
		"end");
	expect("{{#a}}{{#b}}{{c}}{{/b}}{{/a}}",
		"{\"a\":[{\"b\":[{\"c\":1},{\"c\":2}]},{\"b\":[]}]}", "12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
		cmocka_unit_test(test_escapes), cmocka_unit_test(test_sections)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
