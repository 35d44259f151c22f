/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for the worker, and clears up behind it. */
#include "trial/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/units.h"
#include "trial/tagged.h"

#define KILL_NS (20 * NS_PER_S)
/* The exit status of a keeper apart that has written an error; work() has no such status. */
#define KEEPER_FAILED 255

static volatile sig_atomic_t worker;

static void pass_on(int sig)
{
	int saved = errno;

	(void)sig;
	if (worker > 0)
		kill((pid_t)worker, SIGTERM);
	errno = saved;
}

void keeper_handle(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = handler}, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* nohup: the user wants it to outlive the terminal. */
		if (signals[i] == SIGHUP && !sigaction(SIGHUP, NULL, &before) &&
			before.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
	}
}

/* Orphans of the programs become children of the worker, and when that has died, of this process.
 */
static void adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int keeper_clear_up(const char *token, struct errmsg *err)
{
	struct tagged_watch *w = tagged_watch_new(token, 0);
	int left = w ? tagged_kill_all(w, KILL_NS, err) : errmsg_set(err, "out of memory");

	tagged_watch_free(w);
	return left > 0 ? errmsg_set(err, "%d processes of the programs do not end", left) : left;
}

/* Forks: the child runs work() and gets SIGTERM when this process dies; this one passes signals on
 * and waits. Returns the child's status as waitpid() has it, or -1 with err. */
static int fork_and_wait(int (*work)(void *arg), void *arg, struct errmsg *err)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;
	int status = 0;

	/* No signal gets lost between the fork and the handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		sigprocmask(SIG_SETMASK, &before, NULL);
		_exit(work(arg));
	}
	worker = pid;
	keeper_handle(pass_on);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return errmsg_set(err, "cannot fork: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	worker = 0;
	return status;
}

static int killed(int status, struct errmsg *err)
{
	return errmsg_set(err,
		"the process that runs it was ended by signal %d, %s; "
		"all that it has started was ended",
		WTERMSIG(status), strsignal(WTERMSIG(status)));
}

struct kept {
	const char *token;
	int (*work)(void *arg);
	void *arg;
	struct errmsg *err;
};

static int adopt_and_work(void *arg)
{
	const struct kept *k = arg;

	adopt();
	return k->work(k->arg);
}

static int keep(struct kept *k)
{
	int status;

	adopt();
	status = fork_and_wait(adopt_and_work, k, k->err);
	if (status < 0 || keeper_clear_up(k->token, k->err))
		return -1;
	return WIFSIGNALED(status) ? killed(status, k->err) : WEXITSTATUS(status);
}

static int keep_apart(void *arg)
{
	int rc = keep(arg);

	return rc < 0 ? KEEPER_FAILED : rc;
}

/* A shell that executes this program leaves its children to it. They are none of the trial's, so
 * that the keeper is then a process of its own, which has no such children. */
static bool has_children(void)
{
	siginfo_t who;

	return !waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT);
}

int keeper_run(const char *token, int (*work)(void *arg), void *arg, struct errmsg *err)
{
	struct kept k = {token, work, arg, err};
	int status;

	/* Whoever starts this may have it ignored; then nobody's exit status would be told. */
	signal(SIGCHLD, SIG_DFL);
	if (!has_children())
		return keep(&k);
	k.err = mmap(
		NULL, sizeof(*k.err), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (k.err == MAP_FAILED)
		return errmsg_set(err, "out of memory");
	status = fork_and_wait(keep_apart, &k, err);
	if (status >= 0 && WIFSIGNALED(status))
		status = killed(status, err);
	else if (status >= 0 && WEXITSTATUS(status) == KEEPER_FAILED)
		status = errmsg_set(err, "%s", k.err->text);
	else if (status >= 0)
		status = WEXITSTATUS(status);
	munmap(k.err, sizeof(*k.err));
	return status;
}
