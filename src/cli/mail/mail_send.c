/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a mail's body and runs the site's mail program with it. */
#include "cli/mail/mail_send.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/wrap_text.h"
#include "common/clock.h"
#include "common/log.h"

#define BODY_MAX ((size_t)1 << 20)
#define LINE_WIDTH 72

char *mail_read_body(int seconds, const volatile sig_atomic_t *stop)
{
	int64_t deadline = clock_now_ms() + INT64_C(1000) * seconds, left;
	char *body = malloc(BODY_MAX + 1);
	size_t len = 0;

	while (body && len < BODY_MAX && !*stop && (left = deadline - clock_now_ms()) > 0) {
		struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(STDIN_FILENO, body + len, BODY_MAX - len);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	if (body)
		body[len] = '\0';
	return body;
}

/* A file without a name that has the whole body, read from its beginning; -1 where none can be
 * made. */
static int make_body(const char *body, const char *paragraph)
{
	int fd = memfd_create("mail", MFD_CLOEXEC), copy = fd < 0 ? -1 : dup(fd);
	size_t len = strlen(body);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	int failed = !out;

	if (out) {
		fputs(body, out);
		if (len)
			fputs(body[len - 1] == '\n' ? "\n" : "\n\n", out);
		wrap_text(out, paragraph, LINE_WIDTH);
		failed = fclose(out) || lseek(fd, 0, SEEK_SET) < 0;
	}
	if (!failed)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int mail_send(const char *program, char **argv, const char *body, const char *paragraph)
{
	int fd = make_body(body, paragraph), status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* Without the body the mail still tells that the job has ended. */
		if (fd >= 0)
			dup2(fd, STDIN_FILENO);
		execv(program, argv);
		_exit(127);
	}
	if (fd >= 0)
		close(fd);
	else
		plog_error("the mail goes without the job's price: %s", strerror(errno));
	if (pid < 0) {
		plog_error("cannot run %s: %s: a mail is lost", program, strerror(errno));
		return 127;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (status)
		plog_error(
			"%s has failed with exit status %d: a mail may be lost", program, status);
	return status;
}
