/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kills or stops poppad in mid-shutter, again and again, and looks for tasks that stay stopped. */
/*
 * Makes two jobs of its own, with a registration and a freezer cgroup each but without Slurm. A
 * kill comes when a task is seen held, or at a random moment. Prints one line of key=value facts;
 * exit status 0: nothing was stuck, 1: something was, 77: cannot run here (says why).
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "heartbeat/poppa_heartbeat.h"
#include "poppa/held.h"
#include "poppa/proc.h"

#define JOBS 2
#define TASKS 2
#define SKIP 77
#define LIMIT (100 * NS_PER_MS) /* what is stopped so long after the kill is stuck */
#define GIVE_UP (2 * NS_PER_S)

static const char *poppad = "poppad", *method = "sigstop", *mount = "/sys/fs/cgroup";
static int kills = 100, sig = SIGKILL;
static bool both;
static char root[PATH_MAX], node[64];
static char cgroup[JOBS][PATH_MAX];
static pid_t task[JOBS][TASKS];

static const struct argp_option options[] = {
	{"poppad", 'p', "FILE", 0, "the program (default: poppad from PATH)", 0},
	{"kills", 'n', "N", 0, "how often (default 100)", 0},
	{"method", 'm', "NAME", 0, "poppa_pause: sigstop (default), freezer or auto", 0},
	{"both", 'b', NULL, 0, "kill the guard with it, then run poppad --repair", 0},
	{"stop", 's', NULL, 0, "stop poppad instead of killing it: it hangs", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'p':
		poppad = arg;
		return 0;
	case 'n':
		kills = atoi(arg);
		return 0;
	case 'm':
		method = arg;
		return 0;
	case 'b':
		both = true;
		return 0;
	case 's':
		sig = SIGSTOP;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void pause_us(int us)
{
	const struct timespec t = {0, us * NS_PER_US};

	nanosleep(&t, NULL);
}

static void __attribute__((format(printf, 2, 3))) put(const char *path, const char *fmt, ...)
{
	struct errmsg err;
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (fsio_write(path, text, n, 0600, 0, &err))
		error(1, 0, "%s", err.text);
}

static void put_cgroup(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error(1, errno, "%s", path);
	close(fd);
}

static bool frozen(const char *dir)
{
	char path[PATH_MAX + 64], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/freezer.state", dir);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		error(1, errno, "%s", path);
	close(fd);
	return strncmp(text, "THAWED", 6) != 0;
}

/* Something of ours is stopped or frozen at this moment. */
static bool held(void)
{
	struct proc_stat st;

	for (int j = 0; j < JOBS; j++) {
		if (frozen(cgroup[j]))
			return true;
		for (int t = 0; t < TASKS; t++) {
			if (proc_stat(task[j][t], &st))
				error(1, errno, "task %d is gone", (int)task[j][t]);
			if (st.state == 'T')
				return true;
		}
	}
	return false;
}

static void __attribute__((noreturn)) work(int j)
{
	char self[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	put_cgroup(cgroup[j], "cgroup.procs", self);
	poppa_heartbeat_open();
	/* Mostly asleep: the test is about stopping, and the machine is not its own. */
	for (;;) {
		poppa_heartbeat_add(1);
		pause_us(200);
	}
}

static void remove_cgroups(void)
{
	char path[PATH_MAX];

	for (int j = 0; j < JOBS; j++) {
		for (int t = 0; t < TASKS; t++) {
			kill(task[j][t], SIGKILL);
			waitpid(task[j][t], NULL, 0);
		}
	}
	for (int j = 0; j < JOBS; j++) {
		strcpy(path, cgroup[j]);
		for (int up = 0; up < 3; up++) {
			rmdir(path);
			*strrchr(path, '/') = '\0';
		}
		rmdir(path);
	}
}

static void make(void)
{
	char path[PATH_MAX + 64];
	struct errmsg err;

	snprintf(root, sizeof(root), "/tmp/poppad-kill.XXXXXX");
	if (!mkdtemp(root))
		error(1, errno, "%s", root);
	snprintf(node, sizeof(node), "killtest%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/run/jobs", root);
	if (fsio_mkdirs(path, 0755, &err))
		error(1, 0, "%s", err.text);
	snprintf(path, sizeof(path), "%s/poppa.conf", root);
	put(path, "RunDir=%s/run\nSpoolDir=%s/spool\nLedgerUser=root\n", root, root);
	snprintf(path, sizeof(path), "%s/run/cluster.conf", root);
	put(path,
		"ClusterName=kill\nNodeName=%s\nCgroupMountpoint=%s\nSlurmctldHost=localhost\n"
		"PrEpParameters=\"poppa_period=10ms,poppa_overhead_max=0,poppa_pause=%s,"
		"poppa_ledger=localhost:1\"\n",
		node, mount, method);
	for (int j = 0; j < JOBS; j++) {
		snprintf(cgroup[j], sizeof(cgroup[j]), "%s/freezer/slurm_%s/uid_0/job_%d/step_0",
			mount, node, j + 1);
		if (fsio_mkdirs(cgroup[j], 0755, &err))
			error(1, 0, "%s", err.text);
		for (int t = 0; t < TASKS; t++) {
			task[j][t] = fork();
			if (!task[j][t])
				work(j);
		}
	}
	for (int j = 0; j < JOBS; j++) {
		snprintf(path, sizeof(path), "%s/run/jobs/%d.0", root, j + 1);
		put(path, "JobId=%d\nRestart=0\nUid=0\nRegistered=%lld\n", j + 1,
			(long long)time(NULL));
	}
}

/* With argument NULL the daemon itself. */
static pid_t start(const char *argument)
{
	char conf[PATH_MAX + 64], log[PATH_MAX + 64];
	pid_t pid;

	snprintf(conf, sizeof(conf), "%s/poppa.conf", root);
	snprintf(log, sizeof(log), "%s/poppad.log", root);
	pid = fork();
	if (!pid) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(fd, STDERR_FILENO);
		execlp(poppad, "poppad", "-N", node, "-c", conf, argument, NULL);
		error(127, errno, "%s", poppad);
	}
	return pid;
}

/* The guard's pid, from the list that both share. */
static pid_t guard_pid(void)
{
	struct held_file *h;
	struct errmsg err;
	char path[PATH_MAX + 64];
	pid_t pid = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/run/held", root);
	fd = open(path, O_RDWR);
	h = fd < 0 ? NULL : held_map(fd, &err);
	if (h)
		pid = h->guard_pid;
	held_unmap(h);
	if (fd >= 0)
		close(fd);
	return pid;
}

static void show_log(void)
{
	char path[PATH_MAX + 64], *text;

	snprintf(path, sizeof(path), "%s/poppad.log", root);
	text = fsio_read(path, 1 << 20, NULL, &(struct errmsg){""});
	fprintf(stderr, "%s", text ? text : "");
	free(text);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = options, .parser = parse};
	int64_t longest = 0, total = 0;
	int stuck = 0, seen = 0, left = 0;
	char path[PATH_MAX + 64];
	struct sched_param fifo = {.sched_priority = 1};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	snprintf(path, sizeof(path), "%s/freezer/cgroup.procs", mount);
	if (geteuid() || access(path, W_OK)) {
		printf("skipped: needs root and a cgroup v1 freezer at %s/freezer\n", mount);
		return SKIP;
	}
	make();
	srand((unsigned)now());
	/* Ahead of the tasks, so that it sees what it looks for; behind poppad and its guard. */
	sched_setscheduler(0, SCHED_FIFO, &fifo);
	for (int n = 0; n < kills; n++) {
		pid_t pid = start(NULL);
		int64_t begun = now(), killed, took;
		bool caught = false;

		while (!held() && now() - begun < GIVE_UP * 3)
			pause_us(300);
		if (now() - begun >= GIVE_UP * 3) {
			show_log();
			printf("no shutter within 6 s\n");
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			remove_cgroups();
			return 1;
		}
		if (n % 2) {
			pause_us(rand() % 30000);
			caught = held();
		} else {
			pause_us(rand() % 3000);
			caught = held();
		}
		killed = now();
		if (both) {
			kill(guard_pid(), SIGKILL);
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			left += held();
			pid = start("--repair");
			waitpid(pid, NULL, 0);
			killed = now();
		} else {
			kill(pid, sig);
		}
		while (held() && now() - killed < GIVE_UP)
			pause_us(100);
		took = now() - killed;
		/* Quiet now; it has to stay so. */
		if (took < LIMIT) {
			pause_us(20000);
			if (held())
				took = now() - killed + LIMIT;
		}
		if (caught) {
			seen++;
			total += took < LIMIT ? took : 0;
			if (took > longest)
				longest = took;
		}
		if (took >= LIMIT)
			stuck++;
		if (!both) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		while (held() && now() - killed < GIVE_UP)
			pause_us(100);
	}
	remove_cgroups();
	if (both)
		printf("left_stopped_before_repair=%d ", left);
	printf("kills=%d caught_in_shutter=%d stuck=%d longest_ms=%.3f mean_ms=%.3f\n", kills, seen,
		stuck, (double)longest / NS_PER_MS, seen ? (double)total / seen / NS_PER_MS : 0.0);
	if (stuck)
		show_log();
	if (!stuck) {
		snprintf(path, sizeof(path), "rm -rf %s", root);
		return system(path) ? 1 : 0;
	}
	return 1;
}
