/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks through so many cache lines so many times: a program whose reuse distances are known. */
#include <stdio.h>
#include <stdlib.h>

#define LINE 64

int main(int argc, char **argv)
{
	int lines = argc > 2 ? atoi(argv[1]) : 0, times = argc > 2 ? atoi(argv[2]) : 0;
	volatile char *memory;

	if (lines <= 0 || times < 0) {
		fprintf(stderr, "Usage: walk LINES TIMES\n");
		return 2;
	}
	memory = aligned_alloc(LINE, (size_t)lines * LINE);
	if (!memory)
		return 1;
	puts("walking");
	fputs("the walk's own words\n", stderr);
	fflush(stdout);
	for (int t = 0; t < times; t++)
		for (int i = 0; i < lines; i++)
			memory[(size_t)i * LINE] = 1;
	free((void *)memory);
	return 0;
}
