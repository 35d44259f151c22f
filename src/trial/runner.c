/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop in which a trial waits: programs that end, what they say, and their new processes. */
#include "trial/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"
#include "common/units.h"
#include "poppa/hold/proc.h"
#include "trial/launch.h"
#include "trial/runner_tasks.h"

/* How often /proc is walked, and how often while something is stopped or about to end. */
#define LOOK_NS (100 * NS_PER_MS)
#define LOOK_SOON_NS (20 * NS_PER_MS)
/* How long programs have from each request to end to the next, harder one. */
#define ASK_NS (400 * NS_PER_MS)
#define ASK_ALL_NS (1500 * NS_PER_MS)
#define KILL_NS (20 * NS_PER_S)
#define TAIL 1024
#define ERRORS_CHUNKS 16

struct slot {
	const struct runner_program *program;
	struct runner_state state;
	struct runner_tasks tasks;
	pid_t leader; /* 0: nothing runs */
	int leader_fd;
	int errors;      /* reading end of its standard error, or -1 */
	char tail[TAIL]; /* the end of what it wrote there */
	size_t length;
	bool ending; /* the program has ended, and what it has started is being waited for */
};

struct runner_stage {
	struct slot slot[RUNNER_SLOTS];
	struct tagged_watch *watch;
	char token[TAGGED_TOKEN_SIZE];
	const char *preload;
	const volatile bool *stop;
	int64_t look_ns; /* when /proc is walked next */
	uint64_t ticks;  /* processor time of programs that were ended, as looks have seen it */
	bool ended;      /* a program has made a complete run in this runner_wait() */
};

struct runner_stage *runner_stage_new(
	const char *token, const char *preload, const volatile bool *stop)
{
	struct runner_stage *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->watch = tagged_watch_new(token, 0);
	if (!s->watch) {
		free(s);
		return NULL;
	}
	for (int i = 0; i < RUNNER_SLOTS; i++)
		s->slot[i] = (struct slot){.leader_fd = -1, .errors = -1};
	snprintf(s->token, sizeof(s->token), "%s", token);
	s->preload = preload;
	s->stop = stop;
	return s;
}

void runner_stage_free(struct runner_stage *s)
{
	struct errmsg err;

	if (!s)
		return;
	runner_end(s, &err);
	tagged_watch_free(s->watch);
	free(s);
}

/* What a program writes is read as it comes, so that it never waits for a reader. One call takes
 * no more than a pipe holds: a program may write faster than it is read, for ever. */
static void read_errors(struct slot *slot)
{
	char chunk[4096];
	ssize_t n = 0;

	for (int i = 0; i < ERRORS_CHUNKS && slot->errors >= 0; i++) {
		size_t keep;

		n = read(slot->errors, chunk, sizeof(chunk));
		if (!n)
			break;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if (n > TAIL - 1) {
			memcpy(slot->tail, chunk + n - (TAIL - 1), TAIL - 1);
			slot->length = TAIL - 1;
			continue;
		}
		keep = slot->length + (size_t)n > TAIL - 1 ? TAIL - 1 - (size_t)n : slot->length;
		memmove(slot->tail, slot->tail + slot->length - keep, keep);
		memcpy(slot->tail + keep, chunk, (size_t)n);
		slot->length = keep + (size_t)n;
	}
	if (n || slot->errors < 0)
		return;
	close(slot->errors);
	slot->errors = -1;
}

/* The last line that is not empty; "" where there is none. Ends the text in place. */
static const char *last_line(struct slot *slot)
{
	char *line, *end = slot->tail + slot->length;

	while (end > slot->tail && strchr("\r\n \t", end[-1]))
		end--;
	*end = '\0';
	line = strrchr(slot->tail, '\n');
	return plain_text(line ? line + 1 : slot->tail);
}

static int start(struct runner_stage *s, struct slot *slot, struct errmsg *err)
{
	char mark[TAGGED_MARK_SIZE];
	struct launch launch = {.argv = slot->program->argv,
		.mark = mark,
		.preload = slot->program->preload ? s->preload : NULL,
		.cpus = slot->tasks.cpus,
		.cpus_size = slot->tasks.cpus_size};

	tagged_mark(s->token, (int)(slot - s->slot), mark);
	slot->length = 0;
	slot->leader = launch_program(&launch, &slot->errors, err);
	if (slot->leader < 0) {
		slot->leader = 0;
		slot->errors = -1;
		return -1;
	}
	slot->leader_fd = (int)syscall(SYS_pidfd_open, slot->leader, 0);
	s->look_ns = 0;
	return slot->leader_fd < 0 ? errmsg_set(err, "cannot watch %s: %s", slot->program->name,
					     strerror(errno))
				   : 0;
}

static void forget_leader(struct slot *slot)
{
	if (slot->leader && slot->leader_fd >= 0)
		close(slot->leader_fd);
	if (slot->errors >= 0)
		close(slot->errors);
	slot->leader = 0;
	slot->errors = -1;
}

int runner_start(struct runner_stage *s, int n, const struct runner_program *program,
	const struct runner_pus *pus, struct errmsg *err)
{
	struct slot *slot = &s->slot[n];

	*slot = (struct slot){.program = program, .leader_fd = -1, .errors = -1};
	slot->state.backend = program->backend == COUNTER_AUTO ? COUNTER_NONE : program->backend;
	slot->state.started_ns = clock_now();
	if (runner_tasks_init(&slot->tasks, pus))
		return errmsg_set(err, "out of memory");
	return start(s, slot, err);
}

static int failed(struct slot *slot, const siginfo_t *how, struct errmsg *err)
{
	char what[64];
	const char *line;

	if (how->si_code == CLD_EXITED)
		snprintf(what, sizeof(what), "failed with exit status %d", how->si_status);
	else
		snprintf(what, sizeof(what), "was ended by signal %d, %s", how->si_status,
			strsignal(how->si_status));
	line = last_line(slot);
	return errmsg_set(err, "%s %s%s%s", slot->program->name, what, *line ? ": " : "", line);
}

/* Takes in that a program has ended. */
static int take_end(struct runner_stage *s, struct slot *slot, struct errmsg *err)
{
	siginfo_t how = {0};

	if (waitid(P_PID, (id_t)slot->leader, &how, WEXITED | WNOHANG) || !how.si_pid)
		return 0;
	read_errors(slot);
	forget_leader(slot);
	if (how.si_code != CLD_EXITED || how.si_status)
		return failed(slot, &how, err);
	/* What it has started may go on: the run is over when all of that has ended, too. */
	slot->ending = true;
	s->look_ns = 0;
	return 0;
}

/* Starts a program again when no process of its run is left. */
static int complete_run(struct runner_stage *s, struct slot *slot, struct errmsg *err)
{
	slot->ending = false;
	slot->state.runs++;
	slot->state.last_end_ns = clock_now();
	s->ended = true;
	return start(s, slot, err);
}

/* Children that were left to this process by programs that have ended. */
static void reap_orphans(const struct runner_stage *s)
{
	for (int i = 0; i < 64; i++) {
		siginfo_t who = {0};
		bool leader = false;

		if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) || !who.si_pid)
			return;
		for (int n = 0; n < RUNNER_SLOTS; n++)
			leader |= s->slot[n].leader == who.si_pid;
		if (leader)
			return; /* its turn comes in the next round of the loop */
		waitpid(who.si_pid, NULL, WNOHANG);
	}
}

static int look(struct runner_stage *s, struct errmsg *err)
{
	const struct tagged_process *list;
	int n = tagged_look(s->watch, &list, err);
	bool soon = false, again[RUNNER_SLOTS] = {false};

	if (n < 0)
		return -1;
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		struct slot *slot = &s->slot[i];
		bool over = slot->ending;

		if (!slot->program)
			continue;
		for (int k = 0; over && k < n; k++)
			over = list[k].slot != i;
		if (runner_tasks_take(
			    &slot->tasks, i, list, n, slot->program->backend, &slot->state, err))
			return -1;
		if (slot->tasks.denied)
			return errmsg_set(err,
				"%s: its process %d runs as another user, so that it cannot be "
				"stopped: leave out what changes the user",
				slot->program->name, (int)slot->tasks.denied);
		soon |= slot->tasks.held || slot->ending;
		if (over)
			again[i] = true;
	}
	reap_orphans(s);
	s->look_ns = clock_now() + (soon ? LOOK_SOON_NS : LOOK_NS);
	for (int i = 0; i < RUNNER_SLOTS; i++)
		if (again[i] && complete_run(s, &s->slot[i], err))
			return -1;
	return 0;
}

static int take_events(struct runner_stage *s, int64_t until_ns, struct errmsg *err)
{
	struct pollfd fd[2 * RUNNER_SLOTS];
	int64_t now = clock_now(), next = s->look_ns < until_ns ? s->look_ns : until_ns;
	struct timespec wait = clock_spec(next > now ? next - now : 0);

	for (int i = 0; i < RUNNER_SLOTS; i++) {
		const struct slot *slot = &s->slot[i];

		fd[2 * i] = (struct pollfd){slot->leader ? slot->leader_fd : -1, POLLIN, 0};
		fd[2 * i + 1] = (struct pollfd){slot->leader ? slot->errors : -1, POLLIN, 0};
	}
	if (ppoll(fd, 2 * RUNNER_SLOTS, &wait, NULL) <= 0)
		return 0;
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		if (fd[2 * i + 1].revents)
			read_errors(&s->slot[i]);
		if (fd[2 * i].revents && take_end(s, &s->slot[i], err))
			return -1;
	}
	return 0;
}

int runner_wait(struct runner_stage *s, int64_t until_ns, bool end, struct errmsg *err)
{
	s->ended = false;
	do {
		if (*s->stop)
			return errmsg_set(err, "interrupted");
		if (clock_now() >= s->look_ns && look(s, err))
			return -1;
		if (take_events(s, until_ns, err))
			return -1;
	} while (clock_now() < until_ns && !(end && s->ended));
	return 0;
}

int runner_hold(struct runner_stage *s, int n, bool hold, struct errmsg *err)
{
	runner_tasks_hold(&s->slot[n].tasks, hold ? RUNNER_ALL : 0);
	/* What one of them has started just before it was stopped is found now. */
	return hold ? look(s, err) : 0;
}

int runner_hold_half(struct runner_stage *s, int n, int half, struct errmsg *err)
{
	runner_tasks_hold(&s->slot[n].tasks, half + 1);
	return half >= 0 ? look(s, err) : 0;
}

void runner_read(struct runner_stage *s, int n)
{
	runner_tasks_read(&s->slot[n].tasks, &s->slot[n].state);
}

bool runner_stopped(const struct runner_stage *s)
{
	return *s->stop;
}

const struct runner_state *runner_state(const struct runner_stage *s, int n)
{
	return &s->slot[n].state;
}

/* Signals every process that is left, and waits until none is or the time is over. Returns how many
 * are left, or -1 with err. */
static int ask_all(struct runner_stage *s, bool leaders, int64_t wait_ns, struct errmsg *err)
{
	const struct tagged_process *list;
	int64_t end = clock_now() + wait_ns;
	int n = tagged_look(s->watch, &list, err);

	for (int i = 0; i < RUNNER_SLOTS && leaders; i++)
		if (s->slot[i].leader)
			kill(s->slot[i].leader, SIGTERM);
	for (int i = 0; i < n && !leaders; i++) {
		int fd = proc_pidfd(list[i].pid, list[i].starttime);

		if (fd >= 0) {
			proc_signal(fd, SIGTERM);
			close(fd);
		}
	}
	while (n > 0 && clock_now() < end) {
		struct timespec pause = clock_spec(2 * NS_PER_MS);

		nanosleep(&pause, NULL);
		for (int i = 0; i < RUNNER_SLOTS; i++)
			read_errors(&s->slot[i]);
		for (int i = 0; i < n; i++)
			waitpid(list[i].pid, NULL, WNOHANG);
		n = tagged_look(s->watch, &list, err);
	}
	return n;
}

int runner_end(struct runner_stage *s, struct errmsg *err)
{
	bool any = false;
	int left = 0;

	for (int i = 0; i < RUNNER_SLOTS; i++) {
		any |= s->slot[i].program != NULL;
		if (s->slot[i].program)
			runner_tasks_hold(&s->slot[i].tasks, 0);
	}
	if (any) {
		left = ask_all(s, true, ASK_NS, err);
		if (left > 0)
			left = ask_all(s, false, ASK_ALL_NS, err);
		left = tagged_kill_all(s->watch, KILL_NS, err);
	}
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->program) {
			if (slot->leader)
				waitpid(slot->leader, NULL, WNOHANG);
			forget_leader(slot);
			s->ticks += slot->tasks.ticks;
			runner_tasks_free(&slot->tasks);
		}
		*slot = (struct slot){.leader_fd = -1, .errors = -1};
	}
	return left > 0 ? errmsg_set(err, "%d processes of the programs do not end", left) : left;
}

static int64_t used_ns(int who)
{
	struct rusage u;

	if (getrusage(who, &u))
		return 0;
	return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (int64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

int64_t runner_used_ns(const struct runner_stage *s)
{
	int64_t reaped = used_ns(RUSAGE_CHILDREN);
	int64_t seen = (int64_t)(s->ticks * (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK)));

	return used_ns(RUSAGE_SELF) + (reaped > seen ? reaped : seen);
}
