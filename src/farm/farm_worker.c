/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts tasks and servers, and talks with servers. */
#include "farm/farm_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"

void farm_worker_init(struct farm_worker *w, uint32_t number, int cpu)
{
	*w = (struct farm_worker){
		.number = number, .last_ns = -1, .sum = {.cpu = cpu}, .to = -1, .from = -1};
}

static void pin(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set;

	if (cpu < 0)
		return;
	set = CPU_ALLOC(cpu + 1);
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

/* Where a task's output goes. Returns false where its file cannot be made. */
static bool direct_output(const struct farm_options *o, uint64_t number)
{
	char path[PATH_MAX];
	int fd;

	if (!o->output)
		/* Standard output belongs to the summary. */
		return !o->json || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
	snprintf(path, sizeof(path), "%s/%" PRIu64 ".out", o->output, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
}

/* In the child. What goes wrong here is told by the exit status that shells use for it. */
static void execute(const struct farm_worker *w, const char *command, pid_t parent)
{
	char number[24];
	sigset_t none;

	setpgid(0, 0);
	/* Whatever ends poppa-farm ends its tasks. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before that. */
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	pin(w->sum.cpu);
	snprintf(number, sizeof(number), "%" PRIu32, w->number);
	setenv("POPPA_FARM_WORKER", number, 1);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int start_command(struct farm_worker *w, const struct farm_line *line,
	const struct farm_options *o, struct errmsg *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return errmsg_set(err, "no process can be started: %s", strerror(errno));
	if (!pid) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		char number[24];

		if (null < 0 || dup2(null, STDIN_FILENO) < 0 || !direct_output(o, line->number))
			_exit(126);
		snprintf(number, sizeof(number), "%" PRIu64, line->number);
		setenv("POPPA_FARM_LINE", number, 1);
		execute(w, line->text, parent);
	}
	/* Both do it, so that it is done whoever is first. */
	setpgid(pid, pid);
	w->pid = pid;
	return 0;
}

static int start_server(struct farm_worker *w, const struct farm_options *o, struct errmsg *err)
{
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	pid_t parent = getpid(), pid;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || (pid = fork()) < 0) {
		errmsg_set(err, "no server can be started: %s", strerror(errno));
		for (int i = 0; i < 2; i++) {
			close(to[i]);
			close(from[i]);
		}
		return -1;
	}
	if (!pid) {
		if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
			_exit(126);
		execute(w, o->server, parent);
	}
	setpgid(pid, pid);
	close(to[0]);
	close(from[1]);
	fcntl(to[1], F_SETFL, O_NONBLOCK);
	fcntl(from[0], F_SETFL, O_NONBLOCK);
	w->pid = pid;
	w->to = to[1];
	w->from = from[0];
	w->reply_len = w->reply_end = 0;
	w->broken = NULL;
	w->answered = false;
	return 0;
}

int farm_worker_start(struct farm_worker *w, struct farm_line *line, const struct farm_options *o,
	struct errmsg *err)
{
	if (o->server ? !w->pid && start_server(w, o, err) : start_command(w, line, o, err))
		return -1;
	w->line = line;
	w->started_ns = clock_now();
	w->sent = 0;
	line->tries++;
	if (o->server)
		/* A server that has ended is noticed by its output. */
		farm_worker_send(w);
	return 0;
}

void farm_worker_hand(struct farm_worker *w, struct farm_line *next)
{
	w->next = next;
	farm_worker_send(w);
}

/* Bytes of a line with its end. */
static size_t length(const struct farm_line *line)
{
	return line ? strlen(line->text) + 1 : 0;
}

struct farm_line *farm_worker_finish(struct farm_worker *w)
{
	struct farm_line *line = w->line;
	int64_t now = clock_now();

	w->last_ns = now - w->started_ns;
	w->sum.busy_s += (double)w->last_ns / NS_PER_S;
	w->sum.tasks++;
	w->sent = w->next && w->sent > length(line) ? w->sent - length(line) : 0;
	w->started_ns = now;
	w->line = w->next;
	w->next = NULL;
	if (w->line)
		w->line->tries++;
	return line;
}

bool farm_worker_sends(const struct farm_worker *w)
{
	return w->line && w->sent < length(w->line) + length(w->next);
}

int farm_worker_send(struct farm_worker *w)
{
	const size_t first = length(w->line);

	while (farm_worker_sends(w)) {
		const struct farm_line *line = w->sent < first ? w->line : w->next;
		size_t sent = line == w->line ? w->sent : w->sent - first;
		const struct iovec parts[] = {
			{(char *)line->text + sent, length(line) - 1 - sent},
			{(char[]){'\n'}, 1},
		};
		ssize_t n = writev(w->to, parts, 2);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		w->sent += (size_t)n;
	}
	return 0;
}

bool farm_worker_was_read(const struct farm_worker *w)
{
	int unread = 0;

	/* What is in the pipe may be the next line, of which so much was sent. */
	return w->sent >= length(w->line) && (w->to < 0 || ioctl(w->to, FIONREAD, &unread) ||
						     (size_t)unread <= w->sent - length(w->line));
}

bool farm_worker_is_quiet(struct farm_worker *w)
{
	return !farm_worker_receive(w) && !w->reply_len;
}

int farm_worker_receive(struct farm_worker *w)
{
	w->reply_len -= w->reply_end;
	memmove(w->reply, w->reply + w->reply_end, w->reply_len);
	w->reply_end = 0;
	for (;;) {
		char *end = memchr(w->reply, '\n', w->reply_len);
		ssize_t n;

		if (end) {
			*end = '\0';
			w->reply_end = (size_t)(end - w->reply) + 1;
			return 1;
		}
		if (w->reply_len == sizeof(w->reply)) {
			w->broken = "its answer is longer than 255 bytes";
			return -1;
		}
		n = read(w->from, w->reply + w->reply_len, sizeof(w->reply) - w->reply_len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (!n)
			return -1;
		w->reply_len += (size_t)n;
	}
}

void farm_worker_signal(const struct farm_worker *w, int signal)
{
	if (w->pid)
		kill(-w->pid, signal);
}

bool farm_worker_has_begun(const struct farm_worker *w)
{
	return !w->answered || w->broken || w->unread < w->sent;
}

struct farm_line *farm_worker_take_back(struct farm_worker *w)
{
	struct farm_line *line = w->line;

	line->tries--;
	w->line = NULL;
	return line;
}

void farm_worker_end_input(struct farm_worker *w)
{
	int unread = 0;

	if (w->to >= 0) {
		w->unread = ioctl(w->to, FIONREAD, &unread) ? 0 : (size_t)unread;
		close(w->to);
	}
	w->to = -1;
}

void farm_worker_close(struct farm_worker *w)
{
	farm_worker_end_input(w);
	if (w->from >= 0)
		close(w->from);
	w->from = -1;
}
