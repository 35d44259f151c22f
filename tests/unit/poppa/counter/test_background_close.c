/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/counter/background_close.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "poppa/counter/background_close.h"
#include "unit/poppa/counter/closer_end.h"

#define FILES 100

static pthread_t main_thread;
static atomic_int by_main, by_others;
static bool slow, no_threads;
static sem_t go;

int __wrap_close(int fd);
int __real_close(int fd);
int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __real_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

int __wrap_close(int fd)
{
	if (pthread_equal(pthread_self(), main_thread)) {
		by_main++;
	} else {
		by_others++;
		if (slow)
			sem_wait(&go);
	}
	return __real_close(fd);
}

int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, start, arg);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_one(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The caller goes on while the first close still takes its time. */
static void another_thread_closes_all(void **state)
{
	int fd[FILES];

	(void)state;
	for (int i = 0; i < FILES; i++)
		fd[i] = open_one();
	by_main = by_others = 0;
	slow = true;
	sem_init(&go, 0, 0);
	for (int i = 0; i < FILES; i++)
		background_close(fd[i]);
	for (int i = 0; i < FILES; i++)
		assert_true(is_open(fd[i]));
	for (int i = 0; i < FILES; i++)
		sem_post(&go);
	wait_for_closer();
	for (int i = 0; i < FILES; i++)
		assert_false(is_open(fd[i]));
	assert_int_equal(by_others, FILES);
	assert_int_equal(by_main, 0);
	sem_destroy(&go);
	slow = false;
}

/* The thread has ended; the next file gets another one. */
static void again_later(void **state)
{
	int fd = open_one();

	(void)state;
	by_main = by_others = 0;
	background_close(fd);
	wait_for_closer();
	assert_false(is_open(fd));
	assert_int_equal(by_others, 1);
	assert_int_equal(by_main, 0);
}

static void without_a_thread_at_once(void **state)
{
	int fd = open_one();

	(void)state;
	no_threads = true;
	background_close(fd);
	no_threads = false;
	assert_false(is_open(fd));
	wait_for_closer();
	again_later(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_thread_closes_all),
		cmocka_unit_test(again_later),
		cmocka_unit_test(without_a_thread_at_once),
	};

	main_thread = pthread_self();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
