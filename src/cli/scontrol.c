/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs scontrol and reads its answers. */
#include "cli/scontrol.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Everything fd gives until it ends; NULL when that takes too long or there is no memory. */
static char *read_all(int fd)
{
	int64_t deadline = now_ms() + WAIT_MS;
	char *text = malloc(OUTPUT_MAX);
	size_t len = 0;

	while (text) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - now_ms();
		ssize_t n = -1;

		if (left > 0 && poll(&p, 1, (int)left) > 0)
			n = read(fd, text + len, OUTPUT_MAX - 1 - len);
		if (n <= 0) {
			text[len] = '\0';
			if (n == 0)
				return text;
			break;
		}
		len += (size_t)n;
	}
	free(text);
	return NULL;
}

char *scontrol_show(const char *what, int oneline, const char **why)
{
	static char name[] = "scontrol", oneliner[] = "--oneliner", show[] = "show";
	char *argv[5] = {name}, *object = strdup(what), *text = NULL;
	int n = 1;
	posix_spawn_file_actions_t actions;
	int fds[2], status, rc;
	pid_t pid;

	if (oneline)
		argv[n++] = oneliner;
	argv[n++] = show;
	argv[n++] = object;
	if (!object || pipe2(fds, O_CLOEXEC)) {
		*why = strerror(errno);
		free(object);
		return NULL;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, name, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (rc) {
		*why = "scontrol is not in PATH";
	} else {
		text = read_all(fds[0]);
		if (!text)
			kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) == pid &&
			(!WIFEXITED(status) || WEXITSTATUS(status))) {
			free(text);
			text = NULL;
		}
		if (!text)
			*why = "slurmctld does not answer scontrol";
	}
	close(fds[0]);
	free(object);
	return text;
}

const char *scontrol_value(const char *text, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key);

	*out = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *value;
		size_t len;

		line += *line == '\n';
		if (strncasecmp(line, key, key_len) || isalnum((unsigned char)line[key_len]))
			continue;
		value = line + strcspn(line, "=\n");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " ");
		len = strcspn(value, "\n");
		while (len && value[len - 1] == ' ')
			len--;
		if (len < size) {
			memcpy(out, value, len);
			out[len] = '\0';
		}
		break;
	}
	if (!strcmp(out, "(null)"))
		*out = '\0';
	return out;
}
