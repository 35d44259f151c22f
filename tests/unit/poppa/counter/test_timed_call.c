/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/counter/timed_call.c: calls whose file answers late, or never. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/counter/timed_call.h"

/* A file that is read when somebody posts `answer`, and what became of the call. */
struct file {
	sem_t answer;
	sem_t dropped;
	bool read;
};

static void read_file(void *arg)
{
	struct file *f = arg;

	sem_wait(&f->answer);
	f->read = true;
}

static void drop_file(void *arg)
{
	sem_post(&((struct file *)arg)->dropped);
}

static void init(struct file *f, unsigned answers)
{
	sem_init(&f->answer, 0, answers);
	sem_init(&f->dropped, 0, 0);
	f->read = false;
}

static bool was_dropped(struct file *f)
{
	int dropped;

	return !sem_getvalue(&f->dropped, &dropped) && dropped;
}

static void what_answers_is_read(void **state)
{
	struct file f;

	(void)state;
	init(&f, 1);
	assert_int_equal(timed_call(1, read_file, drop_file, &f), 0);
	assert_true(f.read);
	assert_false(was_dropped(&f));
}

/* Nobody waits for ever, a dead file system of one user takes few threads, and other users' files
 * are read meanwhile. Afterwards it is as before. */
static void what_does_not_answer_is_given_up(void **state)
{
	struct file dead[TIMED_CALL_LATE], other;

	(void)state;
	for (int i = 0; i < TIMED_CALL_LATE; i++) {
		init(&dead[i], 0);
		assert_int_equal(timed_call(1, read_file, drop_file, &dead[i]), -1);
		assert_int_equal(errno, ETIMEDOUT);
		assert_false(was_dropped(&dead[i]));
	}
	init(&other, 1);
	assert_int_equal(timed_call(1, read_file, drop_file, &other), -1);
	assert_int_equal(errno, EBUSY);
	assert_true(was_dropped(&other));
	assert_false(other.read);
	init(&other, 1);
	assert_int_equal(timed_call(2, read_file, drop_file, &other), 0);
	assert_true(other.read);
	for (int i = 0; i < TIMED_CALL_LATE; i++) {
		sem_post(&dead[i].answer);
		sem_wait(&dead[i].dropped);
		assert_true(dead[i].read);
	}
	init(&other, 1);
	assert_int_equal(timed_call(1, read_file, drop_file, &other), 0);
}

static void owner_of_a_task(void **state)
{
	int ready[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(timed_call_owner(getpid()), getuid());
	assert_int_equal(timed_call_owner(0), (uid_t)-1);
	if (geteuid())
		return;
	/* A program that its user may not read: /proc says that root owns it. */
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (setuid(65534) || prctl(PR_SET_DUMPABLE, 0) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(timed_call_owner(pid), 65534);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_answers_is_read),
		cmocka_unit_test(what_does_not_answer_is_given_up),
		cmocka_unit_test(owner_of_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
