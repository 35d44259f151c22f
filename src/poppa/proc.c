/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc and handles process descriptors. */
#include "poppa/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_SIZE 4096

static ssize_t read_small(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	saved = errno;
	close(fd);
	errno = saved;
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

int proc_stat_parse(const char *text, struct proc_stat *out)
{
	/* The command name may hold blanks and brackets: the fields begin after the last one. */
	const char *p = strrchr(text, ')');
	struct proc_stat next;

	if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
		goto bad;
	if (sscanf(p + 1, " %c %d %d %*d %d", &next.state, &next.ppid, &next.pgrp, &next.tty) != 4)
		goto bad;
	p += 3;
	/* p is at the blank before field 4; starttime is field 22 (proc(5)). */
	for (int field = 4; field < 22; field++) {
		p = strchr(p + 1, ' ');
		if (!p)
			goto bad;
	}
	next.starttime = strtoull(p + 1, NULL, 10);
	*out = next;
	return 0;
bad:
	errno = EINVAL;
	return -1;
}

int proc_stat(pid_t pid, struct proc_stat *out)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_small(path, text, sizeof(text)) < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	return proc_stat_parse(text, out);
}

int proc_exe(pid_t pid, char *buf, size_t size)
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -1;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(buf, size, "%s", base ? base + 1 : target);
	return 0;
}

int proc_pidfd(pid_t pid, uint64_t starttime)
{
	struct proc_stat st;
	int fd = syscall(SYS_pidfd_open, pid, 0), saved;

	if (fd < 0)
		return -1;
	if (!proc_stat(pid, &st)) {
		if (st.starttime == starttime)
			return fd;
		errno = ESRCH;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int proc_signal(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

int proc_pending_stop_parse(const char *status)
{
	static const int stops[] = {SIGSTOP, SIGTSTP};
	const char *state = strstr(status, "\nState:\t"), *line = strstr(status, "\nShdPnd:");
	unsigned long long pending;

	if (!state || state[8] != 'T' || !line)
		return 0;
	pending = strtoull(line + 8, NULL, 16);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (pending & (1ULL << (stops[i] - 1)))
			return stops[i];
	return 0;
}

static int read_status(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return read_small(path, text, size) < 0 ? -1 : 0;
}

int proc_pending_stop(pid_t pid)
{
	char text[STATUS_SIZE];

	return read_status(pid, text, sizeof(text)) ? 0 : proc_pending_stop_parse(text);
}

bool proc_traced(pid_t pid)
{
	char text[STATUS_SIZE], *line;

	if (read_status(pid, text, sizeof(text)))
		return false;
	line = strstr(text, "\nTracerPid:");
	return line && atoi(line + 11) > 0;
}

char *proc_boot_id(char *buf, size_t size)
{
	if (read_small("/proc/sys/kernel/random/boot_id", buf, size) < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}
