/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks Slurm when the job ends, without waiting for the answer: its time limit may have moved. */
#include "farm/farm_limit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/units.h"

void farm_limit_init(struct farm_limit *l)
{
	*l = (struct farm_limit){.fd = -1};
}

void farm_limit_close(struct farm_limit *l)
{
	if (l->fd < 0)
		return;
	close(l->fd);
	if (l->pid > 0)
		kill(l->pid, SIGKILL);
	farm_limit_init(l);
}

static void ask(const char *job, int answer, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
		dup2(null, STDERR_FILENO) < 0 || dup2(answer, STDOUT_FILENO) < 0)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	execlp("squeue", "squeue", "-h", "-j", job, "-o", "%e", (char *)NULL);
	_exit(1);
}

void farm_limit_ask(struct farm_limit *l, const char *job)
{
	pid_t parent = getpid();
	int answer[2];

	farm_limit_close(l);
	if (pipe2(answer, O_CLOEXEC))
		return;
	l->pid = fork();
	if (!l->pid)
		ask(job, answer[1], parent);
	close(answer[1]);
	fcntl(answer[0], F_SETFL, O_NONBLOCK);
	l->fd = answer[0];
}

int64_t farm_limit_answer(struct farm_limit *l)
{
	struct errmsg err;
	int64_t end = 0;
	ssize_t n;

	if (l->fd < 0)
		return 0;
	n = read(l->fd, l->text + l->len, sizeof(l->text) - 1 - l->len);
	if (n > 0) {
		l->len += (size_t)n;
		return 0;
	}
	if (n < 0)
		return 0;
	l->text[l->len] = '\0';
	l->text[strcspn(l->text, "\n")] = '\0';
	/* It has closed its output, and ends by itself. */
	l->pid = 0;
	if (units_parse_int(l->text, 1, INT64_MAX / NS_PER_S, &end, &err))
		end = 0;
	farm_limit_close(l);
	return end;
}
