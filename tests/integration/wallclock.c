/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into a program, sets the wall clock that it sees, and no other, while it runs. */
/*
 * The offset, in seconds, is an int64_t at the beginning of the file that $WALLCLOCK names. Clocks
 * that nobody can set, CLOCK_MONOTONIC for one, are as they are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

static void __attribute__((constructor)) open_offset(void)
{
	const char *path = getenv("WALLCLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		abort();
	offset = map;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = syscall(SYS_clock_gettime, clock, t);

	if (!rc && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += *offset;
	return rc;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec t;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
