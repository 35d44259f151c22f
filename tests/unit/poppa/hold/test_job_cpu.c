/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/job_cpu.c: files as the kernel writes them, and real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "poppa/hold/job_cpu.h"
#include "poppa/hold/proc.h"

#define WAIT_MS 20000

static char dir[64];
static struct job_cpu *cpu;

/* What the job has run, or with it also what has run of the user's other jobs. */
static int64_t ran_ns(bool user)
{
	int64_t all, own = job_cpu_ran_ns(cpu, &all);

	return user ? all : own;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/job_cpu-XXXXXX");
	cpu = job_cpu_open();
	return mkdtemp(dir) && cpu ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	job_cpu_close(cpu);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* In place, as the kernel changes its file under an open descriptor. */
static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, access(path, F_OK) ? "w" : "r+");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void both_versions(void **state)
{
	static const char *const text[][2] = {
		{"5000000\n", "5300000\n"},
		{"usage_usec 5000\nuser_usec 1\nsystem_usec 4999\nnr_periods 0\n",
			"usage_usec 5300\nuser_usec 1\nsystem_usec 5299\nnr_periods 0\n"},
	};

	(void)state;
	for (int v = 0; v < 2; v++) {
		struct found_tasks d = {.processes = 0};

		snprintf(d.usage, sizeof(d.usage), "%s/usage.%d", dir, v);
		assert_false(job_cpu_knows(cpu, &d));
		put(d.usage, text[v][0]);
		assert_false(job_cpu_knows(cpu, &d));
		assert_int_equal(job_cpu_know(cpu, &d), 0);
		assert_true(job_cpu_knows(cpu, &d));
		assert_int_equal(job_cpu_total_ns(cpu), 5000000);
		job_cpu_note(cpu);
		assert_int_equal(ran_ns(true), 0);
		put(d.usage, text[v][1]);
		assert_int_equal(ran_ns(true), 300000);
	}
}

static pid_t spawn(bool busy)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		if (!busy)
			pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct found_process found(pid_t pid)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(pid, &st), 0);
	return (struct found_process){.pid = pid, .starttime = st.starttime};
}

/* Without a file: whatever of the job's processes runs, but for Slurm's own, and whoever ends. */
static void processes(void **state)
{
	pid_t idle = spawn(false), busy = spawn(true);
	struct found_process all[] = {found(idle), found(busy)};
	struct found_tasks d = {.processes = 2, .process = all};
	int ms = 0;

	(void)state;
	snprintf(d.usage, sizeof(d.usage), "%s/none", dir);
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_false(job_cpu_knows(cpu, &d));
	assert_int_equal(job_cpu_total_ns(cpu), -1);
	job_cpu_note(cpu);
	while (ran_ns(true) < 20 * NS_PER_MS && ++ms < WAIT_MS)
		usleep(1000);
	assert_true(ms < WAIT_MS);
	/* What a process has used that ends meanwhile is not taken off what others use. */
	job_cpu_note(cpu);
	end(busy);
	assert_true(ran_ns(true) >= 0);
	busy = spawn(true);
	all[1] = found(busy);
	all[1].stepd = true;
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	job_cpu_note(cpu);
	usleep(50000);
	assert_int_equal(ran_ns(true), 0);
	/* Another process has its pid by now. */
	all[1].stepd = false;
	all[1].starttime--;
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	job_cpu_note(cpu);
	usleep(50000);
	assert_int_equal(ran_ns(true), 0);
	end(busy);
	end(idle);
}

/* Without a file so many processes are added up, whatever a job has; Slurm's own do not count. */
static void more_than_are_added_up(void **state)
{
	struct found_process all[JOB_CPU_MAX_CLOCKS + 2] = {{.stepd = true}};
	struct found_tasks d = {.processes = JOB_CPU_MAX_CLOCKS + 1, .process = all};

	(void)state;
	for (int i = 0; i < JOB_CPU_MAX_CLOCKS + 2; i++)
		all[i].pid = getpid();
	snprintf(d.usage, sizeof(d.usage), "%s/none", dir);
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_false(job_cpu_misses(cpu));
	d.processes++;
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_true(job_cpu_misses(cpu));
	/* With one their number does not matter. */
	snprintf(d.usage, sizeof(d.usage), "%s/usage", dir);
	put(d.usage, "5000000\n");
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_false(job_cpu_misses(cpu));
}

/* cgroup v1: what has left the job is in the user's file, which counts where it is asked for. */
static void out_of_the_job(void **state)
{
	struct found_tasks d = {.processes = 0};

	(void)state;
	snprintf(d.usage, sizeof(d.usage), "%s/of_job", dir);
	snprintf(d.user_usage, sizeof(d.user_usage), "%s/of_user", dir);
	put(d.usage, "5000000\n");
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_true(job_cpu_knows(cpu, &d));
	assert_int_equal(job_cpu_user_ns(cpu), -1);
	put(d.user_usage, "7000000\n");
	assert_false(job_cpu_knows(cpu, &d));
	assert_int_equal(job_cpu_know(cpu, &d), 0);
	assert_true(job_cpu_knows(cpu, &d));
	assert_int_equal(job_cpu_user_ns(cpu), 7000000);
	job_cpu_note(cpu);
	put(d.user_usage, "7400000\n");
	assert_int_equal(ran_ns(true), 400000);
	assert_int_equal(ran_ns(false), 0);
	put(d.usage, "5700000\n");
	assert_int_equal(ran_ns(true), 700000);
	assert_int_equal(ran_ns(false), 700000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_versions),
		cmocka_unit_test(processes),
		cmocka_unit_test(more_than_are_added_up),
		cmocka_unit_test(out_of_the_job),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
