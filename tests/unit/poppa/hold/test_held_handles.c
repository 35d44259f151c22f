/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/held_handles.c: what was prepared is resumed without opening
 * anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/hold/held_handles.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/proc.h"
#include "unit/poppa/waiting_process.h"

static char dir[64];
static struct held_file *held;
static int held_fd;
static struct held_handles *ready;
static pid_t child[2];

static uint64_t starttime(pid_t pid)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(pid, &st), 0);
	return st.starttime;
}

static bool becomes(pid_t pid, bool stopped)
{
	struct proc_stat st = {0};

	for (int ms = 0; ms < 2000; ms++) {
		if (!proc_stat(pid, &st) && (st.state == 'T') == stopped)
			return true;
		usleep(1000);
	}
	return false;
}

static int setup(void **state)
{
	char path[128];

	(void)state;
	strcpy(dir, "/tmp/handles-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/held", dir);
	held = held_create(path, &held_fd, NULL);
	ready = held_handles_new();
	for (int i = 0; i < 2; i++) {
		child[i] = waiting_process();
	}
	return held && ready && !held_live(held) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	for (int i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* From here on nothing can be opened, or from here on it can. */
static void may_open(bool may)
{
	static struct rlimit usual;
	struct rlimit none;

	if (may) {
		setrlimit(RLIMIT_NOFILE, &usual);
		return;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){0, usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), -1);
}

static int stop(pid_t pid)
{
	int entry = held_take(held, HELD_PROCESS, pid, starttime(pid), NULL);

	assert_true(entry >= 0);
	assert_true(held_arm(held, entry));
	kill(pid, SIGSTOP);
	assert_true(becomes(pid, true));
	held_stopped(held, entry);
	return entry;
}

static void resumes_a_process_without_opening(void **state)
{
	int entry = stop(child[0]), again = 1, count;

	(void)state;
	held_handles_prepare(ready, held);
	may_open(false);
	count = held_release(held, ready, false, &again);
	may_open(true);
	assert_int_equal(count, 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child[0], false));
	held_free(held, entry);
}

/* What the test above goes by: who has to open something cannot resume. */
static void tries_again_where_it_cannot_open(void **state)
{
	int entry = stop(child[0]), again = 0;

	(void)state;
	may_open(false);
	held_release(held, ready, false, &again);
	may_open(true);
	assert_int_equal(again, 1);
	assert_true(becomes(child[0], true));
	assert_int_equal(held_release(held, ready, true, &again), 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child[0], false));
	held_free(held, entry);
}

/* Whether the stopping thread has run tells if its stop is still to come: that, too, is asked
 * without opening anything. */
static void knows_the_stopping_thread_without_opening(void **state)
{
	int entry = held_take(held, HELD_PROCESS, child[0], starttime(child[0]), NULL), again = 0;
	int32_t stopper = held->stopper;
	struct proc_watch watch;

	(void)state;
	assert_true(held_arm(held, entry));
	held->stopper = child[1]; /* it waits: what it has run is known exactly */
	held_handles_prepare(ready, held);
	may_open(false);
	assert_int_equal(held_release(held, ready, false, &again), 1);
	may_open(true);
	assert_int_equal(again, 1);
	proc_watch_open(&watch, child[1]);
	assert_int_equal(held->entry[entry].woken_ns, proc_watch_ran(&watch));
	proc_watch_close(&watch);
	held_free(held, entry);
	held->stopper = stopper;
}

static void thaws_a_cgroup_without_opening(void **state)
{
	char path[128], text[16] = "";
	int entry, fd, again = 1;

	(void)state;
	snprintf(path, sizeof(path), "%s/freezer.state", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	entry = held_take(held, HELD_FREEZER_V1, 0, 0, dir);
	assert_true(held_arm(held, entry));
	held_stopped(held, entry);
	held_handles_prepare(ready, held);
	may_open(false);
	assert_int_equal(held_release(held, ready, false, &again), 1);
	may_open(true);
	assert_int_equal(again, 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "THAWED");
	close(fd);
	held_free(held, entry);
}

/* An entry that was given to another process since: that one is resumed, not the one before. */
static void goes_by_what_is_in_the_entry_now(void **state)
{
	int entry = held_take(held, HELD_PROCESS, child[0], starttime(child[0]), NULL), again = 1;

	(void)state;
	held_handles_prepare(ready, held);
	held_retake(held, entry, child[1], starttime(child[1]));
	kill(child[0], SIGSTOP); /* its user's */
	assert_true(becomes(child[0], true));
	assert_true(held_arm(held, entry));
	kill(child[1], SIGSTOP);
	assert_true(becomes(child[1], true));
	held_stopped(held, entry);
	assert_int_equal(held_release(held, ready, false, &again), 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child[1], false));
	assert_true(becomes(child[0], true));
	kill(child[0], SIGCONT);
	assert_true(becomes(child[0], false));
	held_free(held, entry);
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void closes_what_is_not_needed_any_more(void **state)
{
	int before, entry[3];

	(void)state;
	held_handles_prepare(ready, held);
	before = open_files();
	entry[0] = held_take(held, HELD_PROCESS, child[0], starttime(child[0]), NULL);
	entry[1] = held_take(held, HELD_PROCESS, child[1], starttime(child[1]), NULL);
	entry[2] = held_take(held, HELD_PROCESS, 0, 0, NULL); /* spare */
	held_handles_prepare(ready, held);
	held_handles_prepare(ready, held);
	assert_int_equal(open_files(), before + 4);
	held_free(held, entry[2]);
	held_free(held, entry[1]);
	held_handles_prepare(ready, held);
	assert_int_equal(open_files(), before + 2);
	assert_null(held_handles_borrow(ready, entry[1], held->entry[entry[1]].generation));
	held_free(held, entry[0]);
	held_handles_prepare(ready, held);
	assert_int_equal(open_files(), before);
}

static void is_lent_to_one_at_a_time(void **state)
{
	int entry = held_take(held, HELD_PROCESS, child[0], starttime(child[0]), NULL);
	uint32_t generation = held->entry[entry].generation;

	(void)state;
	held_handles_prepare(ready, held);
	assert_non_null(held_handles_borrow(ready, entry, generation));
	assert_null(held_handles_borrow(ready, entry, generation));
	held_handles_give_back(ready, entry);
	assert_non_null(held_handles_borrow(ready, entry, generation));
	held_handles_give_back(ready, entry);
	assert_null(held_handles_borrow(ready, entry, generation + 1));
	assert_null(held_handles_borrow(NULL, entry, generation));
	held_free(held, entry);
}

static atomic_int heard;

static void *listen_once(void *arg)
{
	uint32_t *seen = arg;

	while (held->news == *seen)
		held_wait_news(held, *seen);
	heard = 1;
	return NULL;
}

static void tells_of_entries_taken_and_freed(void **state)
{
	pthread_t thread;
	uint32_t seen;
	int entry = -1;

	(void)state;
	for (int round = 0; round < 2; round++) {
		seen = held->news;
		heard = 0;
		assert_int_equal(pthread_create(&thread, NULL, listen_once, &seen), 0);
		poll(NULL, 0, 20);
		assert_int_equal(heard, 0);
		if (round)
			held_free(held, entry);
		else
			entry = held_take(held, HELD_PROCESS, child[0], starttime(child[0]), NULL);
		pthread_join(thread, NULL);
		assert_int_equal(heard, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resumes_a_process_without_opening),
		cmocka_unit_test(tries_again_where_it_cannot_open),
		cmocka_unit_test(knows_the_stopping_thread_without_opening),
		cmocka_unit_test(thaws_a_cgroup_without_opening),
		cmocka_unit_test(goes_by_what_is_in_the_entry_now),
		cmocka_unit_test(closes_what_is_not_needed_any_more),
		cmocka_unit_test(is_lent_to_one_at_a_time),
		cmocka_unit_test(tells_of_entries_taken_and_freed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
