/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what Valgrind's tool lackey writes of each instruction, load and store. */
#include "cli/profile/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "striping/reuse/sampler.h"

#define PROGRESS_NS (3 * NS_PER_S)
#define KILL_AFTER_NS (5 * NS_PER_S)
/* How long the pipe is waited at before it is seen whether the program has ended. */
#define LOOK_MS 200
/* Lines are shorter, but for messages of Valgrind, which are passed over. */
#define TRACE_LINE_MAX 64
#define CHUNK 65536
/* Which references are chosen does not matter, but should be the same each time. */
#define SEED 1

extern char **environ;

struct trace {
	int fd;
	pid_t pid;
	bool over;  /* the program has ended */
	int status; /* how */
	bool ended; /* by us: it has made enough references */
	uint64_t most, instructions;
	int64_t next_progress, kill_at; /* times of clock_now(); INT64_MAX = never */
	struct reuse_sampler *sampler;
	char line[TRACE_LINE_MAX];
	size_t length; /* of the line that is being read; TRACE_LINE_MAX: too long */
};

/* An address in the form of lackey, "I  04001000,3" or " L 1ffe80,8", from its fourth letter on. */
static bool read_address(const char *text, size_t length, uint64_t *address)
{
	size_t i = 3;

	for (*address = 0; i < length && text[i] != ','; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0 || *address >> 60)
			return false;
		*address = *address << 4 | (uint64_t)digit;
	}
	return i > 3 && i < length;
}

static void take_line(struct trace *t, const char *text, size_t length)
{
	uint64_t address;

	if (t->ended || length < 5 || text[2] != ' ' || !read_address(text, length, &address))
		return;
	if (text[0] == 'I' && text[1] == ' ') {
		t->instructions++;
	} else if (text[0] == ' ' && (text[1] == 'L' || text[1] == 'S' || text[1] == 'M')) {
		reuse_sampler_add(t->sampler, address / REUSE_LINE);
		if (reuse_sampler_references(t->sampler) == t->most) {
			t->ended = true;
			t->kill_at = clock_now() + KILL_AFTER_NS;
			if (!t->over)
				kill(t->pid, SIGTERM);
		}
	}
}

/* Lines may begin in one chunk and end in the next. */
static void take_chunk(struct trace *t, const char *text, size_t length)
{
	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t n = end ? (size_t)(end - text) : length;

		if (end && !t->length) {
			take_line(t, text, n);
		} else {
			if (n < TRACE_LINE_MAX - t->length)
				memcpy(t->line + t->length, text, n);
			t->length = n < TRACE_LINE_MAX - t->length ? t->length + n : TRACE_LINE_MAX;
			if (end && t->length < TRACE_LINE_MAX)
				take_line(t, t->line, t->length);
			if (end)
				t->length = 0;
		}
		text += n + !!end;
		length -= n + !!end;
	}
}

/* What is asked of the clock now and then. */
static void look_around(struct trace *t)
{
	int64_t now = clock_now();

	if (now >= t->next_progress) {
		fprintf(stderr, "poppa profile: %.1f million references\n",
			(double)reuse_sampler_references(t->sampler) / 1e6);
		t->next_progress = now + PROGRESS_NS;
	}
	if (now >= t->kill_at) {
		if (!t->over)
			kill(t->pid, SIGKILL);
		t->kill_at = INT64_MAX;
	}
	if (!t->over && waitpid(t->pid, &t->status, WNOHANG) == t->pid)
		t->over = true;
}

/* Until the program has ended and all that it left in the pipe is read: another program that it has
 * started may hold the pipe open for ever. */
static int follow(struct trace *t, struct errmsg *err)
{
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	char chunk[CHUNK];

	for (;;) {
		int n = poll(&p, 1, t->over ? 0 : LOOK_MS);

		if (n > 0) {
			ssize_t got = read(t->fd, chunk, sizeof(chunk));

			if (got > 0)
				take_chunk(t, chunk, (size_t)got);
			else if (got == 0)
				p.fd = -1;
			else if (errno != EINTR)
				return errmsg_set(
					err, "cannot read Valgrind's trace: %s", strerror(errno));
		} else if (t->over) {
			return 0;
		}
		look_around(t);
	}
}

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Valgrind would say it in a line of its own, among the program's. */
static int check_program(const char *program, struct errmsg *err)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(program, '/'))
		return runnable(program) ? 0 : errmsg_set(err, "%s is no program", program);
	while (path && *path) {
		int length = (int)strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", length, path, program);
		if (runnable(file))
			return 0;
		path += length + (path[length] == ':');
	}
	return errmsg_set(err, "%s is not in PATH", program);
}

static int start(char *const *argv, struct trace *t, struct errmsg *err)
{
	char log[32], name[] = "valgrind", quiet[] = "-q", tool[] = "--tool=lackey";
	char mem[] = "--trace-mem=yes", silent[] = "--child-silent-after-fork=yes", stop[] = "--";
	char *fixed[] = {name, quiet, tool, mem, silent, log, stop};
	size_t count = sizeof(fixed) / sizeof(fixed[0]), words = 0;
	posix_spawn_file_actions_t actions;
	int pipes[2], rc;
	char **all;

	while (argv[words])
		words++;
	all = calloc(count + words + 1, sizeof(*all));
	if (!all || pipe2(pipes, O_CLOEXEC)) {
		free(all);
		return errmsg_set(err, "%s", strerror(errno));
	}
	snprintf(log, sizeof(log), "--log-fd=%d", pipes[1]);
	memcpy(all, fixed, sizeof(fixed));
	memcpy(all + count, argv, words * sizeof(*all));
	posix_spawn_file_actions_init(&actions);
	/* The same number twice: it is not closed then. */
	posix_spawn_file_actions_adddup2(&actions, pipes[1], pipes[1]);
	rc = posix_spawnp(&t->pid, name, &actions, NULL, all, environ);
	posix_spawn_file_actions_destroy(&actions);
	free(all);
	close(pipes[1]);
	t->fd = pipes[0];
	if (!rc)
		return 0;
	close(pipes[0]);
	return rc == ENOENT
		       ? errmsg_set(err, "valgrind is not in PATH: install the package valgrind")
		       : errmsg_set(err, "cannot run valgrind: %s", strerror(rc));
}

/* How the program ended. */
static int judge(const struct trace *t, const char *program, struct errmsg *err)
{
	if (t->ended)
		return 0;
	if (WIFSIGNALED(t->status))
		return errmsg_set(err, "%s was ended by signal %d, %s: there is no histogram of it",
			program, WTERMSIG(t->status), strsignal(WTERMSIG(t->status)));
	if (WEXITSTATUS(t->status))
		return errmsg_set(err, "%s failed with exit status %d: there is no histogram of it",
			program, WEXITSTATUS(t->status));
	if (!reuse_sampler_references(t->sampler))
		return errmsg_set(err, "valgrind has told of no reference of %s", program);
	return 0;
}

int trace_program(char *const *argv, uint64_t most, bool progress, struct reuse_histogram *h,
	struct errmsg *err)
{
	struct trace t = {.most = most,
		.next_progress = progress ? clock_now() + PROGRESS_NS : INT64_MAX,
		.kill_at = INT64_MAX,
		.sampler = reuse_sampler_new(SEED)};
	int rc;

	if (!t.sampler)
		return errmsg_set(err, "out of memory");
	rc = check_program(argv[0], err) || start(argv, &t, err) ? -1 : 0;
	if (!rc) {
		rc = follow(&t, err);
		close(t.fd);
		if (rc)
			kill(t.pid, SIGKILL);
		else
			rc = judge(&t, argv[0], err);
		reuse_sampler_result(t.sampler, t.instructions, h);
	}
	reuse_sampler_free(t.sampler);
	return rc;
}
