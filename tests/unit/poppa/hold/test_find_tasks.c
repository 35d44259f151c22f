/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of src/poppa/hold/find_tasks.c, on a made-up cgroup tree with real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <linux/magic.h>
#include <unistd.h>

#include "common/fsio.h"
#include "poppa/hold/find_tasks.h"
#include "poppa/hold/proc.h"
#include "unit/poppa/waiting_process.h"

static char mount[64];
static pid_t app[3], launcher, helper, zombie;
static struct nodeconf conf;

/* A copy of sleep is the launcher; this test program itself, waiting, is the application. */
static pid_t spawn(const char *program)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp(program, "sleep", "1000", NULL);
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
			if (!strstr(exe, "test_find_tasks"))
				return pid;
		}
		usleep(1000);
	}
}

static void __attribute__((format(printf, 2, 3))) fill(const char *dir, const char *fmt, ...)
{
	char path[512], text[4096];
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
#define NAMED "system.slice/slurmstepd.scope/s0ABCDEFGHJKMN"

static int setup(void **state)
{
	(void)state;
	strcpy(mount, "/tmp/discover-XXXXXX");
	if (!mkdtemp(mount))
		return -1;
	for (int i = 0; i < 3; i++)
		app[i] = waiting_process();
	launcher = spawn("sleep");
	helper = waiting_process();
	zombie = fork();
	if (!zombie)
		_exit(0);
	waitid(P_PID, (id_t)zombie, &(siginfo_t){0}, WEXITED | WNOWAIT);
	nodeconf_defaults(&conf);
	/* v1: an srun step of tasks only, and a batch step with its launcher. */
	fill(V1, "%d\n", (int)helper);
	fill(V1 "/step_0", "%d\n%d\n", (int)app[0], (int)app[1]);
	fill(V1 "/step_batch", "%d\n%d\n%d\n999999999\n", (int)app[2], (int)launcher, (int)zombie);
	/* v2: one task in a cgroup of its own. */
	fill(V2, "%s", "");
	fill(V2 "/step_0", "%s", "");
	fill(V2 "/step_0/slurm", "%d\n", (int)launcher);
	fill(V2 "/step_0/user", "%s", "");
	fill(V2 "/step_0/user/task_0", "%d\n", (int)app[0]);
	fill(V2 "/step_0/user/task_1", "%d\n", (int)app[1]);
	fill(NAMED "/step_0/user/task_0", "%d\n", (int)app[2]);
	return 0;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits for its own only: a test that failed may have left others, and they end with this one. */
static int teardown(void **state)
{
	char command[128];

	(void)state;
	for (int i = 0; i < 3; i++)
		end(app[i]);
	end(launcher);
	end(helper);
	end(zombie);
	snprintf(command, sizeof(command), "rm -rf %s", mount);
	return system(command);
}

static void finds_processes(void **state)
{
	struct found_tasks d;
	int apps = 0;

	(void)state;
	assert_int_equal(find_tasks(mount, "n1", 7, 1, "", &conf, NULL, &d), 0);
	assert_int_equal(d.dirs, 3);
	assert_int_equal(d.processes, 4); /* no helper, zombie, or process that is not there */
	for (int i = 0; i < d.processes; i++) {
		apps += d.process[i].app;
		assert_int_not_equal(d.process[i].pid, helper);
		assert_true(d.process[i].app == (d.process[i].pid != launcher));
		assert_true(d.process[i].starttime > 0);
		assert_true(d.process[i].app == (d.process[i].threads > 0));
	}
	assert_int_equal(apps, 3);
	find_tasks_free(&d);
	/* Another user's, another node's, another job: nothing, and no error. */
	assert_int_equal(find_tasks(mount, "n1", 8, 1, "", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 0);
	find_tasks_free(&d);
	assert_int_equal(find_tasks(mount, "n2", 7, 1, "", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 0);
	find_tasks_free(&d);
}

/* A job seen in part would be one whose tasks have ended. */
static void without_descriptors(void **state)
{
	struct rlimit usual, few;
	struct found_tasks d;
	int failed = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	few = usual;
	for (few.rlim_cur = 0; few.rlim_cur < 32; few.rlim_cur++) {
		int rc;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		rc = find_tasks(mount, "n1", 7, 1, "", &conf, NULL, &d);
		failed += rc && errno == EMFILE;
		setrlimit(RLIMIT_NOFILE, &usual);
		if (rc)
			continue;
		assert_int_equal(d.processes, 4);
		find_tasks_free(&d);
	}
	assert_in_range(failed, 3, 31);
}

static void units_v1(void **state)
{
	struct found_unit *u;
	struct found_tasks d;

	(void)state;
	assert_int_equal(find_tasks(mount, "n1", 7, 1, "", &conf, NULL, &d), 0);
	assert_memory_equal(d.usage, mount, strlen(mount));
	assert_string_equal(d.usage + strlen(mount), "/cpuacct/slurm_n1/uid_7/job_1/cpuacct.usage");
	assert_memory_equal(d.user_usage, mount, strlen(mount));
	assert_string_equal(d.user_usage + strlen(mount), "/cpuacct/slurm_n1/uid_7/cpuacct.usage");
	/* auto: the clean step as a whole, the task beside a launcher alone. */
	assert_int_equal(find_tasks_units(&d, PAUSE_AUTO, &u), 2);
	assert_true(u[0].freezer);
	assert_non_null(strstr(d.dir[u[0].index].path, "step_0"));
	assert_int_equal(d.dir[u[0].index].kind, HELD_FREEZER_V1);
	assert_false(u[1].freezer);
	assert_int_equal(d.process[u[1].index].pid, app[2]);
	free(u);
	assert_int_equal(find_tasks_units(&d, PAUSE_SIGSTOP, &u), 3);
	for (int i = 0; i < 3; i++)
		assert_false(u[i].freezer);
	free(u);
	assert_int_equal(find_tasks_units(&d, PAUSE_FREEZER, &u), 2);
	assert_true(u[0].freezer && u[1].freezer);
	free(u);
	find_tasks_free(&d);
}

static void units_v2(void **state)
{
	struct found_unit *u;
	struct found_tasks d;

	(void)state;
	assert_int_equal(find_tasks(mount, "any", 7, 2, "", &conf, NULL, &d), 0);
	/* slurmstepd's own cgroup is beside: frozen is the highest that holds tasks only. */
	assert_int_equal(find_tasks_units(&d, PAUSE_AUTO, &u), 1);
	assert_true(u[0].freezer);
	assert_int_equal(d.dir[u[0].index].kind, HELD_FREEZER_V2);
	assert_string_equal(strrchr(d.dir[u[0].index].path, '/'), "/user");
	free(u);
	assert_int_equal(find_tasks_units(&d, PAUSE_FREEZER, &u), 2);
	free(u);
	find_tasks_free(&d);
}

/* A name counts in v2, where it takes the place of the job's id. */
static void named(void **state)
{
	struct found_tasks d;

	(void)state;
	assert_int_equal(find_tasks(mount, "any", 7, 2, "s0ABCDEFGHJKMN", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 1);
	assert_int_equal(d.process[0].pid, app[2]);
	find_tasks_free(&d);
	assert_int_equal(find_tasks(mount, "any", 7, 2, "s0ABCDEFGHJKMP", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 0);
	find_tasks_free(&d);
	assert_int_equal(find_tasks(mount, "n1", 7, 1, "s0ABCDEFGHJKMP", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 4);
	find_tasks_free(&d);
}

static const struct found_process *process_of(const struct found_tasks *d, pid_t pid)
{
	for (int i = 0; i < d->processes; i++)
		if (d->process[i].pid == pid)
			return &d->process[i];
	fail_msg("process %d is not found", (int)pid);
	return NULL;
}

#define SHELL_JOB "freezer/slurm_n1/uid_7/job_3"

/* A shell that runs this program, with job control or without; *task is that. */
static pid_t spawn_shell(const char *set, pid_t *task)
{
	char self[256] = "", text[32] = "";
	size_t len = 0;
	int fd[2];
	pid_t pid;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		char script[64];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid(); /* no terminal */
		dup2(fd[1], STDOUT_FILENO);
		snprintf(script, sizeof(script), "%s; \"$0\" wait & echo $!; wait", set);
		execlp("bash", "bash", "-c", script, self, NULL);
		_exit(127);
	}
	close(fd[1]);
	/* "w", before or after the number, says that the program has come out of its exec. */
	while (!strchr(text, 'w') || !strchr(text, '\n')) {
		ssize_t got = read(fd[0], text + len, sizeof(text) - 1 - len);

		assert_true(got > 0);
		len += (size_t)got;
	}
	*task = atoi(text + strspn(text, "w"));
	close(fd[0]);
	return pid;
}

/* What a shell waits for is stopped with the shell, or it would take it for put aside. */
static void job_control(void **state)
{
	static const char *const set[] = {"set +m", "set -m"};

	(void)state;
	for (int monitored = 0; monitored < 2; monitored++) {
		struct found_unit *u;
		struct found_tasks d;
		pid_t task, shell = spawn_shell(set[monitored], &task);

		fill(SHELL_JOB, "%s", "");
		fill(SHELL_JOB "/step_0", "%d\n%d\n", (int)shell, (int)task);
		assert_int_equal(find_tasks(mount, "n1", 7, 3, "", &conf, NULL, &d), 0);
		assert_true(process_of(&d, shell)->shell);
		assert_false(process_of(&d, shell)->app);
		assert_true(process_of(&d, task)->app);
		assert_int_equal(process_of(&d, task)->job_control, monitored);
		assert_int_equal(find_tasks_units(&d, PAUSE_AUTO, &u), 1);
		assert_int_equal(u[0].freezer, monitored);
		free(u);
		assert_int_equal(find_tasks_units(&d, PAUSE_SIGSTOP, &u), 1);
		assert_false(u[0].freezer);
		free(u);
		/* Slurm's own process is never frozen with them. */
		for (int i = 0; i < d.processes; i++)
			d.process[i].stepd = !d.process[i].app;
		for (enum pause_method m = PAUSE_AUTO; m <= PAUSE_FREEZER; m++) {
			assert_int_equal(find_tasks_units(&d, m, &u), 1);
			assert_false(u[0].freezer);
			free(u);
		}
		find_tasks_free(&d);
		kill(task, SIGKILL);
		kill(shell, SIGKILL);
		waitpid(shell, NULL, 0);
	}
}

/* This program under another name, which it was given to look like somebody else's. */
static pid_t spawn_as(const char *name, const char *what)
{
	char path[96], command[256], self[200] = "";
	int fd[2];
	pid_t pid;
	char c;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(path, sizeof(path), "%s/%s", mount, name);
	snprintf(command, sizeof(command), "cp -f %.150s %s", self, path);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd[1], STDOUT_FILENO);
		execl(path, name, what, NULL);
		_exit(127);
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 1); /* it has come out of its exec */
	close(fd[0]);
	return pid;
}

/* A launcher that computes is a task, and a shell, too, which remains a shell. */
static void names_do_not_count(void **state)
{
	static const char *const name[] = {"sleep", "bash", "slurmstepd"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		pid_t idle = spawn_as(name[i], "wait"), busy = spawn_as(name[i], "spin");
		struct found_tasks d;
		bool found = false;

		fill("freezer/slurm_n1/uid_7/job_5", "%s", "");
		fill("freezer/slurm_n1/uid_7/job_5/step_0", "%d\n%d\n", (int)idle, (int)busy);
		for (int ms = 0; !found && i < 2; ms++) {
			assert_true(ms < 6000);
			usleep(10000);
			assert_int_equal(find_tasks(mount, "n1", 7, 5, "", &conf, NULL, &d), 0);
			found = process_of(&d, busy)->app;
			assert_false(process_of(&d, idle)->app);
			assert_int_equal(process_of(&d, busy)->shell, i == 1);
			assert_true(process_of(&d, busy)->starttime > 0 || !found);
			assert_string_equal(process_of(&d, busy)->exe, found ? name[i] : "");
			find_tasks_free(&d);
		}
		/* Slurm's own process has the rights that poppad has. */
		assert_int_equal(find_tasks(mount, "n1", 7, 5, "", &conf, NULL, &d), 0);
		assert_int_equal(process_of(&d, busy)->stepd, i == 2);
		find_tasks_free(&d);
		end(idle);
		end(busy);
	}
}

/* A process whose first thread has ended is a task like any other; its program tells. */
static void headless(void **state)
{
	struct proc_stat st;
	pid_t pid = headless_process(&st);
	struct found_tasks d;

	(void)state;
	fill("freezer/slurm_n1/uid_7/job_6/step_0", "%d\n", (int)pid);
	assert_int_equal(find_tasks(mount, "n1", 7, 6, "", &conf, NULL, &d), 0);
	assert_true(process_of(&d, pid)->app);
	assert_true(process_of(&d, pid)->headless);
	assert_int_equal(process_of(&d, pid)->state, 'S');
	find_tasks_free(&d);
	end(pid);
}

#define OWN_JOB "freezer/slurm_n1/uid_7/job_7"
#define DEEP OWN_JOB "/step_0/1/2/3/4/5/6/7/8/9/10/11"

/* What a user makes below a step belongs to the step, whatever its name and however deep: it is
 * looked at, and frozen with the step or not at all, as its user could thaw it. */
static void made_by_users(void **state)
{
	static const char *const made[] = {
		OWN_JOB "/step_0/x", OWN_JOB "/step_0/.x", DEEP, OWN_JOB "/step_0/1"};
	char path[512], file[600];
	struct found_unit *u;
	struct found_tasks d;
	struct errmsg err;

	(void)state;
	fill(OWN_JOB, "%s", "");
	fill(OWN_JOB "/step_0", "%d\n", (int)launcher);
	for (int i = 0; i < 4; i++) {
		fill(made[i], i < 3 ? "%d\n" : "%.0d", i < 3 ? (int)app[i] : 0);
		snprintf(path, sizeof(path), "%s/%s", mount, made[i]);
		snprintf(file, sizeof(file), "%s/freezer.state", path);
		assert_int_equal(fsio_write(file, "THAWED\n", 7, 0644, 0, &err), 0);
		if (geteuid() == 0)
			assert_int_equal(chown(file, 7, 7), 0);
	}
	assert_int_equal(find_tasks(mount, "n1", 7, 7, "", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 4);
	assert_false(d.more);
	if (geteuid()) {
		find_tasks_free(&d);
		print_message("skipped: only root can make files of another user\n");
		skip();
	}
	/* Beside the launcher each is stopped by itself. */
	assert_int_equal(find_tasks_units(&d, PAUSE_AUTO, &u), 3);
	for (int i = 0; i < 3; i++)
		assert_false(u[i].freezer);
	free(u);
	assert_int_equal(find_tasks_units(&d, PAUSE_FREEZER, &u), 1);
	assert_true(u[0].freezer);
	assert_non_null(strstr(d.dir[u[0].index].path, OWN_JOB "/step_0"));
	assert_string_equal(strrchr(d.dir[u[0].index].path, '/'), "/step_0");
	free(u);
	find_tasks_free(&d);
	fill(OWN_JOB "/step_0", "%s", "");
	assert_int_equal(find_tasks(mount, "n1", 7, 7, "", &conf, NULL, &d), 0);
	assert_int_equal(find_tasks_units(&d, PAUSE_AUTO, &u), 1);
	assert_true(u[0].freezer);
	assert_string_equal(strrchr(d.dir[u[0].index].path, '/'), "/step_0");
	free(u);
	find_tasks_free(&d);
}

/* However many or deep they are, somebody knows that there is more. */
static void too_many_cgroups(void **state)
{
	char path[512];
	struct found_tasks d;

	(void)state;
	fill("freezer/slurm_n1/uid_7/job_8/step_0", "%d\n", (int)app[0]);
	for (int i = 0; i < FIND_TASKS_MAX_DIRS; i++) {
		snprintf(path, sizeof(path), "%s/freezer/slurm_n1/uid_7/job_8/step_0/%d", mount, i);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_int_equal(find_tasks(mount, "n1", 7, 8, "", &conf, NULL, &d), 0);
	assert_true(d.more);
	assert_int_equal(d.dirs, FIND_TASKS_MAX_DIRS);
	assert_int_equal(d.processes, 1);
	find_tasks_free(&d);
}

static void count(void *arg)
{
	++*(int *)arg;
}

/* Who has ended takes time, too, and so do cgroups in which nobody is. */
static void calls_meanwhile(void **state)
{
	char pids[4096], *end = pids;
	struct found_tasks d;
	int calls = 0;
	const struct find_tasks_meanwhile meanwhile = {count, &calls};

	(void)state;
	for (int i = 0; i < 2 * FIND_TASKS_MEANWHILE; i++)
		end += sprintf(end, "%d\n", 1000000000 + i);
	fill("freezer/slurm_n1/uid_7/job_9", "%s", "");
	fill("freezer/slurm_n1/uid_7/job_9/step_0", "%s", pids);
	assert_int_equal(find_tasks(mount, "n1", 7, 9, "", &conf, &meanwhile, &d), 0);
	assert_int_equal(d.processes, 0);
	assert_int_equal(d.looked, 2 * FIND_TASKS_MEANWHILE + 2);
	assert_int_equal(calls, 2);
	find_tasks_free(&d);
	assert_int_equal(find_tasks(mount, "n1", 7, 9, "", &conf, NULL, &d), 0);
	find_tasks_free(&d);
}

/* A program that was upgraded while it ran is what it was. */
static void removed(void **state)
{
	char path[96], command[256];
	struct found_tasks d;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/sleep", mount);
	snprintf(command, sizeof(command), "cp \"$(command -v sleep)\" %s", path);
	assert_int_equal(system(command), 0);
	pid = spawn(path);
	assert_int_equal(unlink(path), 0);
	fill("freezer/slurm_n1/uid_7/job_4", "%s", "");
	fill("freezer/slurm_n1/uid_7/job_4/step_0", "%d\n", (int)pid);
	assert_int_equal(find_tasks(mount, "n1", 7, 4, "", &conf, NULL, &d), 0);
	assert_int_equal(d.processes, 1);
	assert_false(process_of(&d, pid)->app);
	find_tasks_free(&d);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void traced(void **state)
{
	struct found_tasks d;

	(void)state;
	if (ptrace(PTRACE_SEIZE, app[0], NULL, NULL)) {
		print_message("skipped: ptrace is not allowed here\n");
		skip();
	}
	assert_int_equal(find_tasks(mount, "n1", 7, 1, "", &conf, NULL, &d), 0);
	assert_true(process_of(&d, app[0])->traced);
	assert_false(process_of(&d, app[1])->traced);
	find_tasks_free(&d);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, app[0], NULL, NULL), 0);
	waitpid(app[0], NULL, 0);
	assert_int_equal(ptrace(PTRACE_DETACH, app[0], NULL, NULL), 0);
	assert_int_equal(find_tasks(mount, "n1", 7, 1, "", &conf, NULL, &d), 0);
	assert_false(process_of(&d, app[0])->traced);
	find_tasks_free(&d);
}

static void move_to(const char *dir, pid_t pid)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%d\n", (int)pid);
	assert_int_equal(fclose(f), 0);
}

/* In a cgroup of the kernel's: who is in it, who is not, and who has left it. */
static void only_who_is_in_it(void **state)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/freezer"};
	char scope[128] = "", job[160];
	struct statfs fs;

	(void)state;
	for (int i = 0; i < 2 && !*scope; i++) {
		if (statfs(mounts[i], &fs) ||
			(fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC))
			continue;
		snprintf(scope, sizeof(scope), "%s/test%d_slurmstepd.scope", mounts[i],
			(int)getpid());
		if (mkdir(scope, 0700))
			*scope = '\0';
	}
	if (!*scope) {
		print_message("skipped: no cgroup can be made here\n");
		skip();
	}
	snprintf(job, sizeof(job), "%s/job_1", scope);
	assert_int_equal(mkdir(job, 0700), 0);
	move_to(job, app[0]);
	assert_true(find_tasks_holds(job, app[0]));
	assert_false(find_tasks_holds(job, app[1]));
	move_to(scope, app[0]);
	assert_false(find_tasks_holds(job, app[0]));
	*strrchr(scope, '/') = '\0';
	move_to(scope, app[0]);
	assert_int_equal(rmdir(job), 0);
	*strrchr(job, '/') = '\0';
	assert_int_equal(rmdir(job), 0);
	assert_true(find_tasks_holds("/tmp", app[0]));
	assert_false(find_tasks_holds("/nonexistent/uid_1/job_1/step_0", app[0]));
}

static void launchers(void **state)
{
	static const char *const yes[] = {"bash", "slurmstepd", "slurmstepd-wlm", "srun-wlm",
		"mpirun", "mpirun.openmpi", "orted", "hydra_pmi_proxy", "ksh93", "srun"};
	static const char *const no[] = {"lmp", "bashful", "python3.11", "a.out", "shell"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(find_tasks_launcher(yes[i], &conf));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(find_tasks_launcher(no[i], &conf));
	strcpy(conf.launcher[conf.launcher_count++], "my*run");
	assert_true(find_tasks_launcher("my-run", &conf));
	conf.launcher_count = 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_processes),
		cmocka_unit_test(without_descriptors),
		cmocka_unit_test(units_v1),
		cmocka_unit_test(units_v2),
		cmocka_unit_test(named),
		cmocka_unit_test(job_control),
		cmocka_unit_test(calls_meanwhile),
		cmocka_unit_test(removed),
		cmocka_unit_test(names_do_not_count),
		cmocka_unit_test(headless),
		cmocka_unit_test(made_by_users),
		cmocka_unit_test(too_many_cgroups),
		cmocka_unit_test(traced),
		cmocka_unit_test(only_who_is_in_it),
		cmocka_unit_test(launchers),
	};

	if (argc == 2) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(STDOUT_FILENO, "w", 1) != 1)
			return 1;
		while (!strcmp(argv[1], "spin"))
			;
		pause();
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
