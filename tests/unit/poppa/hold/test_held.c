/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/held.c: the list of what is held stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/hold/held.h"
#include "poppa/hold/proc.h"

static char dir[64], path[96];
static struct held_file *held;
static int held_fd;

static int setup(void **state)
{
	struct errmsg err;

	(void)state;
	strcpy(dir, "/tmp/held-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/held", dir);
	held = held_create(path, &held_fd, &err);
	return held ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	held_unmap(held);
	close(held_fd);
	unlink(path);
	return rmdir(dir);
}

static void entries_are_taken_and_freed(void **state)
{
	char longest[HELD_PATH + 1];
	uint32_t news = held->news, generation;
	int a, b;

	(void)state;
	a = held_take(held, HELD_PROCESS, 12, 34, NULL);
	b = held_take(held, HELD_FREEZER_V2, 0, 0, "/cgroup");
	assert_true(a >= 0 && b >= 0 && a != b);
	assert_int_equal(held->high, 2);
	assert_true(held->news > news);
	assert_int_equal(held->entry[a].pid, 12);
	assert_int_equal(held->entry[a].starttime, 34);
	assert_string_equal(held->entry[b].path, "/cgroup");
	generation = held->entry[a].generation;
	held_retake(held, a, 56, 78);
	assert_int_equal(held->entry[a].pid, 56);
	assert_int_equal(held->entry[a].generation, generation + 1);
	held_free(held, b);
	assert_int_equal(held->high, 1);
	held_free(held, a);
	assert_int_equal(held->high, 0);
	memset(longest, 'x', HELD_PATH);
	longest[HELD_PATH] = '\0';
	assert_int_equal(held_take(held, HELD_FREEZER_V1, 0, 0, longest), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

static void there_are_so_many(void **state)
{
	(void)state;
	for (int i = 0; i < HELD_ENTRIES; i++)
		assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), i);
	assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), -1);
	assert_int_equal(errno, ENOSPC);
	for (int i = 0; i < HELD_ENTRIES; i++)
		held_free(held, i);
	assert_int_equal(held->high, 0);
}

/* FREE, STOPPING before the stop, STOPPED after it, RESUMING before the resume, FREE after it. */
static void states_of_a_stop(void **state)
{
	int entry = held_take(held, HELD_PROCESS, 1, 1, NULL);

	(void)state;
	held_open(held);
	assert_false(held_ours(held, entry));
	assert_true(held_arm(held, entry));
	assert_int_equal(held->entry[entry].armed, HELD_STOPPING);
	assert_true(held_ours(held, entry));
	held_stopped(held, entry);
	assert_int_equal(held->entry[entry].armed, HELD_STOPPED);
	assert_true(held_resuming(held, entry));
	assert_int_equal(held->entry[entry].armed, HELD_RESUMING);
	held_disarm(held, entry);
	assert_false(held_ours(held, entry));
	assert_false(held_resuming(held, entry)); /* the guard has resumed it */
	assert_false(held_ours(held, entry));
	/* The guard came between the stop and the note of it: what it resumed is not armed again.
	 */
	assert_true(held_arm(held, entry));
	held_disarm(held, entry);
	held_stopped(held, entry);
	assert_false(held_ours(held, entry));
	held_free(held, entry);
}

static void nothing_is_armed_after_the_deadline(void **state)
{
	int entry = held_take(held, HELD_PROCESS, 1, 1, NULL);

	(void)state;
	held_open(held);
	held->passed++;
	assert_true(held_late(held));
	assert_false(held_arm(held, entry));
	assert_false(held_ours(held, entry));
	held_open(held);
	assert_true(held_arm(held, entry));
	held_free(held, entry);
	assert_false(held_ours(held, entry));
}

/* Only a list that names nothing of this boot is replaced. */
static void what_is_held_is_not_forgotten(void **state)
{
	struct held_file *next;
	struct errmsg err = {""};
	int entry = held_take(held, HELD_PROCESS, 1, 1, NULL), fd;

	(void)state;
	held_open(held);
	assert_true(held_arm(held, entry));
	assert_null(held_create(path, &fd, &err));
	assert_non_null(strstr(err.text, "poppad --repair"));
	held->boot_id[0] ^= 1;
	next = held_create(path, &fd, &err);
	assert_non_null(next);
	assert_ptr_not_equal(next, held);
	assert_int_equal(next->high, 0);
	/* The old mapping stays valid. */
	assert_true(held_ours(held, entry));
	held_unmap(held);
	close(held_fd);
	held = next;
	held_fd = fd;
}

static void other_files_are_refused(void **state)
{
	struct errmsg err = {""};
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_null(held_map(fd, &err));
	assert_non_null(strstr(err.text, "too short"));
	close(fd);
	held->version++;
	assert_null(held_map(held_fd, &err));
	assert_non_null(strstr(err.text, "unknown format"));
	held->version--;
	held_unmap(held_map(held_fd, &err));
}

/* Whoever waits learns at once that the stopping thread has ended, here with its process. */
static void death_is_told(void **state)
{
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	held_wait_death(held); /* of nobody: returns */
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (held_live(held) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(held->stopper, pid);
	kill(pid, SIGKILL);
	held_wait_death(held);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_taken_and_freed),
		cmocka_unit_test(there_are_so_many),
		cmocka_unit_test(states_of_a_stop),
		cmocka_unit_test(nothing_is_armed_after_the_deadline),
		cmocka_unit_test(what_is_held_is_not_forgotten),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(death_is_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
