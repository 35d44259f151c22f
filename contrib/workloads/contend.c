/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slows itself and its co-runner down at will: both add to the same cache lines. */
/*
 * Rank r of a node adds to line r, so that it meets rank r of the co-runner and none of its own
 * job. Bursts of additions take turns with private work. Within bursts of both programs each gets
 * about a third of the additions that it gets alone, however long the line takes from core to
 * core; how often bursts meet is set by the private work between them.
 */
#include "workload.h"

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

#define LINE_BYTES 128 /* adjacent 64-byte lines are fetched in pairs */
#define MAX_RANKS 511
#define FILE_BYTES (LINE_BYTES * MAX_RANKS)
#define BATCH 16 /* additions between two beats: about a microsecond */

enum { KEY_LINE = 'l', KEY_PRIVATE = 'p', KEY_BURST = 'b' };

static const char *line_path = "/dev/shm/poppa-contend";
static uint64_t private_ops = 5;
static uint64_t burst = 64;
static int line_fd = -1;
static uint64_t *line;
static uint64_t state, dice;
static uint64_t drawn, left; /* additions of this burst, and those yet to come */

static const struct argp_option options[] = {
	{"line", KEY_LINE, "FILE", 0,
		"memory file with the cache lines; jobs with the same file contend (default "
		"/dev/shm/poppa-contend)",
		0},
	{"private", KEY_PRIVATE, "Q", 0,
		"private operations for each addition (default 5): more is less contention", 0},
	{"burst", KEY_BURST, "B", 0,
		"additions between two stretches of private work, on average (default 64)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *argp)
{
	switch (key) {
	case KEY_LINE:
		line_path = arg;
		return 0;
	case KEY_PRIVATE:
		private_ops = (uint64_t)workload_number(argp, "private", arg, 0, 1000000000);
		return 0;
	case KEY_BURST:
		burst = (uint64_t)workload_number(argp, "burst", arg, 1, 1000000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Opens the file or makes it, for any user, without following a link that somebody put there. */
static int open_or_make(const char *path)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		if (errno == ENOENT) {
			fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
			if (fd >= 0) {
				fchmod(fd, 0666);
				return fd;
			}
		}
		/* EACCES: another user's job has made it and not opened it to us yet. */
		if (errno != EEXIST && errno != EACCES)
			return -1;
		usleep(1000);
	}
	return -1;
}

/* Each user of the file holds a shared lock on it, so that the last can know that it is. */
static int join(const char *path)
{
	struct stat mine, named;

	for (int attempt = 0; attempt < 100; attempt++) {
		int fd = open_or_make(path);

		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_SH) || fstat(fd, &mine)) {
			close(fd);
			return -1;
		}
		/* The last user removes the file: never one that is not ours. */
		if (!S_ISREG(mine.st_mode) || (mine.st_size && mine.st_size != FILE_BYTES)) {
			close(fd);
			errno = EEXIST;
			return -1;
		}
		if (!lstat(path, &named) && named.st_ino == mine.st_ino &&
			named.st_dev == mine.st_dev)
			return fd;
		close(fd); /* its last user was just removing it */
	}
	errno = EAGAIN;
	return -1;
}

static void cleanup(void)
{
	if (line_fd >= 0 && !flock(line_fd, LOCK_EX | LOCK_NB))
		unlink(line_path);
	line_fd = -1;
}

static void setup(int rank, int local_rank)
{
	char *lines;

	if (local_rank >= MAX_RANKS)
		error(EXIT_FAILURE, 0, "more than %d ranks on a node", MAX_RANKS);
	line_fd = join(line_path);
	if (line_fd < 0 && errno == EEXIST)
		error(EXIT_FAILURE, 0,
			"%s is not a file of contend's: remove it, or name another with --line",
			line_path);
	if (line_fd < 0 || ftruncate(line_fd, FILE_BYTES))
		error(EXIT_FAILURE, errno, "%s", line_path);
	lines = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, line_fd, 0);
	if (lines == MAP_FAILED)
		error(EXIT_FAILURE, errno, "%s", line_path);
	line = (uint64_t *)(lines + (size_t)local_rank * LINE_BYTES);
	state = (uint64_t)rank;
	dice = (uint64_t)getpid();
}

/* Random, `burst` on average: programs of even bursts would fall into step, each adding while the
 * other does its private work. */
static uint64_t draw_burst(void)
{
	dice = workload_step(dice);
	return 1 + (dice >> 33) % (2 * burst - 1);
}

static uint64_t private_work(uint64_t x, uint64_t steps)
{
	while (steps--)
		x = workload_step(x);
	return x;
}

static void run(uint64_t n)
{
	uint64_t x = state;

	while (n) {
		uint64_t batch;

		if (!left)
			left = drawn = draw_burst();
		batch = left < n ? left : n;
		if (batch > BATCH)
			batch = BATCH;
		for (uint64_t i = 0; i < batch; i++) {
			/* The addition's result, of which this is always 0, makes what follows
			 * wait for it: else the processor would do both at once. */
			x ^= __atomic_fetch_add(line, 1, __ATOMIC_SEQ_CST) >> 63;
			x = workload_step(x);
		}
		poppa_heartbeat_add(batch);
		n -= batch;
		left -= batch;
		if (!left)
			x = private_work(x, drawn * private_ops);
	}
	state = x;
}

/* The steps of additions and private work are the same, so only their number matters. */
static uint64_t checksum(void)
{
	return left ? private_work(state, (drawn - left) * private_ops) : state;
}

int main(int argc, char **argv)
{
	static const struct argp extra = {.options = options, .parser = parse};
	static const struct workload contend = {
		.doc = "MPI program whose ranks contend with those of a co-runner on cache lines.",
		.extra = &extra,
		.setup = setup,
		.run = run,
		.checksum = checksum,
		.cleanup = cleanup,
	};

	return workload_main(argc, argv, &contend);
}
