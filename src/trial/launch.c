/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes a program, and tells the launchers of MPI that it may start not to bind their tasks. */
#include "trial/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fsio.h"

#define PRELOAD_NAME "libpoppa-heartbeat-mpi.so"

extern char **environ;

/*
 * Both programs' launchers would bind their tasks to the node's first cores. srun's step has to
 * share what the allocation has with the other step, and its tasks need the mark, which they would
 * not have where the job was submitted with --export=NONE.
 */
/* clang-format off */
static const char *const settings[] = {
	"OMPI_MCA_hwloc_base_binding_policy=none",    /* Open MPI up to 4 */
	"PRTE_MCA_hwloc_default_binding_policy=none", /* Open MPI from 5 on */
	"PRTE_MCA_hwloc_base_binding_policy=none",
	"HYDRA_BINDING=none", /* MPICH */
	"I_MPI_PIN=0",        /* Intel MPI */
	"MV2_ENABLE_AFFINITY=0",
	"SLURM_CPU_BIND=none",
	"SLURM_OVERLAP=1",
	"SLURM_EXPORT_ENV=ALL",
};
/* clang-format on */

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void set(const char *setting)
{
	char name[64];
	size_t length = strcspn(setting, "=");

	snprintf(name, sizeof(name), "%.*s", (int)length, setting);
	setenv(name, setting + length + 1, 1);
}

/* In the child. Preloads of the user's stay. */
static void set_environment(const struct launch *l)
{
	const char *other = getenv("LD_PRELOAD");
	char preload[2 * PATH_MAX];

	for (size_t i = 0; i < SETTINGS; i++)
		set(settings[i]);
	set(l->mark);
	if (!l->preload)
		return;
	snprintf(preload, sizeof(preload), "%s%s%s", l->preload, other && *other ? ":" : "",
		other ? other : "");
	setenv("LD_PRELOAD", preload, 1);
}

struct start {
	const struct launch *l;
	int errors;
};

static void become(void *arg)
{
	const struct start *s = arg;
	sigset_t none;
	int null;

	setpgid(0, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(s->errors, 2) < 0)
		return;
	if (sched_setaffinity(0, s->l->cpus_size, s->l->cpus))
		return;
	set_environment(s->l);
	execvp(s->l->argv[0], s->l->argv);
}

int launch_fork(pid_t *pid, void (*child)(void *arg), void *arg)
{
	pid_t parent = getpid();
	int report[2], code = 0;
	ssize_t n;

	if (pipe2(report, O_CLOEXEC))
		return errno;
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		child(arg);
		code = errno;
		_exit(write(report[1], &code, sizeof(code)) < 0 ? 126 : 127);
	}
	if (*pid < 0)
		code = errno;
	close(report[1]);
	/* The pipe is closed when the program runs. */
	do
		n = *pid > 0 ? read(report[0], &code, sizeof(code)) : 0;
	while (n < 0 && errno == EINTR);
	close(report[0]);
	while (*pid > 0 && code && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	return code;
}

pid_t launch_program(const struct launch *l, int *errors, struct errmsg *err)
{
	struct start s = {.l = l};
	int output[2], code;
	pid_t pid;

	if (pipe2(output, O_CLOEXEC))
		return errmsg_set(err, "cannot make a pipe: %s", strerror(errno));
	s.errors = output[1];
	code = launch_fork(&pid, become, &s);
	close(output[1]);
	if (!code) {
		fcntl(output[0], F_SETFL, O_NONBLOCK);
		*errors = output[0];
		return pid;
	}
	close(output[0]);
	return errmsg_set(err, "cannot run %s: %s", l->argv[0], strerror(code));
}

const char *launch_find_preload(char *buf, size_t size)
{
	if (fsio_beside(".libs/" PRELOAD_NAME, R_OK, buf, size))
		return buf;
	snprintf(buf, size, "%s/" PRELOAD_NAME, POPPA_LIBDIR);
	return access(buf, R_OK) ? NULL : buf;
}
