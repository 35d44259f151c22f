/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A co-runner that wants to run while it is to stand still: cheat WAY LINE REST. */
/*
 * While it works it writes the time into LINE, where a victim sees it. After as many microseconds
 * of work as REST it rests as long; 0 = never. The program's own name and that of the program
 * beside it which works are the caller's, as names decide who is stopped.
 */
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat/poppa_heartbeat.h"

#define MOMENT_MS 20 /* what a child of a chain works, at least */
/* Of those that work at times: so much work, and then so much rest. A child's part of it. */
#define WORK_MS 800
#define REST_MS 200
#define PART_MS 40
#define DELEGATED_S 600
#define FAR_DEPTH 25
#define FAR_NAME 200 /* letters: so many folders of it are longer than PATH_MAX */

static const char *line_path, *rest_text;
static char worker[4096], cgroup[2048];
static bool v2;
static volatile int64_t *line;
static int64_t rest_ns;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void work_until(int64_t end)
{
	int64_t at = now(), begun = at;

	for (; at < end; at = now()) {
		*line = at;
		if (rest_ns && at - begun > rest_ns) {
			usleep((useconds_t)(rest_ns / 1000));
			begun = now();
		}
	}
}

/* So long that much of it is work. */
static void work_a_moment(void)
{
	work_until(now() + MOMENT_MS * INT64_C(1000000) + 4 * rest_ns);
}

static void __attribute__((noreturn)) work(void)
{
	for (;;)
		work_until(INT64_MAX);
}

static void __attribute__((noreturn)) rest(void)
{
	for (;;)
		pause();
}

/* The program "cheat" beside this one does the work, whatever this one is called. */
static pid_t start_worker_that(const char *way)
{
	pid_t pid = fork();

	if (pid < 0)
		error(EXIT_FAILURE, errno, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(worker, "cheat", way, line_path, rest_text, NULL);
	error(EXIT_FAILURE, errno, "%s", worker);
	abort();
}

static pid_t start_worker(void)
{
	return start_worker_that("honest");
}

/* The step's own cgroup: v1's of the freezer, or that of v2. */
static void find_cgroup(void)
{
	char text[1024];
	FILE *f = fopen("/proc/self/cgroup", "r");

	while (f && fgets(text, sizeof(text), f)) {
		char *path = strstr(text, ":freezer:");

		text[strcspn(text, "\n")] = '\0';
		v2 = !path && !strncmp(text, "0::", 3);
		if (path)
			snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/freezer%s", path + 9);
		else if (v2)
			snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup%s", text + 3);
		if (path)
			break;
	}
	if (f)
		fclose(f);
	if (!*cgroup)
		error(EXIT_FAILURE, 0, "no cgroup with a freezer");
}

static void tell(const char *dir, const char *file, const char *text)
{
	char path[8192];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error(EXIT_FAILURE, errno, "%s", path);
	close(fd);
}

/* v1 gives a step's cgroups to its user. Those of v2 are root's, who may delegate one to the user.
 */
static void make(const char *dir)
{
	int64_t end = now() + DELEGATED_S * INT64_C(1000000000);

	while (mkdir(dir, 0755) && errno != EEXIST) {
		if (!v2 || errno != EACCES || now() > end)
			error(EXIT_FAILURE, errno, "%s", dir);
		usleep(10000);
	}
}

/* Puts a process, or a thread of this one, into a cgroup of its own below the step's. */
static void enter(const char *name, bool thread, pid_t id)
{
	char dir[4096], text[32];

	snprintf(dir, sizeof(dir), "%s/%s", cgroup, name);
	make(dir);
	if (thread && v2)
		tell(dir, "cgroup.type", "threaded");
	snprintf(text, sizeof(text), "%d", (int)id);
	tell(dir, !thread ? "cgroup.procs" : v2 ? "cgroup.threads" : "tasks", text);
}

static void __attribute__((noreturn)) keep_going(pid_t pid)
{
	for (;;) {
		kill(pid, SIGCONT);
		usleep(50);
	}
}

static void resume(void)
{
	keep_going(start_worker());
}

static void hide(void)
{
	find_cgroup();
	enter(".x", false, start_worker());
	rest();
}

static void deep(void)
{
	char name[64] = "d";

	find_cgroup();
	for (int i = 0; i < 12; i++) {
		enter(name, false, getpid());
		strcat(name, "/d");
	}
	work();
}

static void thaw(void)
{
	char dir[4096];

	find_cgroup();
	enter("x", false, start_worker());
	snprintf(dir, sizeof(dir), "%s/x", cgroup);
	for (;;) {
		tell(dir, v2 ? "cgroup.freeze" : "freezer.state", v2 ? "0" : "THAWED");
		usleep(50);
	}
}

/* A cgroup of cpuacct that this user has kept from an earlier job: "kept" below its step's. */
static const char *kept_cgroup(void)
{
	static char path[4096];
	char pattern[256];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup/cpuacct/slurm*/uid_%u/job_*/*/kept",
		(unsigned)getuid());
	if (glob(pattern, 0, NULL, &found))
		error(EXIT_FAILURE, 0, "no %s", pattern);
	snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return path;
}

static bool counted_elsewhere;

static void *thread_main(void *arg)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", syscall(SYS_gettid));
	if (counted_elsewhere)
		tell(kept_cgroup(), "tasks", text);
	if (arg)
		enter(arg, true, (pid_t)syscall(SYS_gettid));
	work();
}

static void headless(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_main, NULL);
	pthread_exit(NULL);
}

static void threads(void)
{
	static char own[] = ".t";
	pthread_t t;

	find_cgroup();
	pthread_create(&t, NULL, thread_main, own);
	rest();
}

static void count_elsewhere(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	tell(kept_cgroup(), "cgroup.procs", text);
}

/* Whoever keeps it going, too, is counted for a job that has ended. */
static void keep_going_unseen(pid_t pid)
{
	pid_t keeper = fork();

	if (!keeper) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		count_elsewhere(getpid());
		keep_going(pid);
	}
	rest();
}

static void strayed(void)
{
	pid_t pid = start_worker();

	count_elsewhere(pid);
	keep_going_unseen(pid);
}

/* Its process is counted as the job's, and the thread that works is not. */
static void strayed_thread(void)
{
	keep_going_unseen(start_worker_that("thread"));
}

static void thread(void)
{
	pthread_t t;

	counted_elsewhere = true;
	pthread_create(&t, NULL, thread_main, NULL);
	rest();
}

/* Each child works for a moment, starts the next one and ends: younger than any scan. */
static void chain(void)
{
	if (!fork())
		for (;;) {
			work_a_moment();
			if (fork())
				_exit(0);
		}
	rest();
}

/* The same, and each in a cgroup that is new. */
static void flash(void)
{
	find_cgroup();
	if (!fork())
		for (int n = 0;; n++) {
			char name[32];

			snprintf(name, sizeof(name), ".%d", n);
			enter(name, false, getpid());
			work_a_moment();
			if (fork())
				_exit(0);
		}
	rest();
}

/* A child that publishes a heartbeat, works or rests, and ends. */
static void child(bool works, int ms)
{
	pid_t pid = fork();
	int64_t end = now() + ms * INT64_C(1000000);

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	poppa_heartbeat_open();
	for (int64_t at = now(); at < end; at = now()) {
		if (works)
			work_until(at + 20000);
		else
			usleep(500);
		poppa_heartbeat_add(1);
	}
	_exit(0);
}

/* Its counted tasks come and go while it works, so that blocks fail then, and stay while it rests.
 */
static void churn(void)
{
	for (;;) {
		for (int ms = 0; ms < WORK_MS; ms += PART_MS)
			child(true, PART_MS);
		child(false, REST_MS);
	}
}

/* What it shows is stopped while it works, in processes that are too young to count as tasks. */
static void decoy(void)
{
	pid_t shown = fork(), pid;

	if (!shown) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(worker, "cheat", "idle", line_path, rest_text, NULL);
		error(EXIT_FAILURE, errno, "%s", worker);
	}
	for (;;) {
		kill(shown, SIGSTOP);
		for (int64_t end = now() + WORK_MS * INT64_C(1000000); now() < end;) {
			pid = fork();
			if (!pid) {
				work_a_moment();
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		kill(shown, SIGCONT);
		usleep(REST_MS * 1000);
	}
}

static void strayed_chain(void)
{
	count_elsewhere(getpid());
	chain();
}

static void strayed_decoy(void)
{
	count_elsewhere(getpid());
	decoy();
}

static void traced(void)
{
	pid_t pid = start_worker();
	int status;

	usleep(100000);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		error(EXIT_FAILURE, errno, "ptrace");
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	rest();
}

/* Until its child ends this one cannot take a signal. Not every machine has a call of its own for
 * vfork(). */
static void blocked(void)
{
	if (!syscall(SYS_clone, CLONE_VFORK | CLONE_VM | SIGCHLD, NULL, NULL, NULL, NULL))
		work();
	rest();
}

static void orphan(void)
{
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		work();
	}
	rest();
}

static void honest(void)
{
	work();
}

/* Copies this program to a folder so deep that the kernel cannot tell its path, and executes it
 * there. */
static void far(void)
{
	char top[] = "/dev/shm/poppa-cheat-far.XXXXXX", name[FAR_NAME + 1] = "", part[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	ssize_t n;

	memset(name, 'd', FAR_NAME);
	if (!mkdtemp(top) || chdir(top))
		error(EXIT_FAILURE, errno, "%s", top);
	for (int i = 0; i < FAR_DEPTH; i++)
		if (mkdir(name, 0700) || chdir(name))
			error(EXIT_FAILURE, errno, "a deep folder");
	to = open("cheat", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	while ((n = read(from, part, sizeof(part))) > 0)
		if (write(to, part, (size_t)n) != n)
			error(EXIT_FAILURE, errno, "a copy of the program");
	close(to);
	execl("./cheat", strrchr(top, '/') + 1, "arrived", line_path, rest_text, NULL);
	error(EXIT_FAILURE, errno, "the copy");
}

/* The copy leaves nothing of the folders; the kernel knows them as long as it runs. Its first
 * argument is the name of the first one. */
static void arrived(void)
{
	char name[FAR_NAME + 1] = "";

	memset(name, 'd', FAR_NAME);
	unlink("cheat");
	for (int i = 0; i < FAR_DEPTH; i++)
		if (chdir("..") || rmdir(name))
			error(EXIT_FAILURE, errno, "a deep folder");
	if (chdir("..") || rmdir(program_invocation_name))
		error(EXIT_FAILURE, errno, "%s", program_invocation_name);
	work();
}

static void idle(void)
{
	rest();
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {{"honest", honest}, {"idle", idle}, {"resume", resume}, {"hide", hide}, {"deep", deep},
	{"thaw", thaw}, {"headless", headless}, {"threads", threads}, {"chain", chain},
	{"flash", flash}, {"churn", churn}, {"decoy", decoy}, {"traced", traced},
	{"blocked", blocked}, {"orphan", orphan}, {"far", far}, {"arrived", arrived},
	{"strayed", strayed}, {"strayed_thread", strayed_thread}, {"thread", thread},
	{"strayed_chain", strayed_chain}, {"strayed_decoy", strayed_decoy}};

int main(int argc, char **argv)
{
	char *slash;
	int fd;

	if (argc != 4)
		error(2, 0, "Usage: cheat WAY LINE REST");
	if (readlink("/proc/self/exe", worker, sizeof(worker) - sizeof("/cheat")) < 0 &&
		errno != ENAMETOOLONG)
		error(EXIT_FAILURE, errno, "/proc/self/exe");
	slash = strrchr(worker, '/');
	strcpy(slash ? slash : worker, "/cheat");
	line_path = argv[2];
	rest_text = argv[3];
	rest_ns = atol(rest_text) * 1000;
	fd = open(line_path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		error(EXIT_FAILURE, errno, "%s", line_path);
	line = mmap(NULL, sizeof(*line), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (line == MAP_FAILED)
		error(EXIT_FAILURE, errno, "%s", line_path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[1]))
			ways[i].run();
	error(2, 0, "%s is no way to cheat", argv[1]);
	return 2;
}
