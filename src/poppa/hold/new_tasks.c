/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a job's new tasks in its cgroups, in the middle of a shutter. */
#include "poppa/hold/new_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/hold/find_tasks.h"
#include "poppa/hold/pause.h"
#include "poppa/hold/proc.h"

/* A task may fork just before it is stopped: each round finds what the rounds before it missed. */
#define ROUNDS 3

struct new_tasks {
	struct nodeconf conf;
	int dirs, pids, used;
	char **dir; /* cgroups */
	pid_t *pid; /* ascending */
	struct pause_unit *unit[NEW_TASKS_MAX];
	pid_t adopted[NEW_TASKS_MAX];
	char text[NEW_TASKS_LISTING];
};

struct new_tasks *new_tasks_open(struct held_file *h)
{
	struct new_tasks *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	for (int i = 0; i < NEW_TASKS_MAX; i++) {
		n->unit[i] = pause_open_spare(h);
		if (!n->unit[i]) {
			int saved = errno;

			new_tasks_close(n);
			errno = saved;
			return NULL;
		}
	}
	return n;
}

static void free_dirs(char **dir, int count)
{
	for (int i = 0; dir && i < count; i++)
		free(dir[i]);
	free(dir);
}

void new_tasks_close(struct new_tasks *n)
{
	if (!n)
		return;
	for (int i = 0; i < NEW_TASKS_MAX; i++)
		pause_close(n->unit[i]);
	free_dirs(n->dir, n->dirs);
	free(n->pid);
	free(n);
}

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int new_tasks_know(struct new_tasks *n, const struct nodeconf *conf, const char *const *dir,
	int dirs, const pid_t *pid, int pids)
{
	char **copy = calloc(dirs + 1, sizeof(*copy));
	pid_t *known = malloc((pids + 1) * sizeof(*known));
	bool ok = copy && known;

	for (int i = 0; ok && i < dirs; i++) {
		copy[i] = strdup(dir[i]);
		ok = copy[i];
	}
	if (!ok) {
		free_dirs(copy, dirs);
		free(known);
		errno = ENOMEM;
		return -1;
	}
	if (pids)
		memcpy(known, pid, pids * sizeof(*known));
	qsort(known, pids, sizeof(*known), by_number);
	free_dirs(n->dir, n->dirs);
	free(n->pid);
	n->conf = *conf;
	n->dir = copy;
	n->dirs = dirs;
	n->pid = known;
	n->pids = pids;
	return 0;
}

static bool known(const struct new_tasks *n, pid_t pid)
{
	if (bsearch(&pid, n->pid, n->pids, sizeof(pid), by_number))
		return true;
	for (int i = 0; i < n->used; i++)
		if (n->adopted[i] == pid)
			return true;
	return false;
}

static bool stop(struct new_tasks *n, const char *dir, pid_t pid)
{
	char exe[NAME_MAX + 1];

	if (n->used == NEW_TASKS_MAX || proc_exe(pid, exe, sizeof(exe)) ||
		find_tasks_launcher(exe, &n->conf) || pause_adopt(n->unit[n->used], pid))
		return false;
	if (!find_tasks_holds(dir, pid) || pause_stop(n->unit[n->used])) {
		pause_let_go(n->unit[n->used]);
		return false;
	}
	n->adopted[n->used++] = pid;
	return true;
}

/* Opens the file each time: the kernel makes the list when the file is opened, not at each read. */
static int stop_in(struct new_tasks *n, const char *dir)
{
	int fd, count = 0;
	char file[PATH_MAX];
	const size_t room = sizeof(n->text) - 1;
	size_t size = 0;
	ssize_t got;
	char *end;

	snprintf(file, sizeof(file), "%s/cgroup.procs", dir);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (size < room && (got = read(fd, n->text + size, room - size)) > 0)
		size += got;
	close(fd);
	/* Where a long list is cut, the last number may be incomplete and name another process. */
	end = memrchr(n->text, '\n', size);
	*(end ? end + 1 : n->text) = '\0';
	for (const char *p = n->text; *p; p = *end ? end + 1 : end) {
		pid_t pid = strtol(p, &end, 10);

		if (end == p)
			break;
		if (pid > 0 && !known(n, pid))
			count += stop(n, dir, pid);
	}
	return count;
}

int new_tasks_stop(struct new_tasks *n)
{
	n->used = 0;
	for (int round = 0, found = 1; round < ROUNDS && found; round++) {
		found = 0;
		for (int i = 0; i < n->dirs; i++)
			found += stop_in(n, n->dir[i]);
	}
	return n->used;
}

void new_tasks_resume(struct new_tasks *n)
{
	for (int i = 0; i < n->used; i++) {
		pause_resume(n->unit[i], false);
		pause_let_go(n->unit[i]);
	}
	n->used = 0;
}
