/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for the worker, and clears up behind it. */
#include "trial/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/units.h"
#include "trial/tagged.h"

#define KILL_NS (20 * NS_PER_S)

static volatile sig_atomic_t worker;

static void pass_on(int sig)
{
	int saved = errno;

	(void)sig;
	if (worker > 0)
		kill((pid_t)worker, SIGTERM);
	errno = saved;
}

static void handle(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

/* Orphans of the programs become children of the worker, and when that has died, of this process.
 */
static void adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int clear_up(const char *token, struct errmsg *err)
{
	struct tagged_watch *w = tagged_watch_new(token, 0);
	int left = w ? tagged_kill_all(w, KILL_NS, err) : errmsg_set(err, "out of memory");

	tagged_watch_free(w);
	return left > 0 ? errmsg_set(err, "%d processes of the programs do not end", left) : left;
}

int keeper_run(const char *token, int (*work)(void *arg), void *arg, struct errmsg *err)
{
	pid_t keeper = getpid(), pid;
	sigset_t all, before;
	int status = 0;

	adopt();
	/* No signal gets lost between the fork and the handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (!pid) {
		adopt();
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != keeper)
			_exit(1);
		sigprocmask(SIG_SETMASK, &before, NULL);
		_exit(work(arg));
	}
	worker = pid;
	handle(pass_on);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return errmsg_set(err, "cannot fork: %s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	worker = 0;
	if (clear_up(token, err))
		return -1;
	if (WIFSIGNALED(status))
		return errmsg_set(err,
			"the process that runs the trial was ended by signal %d, %s; "
			"all that it has started was ended",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}
