/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for the thread of src/poppa/counter/background_close.c, which ends when all is closed. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline bool closer_runs(void)
{
	DIR *threads = opendir("/proc/self/task");
	char path[512], name[32];
	bool found = false;
	struct dirent *e;
	FILE *f;

	assert_non_null(threads);
	while (!found && (e = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "re"); /* "." has none, and a thread may have ended */
		if (!f)
			continue;
		found = fgets(name, sizeof(name), f) && !strcmp(name, "poppad-closer\n");
		fclose(f);
	}
	closedir(threads);
	return found;
}

/* Returns once all descriptors that were handed over are closed. Asserts that it takes no minute.
 */
static inline void wait_for_closer(void)
{
	for (int ms = 0; closer_runs(); ms++) {
		assert_true(ms < 60000);
		usleep(1000);
	}
}
