/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/pause.c and pause_sigstop.c, with real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "poppa/hold/proc.h"
#include "unit/poppa/hold/pause_fixture.h"
#include "unit/poppa/waiting_process.h"

static void stops_and_resumes(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	assert_false(pause_stopped(u));
	assert_int_equal(pause_stop(u), 0);
	assert_int_equal(pause_stands_still(u), 1);
	assert_true(becomes(child, true));
	assert_true(pause_stopped(u));
	assert_false(pause_resume(u, true));
	assert_true(becomes(child, false));
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	pause_close(u);
	assert_int_equal(held->high, 0);
}

/* The other threads of a process whose first one has ended. */
static void stops_without_a_first_thread(void **state)
{
	struct proc_stat st;
	struct pause_unit *u;
	pid_t pid = headless_process(&st);

	(void)state;
	u = pause_open_process(held, pid, st.starttime);
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(pid, true));
	pause_resume(u, true);
	assert_true(becomes(pid, false));
	pause_close(u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Somebody suspends the job while we hold it: it stays suspended after our resume. */
static void gives_a_foreign_stop_back(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	kill(child, SIGSTOP);
	assert_true(pause_resume(u, true));
	assert_true(becomes(child, true));
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	pause_close(u);
}

/* Of a user with so many groups that they alone fill pages of what the kernel says of a process. */
static void gives_it_back_whatever_the_groups(void **state)
{
	enum { MANY = 3000 };
	static gid_t group[MANY];
	struct proc_stat st = {0};
	struct pause_unit *u;
	int ready[2];
	pid_t pid;
	char ok;

	(void)state;
	for (int i = 0; i < MANY; i++)
		group[i] = 4000000000u + i;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ok = setgroups(MANY, group) ? 'n' : 'y';
		if (write(ready[1], &ok, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &ok, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (ok == 'y') {
		assert_int_equal(proc_stat(pid, &st), 0);
		u = pause_open_process(held, pid, st.starttime);
		assert_non_null(u);
		assert_int_equal(pause_stop(u), 0);
		assert_true(becomes(pid, true));
		assert_int_equal(proc_pending_stop(pid, -1), 0);
		kill(pid, SIGSTOP);
		assert_int_equal(proc_pending_stop(pid, -1), SIGSTOP);
		assert_true(pause_resume(u, true));
		assert_true(becomes(pid, true));
		pause_close(u);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (ok != 'y') {
		print_message("skipped: only root may choose its groups\n");
		skip();
	}
}

/* It was stopped when we came: our own signal is what waits now. */
static void stopped_just_before(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_int_equal(pause_stop(u), 0);
	assert_true(pause_resume(u, true));
	assert_true(becomes(child, true));
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	pause_close(u);
}

static void another_process_of_that_pid(void **state)
{
	(void)state;
	assert_null(pause_open_process(held, child, child_stat.starttime + 1));
	assert_int_equal(errno, ESRCH);
	assert_int_equal(held->high, 0);
}

static void gone(void **state)
{
	struct pause_unit *u;
	struct proc_stat st;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		for (;;)
			pause();
	}
	assert_int_equal(proc_stat(pid, &st), 0);
	u = pause_open_process(held, pid, st.starttime);
	assert_non_null(u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	pause_close(u);
}

static void nothing_is_stopped_after_the_deadline(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	held_open(held);
	held->passed++; /* as the guard does */
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ETIME);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	assert_int_not_equal(state_of(child), 'T');
	held_open(held);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	pause_resume(u, true);
	assert_true(becomes(child, false));
	pause_close(u);
}

/* --- threads --- */

#define THREADS 3
#define TRIES 25

/* Counts that the threads of a program of three on one processor work on. */
struct work {
	_Atomic uint64_t count[THREADS];
};

static void *spin(void *arg)
{
	_Atomic uint64_t *count = arg;

	for (;;)
		(*count)++;
	return NULL;
}

static void *idle_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The nth of the processors, or the last, and it alone. */
static void share_cpu(int n)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && n >= 0; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		n--;
	}
	sched_setaffinity(0, sizeof(one), &one);
}

static pid_t spawn_threads(struct work *w)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	share_cpu(0);
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, spin, &w->count[i]))
			_exit(1);
	spin(&w->count[0]);
	_exit(0);
}

/* How many threads ran between 0.2 ms and 3.2 ms after they were stopped. */
static int ran(const struct work *w)
{
	uint64_t was[THREADS];
	int n = 0;

	usleep(200);
	for (int i = 0; i < THREADS; i++)
		was[i] = w->count[i];
	usleep(3000);
	for (int i = 0; i < THREADS; i++)
		n += was[i] != w->count[i];
	return n;
}

/* A plain SIGSTOP lets threads that share a processor run on until the one that got it has its
 * turn; beside it, in the same run, is ours. */
static void stops_all_threads(void **state)
{
	struct work *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sched_param fifo = {.sched_priority = 1}, other = {0};
	int ours = 0, plain = 0, failed = 0, foreign = 0;
	struct pause_unit *u;
	cpu_set_t all;
	struct proc_stat st;
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(w, MAP_FAILED);
	pid = spawn_threads(w);
	assert_int_equal(proc_stat(pid, &st), 0);
	for (int i = 0; i < THREADS; i++)
		while (!w->count[i])
			usleep(1000);
	u = pause_open_process(held, pid, st.starttime);
	assert_non_null(u);
	sched_getaffinity(0, sizeof(all), &all);
	share_cpu(1);
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		print_message("no real-time priority: this test is one of the scheduler, too\n");
	/* A failure must not leave this process at that priority, where its tests starve others. */
	for (int i = 0; i < TRIES; i++) {
		failed += pause_stop(u) != 0;
		ours += ran(w) > 0;
		foreign += pause_resume(u, true);
		usleep(4300);
		kill(pid, SIGSTOP);
		plain += ran(w) > 0;
		kill(pid, SIGCONT);
		usleep(4300);
	}
	sched_setscheduler(0, SCHED_OTHER, &other);
	sched_setaffinity(0, sizeof(all), &all);
	print_message("threads ran on in %d of %d stops, with a plain SIGSTOP in %d\n", ours, TRIES,
		plain);
	assert_int_equal(failed, 0);
	assert_int_equal(foreign, 0);
	assert_true(ours * 2 < TRIES);
	assert_true(ours <= plain);
	/* None of the signals to single threads is left to stop it again. */
	for (int i = 0; i < THREADS; i++) {
		uint64_t was = w->count[i];

		for (int ms = 0; ms < 5000 && was == w->count[i]; ms++)
			usleep(1000);
		assert_true(was != w->count[i]);
	}
	/* A stop of somebody else's in the meantime is still told from our own. */
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(pid, true));
	kill(pid, SIGSTOP);
	assert_true(pause_resume(u, true));
	assert_true(becomes(pid, true));
	/* And so is one that came just before ours: it stands already, and nobody took ours. */
	assert_int_equal(pause_stop(u), 0);
	assert_true(pause_resume(u, true));
	assert_true(becomes(pid, true));
	assert_int_equal(pause_stop(u), 0);
	assert_int_equal(held_release(held, NULL, true, NULL), 1);
	assert_true(becomes(pid, true));
	kill(pid, SIGCONT);
	assert_true(becomes(pid, false));
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(pid, true));
	assert_false(pause_resume(u, true));
	assert_true(becomes(pid, false));
	pause_close(u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(w, sizeof(*w));
}

static void *sleep_on(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

/* A process of very many threads that idle, and of one that works, the last. */
static pid_t spawn_crowd(struct work *w, int threads)
{
	pid_t pid = fork();
	pthread_attr_t small;
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, &small, idle_on, NULL))
			_exit(1);
	if (pthread_create(&thread, NULL, spin, &w->count[0]))
		_exit(1);
	idle_on(NULL);
	_exit(0);
}

/* The kernel looks at all threads of a process for each signal to one of them: one for each thread
 * of a thousand would take longer than a shutter may last. */
static void many_idle_threads_hold_nobody_up(void **state)
{
	struct work *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t least[2] = {INT64_MAX, INT64_MAX};

	(void)state;
	assert_ptr_not_equal(w, MAP_FAILED);
	for (int many = 0; many < 2; many++) {
		struct pause_unit *u;
		struct proc_stat st;
		int ran_on = 0;
		pid_t pid;

		w->count[0] = 0;
		pid = spawn_crowd(w, many ? 1600 : 100);
		while (!w->count[0])
			usleep(1000);
		assert_int_equal(proc_stat(pid, &st), 0);
		u = pause_open_process(held, pid, st.starttime);
		assert_non_null(u);
		for (int i = 0; i < TRIES; i++) {
			int64_t began = clock_now(), took;
			uint64_t was;

			assert_int_equal(pause_stop(u), 0);
			took = clock_now() - began;
			least[many] = took < least[many] ? took : least[many];
			usleep(20000);
			was = w->count[0];
			usleep(2000);
			ran_on += was != w->count[0];
			assert_false(pause_resume(u, true));
			usleep(2000);
		}
		assert_true(ran_on * 2 < TRIES);
		pause_close(u);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	print_message("100 idle threads stop in %.3f ms, 1600 in %.3f ms\n", (double)least[0] / 1e6,
		(double)least[1] / 1e6);
	/* One signal for each thread takes 256 times as long. */
	assert_true(least[1] < 32 * least[0]);
	munmap(w, sizeof(*w));
}

/* A program of two threads, of which the first waits for a child of vfork() until the other end of
 * the pipe is closed: it takes no signal as long as that. The number of the second is in *tid. */
static pid_t spawn_late(_Atomic pid_t *tid, const int wait[2])
{
	pid_t pid = fork();
	pthread_t thread;
	char c;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(wait[1]);
	if (pthread_create(&thread, NULL, sleep_on, (void *)tid))
		_exit(1);
	pid = vfork();
	if (!pid)
		_exit(read(wait[0], &c, 1) < 0);
	for (;;)
		pause();
}

/* A user's stop that one thread has taken and another has not yet come to is not ours to end. */
static void halfway_stopped_is_stopped(void **state)
{
	_Atomic pid_t *tid =
		mmap(NULL, sizeof(*tid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pause_unit *u;
	struct proc_stat st;
	int wait[2];
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(tid, MAP_FAILED);
	assert_int_equal(pipe(wait), 0);
	pid = spawn_late(tid, wait);
	close(wait[0]);
	while (!*tid || state_of(pid) != 'D')
		usleep(1000);
	assert_int_equal(proc_stat(pid, &st), 0);
	u = pause_open_process(held, pid, st.starttime);
	assert_non_null(u);
	syscall(SYS_tgkill, pid, *tid, SIGSTOP);
	assert_true(becomes(*tid, true));
	assert_int_not_equal(state_of(pid), 'T');
	assert_int_equal(pause_stop(u), 0);
	assert_true(pause_resume(u, true));
	close(wait[1]);
	assert_true(becomes(pid, true));
	kill(pid, SIGCONT);
	assert_true(becomes(pid, false));
	pause_close(u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap((void *)tid, sizeof(*tid));
}

/* A program of one thread that takes no signal until the other end of the pipe is closed. */
static pid_t spawn_deaf(const int wait[2])
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(wait[1]);
	pid = vfork();
	if (!pid)
		_exit(read(wait[0], &c, 1) < 0);
	for (;;)
		pause();
}

/* Whether the kernel keeps apart what is sent to a thread through a descriptor. */
static bool kernel_knows_threads(void)
{
	int fd = syscall(SYS_pidfd_open, getpid(), 0);
	bool knows = !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 1);

	close(fd);
	return knows;
}

/* The task had no turn in all of the shutter, in which its user stopped it, too. */
static void stopped_twice_before_its_turn(void **state)
{
	struct pause_unit *u;
	struct proc_stat st;
	int wait[2];
	pid_t pid;

	(void)state;
	if (!kernel_knows_threads()) {
		print_message("skipped: before Linux 6.9 the kernel cannot tell\n");
		skip();
	}
	for (int users = 0; users <= 1; users++) {
		assert_int_equal(pipe(wait), 0);
		pid = spawn_deaf(wait);
		close(wait[0]);
		while (state_of(pid) != 'D')
			usleep(1000);
		assert_int_equal(proc_stat(pid, &st), 0);
		u = pause_open_process(held, pid, st.starttime);
		assert_non_null(u);
		assert_int_equal(pause_stop(u), 0);
		if (users)
			kill(pid, SIGSTOP);
		assert_int_equal(state_of(pid), 'D');
		assert_int_equal(pause_resume(u, true), users);
		close(wait[1]);
		if (users) {
			assert_true(becomes(pid, true));
		} else {
			usleep(20000);
			assert_int_not_equal(state_of(pid), 'T');
		}
		pause_close(u);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_and_resumes),
		cmocka_unit_test(stops_without_a_first_thread),
		cmocka_unit_test(gives_a_foreign_stop_back),
		cmocka_unit_test(gives_it_back_whatever_the_groups),
		cmocka_unit_test(stopped_just_before),
		cmocka_unit_test(another_process_of_that_pid),
		cmocka_unit_test(gone),
		cmocka_unit_test(nothing_is_stopped_after_the_deadline),
		cmocka_unit_test(stops_all_threads),
		cmocka_unit_test(many_idle_threads_hold_nobody_up),
		cmocka_unit_test(halfway_stopped_is_stopped),
		cmocka_unit_test(stopped_twice_before_its_turn),
	};

	return cmocka_run_group_tests(tests, pause_setup, pause_teardown);
}
