/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf backend on the real kernel, with its two events exchanged for clocks: needs no PMU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "poppa/counter/counter_backend.h"

#include "unit/poppa/counter/group_reads.h"

int __real_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

static bool follows; /* the kernel counts the threads that are made later */

/* Instructions become the thread's time on a processor, cycles the same by another clock. */
int __wrap_counter_sys_perf_open(
	struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	struct perf_event_attr soft = *attr;
	int fd;

	soft.type = PERF_TYPE_SOFTWARE;
	/* A task's clock is no event of a processor. */
	soft.config = attr->config == PERF_COUNT_HW_INSTRUCTIONS && !(flags & PERF_FLAG_PID_CGROUP)
			      ? PERF_COUNT_SW_TASK_CLOCK
			      : PERF_COUNT_SW_CPU_CLOCK;
	fd = __real_counter_sys_perf_open(&soft, pid, cpu, group_fd, flags);
	if (attr->inherit)
		follows = fd >= 0;
	return fd;
}

/* --- the task: its main thread sleeps; '+' starts a spinning thread, '-' ends it, 'g' starts one
 * by a thread that ends at once, 'z' starts one that sleeps; 'f' starts a spinning
 * process, 'x' executes a spinning program in a thread --- */

static volatile int spinning;

static void *spin(void *arg)
{
	while (spinning)
		;
	return arg;
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Leaves a spinning thread behind and ends. */
static void *make_spinner(void *arg)
{
	pthread_t t;

	return pthread_create(&t, NULL, spin, NULL) ? NULL : arg;
}

/* What a task becomes that executes another program. */
static void *become_spinner(void *arg)
{
	execl("/proc/self/exe", "test_counter_live", "spin", NULL);
	return arg;
}

static void child_main(int command, int answer)
{
	pthread_t t;
	void *made = NULL;
	char c;

	while (read(command, &c, 1) == 1) {
		switch (c) {
		case '+':
			spinning = 1;
			if (pthread_create(&t, NULL, spin, NULL))
				_exit(1);
			break;
		case 'g':
			spinning = 1;
			if (pthread_create(&t, NULL, make_spinner, (void *)&spinning) ||
				pthread_join(t, &made) || !made)
				_exit(1);
			break;
		case 'f':
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				spinning = 1;
				spin(NULL);
			}
			break;
		case 'x':
			if (write(answer, &c, 1) != 1 ||
				pthread_create(&t, NULL, become_spinner, NULL))
				_exit(1);
			pthread_join(t, NULL);
			_exit(1);
		case 'z':
			if (pthread_create(&t, NULL, sleep_on, NULL))
				_exit(1);
			break;
		default:
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

/* Mid-block, that is: nobody refreshes. */
static void new_threads_count_at_once(void **state)
{
	struct task *t = *state;

	if (!t->counter)
		skip();
	if (!follows) {
		print_message(
			"this kernel does not count new threads by itself (Linux 5.13 does)\n");
		skip();
	}
	assert_true(comes_to_rest(t));
	tell(t, '+');
	assert_true(advances(t));
	tell(t, '-');
	assert_true(comes_to_rest(t));
	tell(t, 'g');
	assert_true(advances(t));
	assert_int_equal(groups(t->counter), 1);
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
}

static void other_processes_do_not_count(void **state)
{
	struct task *t = *state;
	struct counter_sample before;

	if (!t->counter)
		skip();
	tell(t, 'z');
	assert_true(comes_to_rest(t));
	tell(t, 'f');
	assert_true(comes_to_rest(t));
	assert_int_equal(counter_refresh(t->counter), 0);
	/* Long enough for the other one to run on the busiest machine. */
	before = sample(t);
	usleep(500000);
	assert_int_equal(sample(t).progress, before.progress);
}

/* Whether it has executed the program that spins. */
static bool became_spinner(pid_t pid)
{
	static const char last[] = "spin";
	char path[64], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	close(fd);
	return n >= (ssize_t)sizeof(last) && !memcmp(text + n - sizeof(last), last, sizeof(last));
}

/* A thread that executes a program takes the place of the whole task. */
static void another_program_counts_on(void **state)
{
	struct task *t = *state;

	if (!t->counter)
		skip();
	tell(t, 'z');
	assert_int_equal(counter_refresh(t->counter), 0);
	tell(t, 'x');
	for (int i = 0; i < 2000 && !became_spinner(t->pid); i++)
		usleep(10000);
	for (int i = 0; i < 20 && counter_refresh(t->counter); i++)
		usleep(10000);
	assert_true(advances(t));
	assert_int_equal(counter_refresh(t->counter), 0);
	assert_true(advances(t));
}

/* Where the cgroup v2 hierarchy is. */
static bool find_cgroups(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (mounts && !found && (m = getmntent(mounts)))
		if ((found = !strcmp(m->mnt_type, "cgroup2")))
			snprintf(path, size, "%s/poppa-test.%d", m->mnt_dir, (int)getpid());
	if (mounts)
		endmntent(mounts);
	return found;
}

static bool put(const char *cgroup, pid_t pid)
{
	char path[600], text[16];
	int fd, n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = snprintf(text, sizeof(text), "%d", (int)pid);
	n = write(fd, text, n) == n;
	close(fd);
	return n;
}

static bool put_back(const char *cgroup, pid_t pid)
{
	char root[512];

	snprintf(root, sizeof(root), "%s", cgroup);
	*strrchr(root, '/') = '\0';
	return put(root, pid);
}

/* The shortest of many: what others do to this machine only makes them longer. */
static double us_a_reading(struct counter *c)
{
	struct counter_sample s;
	double best = 1e9;

	for (int i = 0; i < 500; i++) {
		struct timespec from, to;
		double us;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int n = 0; n < 10; n++)
			assert_int_equal(counter_read(c, &s), 0);
		clock_gettime(CLOCK_MONOTONIC, &to);
		us = (double)(to.tv_sec - from.tv_sec) * 1e5 +
		     (double)(to.tv_nsec - from.tv_nsec) / 1e4;
		best = us < best ? us : best;
	}
	return best;
}

static bool goes_back_to_threads(struct task *t, size_t cpus)
{
	return !counter_refresh(t->counter) && groups(t->counter) != cpus;
}

/* A task with more threads than processors, in a cgroup of its own. */
static void processors_where_they_are_fewer(void **state)
{
	struct task *t = *state;
	struct counter_sample by_threads, by_cpus;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct counter *late = NULL;
	struct errmsg err = {""};
	double inherited, by_thread;
	char cgroup[512];
	pid_t guest;

	if (!t->counter)
		skip();
	if (!find_cgroups(cgroup, sizeof(cgroup)) || mkdir(cgroup, 0755)) {
		print_message("no cgroup v2 can be made here: %s\n", strerror(errno));
		skip();
	}
	assert_true(put(cgroup, t->pid));
	assert_int_equal(groups(t->counter), 1);
	for (long i = 0; i < 8 * cpus; i++)
		tell(t, 'z');
	inherited = us_a_reading(t->counter);
	tell(t, '+');
	assert_true(advances(t));
	by_threads = sample(t);
	/* Before the task has a cgroup of its own, one that has come late. */
	assert_true(put_back(cgroup, t->pid));
	assert_int_equal(counter_open(COUNTER_PERF, NULL, t->pid, &late, &err), 0);
	assert_int_equal(groups(late), 8 * cpus + 2);
	by_thread = us_a_reading(late);
	counter_close(late);
	assert_true(put(cgroup, t->pid));
	assert_int_equal(counter_refresh(t->counter), 0);
	if (groups(t->counter) == 1) {
		kill(t->pid, SIGKILL);
		print_message("no counters of a cgroup can be had here\n");
	} else {
		assert_int_equal(groups(t->counter), cpus);
		tell(t, '-');
		by_cpus = sample(t);
		assert_true(by_cpus.progress >= by_threads.progress);
		assert_true(comes_to_rest(t));
		print_message("a reading of %ld threads takes %.2f us by one group that they "
			      "inherit, %.2f us by a group each, %.2f us by one for each of %ld "
			      "processors\n",
			8 * cpus + 1, inherited, by_thread, us_a_reading(t->counter), cpus);
		tell(t, '+');
		assert_true(advances(t));
		/* A stranger in the cgroup would be counted too. */
		guest = fork();
		if (guest == 0)
			for (;;)
				pause();
		assert_true(put(cgroup, guest));
		by_cpus = sample(t);
		assert_true(goes_back_to_threads(t, (size_t)cpus));
		kill(guest, SIGKILL);
		waitpid(guest, NULL, 0);
		assert_true(sample(t).progress >= by_cpus.progress);
		assert_true(advances(t));
	}
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
	for (int i = 0; i < 500 && rmdir(cgroup); i++)
		usleep(10000);
	assert_int_equal(access(cgroup, F_OK), -1);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(follows_threads),
		TEST(new_threads_count_at_once),
		TEST(other_processes_do_not_count),
		TEST(another_program_counts_on),
		TEST(processors_where_they_are_fewer),
		TEST(stopped_task_stands_still),
		TEST(task_dies),
	};

	if (argc > 1 && !strcmp(argv[1], "spin")) {
		spinning = 1;
		spin(NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
