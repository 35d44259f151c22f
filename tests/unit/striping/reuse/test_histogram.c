/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of histograms of reuse distances and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "striping/reuse/histogram.h"

static void buckets(void **state)
{
	(void)state;
	assert_int_equal(reuse_bucket_of(0), 0);
	assert_int_equal(reuse_bucket_of(31), 0);
	assert_int_equal(reuse_bucket_of(32), 1);
	assert_int_equal(reuse_bucket_of(63), 1);
	assert_int_equal(reuse_bucket_of(64), 2);
	assert_int_equal(reuse_bucket_of(UINT64_MAX), REUSE_BUCKETS - 1);
	for (int k = 0; k < REUSE_BUCKETS; k++)
		assert_int_equal(reuse_bucket_of((uint64_t)reuse_bucket_from(k)), k);
}

static void text_and_back(void **state)
{
	struct reuse_histogram h = {.references = 130, .instructions = 260, .cold = 30}, back;
	char text[REUSE_TEXT_MAX];
	struct errmsg err;

	(void)state;
	h.bucket[0] = (struct reuse_bucket){60, 3.5};
	h.bucket[REUSE_BUCKETS - 1] = (struct reuse_bucket){40, 1e12};
	assert_int_equal(reuse_parse("f", reuse_print(&h, text), &back, &err), 0);
	assert_memory_equal(&back, &h, sizeof(h));
	assert_true(reuse_rate(&back) == 0.5);
}

/* The longest text fits. */
static void all_buckets(void **state)
{
	struct reuse_histogram h = {.references = REUSE_BUCKETS * 1.23456789e16}, back;
	char text[REUSE_TEXT_MAX];
	struct errmsg err;

	(void)state;
	for (int k = 0; k < REUSE_BUCKETS; k++)
		h.bucket[k] =
			(struct reuse_bucket){1.23456789e16, reuse_bucket_from(k) * 1.23456789};
	assert_int_equal(reuse_parse("f", reuse_print(&h, text), &back, &err), 0);
	assert_true(reuse_rate(&back) == 1);
}

static void refused(const char *text, const char *why)
{
	struct reuse_histogram h;
	struct errmsg err;

	assert_int_equal(reuse_parse("file", text, &h, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" is not in \"%s\"", why, err.text);
	assert_non_null(strstr(err.text, "file"));
}

static void wrong_texts(void **state)
{
	(void)state;
	refused("", "missing");
	refused("Line=64\nReferences=1\nInstructions=1\n", "missing");
	refused("Line=32\n", "64 bytes");
	refused("Line=64\nLine=64\n", "twice");
	refused("Colour=red\n", "unknown");
	refused("Bucket20=1 1\n", "unknown");
	refused("Bucket-1=1 1\n", "unknown");
	refused("Bucket0=1\n", "COUNT MEAN");
	refused("Bucket0=1 x\n", "Bucket0");
	refused("Bucket0=-1 2\n", "Bucket0");
	refused("Bucket0=nan 2\n", "Bucket0");
	refused("Bucket0=1 40\n", "distance of this bucket");
	refused("Bucket3=1 40\n", "distance of this bucket");
	refused("References\n", "References");
	refused("References=1e300\n", "References");
	refused("Line=64\nReferences=5\nInstructions=1\nCold=1\nBucket0=1 1\n", "make 2");
	refused("Line=64\nReferences=0\nInstructions=1\nCold=0\n", "anew");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets),
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(all_buckets),
		cmocka_unit_test(wrong_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
