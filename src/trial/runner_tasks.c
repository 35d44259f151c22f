/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the processes of one program by what tagged_look() finds. */
#include "trial/runner_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fsio.h"
#include "common/units.h"
#include "poppa/hold/find_tasks.h"
#include "poppa/hold/proc.h"

/* A program that has just begun may publish its heartbeat later. */
#define TRY_AGAIN_NS (100 * NS_PER_MS)
/* So long it may take until perf is tried in its place. */
#define HEARTBEAT_WAIT_NS (400 * NS_PER_MS)
/* No kernel has more PUs; it refuses to tell of its own in a smaller set. */
#define KERNEL_PUS 8192
#define MAPS_MAX (16 << 20)
#define MPI_PRELOAD "/libpoppa-heartbeat-mpi.so"
#define MPI_LIBRARY "/libmpi" /* of Open MPI, MPICH and its kin */

int runner_tasks_init(struct runner_tasks *t, const struct runner_pus *pus)
{
	int last = pus->pu[pus->count - 1], most = last < KERNEL_PUS ? KERNEL_PUS : last + 1;

	*t = (struct runner_tasks){
		.cpus = CPU_ALLOC(most), .has = CPU_ALLOC(most), .cpus_size = CPU_ALLOC_SIZE(most)};
	if (!t->cpus || !t->has)
		return -1;
	CPU_ZERO_S(t->cpus_size, t->cpus);
	for (int i = 0; i < pus->count; i++)
		CPU_SET_S(pus->pu[i], t->cpus_size, t->cpus);
	return 0;
}

static void close_task(struct runner_task *task)
{
	counter_close(task->counter);
	if (task->pidfd >= 0)
		close(task->pidfd);
}

void runner_tasks_free(struct runner_tasks *t)
{
	for (int i = 0; i < t->count; i++)
		close_task(&t->task[i]);
	free(t->task);
	CPU_FREE(t->cpus);
	CPU_FREE(t->has);
	*t = (struct runner_tasks){0};
}

/* Binds a thread to the PUs unless it is on some of them only. It may end meanwhile. */
static int bind_thread(pid_t tid, void *arg)
{
	const struct runner_tasks *t = arg;
	size_t size = t->cpus_size;
	cpu_set_t *has = t->has;

	CPU_ZERO_S(size, has);
	if (sched_getaffinity(tid, size, has))
		return 0;
	CPU_OR_S(size, has, has, t->cpus);
	if (!CPU_EQUAL_S(size, has, t->cpus))
		sched_setaffinity(tid, size, t->cpus);
	return 0;
}

static void bind_process(const struct runner_tasks *t, pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	proc_each_thread(fd, bind_thread, (void *)t);
	close(fd);
}

/* Whether a process has a file of this name in its memory. */
static bool maps(pid_t pid, const char *name)
{
	char path[64], *text;
	struct errmsg err;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = fsio_read(path, MAPS_MAX, NULL, &err);
	found = text && strstr(text, name);
	free(text);
	return found;
}

static bool opened(
	struct runner_task *task, enum counter_backend backend, struct runner_state *state)
{
	struct nodeconf conf;
	struct errmsg why;

	nodeconf_defaults(&conf);
	if (counter_open(backend, &conf, task->pid, &task->counter, &why))
		return false;
	state->changes++;
	return true;
}

/* Heartbeats say most, so that perf's turn comes when there is certainly none. */
static void open_counter(struct runner_task *task, enum counter_backend backend,
	struct runner_state *state, int64_t now)
{
	bool any = backend == COUNTER_AUTO && state->backend == COUNTER_NONE;
	enum counter_backend wanted = backend == COUNTER_AUTO ? state->backend : backend;

	task->again_ns = now + TRY_AGAIN_NS;
	if ((any || wanted == COUNTER_HEARTBEAT) && opened(task, COUNTER_HEARTBEAT, state)) {
		state->backend = COUNTER_HEARTBEAT;
		state->mpi_calls |= maps(task->pid, MPI_PRELOAD);
	} else if ((any && now - state->started_ns > HEARTBEAT_WAIT_NS) || wanted == COUNTER_PERF) {
		if (opened(task, COUNTER_PERF, state)) {
			state->backend = COUNTER_PERF;
			state->mpi |= maps(task->pid, MPI_LIBRARY);
		}
	}
}

static struct runner_task *find(const struct runner_tasks *t, const struct tagged_process *p)
{
	for (int i = 0; i < t->count; i++)
		if (t->task[i].pid == p->pid && t->task[i].starttime == p->starttime)
			return &t->task[i];
	return NULL;
}

static struct runner_task *add(struct runner_tasks *t, const struct tagged_process *p)
{
	struct runner_task *task;

	if (t->count == t->room) {
		int room = t->room ? 2 * t->room : 16;

		task = realloc(t->task, (size_t)room * sizeof(*task));
		if (!task)
			return NULL;
		t->task = task;
		t->room = room;
	}
	task = &t->task[t->count];
	*task = (struct runner_task){.pid = p->pid,
		.starttime = p->starttime,
		.pidfd = proc_pidfd(p->pid, p->starttime)};
	if (task->pidfd < 0)
		return NULL;
	t->count++;
	return task;
}

/* A process changes its name when it executes a program. */
static void look_again(struct runner_task *task)
{
	char exe[64];

	task->helper = proc_exe(task->pid, exe, sizeof(exe)) || find_tasks_launcher(exe, NULL);
}

/* What it has done since the last reading counts, too. */
static void drop_counter(
	struct runner_tasks *t, struct runner_task *task, struct runner_state *state)
{
	struct counter_sample sample;

	if (task->counter && !counter_read(task->counter, &sample))
		task->progress = sample.progress;
	if (task->counter)
		state->changes++;
	t->gone += task->progress;
	task->progress = 0;
	counter_close(task->counter);
	task->counter = NULL;
}

static void drop_ended(struct runner_tasks *t, struct runner_state *state)
{
	int kept = 0;

	for (int i = 0; i < t->count; i++) {
		if (t->task[i].seen) {
			t->task[kept++] = t->task[i];
			continue;
		}
		drop_counter(t, &t->task[i], state);
		close_task(&t->task[i]);
	}
	t->count = kept;
}

/* Also one that somebody else has resumed meanwhile. */
static void stop_task(struct runner_tasks *t, struct runner_task *task, struct runner_state *state)
{
	struct proc_stat st;

	/* Who was stopped before is somebody else's to resume. */
	if (proc_stat(task->pid, &st) || st.starttime != task->starttime || st.state == 'T')
		return;
	if (task->stopped)
		state->resumed++;
	if (!proc_signal(task->pidfd, SIGSTOP))
		task->stopped = true;
	else if (errno == EPERM)
		t->denied = task->pid;
}

/* A stop that somebody else has sent meanwhile waits behind ours, and SIGCONT would delete it. */
static void resume_task(struct runner_task *task)
{
	struct proc_stat st;
	int sig = 0;

	if (!proc_stat(task->pid, &st) && st.starttime == task->starttime && st.state == 'T')
		sig = proc_pending_stop(task->pid, -1);
	proc_signal(task->pidfd, SIGCONT);
	if (sig)
		proc_signal(task->pidfd, sig);
	task->stopped = false;
}

int runner_tasks_take(struct runner_tasks *t, int slot, const struct tagged_process *list, int n,
	enum counter_backend backend, struct runner_state *state, struct errmsg *err)
{
	int64_t now = clock_now();
	int tasks = 0;

	for (int i = 0; i < t->count; i++)
		t->task[i].seen = false;
	for (int i = 0; i < n; i++) {
		struct runner_task *task;

		if (list[i].slot != slot)
			continue;
		task = find(t, &list[i]);
		if (!task) {
			errno = 0;
			task = add(t, &list[i]);
		}
		if (!task && errno == ENOMEM)
			return errmsg_set(err, "out of memory");
		if (!task && (errno == EMFILE || errno == ENFILE))
			return errmsg_set(err,
				"out of file descriptors for the programs' processes: raise the "
				"limit (ulimit -n)");
		if (!task)
			continue; /* it has ended */
		task->seen = true;
		t->ticks += list[i].ticks - task->ticks;
		task->ticks = list[i].ticks;
		if (t->held == RUNNER_ALL)
			stop_task(t, task, state);
		bind_process(t, task->pid);
		look_again(task);
		if (task->helper)
			continue;
		if (!task->half) {
			task->half = 1 + t->next_half;
			t->next_half = !t->next_half;
		}
		if (t->held == task->half)
			stop_task(t, task, state);
		tasks++;
		if (list[i].threads > state->most_threads)
			state->most_threads = list[i].threads;
		if (task->counter && counter_refresh(task->counter))
			drop_counter(t, task, state);
		if (!task->counter && now >= task->again_ns)
			open_counter(task, backend, state, now);
	}
	if (tasks > state->most_tasks)
		state->most_tasks = tasks;
	drop_ended(t, state);
	return 0;
}

void runner_tasks_read(struct runner_tasks *t, struct runner_state *state)
{
	state->progress = t->gone;
	state->readable = false;
	for (int i = 0; i < 2; i++)
		state->half[i] = (struct runner_half){0};
	for (int i = 0; i < t->count; i++) {
		struct runner_task *task = &t->task[i];
		struct counter_sample sample;

		if (!task->counter || counter_kind(task->counter) != state->backend)
			continue;
		if (!counter_read(task->counter, &sample)) {
			task->progress = sample.progress;
			state->readable |= !sample.missing;
		}
		state->progress += task->progress;
		if (task->half) {
			state->half[task->half - 1].progress += task->progress;
			state->half[task->half - 1].tasks++;
		}
	}
}

void runner_tasks_hold(struct runner_tasks *t, int held)
{
	struct runner_state ignored = {0};

	t->held = held;
	for (int i = 0; i < t->count; i++) {
		struct runner_task *task = &t->task[i];

		if (held == RUNNER_ALL || (held && !task->helper && held == task->half)) {
			stop_task(t, task, &ignored);
		} else if (task->stopped) {
			resume_task(task);
		}
	}
}
