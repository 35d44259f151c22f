/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target over files and directories: main() of a build without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "fuzz.h"

#define INPUT_BYTES (16 << 20)

static int run_file(const char *path)
{
	struct errmsg err = {""};
	size_t len;
	char *data = fsio_read(path, INPUT_BYTES, &len, &err);

	if (!data) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	/* The last line names the input when the target ends the process. */
	printf("# %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput((const uint8_t *)data, len);
	free(data);
	return 1;
}

/* How many inputs were run, or -1. */
static int run_directory(const char *path)
{
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, alphasort), done = 0;

	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (*entry[i]->d_name != '.' && done >= 0)
			done = run_file(name) < 0 ? -1 : done + 1;
		free(entry[i]);
	}
	if (n < 0)
		return run_file(path);
	free(entry);
	return done;
}

/* Without an argument, as a test: the target's own corpus in the source tree, as one point of TAP.
 */
int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/'), *source = getenv("srcdir");
	char corpus[4096];
	int total = 0;

	name = name ? name + 1 : argv[0];
	snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus/%s", source ? source : ".", name);
	if (argc == 1)
		total = run_directory(corpus);
	for (int i = 1; i < argc && total >= 0; i++) {
		int n = run_directory(argv[i]);

		total = n < 0 ? -1 : total + n;
	}
	if (total == 0)
		fprintf(stderr, "no input: name files or directories\n");
	printf("1..1\n%sok 1 - %s: %d inputs\n", total > 0 ? "" : "not ", name, total);
	return total <= 0;
}
