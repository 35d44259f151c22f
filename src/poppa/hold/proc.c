/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc and handles process descriptors. */
#include "poppa/hold/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_SIZE 1024
#define STATUS_SIZE 4096
#define DIRENTS 4096
#define CGROUPS_SIZE 8192

#ifndef PIDFD_SIGNAL_THREAD
#define PIDFD_SIGNAL_THREAD 1
#endif

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
	/* The command name may hold blanks and brackets: the fields begin after the last bracket.
	 */
	const char *p = strrchr(text, ')');
	struct proc_stat next;

	if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
		goto bad;
	if (sscanf(p + 1, " %c %d %d %*d %d", &next.state, &next.ppid, &next.pgrp, &next.tty) != 4)
		goto bad;
	p += 3;
	next.cpu_ticks = next.own_ticks = 0;
	/* p is at the blank before field 4; times are fields 14 to 17, threads 20, starttime 22
	 * (proc(5)). */
	for (int field = 4; field < 22; field++) {
		if (field >= 14 && field <= 17)
			next.cpu_ticks += strtoull(p + 1, NULL, 10);
		if (field == 15)
			next.own_ticks = next.cpu_ticks;
		if (field == 20)
			next.threads = atoi(p + 1);
		p = strchr(p + 1, ' ');
		if (!p)
			goto bad;
	}
	next.starttime = strtoull(p + 1, NULL, 10);
	next.headless = false;
	/* Older kernels tell less; the PU is field 39. */
	for (int field = 22; p && field < 39; field++)
		p = strchr(p + 1, ' ');
	next.pu = p ? atoi(p + 1) : -1;
	*out = next;
	return 0;
bad:
	errno = EINVAL;
	return -1;
}

static int stat_of(pid_t pid, struct proc_stat *out)
{
	char path[64], text[STAT_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_small(path, text, sizeof(text)) < 0) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	return proc_stat_parse(text, out);
}

int proc_waited(pid_t pid, uint64_t *ran_ns, uint64_t *waited_ns)
{
	char path[64], text[STAT_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	if (read_small(path, text, sizeof(text)) < 0)
		return -1;
	return sscanf(text, "%" SCNu64 " %" SCNu64, ran_ns, waited_ns) == 2 ? 0 : -1;
}

struct live {
	pid_t tid;
	char state;
};

static int is_live(pid_t tid, void *arg)
{
	struct live *l = arg;
	struct proc_stat st;

	if (stat_of(tid, &st) || st.state == 'Z' || st.state == 'X')
		return 0;
	*l = (struct live){tid, st.state};
	return 1;
}

/* A thread of the process that has not ended; tid 0 where there is none. */
static struct live live_thread(pid_t pid)
{
	struct live l = {0, 'Z'};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return l;
	proc_each_thread(fd, is_live, &l);
	close(fd);
	return l;
}

int proc_stat(pid_t pid, struct proc_stat *out)
{
	if (stat_of(pid, out))
		return -1;
	if (out->state == 'Z') {
		struct live l = live_thread(pid);

		out->headless = l.tid != 0;
		out->state = l.state;
	}
	return 0;
}

int proc_stat_open(pid_t pid)
{
	/* For /proc/PID/stat the kernel would add up all threads at each reading. */
	return proc_thread_open(pid, pid);
}

int proc_thread_open(pid_t pid, pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		proc_state(fd); /* the first reading allocates */
	else if (errno == ENOENT)
		errno = ESRCH;
	return fd;
}

int proc_stat_read(int fd, struct proc_stat *out)
{
	char text[STAT_SIZE];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0) {
		errno = n ? errno : ESRCH;
		return -1;
	}
	text[n] = '\0';
	return proc_stat_parse(text, out);
}

char proc_state(int fd)
{
	char text[STAT_SIZE];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *p;

	if (n <= 0)
		return n == 0 || errno == ESRCH ? 0 : PROC_UNKNOWN;
	text[n] = '\0';
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] ? p[2] : PROC_UNKNOWN;
}

static ssize_t exe_of(pid_t pid, char *target, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlink(path, target, size);
}

int proc_exe(pid_t pid, char *buf, size_t size)
{
	/* The kernel's mark of a removed file, as after an upgrade of the program. */
	static const char mark[] = " (deleted)";
	const ssize_t mark_len = sizeof(mark) - 1;
	char target[PATH_MAX];
	const char *base;
	ssize_t n = exe_of(pid, target, sizeof(target) - 1);

	/* A thread has its process' file also when the first one has ended. */
	if (n < 0 && errno == ENOENT && (pid = live_thread(pid).tid))
		n = exe_of(pid, target, sizeof(target) - 1);
	/* No name that a user chose stands for it: else it could be that of a launcher. */
	if (n < 0 && errno == ENAMETOOLONG)
		return snprintf(buf, size, "?"), 0;
	if (n < 0)
		return -1;
	target[n] = '\0';
	if (n > mark_len && !strcmp(target + n - mark_len, mark))
		target[n - mark_len] = '\0';
	base = strrchr(target, '/');
	snprintf(buf, size, "%s", base ? base + 1 : target);
	return 0;
}

bool proc_in_cgroup(pid_t pid, const char *end)
{
	char path[64], text[CGROUPS_SIZE];
	size_t wanted = strlen(end);

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (read_small(path, text, sizeof(text)) < 0)
		return false;
	/* Each line is HIERARCHY:CONTROLLERS:PATH. */
	for (char *line = text; *line;) {
		size_t length = strcspn(line, "\n");

		if (length >= wanted && !memcmp(line + length - wanted, end, wanted))
			return true;
		line += length + (line[length] == '\n');
	}
	return false;
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

/* Whether the kernel can signal one thread through a descriptor (Linux 6.9 and later). */
static bool signals_threads(void)
{
	static atomic_int known = -1;
	int fd, can = known;

	if (can >= 0)
		return can;
	fd = syscall(SYS_pidfd_open, getpid(), 0);
	can = fd >= 0 && !syscall(SYS_pidfd_send_signal, fd, 0, NULL, PIDFD_SIGNAL_THREAD);
	if (fd >= 0)
		close(fd);
	known = can;
	return can;
}

int proc_signal_own(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL,
		signals_threads() ? PIDFD_SIGNAL_THREAD : 0);
}

int proc_each_thread(int fd, proc_thread_fn fn, void *arg)
{
	_Alignas(8) char buf[DIRENTS];
	int rc = 0;
	long n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	while (!rc && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n && !rc;) {
			const struct dirent64 *e = (const void *)(buf + at);
			pid_t tid = atoi(e->d_name);

			at += e->d_reclen;
			if (tid > 0)
				rc = fn(tid, arg);
		}
	}
	return rc;
}

/* Reads the text of a status file. Where it does not fit, leaves out the line of the groups, of
 * which a user may have thousands, and keeps the lines before and after it. */
static int status_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);
	char *groups, *end = NULL;
	off_t at;

	if (n <= 0)
		return -1;
	text[n] = '\0';
	groups = strstr(text, "\nGroups:");
	if (n < (ssize_t)size - 1 || !groups)
		return 0;
	groups++;
	size -= groups - text;
	at = groups - text;
	while (!end && (n = pread(fd, groups, size - 1, at)) > 0) {
		groups[n] = '\0';
		end = strchr(groups, '\n');
		at += end ? end + 1 - groups : n;
	}
	n = end ? pread(fd, groups, size - 1, at) : 0;
	groups[n > 0 ? n : 0] = '\0';
	return 0;
}

static int read_status(pid_t pid, char *text, size_t size)
{
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = status_text(fd, text, size);
	close(fd);
	return rc;
}

static unsigned long long bits(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static bool has(unsigned long long mask, int sig)
{
	return mask & (1ULL << (sig - 1));
}

static bool is_stopped(const char *status)
{
	const char *line = strstr(status, "\nState:\t");

	return line && line[8] == 'T';
}

/* Returns 1 for a thread that has no own SIGSTOP pending; arg becomes true at a stopped thread. */
static int took_none(pid_t tid, void *arg)
{
	char text[STATUS_SIZE];
	bool *stands = arg;

	if (read_status(tid, text, sizeof(text)))
		return 0;
	*stands |= is_stopped(text);
	return !has(bits(text, "\nSigPnd:"), SIGSTOP);
}

/*
 * Whether somebody else has stopped the process: a thread is stopped, but our signal is still
 * pending at every thread, so it was not ours. The threads are read one after the other, and one
 * that was read already may take our signal meanwhile and stop those that come later. So all are
 * read twice: who took it before a thread was seen to stand has none the second time.
 */
static bool stopped_before(pid_t pid)
{
	bool stands = false, later = false;
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	rc = proc_each_thread(fd, took_none, &stands);
	if (!rc && stands)
		rc = proc_each_thread(fd, took_none, &later);
	close(fd);
	return rc == 0 && stands;
}

int proc_pending_stop(pid_t pid, int status)
{
	char text[STATUS_SIZE], *line;
	unsigned long long shared;
	bool threads;
	int sig;

	if (status < 0 ? read_status(pid, text, sizeof(text))
		       : status_text(status, text, sizeof(text)))
		return 0;
	line = strstr(text, "\nThreads:");
	threads = line && atoi(line + 9) > 1;
	shared = bits(text, "\nShdPnd:");
	sig = has(shared, SIGSTOP) ? SIGSTOP : has(shared, SIGTSTP) ? SIGTSTP : 0;
	/* A single thread may have had no turn since our own signal, which then is pending too: as
	 * a signal of the thread where the kernel allows that, else of the process. */
	if (!threads && !signals_threads())
		return is_stopped(text) ? sig : 0;
	if (!threads && !sig)
		return is_stopped(text) && has(bits(text, "\nSigPnd:"), SIGSTOP) ? SIGSTOP : 0;
	if (!sig && has(bits(text, "\nSigPnd:"), SIGSTOP) && stopped_before(pid))
		sig = SIGSTOP;
	return sig;
}

bool proc_signalled(pid_t pid)
{
	static const int told[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGKILL, SIGXCPU};
	char text[STATUS_SIZE];
	unsigned long long waiting;
	bool any = false;

	if (read_status(pid, text, sizeof(text)))
		return false;
	waiting = (bits(text, "\nSigPnd:") | bits(text, "\nShdPnd:")) & ~bits(text, "\nSigBlk:");
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		any |= has(waiting, told[i]);
	return any;
}

uid_t proc_uid(pid_t pid)
{
	char text[STATUS_SIZE], *line;

	if (read_status(pid, text, sizeof(text)))
		return (uid_t)-1;
	line = strstr(text, "\nUid:");
	return line ? (uid_t)strtoul(line + 5, NULL, 10) : (uid_t)-1;
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
