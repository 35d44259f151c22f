/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the runs of a sweep, and times them. */
#include "cli/gpu/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "common/clock.h"
#include "common/units.h"
#include "gpu/gpu_energy.h"
#include "trial/keeper.h"
#include "trial/launch.h"
#include "trial/tagged.h"

static volatile sig_atomic_t asked; /* the signal that is to end the sweep; 0 = none */

static void ask(int sig)
{
	asked = sig;
}

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int whole(const char *text, int64_t *value, struct errmsg *err)
{
	return units_parse_int(text, 1, 100000, value, err);
}

/* "8" or "4-44:4". */
static int add_range(struct sweep_plan *plan, char *text, struct errmsg *err)
{
	char *step_text = strchr(text, ':'), *last_text = strchr(text, '-');
	int64_t first, last, step = 1;

	if (step_text)
		*step_text++ = 0;
	if (last_text)
		*last_text++ = 0;
	if (whole(text, &first, err))
		return -1;
	last = first;
	if ((last_text && whole(last_text, &last, err)) ||
		(step_text && whole(step_text, &step, err)))
		return -1;
	if (last < first || (step_text && !last_text))
		return errmsg_set(err, "\"%s\": write ranges like 4-44:4", text);
	for (int64_t n = first; n <= last; n += step) {
		if (plan->count == SWEEP_UNITS_MAX)
			return errmsg_set(err, "more than %d numbers", SWEEP_UNITS_MAX);
		plan->units[plan->count++] = (double)n;
	}
	return 0;
}

int sweep_units(struct sweep_plan *plan, const char *text, struct errmsg *err)
{
	char *copy = strdup(text), *next = copy;
	size_t kept = 0;
	int rc = 0;

	if (!copy)
		return errmsg_set(err, "no memory");
	plan->count = 0;
	while (next && !rc)
		rc = add_range(plan, strsep(&next, ","), err);
	free(copy);
	if (rc)
		return -1;
	qsort(plan->units, plan->count, sizeof(*plan->units), by_number);
	for (size_t i = 0; i < plan->count; i++)
		if (!kept || plan->units[i] > plan->units[kept - 1])
			plan->units[kept++] = plan->units[i];
	plan->count = kept;
	if (plan->way.most > 0 && plan->units[kept - 1] > plan->way.most)
		return errmsg_set(err, "%g: there are %g %s at most", plan->units[kept - 1],
			plan->way.most, plan->way.unit);
	return 0;
}

struct start {
	const struct sweep_plan *plan;
	double units;
};

/* What the program prints does not belong to the result. */
static void become(void *arg)
{
	const struct start *s = arg;
	const struct gpu_way *way = &s->plan->way;
	int null = open("/dev/null", O_RDWR);
	char value[32], mark[TAGGED_MARK_SIZE];

	sigprocmask(SIG_SETMASK, &s->plan->before, NULL);
	setenv(way->variable, gpu_way_value(way, s->units, value, sizeof(value)), 1);
	tagged_mark(s->plan->token, 0, mark);
	putenv(mark);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	execvp(s->plan->command[0], s->plan->command);
}

/* Waits until the process has ended. Returns 0, or -1 with err: also where a signal is to end the
 * sweep, which the mask lets through. */
static int await_end(pid_t pid, const sigset_t *mask, struct errmsg *err)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (end.fd < 0)
		return errmsg_set(err, "a run cannot be waited for: %s", strerror(errno));
	while (!asked && ppoll(&end, 1, NULL, mask) < 0 && errno == EINTR)
		;
	close(end.fd);
	return end.revents
		       ? 0
		       : errmsg_set(err, "ended by signal %d, %s", (int)asked, strsignal(asked));
}

/* One run: seconds and joules, NAN where they are not known. */
static int run_once(const struct sweep_plan *plan, double units, double *seconds, double *joules,
	struct errmsg *err)
{
	struct gpu_energy *energy = plan->energy;
	double before = energy ? gpu_energy_read(energy) : NAN;
	int64_t begin = clock_now();
	struct start start = {plan, units};
	int status, code;
	pid_t pid;

	fflush(NULL);
	code = launch_fork(&pid, become, &start);
	if (code)
		return errmsg_set(
			err, "%s cannot be started: %s", plan->command[0], strerror(code));
	if (await_end(pid, &plan->before, err))
		return -1;
	waitpid(pid, &status, 0);
	*seconds = (double)(clock_now() - begin) / (double)NS_PER_S;
	*joules = (energy ? gpu_energy_read(energy) : NAN) - before;
	/* The counter has begun anew, or has not moved yet. */
	if (!(*joules > 0))
		*joules = NAN;
	if (WIFSIGNALED(status))
		return errmsg_set(err, "%s=%g: %s was ended by signal %d", plan->way.variable,
			units, plan->command[0], WTERMSIG(status));
	if (WEXITSTATUS(status))
		return errmsg_set(err, "%s=%g: %s failed: exit status %d", plan->way.variable,
			units, plan->command[0], WEXITSTATUS(status));
	return 0;
}

char *sweep_run(struct sweep_plan *plan, struct errmsg *err)
{
	size_t total = plan->count * (size_t)plan->rounds, size = 0;
	int64_t begin = clock_now();
	char *text = NULL, left[32];
	int rc = 0;
	FILE *out = open_memstream(&text, &size);
	sigset_t all;

	if (!out) {
		errmsg_set(err, "no memory");
		return NULL;
	}
	keeper_handle(ask);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &plan->before);
	fprintf(out, "program,units,seconds%s\n", plan->energy ? ",joules" : "");
	for (size_t i = 0; i < total && !rc; i++) {
		size_t round = i / plan->count, at = i % plan->count;
		double units = plan->units[round % 2 ? at : plan->count - 1 - at], seconds = NAN,
		       joules = NAN;

		rc = run_once(plan, units, &seconds, &joules, err);
		/* What a run leaves would disturb the next one. */
		if (keeper_clear_up(plan->token, rc ? NULL : err))
			rc = -1;
		if (rc)
			break;
		fprintf(out, "%s,%.0f,%.6f", plan->program, units, seconds);
		if (plan->energy)
			fprintf(out, isnan(joules) ? "," : ",%.3f", joules);
		fputc('\n', out);
		/* Whatever ends a sweep of hours, the runs before are kept. */
		if (plan->save && !plan->unsaved && !fflush(out))
			plan->unsaved =
				cli_output("--save", plan->save, text, size, 0644) != CLI_OK;
		fprintf(stderr, "poppa gpu: run %zu of %zu: %.0f %s: %.3f s; %s left\n", i + 1,
			total, units, plan->way.unit, seconds,
			units_format_duration((clock_now() - begin) / (int64_t)(i + 1) *
						      (int64_t)(total - i - 1) / NS_PER_S *
						      NS_PER_S,
				left, sizeof(left)));
	}
	if (fclose(out) && !rc)
		rc = errmsg_set(err, "no memory");
	sigprocmask(SIG_SETMASK, &plan->before, NULL);
	if (rc) {
		free(text);
		return NULL;
	}
	return text;
}
