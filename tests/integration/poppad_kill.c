/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does to poppad in mid-shutter what can happen to it, again and again, and looks for tasks that
 * stay stopped. */
/*
 * Makes two jobs of its own, with a registration and a freezer cgroup each but without Slurm. The
 * blow falls when a task is seen held, or at a random moment. Prints one line of key=value facts:
 * longest_ms is from the blow to the last resume, held_ms the longest time that something was seen
 * held without a break, by a thread that looks all the time. over_50ms counts those of more than 50
 * ms, and as much longer as blocks last by --long, less the time in which even a witness ahead of
 * the guard could not run (witness.h) or in which nobody looked, as the looks themselves were late;
 * host_50ms those that are longer only with it. longest_stop_ms is the longest time that a task
 * found itself not running, which on a busy machine is not all of poppad's making: --cause none
 * tells how much. woken is how often a task that its user had stopped while poppad hung was set
 * going. Exit status 0: nothing was stuck, 1: something was, 77: cannot run here (says why).
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"
#include "heartbeat/poppa_heartbeat.h"
#include "poppa/hold/freezer.h"
#include "poppa/hold/held.h"
#include "poppa/hold/proc.h"
#include "witness.h"

#define JOBS 2
#define TASKS 2
#define SKIP 77
#define BOUND ((50 + long_ms) * NS_PER_MS)
#define LONG_MOST 40            /* with a budget of 100 %, rounds are longer than that */
#define GIVE_UP (2 * NS_PER_S)  /* what is stopped so long after the blow is stuck */
#define SILENCE (30 * NS_PER_S) /* a poppad that has done nothing for so long does nothing */
#define QUIET_US 20000
#define BEFORE_S 60 /* so long ago the jobs began: the first seconds have no long blocks */
#define LOOK_US 200
#define LATE (2 * NS_PER_MS) /* what a look took longer than this, nothing was seen */
#define FEW_BEATS 10
#define LOG_END 4000                   /* as much as is shown of a log */
#define JUNK 20000                     /* registrations to use up memory with, at most */
#define ROOM "4m"                      /* of the file system that gets full */
#define WALLCLOCK ".libs/wallclock.so" /* beside this program */

enum cause { NONE, KILL, BOTH, STOP, THREAD, OOM, FULL, CLOCK, CAUSES };

static const char *const cause_names[CAUSES] = {
	"none", "kill", "both", "stop", "thread", "oom", "full", "clock"};

static const char *poppad = "poppad", *method = "sigstop", *cgroups = "/sys/fs/cgroup";
static const char *unified; /* where cgroup v2 is */
static int kills = 100, version = 1, long_ms;
static enum cause cause = KILL;
static char root[PATH_MAX], node[64], clock_file[PATH_MAX + 64], wallclock[PATH_MAX + 64];
static const int end_signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
static int64_t *clock_offset; /* of the wall clock that poppad sees, s */
static char cgroup[JOBS][PATH_MAX], memory[PATH_MAX], hung[PATH_MAX];
static pid_t task[JOBS][TASKS];

/* What each task says of itself. */
struct victim {
	_Atomic int64_t gap; /* the longest time that it did not run for, ns */
	_Atomic int64_t beats;
};

static struct victim (*victim)[TASKS];

static const struct argp_option options[] = {
	{"poppad", 'p', "FILE", 0, "the program (default: poppad from PATH)", 0},
	{"kills", 'n', "N", 0, "how often (default 100)", 0},
	{"method", 'm', "NAME", 0, "poppa_pause: sigstop (default), freezer or auto", 0},
	{"long", 'l', "MS", 0, "poppa_long, in every block (default: off)", 0},
	{"cgroup", 'g', "1|2", 0, "version of the jobs' cgroups (default 1)", 0},
	{"cause", 'c', "NAME", 0,
		"kill (default); both: the guard with it, then poppad --repair or a start by "
		"turns; stop: it is stopped as a whole; thread: one of its threads hangs; oom: "
		"memory runs out; full: so does the disk, then as both; clock: the wall clock is "
		"set, then as kill; none: nothing, to compare with",
		0},
	{0}};

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
	case 'l':
		long_ms = atoi(arg);
		if (long_ms < 1 || long_ms > LONG_MOST)
			argp_error(state, "\"%s\" is no number from 1 to %d", arg, LONG_MOST);
		return 0;
	case 'g':
		version = atoi(arg);
		if (version != 1 && version != 2)
			argp_error(state, "\"%s\" is neither 1 nor 2", arg);
		return 0;
	case 'c':
		for (cause = 0; cause < CAUSES; cause++)
			if (!strcmp(arg, cause_names[cause]))
				return 0;
		argp_error(state, "\"%s\" is no cause", arg);
		return EINVAL;
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

/* Something of ours is stopped or frozen at this moment. */
static bool held(void)
{
	struct proc_stat st;

	for (int j = 0; j < JOBS; j++) {
		if (freezer_frozen(version == 1 ? &freezer_v1 : &freezer_v2, cgroup[j]))
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

static void __attribute__((noreturn)) work(int j, int t)
{
	int64_t last, next;
	char self[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	put_cgroup(cgroup[j], "cgroup.procs", self);
	poppa_heartbeat_open();
	/* Mostly asleep: the test is about stopping, and the machine is not its own. */
	for (last = now();; last = next) {
		poppa_heartbeat_add(1);
		pause_us(200);
		next = now();
		victim[j][t].beats++;
		if (next - last > victim[j][t].gap)
			victim[j][t].gap = next - last;
	}
}

static int64_t longest_gap(void)
{
	int64_t longest = 0;

	for (int j = 0; j < JOBS; j++)
		for (int t = 0; t < TASKS; t++)
			if (victim[j][t].gap > longest)
				longest = victim[j][t].gap;
	return longest;
}

static void job_path(char *path, size_t size, int id)
{
	snprintf(path, size, "%s/run/jobs/%d.0", root, id);
}

static void register_job(int id)
{
	char path[PATH_MAX + 64], boot[44];
	struct timespec up;

	job_path(path, sizeof(path), id);
	clock_gettime(CLOCK_BOOTTIME, &up);
	put(path, "JobId=%d\nRestart=0\nUid=0\nRegistered=%lld\nBootId=%s\nUptime=%lld\n", id,
		(long long)time(NULL) - BEFORE_S, proc_boot_id(boot, sizeof(boot)),
		(long long)up.tv_sec);
}

static int mount_room(const char *path)
{
	return mount("poppad-kill", path, "tmpfs", 0, "size=" ROOM ",mode=755");
}

static void make_clock(void)
{
	int fd;

	snprintf(clock_file, sizeof(clock_file), "%s/clock", root);
	fd = open(clock_file, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*clock_offset)))
		error(1, errno, "%s", clock_file);
	clock_offset = mmap(NULL, sizeof(*clock_offset), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (clock_offset == MAP_FAILED)
		error(1, errno, "%s", clock_file);
	close(fd);
}

/* Where everything is. */
static void name_all(void)
{
	/* In memory, as /run is: on a disk, a store to the list of what is held may wait for it. */
	snprintf(root, sizeof(root), "/dev/shm/poppad-kill.XXXXXX");
	if (!mkdtemp(root))
		error(1, errno, "%s", root);
	snprintf(node, sizeof(node), "killtest%d", (int)getpid());
	if (cause == THREAD)
		snprintf(hung, sizeof(hung), "%s/freezer/%s", cgroups, node);
	if (cause == OOM)
		snprintf(memory, sizeof(memory), "%s/memory/%s", cgroups, node);
	for (int j = 0; j < JOBS; j++) {
		if (version == 1)
			snprintf(cgroup[j], sizeof(cgroup[j]),
				"%s/freezer/slurm_%s/uid_0/job_%d/step_0", cgroups, node, j + 1);
		else
			snprintf(cgroup[j], sizeof(cgroup[j]),
				"%s/system.slice/%s_slurmstepd.scope/job_%d/step_0", unified, node,
				j + 1);
	}
}

static void make(void)
{
	char path[PATH_MAX + 64], length[16] = "off";
	struct errmsg err;

	victim = mmap(NULL, sizeof(*victim) * JOBS, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (victim == MAP_FAILED)
		error(1, errno, "mmap");
	make_clock();
	snprintf(path, sizeof(path), "%s/run", root);
	if (cause == FULL && (mkdir(path, 0755) || mount_room(path)))
		error(1, errno, "%s", path);
	snprintf(path, sizeof(path), "%s/run/jobs", root);
	if (fsio_mkdirs(path, 0755, &err))
		error(1, 0, "%s", err.text);
	snprintf(path, sizeof(path), "%s/poppa.conf", root);
	put(path, "RunDir=%s/run\nSpoolDir=%s/run/spool\nLedgerUser=root\n", root, root);
	if (long_ms)
		snprintf(length, sizeof(length), "%dms", long_ms);
	snprintf(path, sizeof(path), "%s/run/cluster.conf", root);
	put(path,
		"ClusterName=kill\nNodeName=%s\nCgroupMountpoint=%s\nSlurmctldHost=localhost\n"
		"PrEpParameters=\"poppa_period=10ms,poppa_overhead_max=0,poppa_pause=%s,"
		"poppa_long=%s,poppa_long_budget=100%%,poppa_ledger=localhost:1\"\n",
		node, cgroups, method, length);
	for (int j = 0; j < JOBS; j++) {
		if (fsio_mkdirs(cgroup[j], 0755, &err))
			error(1, 0, "%s", err.text);
		for (int t = 0; t < TASKS; t++) {
			task[j][t] = fork();
			if (!task[j][t])
				work(j, t);
		}
	}
	for (int j = 0; j < JOBS; j++)
		register_job(j + 1);
	if (*memory && mkdir(memory, 0755))
		error(1, errno, "%s", memory);
	if (*hung && mkdir(hung, 0755))
		error(1, errno, "%s", hung);
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
		if (*memory)
			put_cgroup(memory, "cgroup.procs", "0");
		if (cause == CLOCK) {
			setenv("LD_PRELOAD", wallclock, 1);
			setenv("WALLCLOCK", clock_file, 1);
		}
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

/* Its end. */
static void show_log(void)
{
	char path[PATH_MAX + 64], *text;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/poppad.log", root);
	text = fsio_read(path, 1 << 24, &len, &(struct errmsg){""});
	fprintf(stderr, "%s\n", text ? text + (len > LOG_END ? len - LOG_END : 0) : "");
	free(text);
}

static bool find_wallclock(void)
{
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return false;
	*strrchr(self, '/') = '\0';
	snprintf(wallclock, sizeof(wallclock), "%s/" WALLCLOCK, self);
	return !access(wallclock, R_OK);
}

/* Why this cannot be done here, or NULL. */
static const char *missing(void)
{
	static char why[PATH_MAX + 64];

	if (geteuid())
		return "needs root";
	snprintf(why, sizeof(why), "%s/freezer/cgroup.procs", cgroups);
	if ((version == 1 || cause == THREAD) && access(why, W_OK)) {
		snprintf(why, sizeof(why), "needs a cgroup v1 freezer at %s/freezer", cgroups);
		return why;
	}
	unified = access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) ? cgroups
								      : "/sys/fs/cgroup/unified";
	snprintf(why, sizeof(why), "%s/cgroup.procs", unified);
	if (version == 2 && access(why, W_OK)) {
		snprintf(why, sizeof(why), "needs cgroup v2 at %s", unified);
		return why;
	}
	snprintf(why, sizeof(why), "%s/memory/memory.limit_in_bytes", cgroups);
	if (cause == OOM && access(why, F_OK)) {
		snprintf(why, sizeof(why), "needs a cgroup v1 memory controller at %s/memory",
			cgroups);
		return why;
	}
	if (cause == CLOCK && !find_wallclock())
		return "needs " WALLCLOCK " beside it: shared libraries are not built here";
	return NULL;
}

/* What the thread that looks all the time has seen. */
static struct {
	atomic_bool off;        /* what is held now is meant to be */
	_Atomic int64_t looked; /* when it last did, with `off` known */
	_Atomic int64_t longest;
	atomic_int over, host;
} watch;

/* blind: for how long nobody looked in between. */
static void judge(int64_t from, int64_t to, int64_t blind)
{
	int64_t length = to - from, lost;

	if (length > watch.longest)
		watch.longest = length;
	if (length < BOUND)
		return;
	lost = witness_lost(from, to);
	if (length - (lost > blind ? lost : blind) < BOUND)
		watch.host++;
	else
		watch.over++;
}

/* A stop counts from the last look that did not see it. */
static void *keep_looking(void *arg)
{
	int64_t free_at = now(), at, last = free_at, blind = 0;
	bool was = false;

	(void)arg;
	for (;; pause_us(LOOK_US)) {
		bool off = watch.off, is = !off && held();

		at = now();
		if (at - last > LATE)
			blind += at - last - LATE;
		last = at;
		if (was && !is && !off)
			judge(free_at, at, blind);
		if (!is) {
			free_at = at;
			blind = 0;
		}
		was = is;
		watch.looked = at;
	}
	return NULL;
}

/* Whether it is to look away, from here on. */
static void look_away(bool off)
{
	int64_t since = now();

	watch.off = off;
	/* The look that was going on, and one that knows. */
	while (watch.looked <= since)
		pause_us(LOOK_US);
	since = now();
	while (watch.looked <= since)
		pause_us(LOOK_US);
}

static void start_looking(void)
{
	pthread_t thread;

	if (witness_start())
		error(1, errno, "no threads ahead of the guard");
	errno = pthread_create(&thread, NULL, keep_looking, NULL);
	if (errno)
		error(1, errno, "pthread_create");
}

static bool wait_held(bool wanted, int64_t ns)
{
	int64_t begun = now();

	while (held() != wanted) {
		if (now() - begun >= ns)
			return false;
		pause_us(wanted ? 300 : 100);
	}
	return true;
}

static void kill_poppad(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void repair(void)
{
	waitpid(start("--repair"), NULL, 0);
}

/* The daemon's own start does the same. */
static void start_again(void)
{
	pid_t pid = start(NULL);

	wait_held(false, SILENCE);
	kill_poppad(pid);
}

/* One of poppad's threads: most often the one that stops, else any. */
static pid_t pick_thread(pid_t pid)
{
	char path[PATH_MAX], name[PATH_MAX];
	pid_t picked = pid;
	struct dirent *e;
	int seen = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char *text;

		if (!atoi(e->d_name))
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%s/comm", (int)pid, e->d_name);
		text = fsio_read(name, sizeof(name), NULL, &(struct errmsg){""});
		if (text && !strcmp(text, "poppad-shutter\n") && rand() % 4) {
			picked = atoi(e->d_name);
			free(text);
			break;
		}
		free(text);
		if (rand() % ++seen == 0)
			picked = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return picked;
}

/* The freezer of cgroup v1 takes single threads. */
static void hang(pid_t tid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)tid);
	put_cgroup(hung, "tasks", text);
	if (freezer_command_in(&freezer_v1, hung, freezer_v1.freeze))
		error(1, errno, "%s", hung);
}

static void go_on(void)
{
	if (freezer_command_in(&freezer_v1, hung, freezer_v1.thaw))
		error(1, errno, "%s", hung);
}

static void put_memory_limit(const char *text)
{
	put_cgroup(memory, "memory.limit_in_bytes", text);
}

/* So many jobs that there is no memory for them; returns when poppad was killed for it. */
static bool use_up_memory(pid_t pid)
{
	const struct sched_param other = {0}, fifo = {.sched_priority = 1};
	char path[PATH_MAX + 64], *usage;
	int64_t begun = now();
	bool killed = false;
	int made = 0;

	snprintf(path, sizeof(path), "%s/memory.usage_in_bytes", memory);
	usage = fsio_read(path, 64, NULL, &(struct errmsg){""});
	snprintf(path, sizeof(path), "%lld", (usage ? atoll(usage) : 0) + 512 * 1024LL);
	free(usage);
	put_memory_limit(path);
	/* This is work: not ahead of the tasks. */
	sched_setscheduler(0, SCHED_OTHER, &other);
	for (; !killed && now() - begun < SILENCE; killed = waitpid(pid, NULL, WNOHANG) == pid) {
		if (made < JUNK)
			register_job(1000 + made++);
		else
			pause_us(1000);
	}
	sched_setscheduler(0, SCHED_FIFO, &fifo);
	for (int i = 0; i < made; i++) {
		job_path(path, sizeof(path), 1000 + i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "rm -rf %s/run/spool", root);
	if (system(path))
		error(1, 0, "%s", path);
	return killed;
}

static void fill_disk(void)
{
	static const char zeros[4096];
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/run/fill", root);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while (fd >= 0 && write(fd, zeros, sizeof(zeros)) > 0)
		;
	if (fd < 0 || errno != ENOSPC)
		error(1, errno, "%s", path);
	close(fd);
}

static void empty_disk(void)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/run/fill", root);
	unlink(path);
}

/* A start with no room for the list of held things says so and ends. */
static bool starts_on_full_disk(void)
{
	int status = 0;
	pid_t pid = start(NULL);

	for (int64_t begun = now(); now() - begun < SILENCE; pause_us(1000))
		if (waitpid(pid, &status, WNOHANG) == pid)
			return !WIFEXITED(status) || WEXITSTATUS(status) != 1;
	kill_poppad(pid);
	return true;
}

static void set_clock(void)
{
	static const int step[] = {-86400, -3600, -1, 1, 3600, 86400};

	*clock_offset += step[rand() % (int)(sizeof(step) / sizeof(step[0]))];
}

/* While poppad hangs, and after it goes on, a task that its user has stopped stays so. A stop that
 * is given back after a shutter lets it run for microseconds, and is no waking. */
static bool woken(pid_t pid)
{
	struct proc_stat st;
	int64_t was;

	kill(task[0][0], SIGSTOP);
	for (int64_t begun = now(); now() - begun < GIVE_UP; pause_us(100))
		if (!proc_stat(task[0][0], &st) && st.state == 'T')
			break;
	was = victim[0][0].beats;
	pause_us(60000);
	if (cause == STOP)
		kill(pid, SIGCONT);
	else
		go_on();
	pause_us(30000);
	kill(task[0][0], SIGCONT);
	return victim[0][0].beats - was > FEW_BEATS;
}

static struct {
	int caught, stuck, left, woken;
	int64_t longest, total, gap;
} facts;

/* One poppad from start to end. NULL, or what went wrong. */
static const char *blow(int n)
{
	pid_t pid = start(NULL);
	const char *wrong = NULL;
	int64_t struck, took, found;
	bool caught;

	if (!wait_held(true, SILENCE)) {
		kill_poppad(pid);
		return "no shutter within 30 s";
	}
	if (cause == CLOCK || cause == FULL) {
		if (cause == CLOCK)
			set_clock();
		else
			fill_disk();
		/* Life goes on. */
		if (!wait_held(false, GIVE_UP) || !wait_held(true, SILENCE))
			wrong = "no shutters after it";
	}
	for (int j = 0; j < JOBS; j++)
		for (int t = 0; t < TASKS; t++)
			victim[j][t].gap = 0;
	pause_us(rand() % (n % 2 ? 30000 : 3000));
	caught = held();
	struck = now();
	switch (cause) {
	case NONE:
		pause_us(QUIET_US); /* as long as the others are watched; no last shutter here */
		break;
	case STOP:
		kill(pid, SIGSTOP);
		break;
	case THREAD:
		hang(pick_thread(pid));
		break;
	case BOTH:
	case FULL:
		look_away(true);
		kill(guard_pid(), SIGKILL);
		kill_poppad(pid);
		facts.left += held();
		if (cause == BOTH && facts.left % 2)
			start_again();
		else
			repair();
		struck = now();
		look_away(false);
		break;
	case OOM:
		if (!use_up_memory(pid)) {
			kill_poppad(pid);
			wrong = "it was not killed for want of memory";
		}
		struck = now();
		break;
	default:
		kill(pid, SIGKILL);
	}
	if (cause != NONE) {
		wait_held(false, GIVE_UP);
		took = now() - struck;
		/* Quiet now; it has to stay so. With another thread hanging shutters may go on. */
		if (took < GIVE_UP && cause != THREAD) {
			pause_us(QUIET_US);
			/* A shutter that began before the signal had reached its thread. */
			if (cause == STOP && held()) {
				wait_held(false, GIVE_UP);
				took = now() - struck;
				pause_us(QUIET_US);
			}
			if (held())
				took += GIVE_UP;
		}
		if (caught) {
			facts.caught++;
			facts.total += took;
		}
		if (took > facts.longest)
			facts.longest = took;
		facts.stuck += took >= GIVE_UP;
	}
	found = longest_gap();
	if (found > facts.gap)
		facts.gap = found;
	if (cause == STOP || cause == THREAD) {
		look_away(true);
		facts.woken += woken(pid);
		look_away(false);
	}
	if (cause == FULL) {
		if (starts_on_full_disk())
			wrong = "it starts although there is no room for the list of what it holds";
		empty_disk();
	}
	if (cause == OOM)
		put_memory_limit("-1");
	else
		kill_poppad(pid);
	wait_held(false, GIVE_UP);
	return wrong;
}

/* All of it. Returns the exit status. */
static int strike(void)
{
	struct sched_param fifo = {.sched_priority = 1};
	const char *wrong = NULL;

	make();
	srand((unsigned)now());
	/* Ahead of the tasks, so that it sees what it looks for; behind poppad and its guard. */
	sched_setscheduler(0, SCHED_FIFO, &fifo);
	start_looking();
	for (int n = 0; n < kills && !wrong; n++)
		wrong = blow(n);
	look_away(true);
	printf("cause=%s cgroup=%d method=%s times=%d caught_in_shutter=%d stuck=%d over_50ms=%d "
	       "host_50ms=%d woken=%d left_before_repair=%d longest_ms=%.3f mean_ms=%.3f "
	       "held_ms=%.3f longest_stop_ms=%.3f\n",
		cause_names[cause], version, method, kills, facts.caught, facts.stuck, watch.over,
		watch.host, facts.woken, facts.left, (double)facts.longest / NS_PER_MS,
		facts.caught ? (double)facts.total / facts.caught / NS_PER_MS : 0.0,
		(double)watch.longest / NS_PER_MS, (double)facts.gap / NS_PER_MS);
	if (wrong)
		printf("%s\n", wrong);
	if (wrong || facts.stuck)
		show_log();
	return wrong || facts.stuck;
}

/* Kills what was started and is left: jobs, poppad, guard. */
static void end_all(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	while (waitpid(-1, NULL, WNOHANG) >= 0) {
		char *text = fsio_read(path, 1 << 16, NULL, &(struct errmsg){""}), *at = text;

		for (long pid; at && (pid = strtol(at, &at, 10)) > 0;)
			kill((pid_t)pid, SIGKILL);
		free(text);
		/* What is frozen does not die. */
		for (int j = 0; j < JOBS; j++) {
			const struct freezer_words *f = version == 1 ? &freezer_v1 : &freezer_v2;

			freezer_command_in(f, cgroup[j], f->thaw);
		}
		if (*hung)
			freezer_command_in(&freezer_v1, hung, freezer_v1.thaw);
		pause_us(1000);
	}
}

static void clean(void)
{
	char path[PATH_MAX + 64];

	end_all();
	if (*memory)
		rmdir(memory);
	if (*hung)
		rmdir(hung);
	snprintf(path, sizeof(path), "%s/freezer/poppa_%s", cgroups, node);
	rmdir(path);
	for (int j = 0; j < JOBS; j++) {
		strcpy(path, cgroup[j]);
		for (int up = 0; up < 3; up++) {
			rmdir(path);
			*strrchr(path, '/') = '\0';
		}
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/run", root);
	if (cause == FULL)
		umount(path);
	snprintf(path, sizeof(path), "rm -rf %s", root);
	if (system(path))
		error(0, 0, "%s", path);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = options, .parser = parse};
	int status = 0, sig;
	sigset_t ends, was;
	const char *wrong;
	pid_t worker;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	wrong = missing();
	if (wrong) {
		printf("skipped: %s\n", wrong);
		return SKIP;
	}
	name_all();
	/* A child does it all, and however it ends, nothing is left behind. */
	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		sigaddset(&ends, end_signals[i]);
	sigprocmask(SIG_BLOCK, &ends, &was);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	worker = fork();
	if (!worker) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &was, NULL);
		exit(strike());
	}
	while (!sigwait(&ends, &sig) && sig == SIGCHLD && waitpid(worker, &status, WNOHANG) == 0)
		;
	if (sig != SIGCHLD) {
		kill(worker, SIGKILL);
		waitpid(worker, &status, 0);
	}
	clean();
	if (sig != SIGCHLD)
		return 128 + sig;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
