/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf backend on the real kernel, with its two events exchanged for clocks: needs no PMU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/counter_backend.h"

int __real_counter_sys_perf_open(struct perf_event_attr *attr, pid_t tid, int group_fd);
int __wrap_counter_sys_perf_open(struct perf_event_attr *attr, pid_t tid, int group_fd);

/* Instructions become the thread's time on a processor, cycles the same by another clock. */
int __wrap_counter_sys_perf_open(struct perf_event_attr *attr, pid_t tid, int group_fd)
{
	struct perf_event_attr soft = *attr;

	soft.type = PERF_TYPE_SOFTWARE;
	soft.config = attr->config == PERF_COUNT_HW_INSTRUCTIONS ? PERF_COUNT_SW_TASK_CLOCK
								 : PERF_COUNT_SW_CPU_CLOCK;
	return __real_counter_sys_perf_open(&soft, tid, group_fd);
}

/* --- the task: its main thread sleeps; each command byte starts or ends a spinning thread --- */

static volatile int spinning;

static void *spin(void *arg)
{
	while (spinning)
		;
	return arg;
}

static void child_main(int command, int answer)
{
	pthread_t t;
	char c;

	while (read(command, &c, 1) == 1) {
		if (c == '+') {
			spinning = 1;
			if (pthread_create(&t, NULL, spin, NULL))
				_exit(1);
		} else {
			spinning = 0;
			pthread_join(t, NULL);
		}
		if (write(answer, &c, 1) != 1)
			break;
	}
	_exit(0);
}

struct task {
	pid_t pid;
	int command, answer;
	struct counter *counter;
};

static void tell(struct task *t, char c)
{
	assert_int_equal(write(t->command, &c, 1), 1);
	assert_int_equal(read(t->answer, &c, 1), 1);
}

static int start(void **state)
{
	static struct task t;
	struct errmsg err = {""};
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;
	t.pid = fork();
	if (t.pid < 0)
		return -1;
	if (t.pid == 0) {
		close(to[1]);
		close(from[0]);
		child_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	t.command = to[1];
	t.answer = from[0];
	t.counter = NULL;
	*state = &t;
	if (counter_open(COUNTER_PERF, NULL, t.pid, &t.counter, &err))
		print_message("perf events cannot be used here: %s\n", err.text);
	return 0;
}

static int end(void **state)
{
	struct task *t = *state;

	counter_close(t->counter);
	if (t->pid) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	close(t->command);
	close(t->answer);
	return 0;
}

static struct counter_sample sample(struct task *t)
{
	struct counter_sample s;

	assert_int_equal(counter_read(t->counter, &s), 0);
	return s;
}

/* Waits until the task has made progress; false after 20 s without. */
static bool advances(struct task *t)
{
	struct counter_sample before = sample(t);

	for (int i = 0; i < 2000; i++) {
		struct counter_sample now = sample(t);

		assert_true(now.progress >= before.progress && now.cycles >= before.cycles);
		if (now.progress > before.progress && now.cycles > before.cycles)
			return true;
		usleep(10000);
	}
	return false;
}

static bool stands_still(struct task *t)
{
	struct counter_sample before = sample(t), after;

	usleep(20000);
	after = sample(t);
	return after.progress == before.progress && after.cycles == before.cycles;
}

/* A busy machine may let the task run a little after it has answered. */
static bool comes_to_rest(struct task *t)
{
	for (int i = 0; i < 1000; i++)
		if (stands_still(t))
			return true;
	return false;
}

static void follows_threads(void **state)
{
	struct task *t = *state;
	struct counter_sample s;

	if (!t->counter)
		skip();
	assert_true(comes_to_rest(t)); /* its only thread sleeps */
	tell(t, '+');
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
	s = sample(t);
	tell(t, '-');
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(sample(t).progress >= s.progress);
	tell(t, '+');
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
}

static void stopped_task_stands_still(void **state)
{
	struct task *t = *state;
	int status;

	if (!t->counter)
		skip();
	tell(t, '+');
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
	kill(t->pid, SIGSTOP);
	assert_int_equal(waitpid(t->pid, &status, WUNTRACED), t->pid);
	assert_true(WIFSTOPPED(status));
	/* Every thread stops at its next return from the kernel. */
	for (int i = 0; i < 2000 && !stands_still(t); i++)
		;
	assert_true(stands_still(t));
	kill(t->pid, SIGCONT);
	assert_true(advances(t));
}

static void task_dies(void **state)
{
	struct task *t = *state;
	struct counter_sample s;
	int rc = 0;

	if (!t->counter)
		skip();
	tell(t, '+');
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
	for (int i = 0; i < 10 && !rc; i++)
		rc = counter_read(t->counter, &s);
	assert_int_equal(rc, -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(counter_refresh(t->counter), -1);
	assert_int_equal(errno, ESRCH);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(follows_threads),
		TEST(stopped_task_stands_still),
		TEST(task_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
