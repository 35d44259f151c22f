/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/trial/launch.c: what a program finds when it starts, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

#include "programs.h"
#include "trial/launch.h"

static cpu_set_t one;
static int pu;

static int choose_pu(void **state)
{
	cpu_set_t mine;

	(void)state;
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return -1;
	while (!CPU_ISSET(pu, &mine))
		pu++;
	CPU_ZERO(&one);
	CPU_SET(pu, &one);
	return 0;
}

static pid_t start(char *const *argv, const char *preload, int *errors, struct errmsg *err)
{
	struct launch l = {.argv = argv,
		.mark = "POPPA_TRIAL=t.0",
		.preload = preload,
		.cpus = &one,
		.cpus_size = sizeof(one)};

	return launch_program(&l, errors, err);
}

/* What a script writes to its standard error. */
static void run(const char *script, const char *preload, char *text, size_t size)
{
	char *const *argv = TEXTS("sh", "-c", script);
	struct errmsg err = {""};
	struct pollfd p = {.events = POLLIN};
	size_t length = 0;
	ssize_t n = -1;
	int status;
	pid_t pid = start(argv, preload, &p.fd, &err);

	assert_true(pid > 0);
	while (n) {
		assert_int_equal(poll(&p, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
		n = read(p.fd, text + length, size - 1 - length);
		assert_true(n >= 0);
		length += (size_t)n;
	}
	text[length] = '\0';
	close(p.fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void has_line(const char *text, const char *line)
{
	size_t length = strlen(line);
	const char *at = text;

	while ((at = strstr(at, line)) && ((at > text && at[-1] != '\n') || at[length] != '\n'))
		at++;
	if (!at)
		print_error("no line \"%s\" in\n%s", line, text);
	assert_non_null(at);
}

static void environment(void **state)
{
	static char text[1 << 20];
	char line[64];

	(void)state;
	setenv("POPPA_TEST_KEPT", "yes", 1);
	setenv("I_MPI_PIN", "1", 1);
	run("env >&2; grep Cpus_allowed_list /proc/self/status >&2", NULL, text, sizeof(text));
	has_line(text, "POPPA_TRIAL=t.0");
	has_line(text, "POPPA_TEST_KEPT=yes");
	has_line(text, "I_MPI_PIN=0");
	has_line(text, "SLURM_OVERLAP=1");
	has_line(text, "HYDRA_BINDING=none");
	assert_null(strstr(text, "LD_PRELOAD"));
	snprintf(line, sizeof(line), "Cpus_allowed_list:\t%d", pu);
	has_line(text, line);
	/* Of this process nothing changes. */
	assert_string_equal(getenv("I_MPI_PIN"), "1");
	assert_null(getenv("POPPA_TRIAL"));
}

/* Libraries of the user's stay. ld.so complains that there are none of these. */
static void preloads(void **state)
{
	static char text[1 << 20];

	(void)state;
	run("env >&2", "/no/ours.so", text, sizeof(text));
	has_line(text, "LD_PRELOAD=/no/ours.so");
	setenv("LD_PRELOAD", "/no/theirs.so", 1);
	run("env >&2", "/no/ours.so", text, sizeof(text));
	has_line(text, "LD_PRELOAD=/no/ours.so:/no/theirs.so");
	run("env >&2", NULL, text, sizeof(text));
	has_line(text, "LD_PRELOAD=/no/theirs.so");
	unsetenv("LD_PRELOAD");
}

/* Nothing to read, nowhere to write, and the signals as they are by default. */
static void input_and_output(void **state)
{
	char text[4096];
	const char *ignored;
	sigset_t blocked, before;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGUSR2, SIG_IGN);
	run("cat; echo lost; readlink /proc/self/fd/0 >&2; "
	    "grep -E 'SigIgn|SigBlk' /proc/self/status >&2",
		NULL, text, sizeof(text));
	signal(SIGUSR2, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_null(strstr(text, "lost"));
	has_line(text, "/dev/null");
	/* Signals of the C library's own may be ignored since before this process. */
	ignored = strstr(text, "SigIgn:\t");
	assert_non_null(ignored);
	assert_int_equal(strtoull(ignored + 8, NULL, 16) >> (SIGUSR2 - 1) & 1, 0);
	has_line(text, "SigBlk:\t0000000000000000");
}

static void own_group(void **state)
{
	char *const *argv = TEXTS("sleep", "300");
	char byte;
	struct errmsg err = {""};
	struct proc_stat st;
	int errors;
	pid_t pid = start(argv, NULL, &errors, &err);

	(void)state;
	assert_int_equal(proc_stat(pid, &st), 0);
	assert_int_equal(st.pgrp, pid);
	assert_int_equal(read(errors, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_true(fcntl(errors, F_GETFD) & FD_CLOEXEC);
	close(errors);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void no_such_program(void **state)
{
	char *const *argv = TEXTS("/no/such/program"), *const *folder = TEXTS("/tmp");
	struct errmsg err = {""};
	int errors;

	(void)state;
	assert_int_equal(start(argv, NULL, &errors, &err), -1);
	assert_non_null(strstr(err.text, "cannot run /no/such/program: No such file"));
	assert_int_equal(start(folder, NULL, &errors, &err), -1);
	assert_non_null(strstr(err.text, "cannot run /tmp: Permission denied"));
	waitpid(-1, NULL, 0);
	waitpid(-1, NULL, 0);
}

/* The program keeps the writing end of a pipe, which is closed when it is gone. */
static void ends_with_its_parent(void **state)
{
	char *const *argv = TEXTS("sleep", "300");
	char byte;
	int alive[2], errors;
	struct errmsg err;
	struct pollfd p;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(alive), 0);
	child = fork();
	if (!child)
		_exit(start(argv, NULL, &errors, &err) < 0);
	close(alive[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	p = (struct pollfd){alive[0], POLLIN, 0};
	assert_int_equal(poll(&p, 1, (int)(PATIENCE_NS / NS_PER_MS)), 1);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	close(alive[0]);
}

static void finds_the_preload(void **state)
{
	char dir[PATH_MAX - 64], path[PATH_MAX], found[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	bool made;
	int fd;

	(void)state;
	assert_true(n > 0);
	dir[n] = '\0';
	snprintf(strrchr(dir, '/'), 8, "/.libs");
	made = !mkdir(dir, 0755);
	snprintf(path, sizeof(path), "%s/libpoppa-heartbeat-mpi.so", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_ptr_equal(launch_find_preload(found, sizeof(found)), found);
	assert_string_equal(found, path);
	assert_int_equal(unlink(path), 0);
	if (made)
		rmdir(dir);
	/* Now it is where it is installed, or nowhere. */
	if (launch_find_preload(found, sizeof(found))) {
		assert_string_not_equal(found, path);
		assert_int_equal(access(found, R_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment),
		cmocka_unit_test(preloads),
		cmocka_unit_test(input_and_output),
		cmocka_unit_test(own_group),
		cmocka_unit_test(no_such_program),
		cmocka_unit_test(ends_with_its_parent),
		cmocka_unit_test(finds_the_preload),
	};

	return cmocka_run_group_tests(tests, choose_pu, NULL);
}
