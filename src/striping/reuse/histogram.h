/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far apart a program's references to one cache line are, as a histogram. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/errmsg.h"

/* Bytes of a cache line, the unit of all that is referenced. */
#define REUSE_LINE 64
/* Bucket 0 has the distances below REUSE_FIRST, bucket k those from REUSE_FIRST * 2^(k-1) on that
 * are less than twice as far, and the last one all that are farther. */
#define REUSE_BUCKETS 20
#define REUSE_FIRST 32
/* The most programs that are looked at together. */
#define REUSE_GROUP_MAX 32
/* Room for the text of any histogram. */
#define REUSE_TEXT_MAX 4096

/* A distance is the number of references between two to the same line (TR-17-04, section 6.2). */
struct reuse_bucket {
	double count; /* references that come again at such a distance */
	double mean;  /* of their distances; 0 where there are none */
};

struct reuse_histogram {
	double references;   /* all of them: cold and those in buckets */
	double instructions; /* executed meanwhile; 0 = not known */
	double cold;         /* to lines that were not there before */
	struct reuse_bucket bucket[REUSE_BUCKETS];
};

/* The bucket of a distance. */
int reuse_bucket_of(uint64_t distance);

/* The least distance of a bucket. */
double reuse_bucket_from(int bucket);

/* How many references an instruction makes, on average; 1 where that is not known. */
double reuse_rate(const struct reuse_histogram *h);

/* Writes the histogram as text, a line Name=Value for each number, into buf of REUSE_TEXT_MAX
 * bytes. Returns buf. */
char *reuse_print(const struct reuse_histogram *h, char *buf);

/*
 * Reads such a text. name is the file's, for messages. Returns 0, or -1 with an err that says which
 * line is wrong, or what is missing; h is then undefined.
 */
int reuse_parse(const char *name, const char *text, struct reuse_histogram *h, struct errmsg *err);
