/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program with a limit on its time and on what it prints. */
#include "cli/ask/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"

#define FIRST_ROOM 65536
#define COMPLAINT_MAX 4096

extern char **environ;

/* What was read from one pipe so far. */
struct stream {
	int fd; /* -1 at its end */
	char *text;
	size_t len, room, max;
};

/* Reads once; false where there is more than s->max bytes or no memory for them. */
static bool take(struct stream *s)
{
	ssize_t n;

	if (s->len + 1 >= s->room) {
		char *bigger;

		if (s->room > s->max)
			return false;
		s->room = s->room ? 2 * s->room : FIRST_ROOM;
		bigger = realloc(s->text, s->room);
		if (!bigger)
			return false;
		s->text = bigger;
	}
	n = read(s->fd, s->text + s->len, s->room - 1 - s->len);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	s->len += (size_t)n;
	s->text[s->len] = '\0';
	if (n == 0) {
		close(s->fd);
		s->fd = -1;
	}
	return s->len <= s->max;
}

/* Reads both pipes to their ends. Only the beginning of standard error is of use. The rest is read
 * as well, so that the program does not block, and thrown away. */
static int take_all(struct stream *out, struct stream *complaint, int64_t deadline,
	const char *name, struct errmsg *err)
{
	while (out->fd >= 0 || complaint->fd >= 0) {
		struct pollfd p[] = {
			{.fd = out->fd, .events = POLLIN}, {.fd = complaint->fd, .events = POLLIN}};
		int64_t left = deadline - clock_now_ms();
		int n = left > 0 ? poll(p, 2, (int)left) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return errmsg_set(err, "%s did not answer in time", name);
		if (p[0].revents && !take(out))
			return errmsg_set(err, "%s prints more than %zu MB: ask for less", name,
				out->max >> 20);
		if (p[1].revents && !take(complaint))
			complaint->len = 0;
	}
	return 0;
}

static int start(char *const argv[], pid_t *pid, int *out, int *complaint, struct errmsg *err)
{
	posix_spawn_file_actions_t actions;
	int a[2], b[2], rc;

	if (pipe2(a, O_CLOEXEC))
		return errmsg_set(err, "%s: %s", argv[0], strerror(errno));
	if (pipe2(b, O_CLOEXEC)) {
		close(a[0]);
		close(a[1]);
		return errmsg_set(err, "%s: %s", argv[0], strerror(errno));
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, a[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, b[1], STDERR_FILENO);
	rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(a[1]);
	close(b[1]);
	*out = a[0];
	*complaint = b[0];
	if (!rc)
		return 0;
	close(a[0]);
	close(b[0]);
	return rc == ENOENT ? errmsg_set(err, "%s is not in PATH", argv[0])
			    : errmsg_set(err, "cannot run %s: %s", argv[0], strerror(rc));
}

/* Sets err to the first line that a failed program complained with. */
static int failure(const char *name, char *complaint, struct errmsg *err)
{
	if (complaint) {
		complaint[strcspn(complaint, "\n")] = '\0';
		plain_text(complaint);
	}
	return complaint && *complaint ? errmsg_set(err, "%s", complaint)
				       : errmsg_set(err, "%s fails without a word", name);
}

/* Runs it and reads both streams. 0, or -1 with err; the caller frees their texts either way. */
static int run(char *const argv[], struct stream *out, struct stream *complaint, int wait_ms,
	struct errmsg *err)
{
	int64_t deadline = clock_now_ms() + wait_ms;
	int status = 0, rc;
	pid_t pid;

	out->fd = complaint->fd = -1;
	if (start(argv, &pid, &out->fd, &complaint->fd, err))
		return -1;
	rc = take_all(out, complaint, deadline, argv[0], err);
	if (rc)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (out->fd >= 0)
		close(out->fd);
	if (complaint->fd >= 0)
		close(complaint->fd);
	if (!rc && (!WIFEXITED(status) || WEXITSTATUS(status)))
		rc = failure(argv[0], complaint->text, err);
	return rc;
}

/* What one stream has, and nothing of the other; NULL with err where the program failed. */
static char *text_of(struct stream *wanted, struct stream *other, int rc, struct errmsg *err)
{
	free(other->text);
	if (!rc && wanted->text)
		return wanted->text;
	if (!rc)
		errmsg_set(err, "out of memory");
	free(wanted->text);
	return NULL;
}

char *run_program(char *const argv[], size_t max, int wait_ms, struct errmsg *err)
{
	struct stream out = {.max = max}, complaint = {.max = COMPLAINT_MAX};
	int rc = run(argv, &out, &complaint, wait_ms, err);

	return text_of(&out, &complaint, rc, err);
}

char *run_program_said(char *const argv[], int wait_ms, struct errmsg *err)
{
	struct stream out = {.max = FIRST_ROOM}, complaint = {.max = COMPLAINT_MAX};
	int rc = run(argv, &out, &complaint, wait_ms, err);

	return text_of(&complaint, &out, rc, err);
}
