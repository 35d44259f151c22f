/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A co-runner that wants to run while it is to stand still: cheat WAY LINE. */
/*
 * Its work slows a contend down that has the same file of cache lines. The program's own name and
 * that of the program beside it which works are the caller's, as names decide who is stopped.
 */
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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

#define BURST 64
#define PRIVATE 5 /* as contend's */

static const char *line_path;
static char worker[4096], cgroup[2048];
static uint64_t *line;
static volatile uint64_t sink; /* keeps the compiler from leaving the work out */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work_for(double seconds)
{
	double end = now() + seconds;
	uint64_t x = 1;

	while (now() < end) {
		for (int n = 0; n < 100; n++) {
			for (int i = 0; i < BURST; i++)
				x ^= __atomic_fetch_add(line, 1, __ATOMIC_SEQ_CST) >> 63;
			for (int i = 0; i < BURST * PRIVATE; i++)
				x = x * 6364136223846793005 + 1442695040888963407;
		}
		sink = x;
	}
}

static void __attribute__((noreturn)) work(void)
{
	for (;;)
		work_for(1e9);
}

static void __attribute__((noreturn)) rest(void)
{
	for (;;)
		pause();
}

/* The program "cheat" beside this one does the work, whatever this one is called. */
static pid_t start_worker(void)
{
	pid_t pid = fork();

	if (pid < 0)
		error(EXIT_FAILURE, errno, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(worker, "cheat", "honest", line_path, NULL);
	error(EXIT_FAILURE, errno, "%s", worker);
	abort();
}

/* The step's own cgroup of v1's freezer. */
static void find_cgroup(void)
{
	char text[1024];
	FILE *f = fopen("/proc/self/cgroup", "r");

	while (f && fgets(text, sizeof(text), f)) {
		char *path = strstr(text, ":freezer:");

		text[strcspn(text, "\n")] = '\0';
		if (path)
			snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/freezer%s", path + 9);
	}
	if (f)
		fclose(f);
	if (!*cgroup)
		error(EXIT_FAILURE, 0, "no freezer of cgroup v1");
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

/* Puts a process, or with file "tasks" a thread, into a cgroup of its own below the step's. */
static void enter(const char *name, const char *file, pid_t id)
{
	char dir[4096], text[32];

	snprintf(dir, sizeof(dir), "%s/%s", cgroup, name);
	if (mkdir(dir, 0755) && errno != EEXIST)
		error(EXIT_FAILURE, errno, "%s", dir);
	snprintf(text, sizeof(text), "%d", (int)id);
	tell(dir, file, text);
}

static void resume(void)
{
	pid_t pid = start_worker();

	for (;;) {
		kill(pid, SIGCONT);
		usleep(50);
	}
}

static void hide(void)
{
	find_cgroup();
	enter(".x", "cgroup.procs", start_worker());
	rest();
}

static void deep(void)
{
	char name[64] = "d";

	find_cgroup();
	for (int i = 0; i < 12; i++) {
		enter(name, "cgroup.procs", getpid());
		strcat(name, "/d");
	}
	work();
}

static void thaw(void)
{
	char dir[4096];

	find_cgroup();
	enter("x", "cgroup.procs", start_worker());
	snprintf(dir, sizeof(dir), "%s/x", cgroup);
	for (;;) {
		tell(dir, "freezer.state", "THAWED");
		usleep(50);
	}
}

static void *thread_main(void *arg)
{
	if (arg)
		enter(arg, "tasks", (pid_t)syscall(SYS_gettid));
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

/* Each child works for a moment, starts the next one and ends: younger than any scan. */
static void chain(void)
{
	if (!fork())
		for (;;) {
			work_for(0.02);
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
			enter(name, "cgroup.procs", getpid());
			work_for(0.1);
			if (fork())
				_exit(0);
		}
	rest();
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

/* Until its child ends this one cannot take a signal. */
static void blocked(void)
{
	if (!syscall(SYS_vfork))
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

static void idle(void)
{
	rest();
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {{"honest", honest}, {"idle", idle}, {"resume", resume}, {"hide", hide}, {"deep", deep},
	{"thaw", thaw}, {"headless", headless}, {"threads", threads}, {"chain", chain},
	{"flash", flash}, {"traced", traced}, {"blocked", blocked}, {"orphan", orphan}};

int main(int argc, char **argv)
{
	char *slash;
	int fd;

	if (argc != 3)
		error(2, 0, "Usage: cheat WAY LINE");
	if (readlink("/proc/self/exe", worker, sizeof(worker) - sizeof("/cheat")) < 0)
		error(EXIT_FAILURE, errno, "/proc/self/exe");
	slash = strrchr(worker, '/');
	strcpy(slash ? slash : worker, "/cheat");
	line_path = argv[2];
	fd = open(line_path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		error(EXIT_FAILURE, errno, "%s", line_path);
	line = mmap(NULL, 128, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (line == MAP_FAILED)
		error(EXIT_FAILURE, errno, "%s", line_path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[1]))
			ways[i].run();
	error(2, 0, "%s is no way to cheat", argv[1]);
	return 2;
}
