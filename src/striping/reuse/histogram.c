/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts, prints and reads reuse distances. */
#include "striping/reuse/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/keyval.h"
#include "common/text_append.h"
#include "common/units.h"

#define MOST 1e18
/* What is printed has nine digits, so sums may differ by a little. */
#define TOLERANCE 1e-6

int reuse_bucket_of(uint64_t distance)
{
	int bucket = 0;

	for (uint64_t d = distance / REUSE_FIRST; d && bucket < REUSE_BUCKETS - 1; d /= 2)
		bucket++;
	return bucket;
}

double reuse_bucket_from(int bucket)
{
	return bucket ? ldexp(REUSE_FIRST, bucket - 1) : 0;
}

double reuse_rate(const struct reuse_histogram *h)
{
	return h->instructions > 0 ? h->references / h->instructions : 1;
}

char *reuse_print(const struct reuse_histogram *h, char *buf)
{
	*buf = '\0';
	text_append(buf, REUSE_TEXT_MAX,
		"# Reuse distances of a program, made by poppa profile: BucketK=COUNT MEAN\n"
		"Line=%d\nReferences=%.9g\nInstructions=%.9g\nCold=%.9g\n",
		REUSE_LINE, h->references, h->instructions, h->cold);
	for (int k = 0; k < REUSE_BUCKETS; k++)
		if (h->bucket[k].count > 0)
			text_append(buf, REUSE_TEXT_MAX, "Bucket%d=%.9g %.9g\n", k,
				h->bucket[k].count, h->bucket[k].mean);
	return buf;
}

/* A text that is being read. */
struct reading {
	const char *name;
	struct reuse_histogram *h;
	bool line, references, instructions, cold, bucket[REUSE_BUCKETS];
};

static int read_number(const char *key, const char *value, double *number, struct errmsg *err)
{
	struct errmsg why;

	if (!units_parse_double(value, 0, MOST, number, &why))
		return 0;
	return errmsg_set(err, "%s: %s", key, why.text);
}

/* "COUNT MEAN", where the mean is a distance of this bucket. */
static int read_bucket(
	int k, const char *key, const char *value, struct reuse_bucket *b, struct errmsg *err)
{
	char count[64];
	size_t n = strcspn(value, " ");

	if (!value[n] || n >= sizeof(count))
		return errmsg_set(err, "%s: \"%.40s\" is not COUNT MEAN", key, value);
	memcpy(count, value, n);
	count[n] = '\0';
	if (read_number(key, count, &b->count, err) ||
		read_number(key, value + n + 1, &b->mean, err))
		return -1;
	if (b->mean < reuse_bucket_from(k) * (1 - TOLERANCE) ||
		(k < REUSE_BUCKETS - 1 && b->mean > reuse_bucket_from(k + 1) * (1 + TOLERANCE)))
		return errmsg_set(
			err, "%s: a mean of %g is no distance of this bucket", key, b->mean);
	return 0;
}

static int read_pair(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	static const char bucket[] = "Bucket";
	struct reading *r = arg;
	bool unknown = false, *seen;
	double bytes;
	int64_t k;
	int rc;

	if (!strcmp(key, "Line")) {
		seen = &r->line;
		rc = read_number(key, value, &bytes, err);
		if (!rc && bytes != REUSE_LINE)
			rc = errmsg_set(
				err, "Line: only cache lines of %d bytes are known", REUSE_LINE);
	} else if (!strcmp(key, "References")) {
		seen = &r->references;
		rc = read_number(key, value, &r->h->references, err);
	} else if (!strcmp(key, "Instructions")) {
		seen = &r->instructions;
		rc = read_number(key, value, &r->h->instructions, err);
	} else if (!strcmp(key, "Cold")) {
		seen = &r->cold;
		rc = read_number(key, value, &r->h->cold, err);
	} else if (!strncmp(key, bucket, sizeof(bucket) - 1) &&
		   !units_parse_int(key + sizeof(bucket) - 1, 0, REUSE_BUCKETS - 1, &k, NULL)) {
		seen = &r->bucket[k];
		rc = read_bucket((int)k, key, value, &r->h->bucket[k], err);
	} else {
		seen = &unknown;
		rc = errmsg_set(err,
			"\"%.40s\" is unknown: there are Line, References, Instructions, Cold and "
			"Bucket0 to Bucket%d",
			key, REUSE_BUCKETS - 1);
	}
	if (!rc && *seen)
		rc = errmsg_set(err, "%s is there twice", key);
	*seen = true;
	return rc ? errmsg_set(err, "%s, line %d: %s", r->name, line, err->text) : 0;
}

int reuse_parse(const char *name, const char *text, struct reuse_histogram *h, struct errmsg *err)
{
	struct reading r = {.name = name, .h = h};
	double sum;

	memset(h, 0, sizeof(*h));
	if (keyval_text(name, text, read_pair, &r, err))
		return -1;
	if (!r.line || !r.references || !r.instructions || !r.cold)
		return errmsg_set(err,
			"%s: Line, References, Instructions or Cold is missing: make it anew with "
			"poppa profile",
			name);
	sum = h->cold;
	for (int k = 0; k < REUSE_BUCKETS; k++)
		sum += h->bucket[k].count;
	if (h->references <= 0 || fabs(sum - h->references) > h->references * TOLERANCE)
		return errmsg_set(err,
			"%s: cold and bucketed references make %g, not the %g of References: make "
			"it anew with poppa profile",
			name, sum, h->references);
	return 0;
}
