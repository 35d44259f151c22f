/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/discover.c, on a made-up cgroup tree with real processes. */
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
#include "poppa/discover.h"

static char mount[64];
static pid_t app[3], launcher, helper, zombie;
static struct nodeconf conf;

/* This test program itself is the application; a copy of sleep is the launcher. */
static pid_t spawn_app(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static pid_t spawn_launcher(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	/* It is a launcher from the moment of its exec on. */
	for (;;) {
		char path[64], exe[256];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
		n = readlink(path, exe, sizeof(exe) - 1);
		if (n > 0) {
			exe[n] = '\0';
			if (!strstr(exe, "test_discover"))
				return pid;
		}
		usleep(1000);
	}
}

static void fill(const char *dir, const char *fmt, ...)
{
	char path[512], text[256];
	struct errmsg err;
	va_list ap;

	snprintf(path, sizeof(path), "%s/%s", mount, dir);
	assert_int_equal(fsio_mkdirs(path, 0755, &err), 0);
	strcat(path, "/cgroup.procs");
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_int_equal(fsio_write(path, text, strlen(text), 0644, 0, &err), 0);
}

#define V1 "freezer/slurm_n1/uid_7/job_1"
#define V2 "system.slice/slurmstepd.scope/job_2"

static int setup(void **state)
{
	(void)state;
	strcpy(mount, "/tmp/discover-XXXXXX");
	if (!mkdtemp(mount))
		return -1;
	for (int i = 0; i < 3; i++)
		app[i] = spawn_app();
	launcher = spawn_launcher();
	helper = spawn_app();
	zombie = fork();
	if (!zombie)
		_exit(0);
	usleep(20000);
	nodeconf_defaults(&conf);
	/* v1: an srun step of tasks only, and a batch step with its launcher. */
	fill(V1, "%d\n", (int)helper);
	fill(V1 "/step_0", "%d\n%d\n", (int)app[0], (int)app[1]);
	fill(V1 "/step_batch", "%d\n%d\n%d\n999999999\n", (int)app[2], (int)launcher, (int)zombie);
	/* v2: one task in a cgroup of its own. */
	fill(V2, "");
	fill(V2 "/step_0", "");
	fill(V2 "/step_0/slurm", "%d\n", (int)launcher);
	fill(V2 "/step_0/user", "");
	fill(V2 "/step_0/user/task_0", "%d\n", (int)app[0]);
	fill(V2 "/step_0/user/task_1", "%d\n", (int)app[1]);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	for (int i = 0; i < 3; i++)
		kill(app[i], SIGKILL);
	kill(launcher, SIGKILL);
	kill(helper, SIGKILL);
	while (wait(NULL) > 0)
		;
	snprintf(command, sizeof(command), "rm -rf %s", mount);
	return system(command);
}

static void finds_processes(void **state)
{
	struct discovery d;
	int apps = 0;

	(void)state;
	assert_int_equal(discover_job(mount, "n1", 7, 1, &conf, &d), 0);
	assert_int_equal(d.dirs, 3);
	assert_int_equal(d.processes, 4); /* no helper, zombie, or process that is not there */
	for (int i = 0; i < d.processes; i++) {
		apps += d.process[i].app;
		assert_int_not_equal(d.process[i].pid, helper);
		assert_true(d.process[i].app == (d.process[i].pid != launcher));
		assert_true(d.process[i].app == (d.process[i].starttime > 0));
	}
	assert_int_equal(apps, 3);
	discover_free(&d);
	/* Another user's, another node's, another job: nothing, and no error. */
	assert_int_equal(discover_job(mount, "n1", 8, 1, &conf, &d), 0);
	assert_int_equal(d.processes, 0);
	discover_free(&d);
	assert_int_equal(discover_job(mount, "n2", 7, 1, &conf, &d), 0);
	assert_int_equal(d.processes, 0);
	discover_free(&d);
}

static void units_v1(void **state)
{
	struct discover_unit *u;
	struct discovery d;

	(void)state;
	assert_int_equal(discover_job(mount, "n1", 7, 1, &conf, &d), 0);
	/* auto: the clean step as a whole, the task beside a launcher alone. */
	assert_int_equal(discover_units(&d, PAUSE_AUTO, &u), 2);
	assert_true(u[0].freezer);
	assert_non_null(strstr(d.dir[u[0].index].path, "step_0"));
	assert_int_equal(d.dir[u[0].index].kind, HELD_FREEZER_V1);
	assert_false(u[1].freezer);
	assert_int_equal(d.process[u[1].index].pid, app[2]);
	free(u);
	assert_int_equal(discover_units(&d, PAUSE_SIGSTOP, &u), 3);
	for (int i = 0; i < 3; i++)
		assert_false(u[i].freezer);
	free(u);
	assert_int_equal(discover_units(&d, PAUSE_FREEZER, &u), 2);
	assert_true(u[0].freezer && u[1].freezer);
	free(u);
	discover_free(&d);
}

static void units_v2(void **state)
{
	struct discover_unit *u;
	struct discovery d;

	(void)state;
	assert_int_equal(discover_job(mount, "any", 7, 2, &conf, &d), 0);
	/* slurmstepd's own cgroup is beside: frozen is the highest that holds tasks only. */
	assert_int_equal(discover_units(&d, PAUSE_AUTO, &u), 1);
	assert_true(u[0].freezer);
	assert_int_equal(d.dir[u[0].index].kind, HELD_FREEZER_V2);
	assert_string_equal(strrchr(d.dir[u[0].index].path, '/'), "/user");
	free(u);
	assert_int_equal(discover_units(&d, PAUSE_FREEZER, &u), 2);
	free(u);
	discover_free(&d);
}

static void launchers(void **state)
{
	static const char *const yes[] = {"bash", "slurmstepd", "slurmstepd-wlm", "srun-wlm",
		"mpirun", "mpirun.openmpi", "orted", "hydra_pmi_proxy", "ksh93", "srun"};
	static const char *const no[] = {"lmp", "bashful", "python3.11", "a.out", "shell"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(discover_launcher(yes[i], &conf));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(discover_launcher(no[i], &conf));
	strcpy(conf.launcher[conf.launcher_count++], "my*run");
	assert_true(discover_launcher("my-run", &conf));
	conf.launcher_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_processes),
		cmocka_unit_test(units_v1),
		cmocka_unit_test(units_v2),
		cmocka_unit_test(launchers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
