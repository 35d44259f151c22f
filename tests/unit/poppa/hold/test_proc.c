/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/proc.c: what /proc says of processes that are real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "poppa/hold/proc.h"
#include "unit/poppa/waiting_process.h"

static pid_t child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (!pid)
		pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool becomes(pid_t pid, char state)
{
	struct proc_stat st = {0};

	for (int ms = 0; ms < 5000; ms++) {
		if (!proc_stat(pid, &st) && st.state == state)
			return true;
		usleep(1000);
	}
	return false;
}

static void parses_stat(void **state)
{
	/* A name may hold anything, also what looks like the fields behind it. */
	static const char line[] =
		"7 (a) R 1 (b) ) S 5 6 7 34816 7 4194304 1 2 3 4 10 20 30 40 20 0 "
		"1 0 123456 99 88";
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat_parse(line, &st), 0);
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 5);
	assert_int_equal(st.pgrp, 6);
	assert_int_equal(st.tty, 34816);
	assert_int_equal(st.cpu_ticks, 100);
	assert_int_equal(st.own_ticks, 30);
	assert_false(st.headless);
	assert_int_equal(st.starttime, 123456);
	errno = 0;
	assert_int_equal(proc_stat_parse("7 (a", &st), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(proc_stat_parse("7 (a) S 5", &st), -1);
	assert_int_equal(proc_stat_parse("", &st), -1);
}

static void names_one_process_for_good(void **state)
{
	pid_t pid = child();
	struct proc_stat st, me;
	char exe[256], own[256];
	int fd;

	(void)state;
	assert_int_equal(proc_stat(pid, &st), 0);
	assert_int_equal(proc_stat(getpid(), &me), 0);
	assert_int_equal(st.ppid, getpid());
	assert_true(st.starttime >= me.starttime);
	assert_int_equal(proc_exe(pid, exe, sizeof(exe)), 0);
	assert_int_equal(proc_exe(getpid(), own, sizeof(own)), 0);
	assert_string_equal(exe, own);
	fd = proc_pidfd(pid, st.starttime);
	assert_true(fd >= 0);
	assert_int_equal(proc_pidfd(pid, st.starttime + 1), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(proc_signal(fd, SIGKILL), 0);
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_signal(fd, 0), -1);
	assert_int_equal(errno, ESRCH);
	close(fd);
	assert_int_equal(proc_stat(pid, &st), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(proc_exe(pid, exe, sizeof(exe)), -1);
}

static void state_through_an_open_file(void **state)
{
	pid_t pid = child();
	int fd = proc_stat_open(pid);

	(void)state;
	assert_true(fd >= 0);
	kill(pid, SIGSTOP);
	assert_true(becomes(pid, 'T'));
	assert_int_equal(proc_state(fd), 'T');
	kill(pid, SIGCONT);
	assert_true(becomes(pid, 'S'));
	assert_int_equal(proc_state(fd), 'S');
	end(pid);
	assert_int_equal(proc_state(fd), 0);
	close(fd);
	assert_int_equal(proc_state(-1), PROC_UNKNOWN);
	assert_int_equal(proc_stat_open(pid), -1);
	assert_int_equal(errno, ESRCH);
}

static void *wait_for_end(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

static int count(pid_t tid, void *arg)
{
	int *n = arg;

	assert_true(tid > 0);
	return ++*n == 100;
}

static int stop_at_first(pid_t tid, void *arg)
{
	(void)tid;
	(void)arg;
	return 7;
}

static void each_thread_once(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	pthread_t thread[3];

	(void)state;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for_end, &lock), 0);
	assert_int_equal(proc_each_thread(fd, count, &n), 0);
	assert_true(n >= 4); /* a sanitizer has threads of its own */
	assert_int_equal(proc_each_thread(fd, stop_at_first, NULL), 7);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	close(fd);
	assert_int_equal(proc_each_thread(-1, count, &n), -1);
}

/* A stop of ours leaves nothing pending; one that somebody sends meanwhile is told. */
static void stops_of_others_are_told(void **state)
{
	pid_t pid = child();
	struct proc_stat st;
	int fd;

	(void)state;
	assert_int_equal(proc_stat(pid, &st), 0);
	fd = proc_pidfd(pid, st.starttime);
	assert_int_equal(proc_signal_own(fd, SIGSTOP), 0);
	assert_true(becomes(pid, 'T'));
	assert_int_equal(proc_pending_stop(pid, -1), 0);
	kill(pid, SIGTSTP);
	assert_int_equal(proc_pending_stop(pid, -1), SIGTSTP);
	kill(pid, SIGSTOP);
	assert_int_equal(proc_pending_stop(pid, -1), SIGSTOP);
	proc_signal(fd, SIGCONT);
	assert_int_equal(proc_pending_stop(pid, -1), 0);
	close(fd);
	end(pid);
	assert_int_equal(proc_pending_stop(pid, -1), 0);
	assert_false(proc_traced(pid));
}

/* Of two processes that want one processor each waits while the other has it. */
static void waiting_is_told(void **state)
{
	uint64_t ran = 0, waited = 0, ran_before, waited_before;
	pid_t pid[2];
	cpu_set_t one;

	(void)state;
	if (proc_waited(getpid(), &ran, &waited))
		skip(); /* the kernel does not count it */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i] && sched_setaffinity(0, sizeof(one), &one))
			_exit(1);
		while (!pid[i])
			continue;
	}
	assert_int_equal(proc_waited(pid[0], &ran_before, &waited_before), 0);
	while (ran < ran_before + 1000000 || waited < waited_before + 1000000) {
		assert_int_equal(waitpid(pid[0], NULL, WNOHANG), 0);
		assert_int_equal(proc_waited(pid[0], &ran, &waited), 0);
		usleep(1000);
	}
	end(pid[0]);
	end(pid[1]);
	assert_int_equal(proc_waited(pid[0], &ran, &waited), -1);
}

/* A process whose first thread has ended looks like a zombie and is none. */
static void first_thread_has_ended(void **state)
{
	char exe[256], own[256], text[64];
	struct proc_stat st;
	pid_t pid = headless_process(&st), zombie;

	(void)state;
	snprintf(text, sizeof(text), "/proc/%d/exe", (int)pid);
	assert_int_equal(readlink(text, exe, sizeof(exe)), -1);
	assert_int_equal(proc_exe(pid, exe, sizeof(exe)), 0);
	assert_int_equal(proc_exe(getpid(), own, sizeof(own)), 0);
	assert_string_equal(exe, own);
	assert_int_equal(proc_uid(pid), getuid());
	end(pid);
	zombie = fork();
	if (!zombie)
		_exit(0);
	waitid(P_PID, (id_t)zombie, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_int_equal(proc_stat(zombie, &st), 0);
	assert_int_equal(st.state, 'Z');
	assert_false(st.headless);
	assert_int_equal(proc_exe(zombie, exe, sizeof(exe)), -1);
	end(zombie);
	assert_true(proc_uid(zombie) == (uid_t)-1);
}

/* Executes a program that lies so deep that the kernel cannot tell its path. */
static void __attribute__((noreturn)) execute_deep(const char *top)
{
	char name[201] = "";

	memset(name, 'd', sizeof(name) - 1);
	if (chdir(top))
		_exit(1);
	for (int i = 0; i < 25; i++)
		if (mkdir(name, 0700) || chdir(name))
			_exit(2);
	if (system("cp /bin/sleep bash"))
		_exit(3);
	execl("./bash", "bash", "60", (char *)NULL);
	_exit(4);
}

static void a_path_that_is_too_long_hides_nothing(void **state)
{
	char top[] = "/tmp/poppa-test-proc.XXXXXX", exe[256], own[256], command[64];
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(proc_exe(getpid(), own, sizeof(own)), 0);
	pid = fork();
	if (!pid)
		execute_deep(top);
	do {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		assert_int_equal(proc_exe(pid, exe, sizeof(exe)), 0);
		usleep(1000);
	} while (!strcmp(exe, own));
	/* Not "bash": then it would be a shell, whose programs count. */
	assert_string_equal(exe, "?");
	end(pid);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

static void boots_have_names(void **state)
{
	char a[64], b[64];

	(void)state;
	assert_string_equal(proc_boot_id(a, sizeof(a)), proc_boot_id(b, sizeof(b)));
	assert_int_equal(strlen(a), 36);
	assert_null(strchr(a, '\n'));
}

/* It has ended, and nobody has waited for it yet. */
static void state_of_a_zombie(void **state)
{
	pid_t pid = child();
	int fd = proc_stat_open(pid);

	(void)state;
	kill(pid, SIGKILL);
	assert_true(becomes(pid, 'Z'));
	assert_int_equal(proc_state(fd), 'Z');
	waitpid(pid, NULL, 0);
	close(fd);
}

static void knows_the_cgroup(void **state)
{
	char text[8192] = "", *path;
	FILE *f = fopen("/proc/self/cgroup", "r");
	pid_t pid = child();

	(void)state;
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	path = strchr(strchr(text, ':') + 1, ':') + 1;
	assert_true(proc_in_cgroup(pid, path));
	assert_false(proc_in_cgroup(pid, "/uid_1/job_2/step_0"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(proc_in_cgroup(pid, path));
}

static void no_descriptor_is_left(void **state)
{
	struct rlimit few, usual;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	few = (struct rlimit){.rlim_cur = 3, .rlim_max = usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(proc_stat_open(getpid()), -1);
	assert_int_equal(errno, EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_stat),
		cmocka_unit_test(names_one_process_for_good),
		cmocka_unit_test(state_through_an_open_file),
		cmocka_unit_test(state_of_a_zombie),
		cmocka_unit_test(knows_the_cgroup),
		cmocka_unit_test(no_descriptor_is_left),
		cmocka_unit_test(each_thread_once),
		cmocka_unit_test(stops_of_others_are_told),
		cmocka_unit_test(waiting_is_told),
		cmocka_unit_test(first_thread_has_ended),
		cmocka_unit_test(a_path_that_is_too_long_hides_nothing),
		cmocka_unit_test(boots_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
