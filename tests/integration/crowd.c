/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A co-runner for tests: makes itself hard to stop or to look at, and then runs a program. */
/* Use: crowd [idle N] [threads N] [stopped] [traced] [resumed] [reads FILE] PROGRAM [ARG...] */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, which ends with its parent; what is inherited of standard output would keep a pipe.
 */
static void live(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int threads;

static void *wait_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Each stop signal that one of so many threads gets makes the kernel look at all of them. */
static void live_in_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while (threads-- > 0)
		if (pthread_create(&thread, &small, wait_on, NULL))
			_exit(1);
	live();
}

static void stand(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		raise(SIGSTOP);
}

/* Traces its parent, as strace does, and passes all signals on. */
static void trace(void)
{
	pid_t parent = getppid();
	int status;

	if (ptrace(PTRACE_SEIZE, parent, NULL, NULL))
		_exit(1);
	while (waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, parent, NULL,
			WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	_exit(0);
}

/* Resumes its parent again and again. */
static void resume(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		kill(getppid(), SIGCONT);
		usleep(200);
	}
}

static const char *file;

/* Reads a file again and again, which may take long. */
static void read_file(void)
{
	char text[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = open(file, O_RDONLY);

		if (fd < 0 || read(fd, text, sizeof(text)) < 0)
			usleep(1000);
		if (fd >= 0)
			close(fd);
		usleep(1000);
	}
}

static void start(void (*child)(void))
{
	pid_t pid = fork();

	if (!pid)
		child();
	if (pid < 0)
		perror("crowd: fork");
}

int main(int argc, char **argv)
{
	int i = 1;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	for (; i < argc; i++) {
		if (!strcmp(argv[i], "idle") && i + 1 < argc)
			for (int n = atoi(argv[++i]); n > 0; n--)
				start(live);
		else if (!strcmp(argv[i], "threads") && i + 1 < argc) {
			threads = atoi(argv[++i]);
			start(live_in_threads);
		} else if (!strcmp(argv[i], "stopped"))
			start(stand);
		else if (!strcmp(argv[i], "traced"))
			start(trace);
		else if (!strcmp(argv[i], "resumed"))
			start(resume);
		else if (!strcmp(argv[i], "reads") && i + 1 < argc) {
			file = argv[++i];
			start(read_file);
		} else
			break;
	}
	if (i < argc)
		execvp(argv[i], argv + i);
	perror("crowd");
	return 1;
}
