/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/held_release.c: what the guard and a next start resume. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "poppa/hold/proc_watch.h"
#include "unit/poppa/hold/pause_fixture.h"

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
	int entry = held_take(held, HELD_PROCESS, child, child_stat.starttime + 1, NULL);
	struct errmsg err;

	(void)state;
	assert_true(entry >= 0);
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_true(held_arm(held, entry));
	held_stopped(held, entry);
	assert_int_equal(held_repair(held_path, &err), 1);
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	held_free(held, entry);
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
	int entry = held_take(held, HELD_PROCESS, child, child_stat.starttime, NULL), again = 0;

	(void)state;
	assert_true(held_arm(held, entry));
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
	held_free(held, entry);
}

struct hang {
	int entry;
	atomic_int step; /* what the thread has done so far */
	sem_t go;
};

/* Hangs between arming the entry and its stop call, and once more right after that. */
static void *hang_in_between(void *arg)
{
	struct hang *h = arg;

	assert_int_equal(held_live(held), 0);
	assert_true(held_arm(held, h->entry));
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
	struct hang h = {.entry = held_take(held, HELD_PROCESS, child, child_stat.starttime, NULL)};
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
	held_free(held, h.entry);
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

struct daemon {
	pid_t pid;
	volatile int *resumed;
};

/* A daemon that hangs on the way back from the call that stops the child, or that resumes it. */
static struct daemon hang_in_call(bool stopping)
{
	struct daemon d = {.resumed = mmap(NULL, sizeof(*d.resumed), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	struct proc_watch watch;
	long nr = -1;

	assert_ptr_not_equal((void *)d.resumed, MAP_FAILED);
	d.pid = fork();
	if (!d.pid)
		stop_and_resume_for_ever(d.resumed);
	while (held->stopper != d.pid)
		usleep(1000);
	proc_watch_open(&watch, d.pid);
	for (int tries = 0; nr < 0 && tries < 10000; tries++) {
		uint32_t armed;

		kill(d.pid, SIGCONT);
		usleep(100);
		kill(d.pid, SIGSTOP);
		assert_true(becomes(d.pid, true));
		armed = held->entry[0].armed;
		if (armed != HELD_FREE && (armed == HELD_STOPPING) == stopping)
			nr = proc_watch_call(&watch);
	}
	assert_int_equal(nr, SYS_pidfd_send_signal);
	proc_watch_close(&watch);
	return d;
}

/* The daemon goes on and leaves the child alone, which its user has stopped. */
static void goes_on(const struct daemon *d)
{
	kill(d->pid, SIGCONT);
	while (*d->resumed != -1)
		usleep(1000);
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	kill(child, SIGCONT);
	assert_true(becomes(child, false));
	kill(d->pid, SIGKILL);
	waitpid(d->pid, NULL, 0);
	held_free(held, 0);
	munmap((void *)d->resumed, sizeof(*d->resumed));
	held->stopper = 0;
	held_open(held);
}

/* A daemon that hangs on the way back from its stop call has stopped the child: the guard resumes
 * that for good, and what the user stops then stays so also when the daemon goes on. */
static void what_a_hanging_call_stopped_is_not_ours_either(void **state)
{
	struct daemon d = hang_in_call(true);
	int again = 1;

	(void)state;
	assert_true(becomes(child, true));
	held->passed++; /* as the guard does */
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 0);
	assert_true(becomes(child, false));
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	assert_int_equal(held_release(held, NULL, false, &again), 0);
	goes_on(&d);
}

/* One that hangs on the way back from its resume call has resumed the child: a stop that the guard
 * sees is its user's. */
static void what_a_hanging_call_resumed_stays_its_users(void **state)
{
	struct daemon d = hang_in_call(false);
	int again = 1;

	(void)state;
	assert_true(becomes(child, false));
	kill(child, SIGSTOP);
	assert_true(becomes(child, true));
	held->passed++;
	assert_int_equal(held_release(held, NULL, false, &again), 1);
	assert_int_equal(again, 0);
	usleep(20000);
	assert_int_equal(state_of(child), 'T');
	assert_int_equal(held_release(held, NULL, false, &again), 0);
	goes_on(&d);
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

/* What cannot be resumed for now is not forgotten by the next start. */
static void kept_while_it_holds(void **state)
{
	char path[128], cgroup[128], file[160];
	struct held_file *list;
	struct errmsg err = {""};
	int fd, other, entry;

	(void)state;
	snprintf(path, sizeof(path), "%s/kept", dir);
	snprintf(cgroup, sizeof(cgroup), "%s/cgroup", dir);
	snprintf(file, sizeof(file), "%s/freezer.state", cgroup);
	assert_int_equal(mkdir(cgroup, 0700), 0);
	assert_int_equal(symlink("/dev/full", file), 0);
	list = held_create(path, &fd, &err);
	assert_non_null(list);
	entry = held_take(list, HELD_FREEZER_V1, 0, 0, cgroup);
	assert_true(held_arm(list, entry));
	held_stopped(list, entry);
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
	entry = held_take(list, HELD_FREEZER_V1, 0, 0, cgroup);
	assert_true(held_arm(list, entry));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(released_from_the_list),
		cmocka_unit_test(a_used_number_is_left_alone),
		cmocka_unit_test(what_was_released_is_not_ours),
		cmocka_unit_test(about_to_be_stopped),
		cmocka_unit_test(a_hanging_daemon_stops_nobody),
		cmocka_unit_test(what_a_hanging_call_stopped_is_not_ours_either),
		cmocka_unit_test(what_a_hanging_call_resumed_stays_its_users),
		cmocka_unit_test(the_guard_gives_a_foreign_stop_back),
		cmocka_unit_test(kept_while_it_holds),
		cmocka_unit_test(bad_lists),
	};

	return cmocka_run_group_tests(tests, pause_setup, pause_teardown);
}
