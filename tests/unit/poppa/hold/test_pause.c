/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/pause*.c and held.c, with real processes and, as root, real freezers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "poppa/hold/proc.h"
#include "poppa/hold/proc_watch.h"

static char dir[64], held_path[128];
static struct held_file *held;
static int held_fd;
static pid_t child;
static struct proc_stat child_stat;

static int setup(void **state)
{
	struct errmsg err;

	(void)state;
	strcpy(dir, "/tmp/pause-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(held_path, sizeof(held_path), "%s/held", dir);
	held = held_create(held_path, &held_fd, &err);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return held && !proc_stat(child, &child_stat) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	held_unmap(held);
	close(held_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static char state_of(pid_t pid)
{
	struct proc_stat st = {.state = '?'};

	proc_stat(pid, &st);
	return st.state;
}

/* A stop takes effect when the task has had its turn; waits seconds, not for a fixed time. */
static bool becomes(pid_t pid, bool stopped)
{
	for (int ms = 0; ms < 5000; ms++) {
		if ((state_of(pid) == 'T') == stopped)
			return true;
		usleep(1000);
	}
	return false;
}

static void stops_and_resumes(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	assert_false(pause_stopped(u));
	assert_int_equal(pause_stop(u), 0);
	assert_int_equal(pause_settled(u), 1);
	assert_true(becomes(child, true));
	assert_true(pause_stopped(u));
	assert_false(pause_resume(u, true));
	assert_true(becomes(child, false));
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	pause_close(u);
	assert_int_equal(held->high, 0);
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

/* What a guard, or the next start, does after a crash. */
static void released_from_the_list(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);
	struct errmsg err;
	int failed = 1;

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &failed), 1);
	assert_int_equal(failed, 0);
	assert_true(becomes(child, false));
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	assert_int_equal(held_repair(held_path, &err), 1);
	assert_true(becomes(child, false));
	assert_int_equal(held_repair(held_path, &err), 0);
	/* A list of another boot names processes of another boot. */
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	held->boot_id[0] ^= 1;
	assert_int_equal(held_repair(held_path, &err), 0);
	assert_int_equal(state_of(child), 'T');
	held->boot_id[0] ^= 1;
	assert_int_equal(held_repair(held_path, &err), 1);
	pause_close(u);
}

/* After a crash the number may be another process's, which somebody else has stopped. */
static void a_used_number_is_left_alone(void **state)
{
	int slot = held_take(held, HELD_PROCESS, child, child_stat.starttime + 1, NULL);
	struct errmsg err;

	(void)state;
	assert_true(slot >= 0);
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_true(held_arm(held, slot));
	held_stopped(held, slot);
	assert_int_equal(held_repair(held_path, &err), 1);
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	held_free(held, slot);
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
}

/* A hanging daemon, a guard that resumes, and then a user who stops the task: nobody wakes it. */
static void what_was_released_is_not_ours(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);
	int again = 1;

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child, false));
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 0);
	assert_false(pause_resume(u, true));
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	pause_close(u);
}

/* The daemon hangs just before or after its stop call: the guard cannot know and keeps looking. */
static void about_to_be_stopped(void **state)
{
	int slot = held_take(held, HELD_PROCESS, child, child_stat.starttime, NULL), again = 0;

	(void)state;
	assert_true(held_arm(held, slot));
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 1);
	kill(child, SIGSTOP); /* ours, late */
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 1);
	assert_true(becomes(child, false));
	/* Once the daemon is dead nothing more can come. */
	assert_int_equal(held_release(held, NULL, true, &again), 1);
	assert_int_equal(again, 0);
	assert_int_equal(held_release(held, NULL, true, &again), 0);
	held_free(held, slot);
}

struct hang {
	int slot;
	atomic_int step; /* what the thread has done so far */
	sem_t go;
};

/* Hangs between arming the slot and its stop call, and once more right after that. */
static void *hang_in_between(void *arg)
{
	struct hang *h = arg;

	assert_int_equal(held_live(held), 0);
	assert_true(held_arm(held, h->slot));
	h->step = 1;
	sem_wait(&h->go);
	kill(child, SIGSTOP);
	h->step = 2;
	sem_wait(&h->go);
	pthread_mutex_unlock(&held->alive);
	return NULL;
}

static void wait_step(const struct hang *h, int step)
{
	while (h->step < step || state_of(held->stopper) != 'S')
		usleep(1000);
}

/* While the daemon hangs, what it was about to stop is woken once; a stop that its user sends then
 * is left alone until the daemon has run and may have stopped it, too. */
static void a_hanging_daemon_stops_nobody(void **state)
{
	struct hang h = {.slot = held_take(held, HELD_PROCESS, child, child_stat.starttime, NULL)};
	pthread_t thread;
	int again = 0;

	(void)state;
	sem_init(&h.go, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, hang_in_between, &h), 0);
	wait_step(&h, 1);
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 1);
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	for (int look = 0; look < 3; look++) {
		assert_int_equal(held_release(held, NULL, false, &again), 1);
		assert_int_equal(again, 1);
		usleep(20000);
		assert_int_equal(state_of(child), 'T');
	}
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	sem_post(&h.go);
	wait_step(&h, 2);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 1);
	assert_true(becomes(child, false));
	sem_post(&h.go);
	pthread_join(thread, NULL);
	assert_int_equal(held_release(held, NULL, true, &again), 1);
	assert_int_equal(again, 0);
	held_free(held, h.slot);
	held->stopper = 0;
	sem_destroy(&h.go);
}

/* Stops the child and lets it go on until a deadline passes, then says what it still resumes. */
static void stop_and_resume_for_ever(volatile int *resumed)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!u || held_live(held))
		_exit(1);
	held_open(held);
	for (*resumed = 0; !held_late(held); (*resumed)++) {
		if (!pause_stop(u))
			pause_resume(u, false);
	}
	for (*resumed = -1;;)
		pause();
}

/* A daemon that hangs on the way back from its stop call has stopped the child: the guard resumes
 * that for good, and what the user stops then stays so also when the daemon goes on. */
static void what_a_hanging_call_stopped_is_not_ours_either(void **state)
{
	volatile int *resumed = mmap(
		NULL, sizeof(*resumed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int again = 1, tries = 0;
	struct proc_watch watch;
	pid_t daemon;
	long nr = -1;

	(void)state;
	assert_ptr_not_equal((void *)resumed, MAP_FAILED);
	daemon = fork();
	if (!daemon)
		stop_and_resume_for_ever(resumed);
	while (held->stopper != daemon)
		usleep(1000);
	proc_watch_open(&watch, daemon);
	/* Until it hangs there. */
	for (; tries < 10000; tries++) {
		kill(daemon, SIGSTOP);
		assert_true(becomes(daemon, true));
		nr = held->slot[0].armed == HELD_STOPPING ? proc_watch_call(&watch) : -1;
		if (nr >= 0)
			break;
		kill(daemon, SIGCONT);
		usleep(100);
	}
	assert_in_range(tries, 0, 9999);
	assert_int_equal(nr, SYS_pidfd_send_signal);
	assert_true(becomes(child, true));
	held->passed++; /* as the guard does */
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child, false));
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 0);
	kill(daemon, SIGCONT);
	while (*resumed != -1)
		usleep(1000);
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	proc_watch_close(&watch);
	held_free(held, 0);
	munmap((void *)resumed, sizeof(*resumed));
	held->stopper = 0;
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

/* As gives_a_foreign_stop_back(), where it is the guard that resumes. */
static void the_guard_gives_a_foreign_stop_back(void **state)
{
	struct pause_unit *u = pause_open_process(held, child, child_stat.starttime);

	(void)state;
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(becomes(child, true));
	kill(child, SIGSTOP);
	assert_int_equal(held_release(held, NULL, true, NULL), 1);
	assert_true(becomes(child, true));
	kill(child, SIGCONT);
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
	int ours = 0, plain = 0;
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
	for (int i = 0; i < TRIES; i++) {
		assert_int_equal(pause_stop(u), 0);
		ours += ran(w) > 0;
		assert_false(pause_resume(u, true));
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

/* What cannot be resumed for now is not forgotten by the next start. */
static void kept_while_it_holds(void **state)
{
	char path[128], cgroup[128], file[160];
	struct held_file *list;
	struct errmsg err = {""};
	int fd, other, slot;

	(void)state;
	snprintf(path, sizeof(path), "%s/kept", dir);
	snprintf(cgroup, sizeof(cgroup), "%s/cgroup", dir);
	snprintf(file, sizeof(file), "%s/freezer.state", cgroup);
	assert_int_equal(mkdir(cgroup, 0700), 0);
	assert_int_equal(symlink("/dev/full", file), 0);
	list = held_create(path, &fd, &err);
	assert_non_null(list);
	slot = held_take(list, HELD_FREEZER_V1, 0, 0, cgroup);
	assert_true(held_arm(list, slot));
	held_stopped(list, slot);
	assert_int_equal(held_repair(path, &err), -1);
	assert_null(held_create(path, &other, &err));
	assert_non_null(strstr(err.text, "still held stopped"));
	/* Nothing of an earlier boot is. */
	list->boot_id[0] ^= 1;
	held_unmap(held_create(path, &other, &err));
	assert_true(other >= 0);
	close(other);
	list->boot_id[0] ^= 1;
	held_unmap(list);
	close(fd);
	/* And once it can be resumed, all is as ever. */
	list = held_create(path, &fd, &err);
	assert_non_null(list);
	slot = held_take(list, HELD_FREEZER_V1, 0, 0, cgroup);
	assert_true(held_arm(list, slot));
	assert_null(held_create(path, &other, &err));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(held_repair(path, &err), 1);
	held_unmap(list);
	close(fd);
	list = held_create(path, &fd, &err);
	assert_non_null(list);
	held_unmap(list);
	close(fd);
}

static void bad_lists(void **state)
{
	char path[128], junk[100] = "junk";
	struct errmsg err = {""};

	(void)state;
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(held_repair(path, &err), 0);
	assert_int_equal(fsio_write(path, junk, sizeof(junk), 0600, 0, &err), 0);
	assert_int_equal(held_repair(path, &err), -1);
	assert_true(*err.text);
}

static void slots_run_out(void **state)
{
	(void)state;
	for (int i = 0; i < HELD_SLOTS; i++)
		assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), i);
	assert_int_equal(held_take(held, HELD_PROCESS, 1, 1, NULL), -1);
	assert_int_equal(errno, ENOSPC);
	for (int i = 0; i < HELD_SLOTS; i++)
		held_free(held, i);
	assert_int_equal(held->high, 0);
}

/* --- freezers --- */

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_true(write(fd, text, strlen(text)) > 0);
	close(fd);
}

static bool settles(struct pause_unit *u)
{
	for (int ms = 0; ms < 5000; ms++) {
		int rc = pause_settled(u);

		assert_true(rc >= 0);
		if (rc)
			return true;
		usleep(1000);
	}
	return false;
}

static void freezer(const char *parent, enum held_kind kind, const char *file, const char *freeze,
	const char *thaw)
{
	char cgroup[256], pid[32], path[512];
	struct pause_unit *u;

	snprintf(cgroup, sizeof(cgroup), "%s/poppatest-%d", parent, (int)getpid());
	if (mkdir(cgroup, 0755)) {
		print_message("skipped: no freezer at %s (%s)\n", parent, strerror(errno));
		skip();
	}
	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	if (access(path, W_OK)) {
		rmdir(cgroup);
		print_message("skipped: no %s at %s\n", file, parent);
		skip();
	}
	snprintf(pid, sizeof(pid), "%d", (int)child);
	put(cgroup, "cgroup.procs", pid);
	u = pause_open_freezer(held, kind, cgroup);
	assert_non_null(u);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_int_equal(held_release(held, NULL, false, NULL), 1); /* as the guard would */
	assert_int_equal(pause_settled(u), 0);
	assert_int_equal(pause_stop(u), 0);
	assert_true(settles(u));
	assert_false(pause_resume(u, true));
	assert_int_equal(pause_settled(u), 0);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	/* Frozen by somebody else: not ours to thaw. */
	put(cgroup, file, freeze);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(held_release(held, NULL, false, NULL), 0);
	put(cgroup, file, thaw);
	put(parent, "cgroup.procs", pid);
	assert_int_equal(rmdir(cgroup), 0);
	assert_int_equal(pause_stop(u), -1);
	assert_int_equal(errno, ESRCH);
	pause_close(u);
}

static void pauses_v1(void **state)
{
	(void)state;
	freezer("/sys/fs/cgroup/freezer", HELD_FREEZER_V1, "freezer.state", "FROZEN", "THAWED");
}

static void pauses_v2(void **state)
{
	bool hybrid = !access("/sys/fs/cgroup/unified/cgroup.procs", F_OK);

	(void)state;
	freezer(hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", HELD_FREEZER_V2,
		"cgroup.freeze", "1", "0");
}

static char wait_for_state(int fd, char wanted)
{
	char state = 0;

	for (int ms = 0; ms < 5000 && (state = proc_state(fd)) != wanted; ms++)
		usleep(1000);
	return state;
}

/* What a kept descriptor tells of a process from its life to after its end. */
static void tells_states(void **state)
{
	struct rlimit few, usual;
	pid_t pid = fork();
	int fd;

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	fd = proc_stat_open(pid);
	assert_true(fd >= 0);
	assert_int_equal(wait_for_state(fd, 'S'), 'S');
	kill(pid, SIGSTOP);
	assert_int_equal(wait_for_state(fd, 'T'), 'T');
	kill(pid, SIGKILL);
	assert_int_equal(wait_for_state(fd, 'Z'), 'Z');
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_state(fd), 0);
	assert_int_equal(proc_stat_open(pid), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	few = (struct rlimit){.rlim_cur = 3, .rlim_max = usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(proc_stat_open(getpid()), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	close(fd);
	assert_int_equal(proc_state(fd), PROC_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_states),
		cmocka_unit_test(stops_and_resumes),
		cmocka_unit_test(gives_a_foreign_stop_back),
		cmocka_unit_test(gives_it_back_whatever_the_groups),
		cmocka_unit_test(stopped_just_before),
		cmocka_unit_test(another_process_of_that_pid),
		cmocka_unit_test(gone),
		cmocka_unit_test(released_from_the_list),
		cmocka_unit_test(a_used_number_is_left_alone),
		cmocka_unit_test(what_was_released_is_not_ours),
		cmocka_unit_test(about_to_be_stopped),
		cmocka_unit_test(a_hanging_daemon_stops_nobody),
		cmocka_unit_test(what_a_hanging_call_stopped_is_not_ours_either),
		cmocka_unit_test(nothing_is_stopped_after_the_deadline),
		cmocka_unit_test(the_guard_gives_a_foreign_stop_back),
		cmocka_unit_test(stops_all_threads),
		cmocka_unit_test(halfway_stopped_is_stopped),
		cmocka_unit_test(stopped_twice_before_its_turn),
		cmocka_unit_test(kept_while_it_holds),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(slots_run_out),
		cmocka_unit_test(pauses_v1),
		cmocka_unit_test(pauses_v2),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
