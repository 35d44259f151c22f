/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells how much processor time the outlook of a pair history takes, as slurmctld's thread makes
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "striping/history/pairs.h"
#include "striping/partners/outlook.h"

/* Of this thread, in milliseconds. */
static double used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Prints what fit and outlook take. 0, or -1 without memory. */
static int solve(struct pairs *pairs)
{
	const struct expectation_hints hints = {.spread = pairs_spread_hint, .spread_arg = pairs};
	double begin = used_ms(), fitted;
	struct expectation *e = expectation_fit(pairs, &hints);
	struct outlook *o, *drawn;

	fitted = used_ms();
	o = e ? outlook_of_history(pairs, e, NULL) : NULL;
	drawn = o ? outlook_drawn(o, 1) : NULL;
	if (drawn)
		printf("%.1f,%.1f\n", fitted - begin, used_ms() - fitted);
	outlook_free(drawn);
	outlook_free(o);
	expectation_free(e);
	return drawn ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct errmsg err;
	struct pairs *pairs;
	int times = argc == 3 ? atoi(argv[2]) : 0, status = EXIT_SUCCESS;

	if (times < 1) {
		fputs("Usage: solve HISTORY TIMES\n", stderr);
		return 2;
	}
	pairs = pairs_load(argv[1], NULL, &err);
	if (!pairs) {
		fprintf(stderr, "solve: %s\n", err.text);
		return EXIT_FAILURE;
	}
	puts("fit_ms,outlook_ms");
	while (times-- && status == EXIT_SUCCESS)
		if (solve(pairs)) {
			fputs("solve: out of memory\n", stderr);
			status = EXIT_FAILURE;
		}
	pairs_free(pairs);
	return status;
}
