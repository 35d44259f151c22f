/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for tests/cli/trial.t that publishes its progress, and is slow while another one runs.
 */
/*
 *   beats FILE PLACE SLOW [BEATS]
 * Programs with the same file and other places (0 to 7) see in it which of them run. Each beats
 * once a millisecond, or SLOW times as slowly while another one does. It ends after BEATS beats;
 * without them it runs for ever, and 0 beats: it publishes nothing and runs for ever. Sleeping
 * takes the same time on a busy machine.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

#define PLACES 8
#define ALIVE_NS INT64_C(40000000)

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	int place = argc > 3 ? atoi(argv[2]) % PLACES : 0, slow = argc > 3 ? atoi(argv[3]) : 1;
	long most = argc > 4 ? atol(argv[4]) : -1;
	int64_t *seen;

	if (fd < 0 || ftruncate(fd, PLACES * sizeof(*seen)))
		return 1;
	seen = mmap(NULL, PLACES * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (seen == MAP_FAILED)
		return 1;
	if (most)
		poppa_heartbeat_open();
	for (long beat = 0; most <= 0 || beat < most; beat++) {
		struct timespec wait = {0, 1000000};
		int64_t t = now();

		__atomic_store_n(&seen[place], t, __ATOMIC_RELAXED);
		for (int i = 0; i < PLACES; i++)
			if (i != place &&
				t - __atomic_load_n(&seen[i], __ATOMIC_RELAXED) < ALIVE_NS)
				wait.tv_nsec = (long)slow * 1000000;
		nanosleep(&wait, NULL);
		poppa_heartbeat_add(1);
	}
	return 0;
}
