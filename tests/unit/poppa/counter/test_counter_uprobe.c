/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/counter/counter_uprobe.c: it counts calls exactly, or says why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/counter/counter.h"
#include "poppa/counter/counter_backend.h"
#include "poppa/counter/timed_call.h"

#include "unit/poppa/counter/closer_end.h"
#include "unit/poppa/counter/group_reads.h"

/* clang makes no clones of a function, and does not know the word. */
#if __has_attribute(noclone)
#define WHOLE __attribute__((noinline, noclone))
#else
#define WHOLE __attribute__((noinline))
#endif

/* The function under the probe. It is global so that the symbol table has it under its name. */
int uprobe_target(int x);
WHOLE int uprobe_target(int x)
{
	static volatile int sum;

	sum += x;
	return sum;
}

/* Two whose first instructions are known: the kernel emulates a push and single-steps a move. */
#if defined(__x86_64__)
void cheap_target(void);
void dear_target(void);
void busy_target(void);
__asm__(".text\n"
	".globl cheap_target\n.type cheap_target, @function\n"
	"cheap_target: push %rbp\n pop %rbp\n ret\n.size cheap_target, .-cheap_target\n"
	".globl busy_target\n.type busy_target, @function\n"
	"busy_target: push %rbp\n pop %rbp\n ret\n.size busy_target, .-busy_target\n"
	".globl dear_target\n.type dear_target, @function\n"
	"dear_target: mov %rsp, %rax\n ret\n.size dear_target, .-dear_target\n");
#endif

static char program[4096]; /* this executable */
static int opens;

int __real_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	opens++;
	return __real_counter_sys_perf_open(attr, pid, cpu, group_fd, flags);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Reads as the shutter does, from another thread. */
struct reader {
	struct counter *counter;
	pthread_mutex_t lock;
	atomic_int reads, failed;
	atomic_bool end;
	atomic_int tid;
};

/* How long that thread of ours has waited for a processor so far, ns; 0 where the kernel does not
 * tell. */
static int64_t waited_for_processor(int tid)
{
	char path[64];
	long long ran, waited = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%lld %lld", &ran, &waited) != 2)
		waited = 0;
	if (f)
		fclose(f);
	return waited;
}

static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct counter_sample s;

	r->tid = gettid();
	while (!r->end) {
		pthread_mutex_lock(&r->lock);
		r->failed += counter_read(r->counter, &s) != 0;
		pthread_mutex_unlock(&r->lock);
		r->reads++;
		usleep(100);
	}
	return NULL;
}

/* --- real probes --- */

#define CALLS 1000

static void *call_many(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		uprobe_target(i);
	return arg;
}

static int go[2], gone[2]; /* to and from the thread that stays */

static void *stay(void *arg)
{
	char c;

	while (read(go[0], &c, 1) == 1) {
		call_many(NULL);
		if (write(gone[1], &c, 1) != 1)
			break;
	}
	return arg;
}

/* 'm': calls in the main thread; 'T': starts a thread; 't': calls in it; 'f': calls in a child. */
static int obey(char c)
{
	pthread_t t;
	pid_t pid;

	switch (c) {
	case 'T':
		return pipe(go) || pipe(gone) || pthread_create(&t, NULL, stay, NULL);
	case 't':
		return write(go[1], &c, 1) != 1 || read(gone[0], &c, 1) != 1;
	case 'f':
		pid = fork();
		if (pid == 0) {
			call_many(NULL);
			_exit(0);
		}
		return waitpid(pid, NULL, 0) != pid;
	default:
		call_many(NULL);
		return 0;
	}
}

static void child_main(int command, int answer)
{
	char c;

	while (read(command, &c, 1) == 1)
		if (obey(c) || write(answer, &c, 1) != 1)
			_exit(1);
	_exit(0);
}

static void tell(int command, int answer, char c)
{
	assert_int_equal(write(command, &c, 1), 1);
	assert_int_equal(read(answer, &c, 1), 1);
}

/* counter_open() gives the kernel half a second to read the program. A busy machine may take
 * longer; poppad tries again, too. */
static int open_at_last(
	const struct nodeconf *conf, pid_t pid, struct counter **c, struct errmsg *err)
{
	for (int tries = 0; tries < 60; tries++) {
		if (!counter_open(COUNTER_UPROBE, conf, pid, c, err))
			return 0;
		if (!strstr(err->text, " in time"))
			return -1;
		usleep(100000);
	}
	return -1;
}

static void counts_calls_exactly(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter_sample s;
	struct counter *c = NULL;
	int to[2], from[2];
	struct reader reader = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread;
	int64_t begun, took, waited;
	int reads;
	pid_t pid;

	(void)state;
	assert_non_null(conf);
	if (!counter_available(COUNTER_UPROBE, NULL, &err)) {
		print_message("no uprobe can be set here: %s\n", err.text);
		free(conf);
		skip();
	}
	nodeconf_defaults(conf);
	conf->uprobe_count = 2;
	strcpy(conf->uprobe[0], "libnone.so:nothing");
	snprintf(conf->uprobe[1], sizeof(conf->uprobe[1]), "%.480s:uprobe_target!", program);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		child_main(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	if (open_at_last(conf, pid, &c, &err))
		fail_msg("%s", err.text);
	assert_int_equal(counter_kind(c), COUNTER_UPROBE);
	assert_false(counter_has_cycles(c));
	tell(to[1], from[0], 'm');
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, CALLS);
	tell(to[1], from[0], 'T'); /* a task under a probe can make threads */
	assert_int_equal(counter_refresh(c), 0);
	tell(to[1], from[0], 't');
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(
		s.progress, CALLS); /* one that may be gone again at once is not followed */
	/* What is slow of a refresh goes on beside readings, and none of it is left to the rest. */
	reader.counter = c;
	assert_int_equal(pthread_create(&thread, NULL, read_on, &reader), 0);
	while (!reader.reads)
		usleep(100);
	reads = reader.reads;
	opens = 0;
	waited = waited_for_processor(reader.tid);
	begun = now_ns();
	counter_prepare(c);
	took = now_ns() - begun;
	waited = waited_for_processor(reader.tid) - waited;
	print_message("readings while a probe was opened, in %.1f ms: %d\n", 1e-6 * (double)took,
		reader.reads - reads);
	/* A kernel may be quicker than the reader, and others may have the processors. */
	assert_true(reader.reads > reads || took - waited < 5 * NS_PER_MS);
	assert_int_equal(opens, 1);
	pthread_mutex_lock(&reader.lock);
	assert_int_equal(groups(c), 1);
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(groups(c), 2);
	pthread_mutex_unlock(&reader.lock);
	assert_int_equal(opens, 1);
	tell(to[1], from[0], 't');
	reader.end = true;
	pthread_join(thread, NULL);
	assert_int_equal(reader.failed, 0);
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, 2 * CALLS);
	counter_prepare(c); /* nothing is new */
	assert_int_equal(opens, 1);
	assert_int_equal(counter_refresh(c), 0);
	assert_int_equal(groups(c), 2);
	tell(to[1], from[0], 'f'); /* another process: not this task's progress */
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, 2 * CALLS);
	call_many(NULL); /* nor is this */
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, 2 * CALLS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	usleep(10000); /* an end is noticed within milliseconds */
	assert_int_equal(counter_read(c, &s), -1);
	assert_int_equal(errno, ESRCH);
	counter_close(c);
	wait_for_closer();
	close(to[1]);
	close(from[0]);
	free(conf);
}

#if defined(__x86_64__)

static double time_of_calls(void (*fn)(void), int calls)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < calls; i++)
		fn();
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       calls;
}

/* The shortest of several stretches: what others do to this machine only makes them longer. */
static double cost_of_probe(const struct nodeconf *conf, void (*fn)(void))
{
	double best = 1e9;
	struct counter *c;
	struct counter_sample s;
	struct errmsg err;

	if (open_at_last(conf, getpid(), &c, &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < 20; i++) {
		double t = time_of_calls(fn, 500);

		best = t < best ? t : best;
	}
	assert_int_equal(counter_read(c, &s), 0);
	assert_int_equal(s.progress, 20 * 500);
	counter_close(c);
	return best;
}

#define NOBODY 65534

static pid_t busy_as(uid_t uid)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (setuid(uid))
		_exit(1);
	for (;;)
		busy_target();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Whatever the machine is busy with, this one is called more than 100,000 times a second. */
static void a_probe_that_slows_the_task_is_given_up(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;
	int rc = 0, code = 0;
	pid_t pid;

	(void)state;
	assert_non_null(conf);
	if (!counter_available(COUNTER_UPROBE, NULL, &err)) {
		print_message("no uprobe can be set here: %s\n", err.text);
		free(conf);
		skip();
	}
	nodeconf_defaults(conf);
	conf->uprobe_count = 1;
	snprintf(conf->uprobe[0], sizeof(conf->uprobe[0]), "%.480s:busy_target", program);
	pid = busy_as(getuid());
	assert_int_equal(open_at_last(conf, pid, &c, &err), 0);
	for (int i = 0; i < 100 && !rc; i++) {
		usleep(250000);
		rc = counter_refresh(c);
		code = errno;
	}
	assert_int_equal(rc, -1);
	assert_int_equal(code, ENODATA);
	counter_close(c);
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, pid, &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "busy_target"));
	assert_non_null(strstr(err.text, "choose another function"));
	end(pid);
	/* Of this user alone: whoever else has such a program is measured. */
	if (!geteuid()) {
		pid = busy_as(NOBODY);
		while (timed_call_owner(pid) != NOBODY)
			usleep(1000);
		assert_int_equal(open_at_last(conf, pid, &c, &err), 0);
		counter_close(c);
		end(pid);
	}
	free(conf);
}

static void a_dear_function_is_refused(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;
	double cheap, dear;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	conf->uprobe_count = 1;
	snprintf(conf->uprobe[0], sizeof(conf->uprobe[0]), "%.480s:dear_target", program);
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "dear_target!"));
	if (!counter_available(COUNTER_UPROBE, NULL, &err)) {
		print_message("no uprobe can be set here: %s\n", err.text);
		free(conf);
		skip();
	}
	/* The next one serves as well as if it were alone. */
	conf->uprobe_count = 2;
	snprintf(conf->uprobe[1], sizeof(conf->uprobe[1]), "%.480s:cheap_target", program);
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, &err), 0);
	counter_close(c);
	conf->uprobe_count = 1;
	strcat(conf->uprobe[0], "!");
	dear = cost_of_probe(conf, dear_target);
	snprintf(conf->uprobe[0], sizeof(conf->uprobe[0]), "%.480s:cheap_target", program);
	cheap = cost_of_probe(conf, cheap_target);
	print_message("a probed call takes %.2f us with a push first, %.2f us with a move\n",
		cheap / 1000, dear / 1000);
	assert_true(dear > 1.5 * cheap);
	free(conf);
}

#endif

static void reasons(void **state)
{
	struct nodeconf *conf = calloc(1, sizeof(*conf));
	struct errmsg err = {""};
	struct counter *c = NULL;

	(void)state;
	assert_non_null(conf);
	nodeconf_defaults(conf);
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "Uprobe=FILE:SYMBOL"));
	conf->uprobe_count = 1;
	strcpy(conf->uprobe[0], "libnone.so:nothing");
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "libnone.so"));
	conf->uprobe_count = 2;
	strcpy(conf->uprobe[1], "libc.so.6:nothing");
	assert_int_equal(counter_open(COUNTER_UPROBE, conf, getpid(), &c, &err), -1);
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(err.text, "none of the 2"));
	free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_calls_exactly),
#if defined(__x86_64__)
		cmocka_unit_test(a_dear_function_is_refused),
		cmocka_unit_test(a_probe_that_slows_the_task_is_given_up),
#endif
		cmocka_unit_test(reasons),
	};
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n <= 0)
		return 1;
	plog_init("test", PLOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
