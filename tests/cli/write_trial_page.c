/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the page of a trial whose result is a file of JSON: write_trial_page FILE >PAGE */
#include <stdio.h>
#include <jansson.h>

#include "cli/trial/trial_page.h"

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *result;
	int failed;

	if (argc != 2) {
		fputs("usage: write_trial_page FILE >PAGE\n", stderr);
		return 2;
	}
	result = json_load_file(argv[1], 0, &error);
	if (!result) {
		fprintf(stderr, "write_trial_page: %s: line %d: %s\n", argv[1], error.line,
			error.text);
		return 2;
	}
	failed = trial_page(result, stdout);
	json_decref(result);
	return failed ? 1 : 0;
}
