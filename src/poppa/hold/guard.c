/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa-guard: resumes what poppad holds stopped when poppad dies or overruns its own deadline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/log.h"
#include "common/clock.h"
#include "poppa/hold/guardctl.h"
#include "poppa/hold/held_handles.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/realtime.h"

#define STACK_SIZE (64 * 1024)

/* After a deadline poppad may still stop one more process when it wakes, and a resume may fail for
 * lack of memory. So the guard looks again, after ever longer waits, while anything stays armed. */
#define FIRST_AGAIN_MS 10
#define LAST_AGAIN_MS 1000

static void be_first_in_line(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "-1000", 5) < 0)
			plog_debug("cannot leave the OOM killer's list: %s", strerror(errno));
		close(fd);
	}
	if (!realtime_begin(GUARD_PRIORITY))
		plog_warn("no real-time priority: %s", strerror(errno));
	/* Locks all pages now: poppad may use up the memory that a new page would need. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		plog_warn("cannot lock memory: %s", strerror(errno));
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct held_handles *ready; /* NULL: files are opened when they are needed */

static int release(struct held_file *h, bool sure, int *again)
{
	int held;

	pthread_mutex_lock(&one_at_a_time);
	held = held_release(h, ready, sure, again);
	pthread_mutex_unlock(&one_at_a_time);
	return held;
}

/* Returns how many things to look at again. poppad sees `passed` before it stops anything more. */
static int deadline_passed(struct held_file *h)
{
	int again;

	h->passed++;
	if (release(h, false, &again)) {
		h->fired_ns = (uint64_t)clock_now();
		h->fired++;
	}
	return again;
}

/* Tries again until everything is resumed or gone. */
static void release_all(struct held_file *h)
{
	int again, ms = FIRST_AGAIN_MS;

	while (release(h, true, &again), again) {
		poll(NULL, 0, ms);
		ms = ms * 2 > LAST_AGAIN_MS ? LAST_AGAIN_MS : ms * 2;
	}
}

/* The quick way to notice poppad's death; the descriptor of its process is the sure way. */
static void *wait_death(void *arg)
{
	struct held_file *h = arg;

	held_wait_death(h);
	release_all(h);
	return NULL;
}

/* Opens the files for a release whenever entries have changed. */
static void *prepare(void *arg)
{
	struct held_file *h = arg;

	for (;;) {
		uint32_t seen = atomic_load(&h->news);

		held_handles_prepare(ready, h);
		held_wait_news(h, seen);
	}
	return NULL;
}

/* first: with the real-time priority of the calling thread; else with the normal one. */
static void start(void *(*thread)(void *), struct held_file *h, bool first)
{
	const struct sched_param everybody = {0};
	pthread_attr_t ta;
	pthread_t id;
	int rc;

	pthread_attr_init(&ta);
	pthread_attr_setstacksize(&ta, STACK_SIZE);
	if (!first) {
		pthread_attr_setinheritsched(&ta, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&ta, SCHED_OTHER);
		pthread_attr_setschedparam(&ta, &everybody);
	}
	rc = pthread_create(&id, &ta, thread, h);
	pthread_attr_destroy(&ta);
	if (rc)
		plog_warn("cannot start a thread: %s", strerror(rc));
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = {{.fd = GUARD_TIMER_FD, .events = POLLIN},
		{.fd = GUARD_POPPAD_FD, .events = POLLIN}};
	struct held_file *h;
	struct errmsg err = {""};
	int again_ms = -1;
	uint64_t ticks;

	plog_init("poppa-guard", PLOG_INFO);
	if (argc != 2 || strcmp(argv[1], GUARD_ARGUMENT)) {
		fprintf(stderr,
			"poppa-guard is started by poppad and by nobody else, see poppad(8)\n");
		return 2;
	}
	/* A terminal or an init system may signal the whole group while poppad still holds
	 * something: the guard stays, and ends when poppad ends. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	h = held_map(GUARD_HELD_FD, &err);
	if (!h) {
		plog_error("%s", err.text);
		return 1;
	}
	ready = held_handles_new();
	be_first_in_line();
	start(wait_death, h, true);
	if (ready)
		start(prepare, h, false);
	release(h, false, NULL); /* faults the pages in; nothing is armed yet */
	h->guard_pid = getpid();
	for (;;) {
		int n = poll(p, 2, again_ms);

		if (n < 0 && errno != EINTR) {
			plog_error("poll: %s", strerror(errno));
			break;
		}
		if (n > 0 && p[1].revents)
			break;
		if (n > 0 && (p[0].revents & POLLIN) &&
			read(GUARD_TIMER_FD, &ticks, sizeof(ticks)) == sizeof(ticks)) {
			again_ms = deadline_passed(h) ? FIRST_AGAIN_MS : -1;
		} else if (n == 0) {
			again_ms = !deadline_passed(h)            ? -1
				   : again_ms * 2 > LAST_AGAIN_MS ? LAST_AGAIN_MS
								  : again_ms * 2;
		}
	}
	release_all(h);
	return 0;
}
