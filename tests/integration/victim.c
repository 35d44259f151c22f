/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An honest job whose degradation is known: victim LINE SECONDS REST LOSS. */
/*
 * It loses LOSS of its speed while a cheat with the same LINE works, whoever does that work and
 * wherever, and nothing else slows it down: progress goes by the clock, so that neither a busy
 * machine nor an emulated one adds an error of its own. It begins when the cheat does, and in the
 * end prints for how long it has worked and for how much of that the cheat worked, too.
 */
#include <error.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

#define FRESH_NS 1000000 /* the cheat works if it did so since the last look, or so long before */
#define RESTS 4          /* or so many of its rests, which last longer than they should */

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t rest, fresh, end, last, worked = 0, beside = 0;
	const volatile int64_t *line;
	double loss, owed = 0;
	int fd;

	if (argc != 5)
		error(2, 0, "Usage: victim LINE SECONDS REST LOSS");
	end = (int64_t)(atof(argv[2]) * 1e9);
	rest = atol(argv[3]);
	loss = atof(argv[4]);
	fresh = rest ? RESTS * 1000 * rest : FRESH_NS;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	line = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*line), PROT_READ, MAP_SHARED, fd, 0);
	if (line == MAP_FAILED)
		error(EXIT_FAILURE, 0, "%s cannot be mapped", argv[1]);
	poppa_heartbeat_open();
	while (!*line)
		usleep(2000);
	for (last = now(); worked < end;) {
		int64_t at = now(), passed = at - last;
		bool slow = at - *line < passed + fresh;

		last = at;
		worked += passed;
		beside += slow ? passed : 0;
		owed += (double)passed * (slow ? 1 - loss : 1) / 1000;
		poppa_heartbeat_add((uint64_t)owed);
		owed -= (double)(uint64_t)owed;
		if (rest)
			usleep((useconds_t)rest);
	}
	poppa_heartbeat_close();
	printf("worked %.3f beside %.3f\n", (double)worked / 1e9, (double)beside / 1e9);
	return 0;
}
