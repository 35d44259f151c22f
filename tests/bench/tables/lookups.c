/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up the same keys in a Horton table and in others, in turns, and prints how fast each was.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/xorshift.h"
#include "cuckoo.h"
#include "horton/poppa_horton.h"
#include "probing.h"

#define SEED 0x9d39247e33776d41u

static uint64_t random_state = SEED;

static uint32_t random_key(void)
{
	return xorshift_32(&random_state);
}

struct tables {
	struct horton *horton;
	struct cuckoo *balanced, *first_fit;
	struct probing *probing;
};

/* What is compared, in the order of its turns. */
static const char *const names[] = {
	"horton", "horton-scalar", "cuckoo-balanced", "cuckoo-first-fit", "open-addressing"};
enum { HORTON, SCALAR, BALANCED, FIRST_FIT, PROBING, TABLES };

static size_t look_up(struct tables *t, int which, const uint32_t *keys, size_t n, uint32_t *values,
	uint8_t *found)
{
	switch (which) {
	case HORTON:
	case SCALAR:
		horton_use(t->horton, which == SCALAR ? HORTON_SCALAR : HORTON_BEST);
		return horton_lookup_many(t->horton, keys, n, values, found);
	case BALANCED:
	case FIRST_FIT:
		return cuckoo_lookup_many(
			which == BALANCED ? t->balanced : t->first_fit, keys, n, values, found);
	default:
		return probing_lookup_many(t->probing, keys, n, values, found);
	}
}

static double lines(struct tables *t, int which, const uint32_t *keys, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += which <= SCALAR      ? horton_lines(t->horton, keys[i])
		       : which == BALANCED  ? cuckoo_lines(t->balanced, keys[i])
		       : which == FIRST_FIT ? cuckoo_lines(t->first_fit, keys[i])
					    : probing_lines(t->probing, keys[i]);
	return sum / (double)n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "lookups: out of memory: give fewer --buckets\n");
		exit(1);
	}
	return memory;
}

/* Fills all tables with the same items up to that load of their slots. Returns how many there are.
 */
static uint32_t fill(struct tables *t, double load, uint32_t buckets, uint32_t *keys)
{
	uint32_t wanted = (uint32_t)(load * buckets * 8), n = 0;

	while (n < wanted) {
		uint32_t key = random_key();

		if (!key || horton_lookup(t->horton, key, NULL))
			continue;
		if (horton_insert(t->horton, key, ~key) == HORTON_FULL ||
			!cuckoo_insert(t->balanced, key, ~key) ||
			!cuckoo_insert(t->first_fit, key, ~key)) {
			fprintf(stderr,
				"lookups: a table is full at a load of %.3f: give a smaller --load\n",
				n / (buckets * 8.0));
			exit(1);
		}
		probing_insert(t->probing, key, ~key);
		keys[n++] = key;
	}
	return n;
}

static void look_up_in_turns(
	struct tables *t, const char *kind, const uint32_t *keys, size_t n, int rounds)
{
	uint32_t *values = must(malloc(n * sizeof(*values)));
	uint8_t *found = must(malloc(n));
	size_t hits[TABLES];
	double counted[TABLES];

	for (int which = 0; which < TABLES; which++) {
		counted[which] = lines(t, which, keys, n < 1000000 ? n : 1000000);
		hits[which] = look_up(t, which, keys, n, values, found);
		if (hits[which] != hits[0]) {
			fprintf(stderr, "lookups: %s finds %zu keys, %s %zu\n", names[which],
				hits[which], names[0], hits[0]);
			exit(1);
		}
	}
	for (int round = 0; round < rounds; round++)
		for (int which = 0; which < TABLES; which++) {
			double start = now();

			look_up(t, which, keys, n, values, found);
			printf("%s,%s,%d,%.4f,%.4f\n", names[which], kind, round,
				(double)n / (now() - start) / 1e6, counted[which]);
		}
	free(values);
	free(found);
}

static void look_up_all(
	struct tables *t, const uint32_t *stored, uint32_t items, size_t n, int rounds)
{
	uint32_t *keys = must(malloc(n * sizeof(*keys)));

	puts("table,lookups,round,million_per_s,lines");
	for (size_t i = 0; i < n; i++)
		keys[i] = stored[(uint64_t)random_key() * items >> 32];
	look_up_in_turns(t, "positive", keys, n, rounds);
	for (size_t i = 0; i < n; i++)
		do
			keys[i] = random_key();
		while (!keys[i] || horton_lookup(t->horton, keys[i], NULL));
	look_up_in_turns(t, "negative", keys, n, rounds);
	free(keys);
}

/* Fills a Horton table until an item finds no place. */
static double fill_up(uint32_t buckets)
{
	struct horton *t = must(horton_create(buckets, SEED));
	double load;

	while (horton_insert(t, random_key(), random_key()) != HORTON_FULL)
		;
	load = (double)horton_items(t) / (buckets * 8.0);
	horton_destroy(t);
	return load;
}

/* Prints how many lines a lookup reads of keys that are there, and of keys that are not. */
static int print_lines(uint32_t buckets, double load)
{
	struct horton *t = must(horton_create(buckets, SEED));
	double sum[2] = {0, 0};
	uint64_t cursor = 0, n = 0;
	uint32_t key, value;

	while ((double)horton_items(t) < load * buckets * 8)
		if (horton_insert(t, random_key(), random_key()) == HORTON_FULL) {
			fprintf(stderr, "lookups: the table is full: give a smaller --load\n");
			exit(1);
		}
	for (; horton_next(t, &cursor, &key, &value); n++) {
		sum[0] += horton_lines(t, key);
		do
			key = random_key();
		while (horton_lookup(t, key, NULL));
		sum[1] += horton_lines(t, key);
	}
	printf("%.5f %.5f\n", sum[0] / (double)n, sum[1] / (double)n);
	horton_destroy(t);
	return 0;
}

static const char usage[] =
	"Usage: lookups [--buckets N] [--load L] [--lookups N] [--rounds N]\n"
	"       lookups --fill [--buckets N]              the load at which a Horton table is full\n"
	"       lookups --lines [--buckets N] [--load L]  lines a lookup, of keys that are there or not\n";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"buckets", required_argument, NULL, 'b'},
		{"load", required_argument, NULL, 'l'},
		{"lookups", required_argument, NULL, 'n'},
		{"rounds", required_argument, NULL, 'r'},
		{"fill", no_argument, NULL, 'f'},
		{"lines", no_argument, NULL, 'L'},
		{NULL, 0, NULL, 0},
	};
	uint32_t buckets = 1u << 16, items, *stored;
	size_t n = 1000000;
	double load = 0.9;
	int rounds = 5, opt, only = 0;
	struct tables t;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'b')
			buckets = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 'l')
			load = strtod(optarg, NULL);
		else if (opt == 'n')
			n = strtoul(optarg, NULL, 10);
		else if (opt == 'r')
			rounds = atoi(optarg);
		else if (opt == 'f' || opt == 'L')
			only = opt;
		else {
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!buckets || buckets > HORTON_BUCKETS_MAX || !(load > 0 && load < 1) || !n ||
		rounds < 1) {
		fprintf(stderr,
			"lookups: give --buckets, --lookups and --rounds above 0, and a --load between 0 and 1\n");
		return 2;
	}
	if (only == 'f') {
		printf("%.5f\n", fill_up(buckets));
		return 0;
	}
	if (only)
		return print_lines(buckets, load);
	t.horton = must(horton_create(buckets, SEED));
	t.balanced = must(cuckoo_create(buckets, false));
	t.first_fit = must(cuckoo_create(buckets, true));
	t.probing = must(probing_create((uint64_t)buckets * 8));
	stored = must(malloc((size_t)buckets * 8 * sizeof(*stored)));
	items = fill(&t, load, buckets, stored);
	look_up_all(&t, stored, items, n, rounds);
	free(stored);
	horton_destroy(t.horton);
	cuckoo_destroy(t.balanced);
	cuckoo_destroy(t.first_fit);
	probing_destroy(t.probing);
	return 0;
}
