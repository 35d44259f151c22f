/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for processes in /proc. */
#include "cli/doctor/doctor_process.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"

#define LISTEN 0x0a /* the state in /proc/net/tcp */
#define MAX_TEXT (16 << 20)

/* A file of the process in /proc, terminated, which the caller frees; NULL where it cannot be read.
 */
static char *read_file(pid_t pid, const char *file, size_t *len)
{
	struct errmsg err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return fsio_read(path, MAX_TEXT, len, &err);
}

const char *process_name(pid_t pid, char *name, size_t size)
{
	char *text = read_file(pid, "comm", NULL);

	snprintf(name, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
	return name;
}

/* The lowest pid above `after` for which is() says yes, 0 where there is none. */
static pid_t first_process(bool (*is)(pid_t pid, const char *what), const char *what, pid_t after)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > after && (!found || pid < found) && is(pid, what))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

static bool has_name(pid_t pid, const char *what)
{
	char name[64];

	return !strcmp(process_name(pid, name, sizeof(name)), what);
}

pid_t process_find(const char *name, pid_t after)
{
	return first_process(has_name, name, after);
}

int process_maps(pid_t pid, const char *file)
{
	char *maps = read_file(pid, "maps", NULL);
	char end[NAME_MAX + sizeof("/ (deleted)\n")];
	int found = maps && *maps ? 0 : -1;

	snprintf(end, sizeof(end), "/%s (deleted)\n", file);
	if (maps && strstr(maps, end))
		found = 2;
	snprintf(end, sizeof(end), "/%s\n", file);
	if (maps && strstr(maps, end))
		found = 1;
	free(maps);
	return found;
}

bool process_option_differs(pid_t pid, const char *option, const char *value)
{
	size_t len;
	char *line = read_file(pid, "cmdline", &len);
	bool differs = false;

	for (const char *p = line; p && p < line + len; p += strlen(p) + 1) {
		const char *next = p + strlen(p) + 1;

		if (!strcmp(p, option) && next < line + len)
			differs = strcmp(next, value);
	}
	free(line);
	return differs;
}

/* Whether a descriptor of the process is the file, such as "socket:[1234]". */
static bool has_open(pid_t pid, const char *what)
{
	char path[64], link[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && !found && (entry = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = !strcmp(link, what);
	}
	if (fds)
		closedir(fds);
	return found;
}

/* Adds to *who the process that listens on the port in a table of sockets. */
static void find_listener(const char *table, unsigned port, pid_t *who)
{
	FILE *in = fopen(table, "re");
	unsigned at, state;
	unsigned long inode;
	char line[512], what[64];

	while (in && !*who && fgets(line, sizeof(line), in)) {
		if (sscanf(line, " %*[^:]: %*[^:]:%x %*s %x %*s %*s %*s %*s %*s %lu", &at, &state,
			    &inode) != 3 ||
			at != port || state != LISTEN)
			continue;
		snprintf(what, sizeof(what), "socket:[%lu]", inode);
		*who = first_process(has_open, what, 0);
		if (!*who)
			*who = -1;
	}
	if (in)
		fclose(in);
}

pid_t process_listening(int port)
{
	pid_t who = 0;

	find_listener("/proc/net/tcp", (unsigned)port, &who);
	find_listener("/proc/net/tcp6", (unsigned)port, &who);
	return who;
}
