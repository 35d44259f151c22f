/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of poppa-farm: one thread that waits for tasks, for workers, for signals and for the
 * clock. */
#include "farm/farm_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"
#include "common/units.h"
#include "farm/farm_input.h"
#include "farm/farm_journal.h"
#include "farm/farm_limit.h"
#include "farm/farm_worker.h"
#include "heartbeat/poppa_heartbeat.h"

/* So much is read ahead of the tasks that run: tasks, and bytes of all that are not over. */
#define BACKLOG 100000
#define BACKLOG_BYTES ((size_t)64 << 20)
/* Linux's limit for one argument (execve(2)), its end included. */
#define ARGUMENT_PAGES 32
/* A server whose last task took less is given the next one before it has answered. It does that
 * one even where this one takes for ever and other workers are idle, so it must be worth while. */
#define SHORT_NS (10 * NS_PER_MS)
#define TICK_NS (NS_PER_S / 5)
/* What a crash of the machine may lose of the journal. */
#define SYNC_NS NS_PER_S
/* Before the time is over, Slurm is asked whether the limit has moved: so early, and so often. */
#define ASK_BEFORE_NS (15 * NS_PER_S)
#define ASK_AGAIN_NS (5 * NS_PER_S)
/* Who ends a job signals one process after the other. */
#define SIGNALS_APART_NS (50 * NS_PER_MS)

struct run {
	const struct farm_options *o;
	const struct farm_watch *watch;
	struct farm_counts *counts;
	struct farm_schedule *schedule;
	struct farm_input input;
	struct farm_journal journal;
	struct farm_worker *worker;
	struct pollfd *poll; /* the signals, the input, and two for each worker */
	uint64_t running;
	size_t bytes;                         /* of the commands of all tasks that are not over */
	int64_t begun, ticked, synced, until; /* until: 0 is for ever */
	int64_t kill_at;                      /* when what runs is killed; 0: it may run */
	int64_t ask_at;                       /* when Slurm is asked for the job's end */
	struct farm_limit limit;
	sigset_t ends; /* signals that end this process */
	bool unsynced, killed;
	enum farm_end end;
	struct errmsg *err;
};

/* Nothing is started any more, and what runs is asked to end. */
static void begin_end(struct run *r, enum farm_end why)
{
	if (r->kill_at)
		return;
	r->end = why;
	r->kill_at = clock_now() + r->o->grace_ns;
	for (uint32_t i = 0; i < r->o->workers; i++)
		farm_worker_signal(&r->worker[i], SIGTERM);
}

/* Tasks that run are not to blame, and end as at the end of the time. */
static void trouble(struct run *r)
{
	if (r->worker)
		begin_end(r, FARM_TROUBLE);
	else
		r->kill_at = clock_now();
	r->end = FARM_TROUBLE;
}

static void tell(const struct run *r, const char *text)
{
	if (r->watch->failed)
		r->watch->failed(text, r->watch->arg);
}

static void free_line(struct run *r, struct farm_line *line)
{
	r->bytes -= strlen(line->text);
	farm_schedule_over(r->schedule, &line->task);
	free(line);
}

/* Takes all whole lines that were read. */
static void take_lines(struct run *r)
{
	struct farm_line *line;
	struct errmsg err;
	const char *key;
	size_t len;
	int rc;

	while ((rc = farm_input_next(&r->input, &line, &key, &len, &err))) {
		r->counts->tasks++;
		if (rc < 0) {
			r->counts->failed++;
			tell(r, err.text);
		} else if (farm_journal_has(&r->journal, line->number, line->check)) {
			r->counts->done++;
			r->counts->skipped++;
			free(line);
		} else {
			r->bytes += strlen(line->text);
			line->task.key = farm_schedule_key(r->schedule, key, len);
			farm_schedule_add(r->schedule, &line->task);
		}
	}
}

static void task_failed(struct run *r, struct farm_line *line, const char *why)
{
	char text[300], command[100];

	/* What was asked to end is not done, and has not failed. */
	if (r->kill_at) {
		free_line(r, line);
		return;
	}
	if (line->tries <= r->o->retries) {
		r->counts->retried++;
		farm_schedule_add(r->schedule, &line->task);
		return;
	}
	r->counts->failed++;
	snprintf(command, sizeof(command), "%s", line->text);
	snprintf(text, sizeof(text), "line %" PRIu64 " failed: %.150s: %s", line->number, why,
		command);
	tell(r, plain_text(text));
	free_line(r, line);
}

static void task_done(struct run *r, struct farm_line *line)
{
	if (farm_journal_add(&r->journal, line->number, line->check, r->err))
		trouble(r);
	r->unsynced = true;
	r->counts->done++;
	free_line(r, line);
}

/* The worker has no task any more. why: NULL where the task is done. */
static void finish(struct run *r, struct farm_worker *w, const char *why)
{
	struct farm_line *line = farm_worker_finish(w);

	r->running -= !w->line;
	poppa_heartbeat_add(1);
	if (why)
		task_failed(r, line, why);
	else
		task_done(r, line);
}

/* Gives servers of short tasks the next one, as long as there are enough for all. */
static void hand_tasks(struct run *r)
{
	for (uint32_t i = 0; r->o->server && i < r->o->workers && !r->kill_at; i++) {
		struct farm_worker *w = &r->worker[i];

		if (farm_schedule_waiting(r->schedule) <= r->o->workers)
			return;
		if (w->line && !w->next && w->to >= 0 && w->last_ns >= 0 && w->last_ns < SHORT_NS)
			farm_worker_hand(w, (struct farm_line *)farm_schedule_next(r->schedule, i));
	}
}

/* What a server has said that answers no task. It may be the answer to its last task, and the line
 * that counted as that was none. */
static void tell_more(struct run *r, const struct farm_worker *w)
{
	char text[400];

	if (!w->reply_len)
		return;
	snprintf(text, sizeof(text),
		"a server says \"%.*s\" though it has no task, and is ended: if it said too much before, "
		"its answers counted for the tasks after theirs",
		(int)strnlen(w->reply, w->reply_len), w->reply);
	tell(r, plain_text(text));
}

/* A server that has ended, or says what nobody asked for: another one takes its place when it has
 * been waited for. What it has said would count as the answer to its next task. */
static void replace_server(struct run *r, struct farm_worker *w)
{
	tell_more(r, w);
	farm_worker_signal(w, SIGKILL);
	farm_worker_close(w);
}

static void start_tasks(struct run *r)
{
	for (uint32_t i = 0; i < r->o->workers && !r->kill_at; i++) {
		struct farm_worker *w = &r->worker[i];
		struct farm_line *line;

		if (w->line || (r->o->server && w->pid && w->to < 0))
			continue;
		if (r->o->server && w->pid && !farm_worker_is_quiet(w)) {
			replace_server(r, w);
			continue;
		}
		line = (struct farm_line *)farm_schedule_next(r->schedule, i);
		if (!line)
			return;
		if (farm_worker_start(w, line, r->o, r->err)) {
			free_line(r, line);
			trouble(r);
			return;
		}
		r->running++;
	}
}

static void describe(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(
			buf, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(status));
}

/* What a server was given and has not begun is another one's. */
static void give_back(struct run *r, struct farm_worker *w)
{
	if (r->kill_at)
		free_line(r, w->next);
	else
		farm_schedule_add(r->schedule, &w->next->task);
	w->next = NULL;
}

/* Takes all answers of a server that are there. -1 where it has closed its output or says too much.
 */
static int take_answers(struct run *r, struct farm_worker *w)
{
	char why[300];
	int rc = 0;

	while (w->line && w->from >= 0 && (rc = farm_worker_receive(w)) > 0) {
		if (!farm_worker_was_read(w)) {
			w->broken = "it answered before it had read the task";
			return -1;
		}
		w->answered = true;
		snprintf(why, sizeof(why), "the server says \"%s\"", w->reply);
		finish(r, w, strcmp(w->reply, "ok") ? why : NULL);
	}
	return w->line ? rc : 0;
}

/* Takes what this process was asked by signals. */
static void read_signals(struct run *r)
{
	struct signalfd_siginfo s;

	while (read(r->poll[0].fd, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGCHLD)
			continue;
		/* Who asks twice does not want to wait. Where a terminal goes away, the shell and
		 * the kernel both tell. */
		if (r->kill_at && s.ssi_signo != SIGHUP)
			r->kill_at = clock_now();
		begin_end(r, FARM_SIGNAL);
	}
}

/* A task was ended by a signal with which jobs are ended: Slurm may be about to send it to this
 * process, too, and then the task has not failed. */
static void await_signal(struct run *r)
{
	for (int64_t until = clock_now() + SIGNALS_APART_NS; !r->kill_at && clock_now() < until;) {
		poll(r->poll, 1, 1);
		read_signals(r);
	}
}

static void reap(struct run *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == r->limit.pid)
			r->limit.pid = 0;
		for (uint32_t i = 0; i < r->o->workers; i++) {
			struct farm_worker *w = &r->worker[i];
			char why[100], text[160];

			if (w->pid != pid)
				continue;
			if (WIFSIGNALED(status) && sigismember(&r->ends, WTERMSIG(status)) == 1)
				await_signal(r);
			describe(status, why, sizeof(why));
			/* What it has answered before its end is done. */
			take_answers(r, w);
			if (!w->line && w->from >= 0 && !farm_worker_is_quiet(w))
				tell_more(r, w);
			/* Its group may have left something behind. */
			farm_worker_signal(w, SIGKILL);
			w->pid = 0;
			farm_worker_close(w);
			if (w->next)
				give_back(r, w);
			if (!w->line)
				continue;
			if (!farm_worker_has_begun(w)) {
				w->next = farm_worker_take_back(w);
				r->running--;
				give_back(r, w);
				continue;
			}
			if (w->broken)
				snprintf(text, sizeof(text), "the server was ended: %s", w->broken);
			else
				snprintf(text, sizeof(text),
					r->o->server ? "the server ended (%s)" : "%s", why);
			finish(r, w, r->o->server || status ? text : NULL);
		}
	}
}

/* What the server of a worker says, or that it says nothing any more. */
static void serve(struct run *r, struct farm_worker *w)
{
	bool broken;

	if (!w->line || w->to < 0)
		return;
	broken = farm_worker_send(w);
	if (!take_answers(r, w) && !broken)
		return;
	/* reap() tells why it has ended. */
	farm_worker_signal(w, SIGKILL);
	farm_worker_close(w);
}

/* A limit that was moved is taken over. Where Slurm does not answer in time, the last one holds. */
static void look_at_limit(struct run *r, int64_t now)
{
	int64_t end;

	if (!r->until || !r->o->job || r->kill_at)
		return;
	if (now >= r->ask_at && now >= r->until - ASK_BEFORE_NS) {
		farm_limit_ask(&r->limit, r->o->job);
		r->ask_at = now + ASK_AGAIN_NS;
	}
	end = farm_limit_answer(&r->limit);
	if (end)
		r->until = now + end * NS_PER_S - clock_wall() - r->o->grace_ns;
}

static void look_at_clock(struct run *r)
{
	int64_t now = clock_now();

	look_at_limit(r, now);
	if (r->until && now >= r->until)
		begin_end(r, FARM_TIME);
	if (r->kill_at && now >= r->kill_at)
		for (uint32_t i = 0; i < r->o->workers; i++)
			farm_worker_signal(&r->worker[i], SIGKILL);
	if (r->unsynced && now >= r->synced + SYNC_NS) {
		if (farm_journal_sync(&r->journal, r->err))
			trouble(r);
		r->synced = now;
		r->unsynced = false;
	}
	if (r->watch->progress && now >= r->ticked + TICK_NS) {
		const struct farm_view view = {r->counts, farm_schedule_waiting(r->schedule),
			r->running, r->input.fd < 0, (double)(now - r->begun) / NS_PER_S};

		r->ticked = now;
		r->watch->progress(&view, r->watch->arg);
	}
}

static bool wants_more(const struct run *r)
{
	uint64_t waiting = farm_schedule_waiting(r->schedule);

	return r->input.fd >= 0 && !r->kill_at && waiting < BACKLOG &&
	       (!waiting || r->bytes < BACKLOG_BYTES);
}

static void wait_for_something(struct run *r)
{
	nfds_t n = 2;

	r->poll[1].fd = wants_more(r) ? r->input.fd : -1;
	for (uint32_t i = 0; r->o->server && i < r->o->workers; i++) {
		struct farm_worker *w = &r->worker[i];

		r->poll[n++] = (struct pollfd){.fd = w->line ? w->from : -1, .events = POLLIN};
		r->poll[n++] =
			(struct pollfd){.fd = farm_worker_sends(w) ? w->to : -1, .events = POLLOUT};
	}
	if (poll(r->poll, n, (int)(TICK_NS / NS_PER_MS)) <= 0)
		return;
	if (r->poll[0].revents) {
		read_signals(r);
		reap(r);
	}
	if (r->poll[1].revents) {
		if (farm_input_read(&r->input, r->err))
			trouble(r);
		else
			take_lines(r);
	}
	for (uint32_t i = 0; r->o->server && i < r->o->workers; i++)
		if (r->poll[2 + 2 * i].revents || r->poll[3 + 2 * i].revents)
			serve(r, &r->worker[i]);
}

/* Servers get the end of their input, and end by themselves; or else are ended. */
static void end_servers(struct run *r)
{
	int64_t until = clock_now() + r->o->grace_ns;
	bool some = true;

	for (uint32_t i = 0; i < r->o->workers; i++)
		farm_worker_end_input(&r->worker[i]);
	while (some) {
		some = false;
		for (uint32_t i = 0; i < r->o->workers; i++) {
			if (clock_now() >= (r->kill_at && r->kill_at < until ? r->kill_at : until))
				farm_worker_signal(&r->worker[i], SIGKILL);
			some |= r->worker[i].pid != 0;
		}
		if (some)
			poll(r->poll, 1, 20);
		read_signals(r);
		reap(r);
	}
}

static bool goes_on(const struct run *r)
{
	if (r->running)
		return true;
	return !r->kill_at && (r->input.fd >= 0 || farm_schedule_waiting(r->schedule));
}

/* Signals that end a process: from a terminal that goes away, or from Slurm before a job's end
 * (sbatch --signal). What the user wants ignored (nohup) is. */
static void add_ends(sigset_t *signals)
{
	static const int ends[] = {
		SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM};
	struct sigaction now;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i] == SIGTERM || sigaction(ends[i], NULL, &now) ||
			now.sa_handler != SIG_IGN)
			sigaddset(signals, ends[i]);
}

static int prepare(struct run *r, const int *cpus)
{
	sigset_t signals;
	uint64_t seed;

	/* A name may be that of a pipe that nobody writes: then a signal ends this. */
	if (farm_journal_open(&r->journal, r->o->journal, r->err) ||
		farm_input_open(&r->input, r->o->input, r->err))
		return -1;
	if (!r->o->server)
		r->input.command_max = ARGUMENT_PAGES * (size_t)sysconf(_SC_PAGESIZE) - 1;
	/* Whoever starts this may have it ignored; then no child would be noticed. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&r->ends);
	add_ends(&r->ends);
	signals = r->ends;
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)clock_wall();
	r->schedule = farm_schedule_create(r->o->workers, &r->o->settings, seed);
	r->worker = calloc(r->o->workers, sizeof(*r->worker));
	r->poll = calloc(2 + 2 * (size_t)r->o->workers, sizeof(*r->poll));
	if (!r->schedule || !r->worker || !r->poll)
		return errmsg_set(r->err, "out of memory");
	for (uint32_t i = 0; i < r->o->workers; i++)
		farm_worker_init(&r->worker[i], i, cpus[i]);
	r->poll[0] = (struct pollfd){
		.fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN};
	if (r->poll[0].fd < 0)
		return errmsg_set(r->err, "signalfd: %s", strerror(errno));
	r->poll[1].events = POLLIN;
	r->begun = r->synced = clock_now();
	r->until = r->o->time_ns ? r->begun + r->o->time_ns : 0;
	return 0;
}

/* Tasks that nobody has started. */
static void free_tasks(struct run *r)
{
	struct farm_task *t;

	while (r->schedule && (t = farm_schedule_next(r->schedule, 0)))
		free(t);
}

enum farm_end farm_run(const struct farm_options *o, const int *cpus,
	const struct farm_watch *watch, struct farm_counts *counts, struct farm_worker_sum *sums,
	struct errmsg *err)
{
	struct run r = {.o = o,
		.watch = watch,
		.counts = counts,
		.err = err,
		.input = {.fd = -1},
		.end = FARM_ALL};

	farm_limit_init(&r.limit);

	poppa_heartbeat_open();
	if (prepare(&r, cpus))
		trouble(&r);
	while (goes_on(&r)) {
		start_tasks(&r);
		hand_tasks(&r);
		wait_for_something(&r);
		look_at_clock(&r);
	}
	if (r.worker && r.poll) {
		/* A signal, or the end of the time, that came when the last task ended. */
		if ((r.end == FARM_SIGNAL || r.end == FARM_TIME) && r.input.fd < 0 &&
			counts->done + counts->failed == counts->tasks)
			r.end = FARM_ALL;
		farm_limit_close(&r.limit);
		end_servers(&r);
		for (uint32_t i = 0; i < o->workers; i++)
			sums[i] = r.worker[i].sum;
	}
	if (r.unsynced && farm_journal_sync(&r.journal, err))
		r.end = FARM_TROUBLE;
	free_tasks(&r);
	farm_journal_close(&r.journal);
	farm_input_close(&r.input);
	farm_schedule_destroy(r.schedule);
	if (r.poll && r.poll[0].fd > 0)
		close(r.poll[0].fd);
	free(r.poll);
	free(r.worker);
	poppa_heartbeat_close();
	return r.end;
}
