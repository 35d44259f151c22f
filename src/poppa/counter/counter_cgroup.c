/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the cgroup that holds one task and nothing else. */
/* Slurm gives each task of a step its own cgroup v2. Under v1 it puts nothing into the perf_event
 * hierarchy, so there is nothing to find. */
#include "poppa/counter/counter_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"

#define MAX_TEXT 65536
#define MAX_DEPTH 16

int counter_cgroup_cpus(const char *list, cpu_set_t *out)
{
	const char *p = list;

	CPU_ZERO(out);
	while (*p >= '0' && *p <= '9') {
		char *end;
		unsigned long from = strtoul(p, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (to < from || to >= CPU_SETSIZE)
			return -1;
		for (unsigned long i = from; i <= to; i++)
			CPU_SET(i, out);
		p = *end == ',' ? end + 1 : end;
	}
	return (*p && *p != '\n') || !CPU_COUNT(out) ? -1 : 0;
}

/* Where the cgroup v2 hierarchy is mounted. */
static int mount_point(char *buf, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char text[4 * PATH_MAX];
	struct mntent m;
	int rc = -1;

	while (mounts && rc && getmntent_r(mounts, &m, text, sizeof(text)))
		if (!strcmp(m.mnt_type, "cgroup2"))
			rc = (size_t)snprintf(buf, size, "%s", m.mnt_dir) < size ? 0 : -1;
	if (mounts)
		endmntent(mounts);
	return rc;
}

/* The text of a small file in a directory; NULL where it cannot be read. */
static char *text_at(int dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
	return fsio_read(path, MAX_TEXT, NULL, NULL);
}

static bool alone(int dir, pid_t pid)
{
	char *procs = text_at(dir, "cgroup.procs"), *end;
	bool only = procs && strtol(procs, &end, 10) == pid && !strcmp(end, "\n");
	struct dirent *e;
	DIR *d;

	free(procs);
	if (!only)
		return false;
	/* A counter of a cgroup also counts the cgroups below it. */
	d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!d)
		return false;
	while (only && (e = readdir(d)))
		only = e->d_type != DT_DIR || e->d_name[0] == '.';
	closedir(d);
	return only;
}

/* The processors that the cgroup allows: by its own cpuset, else by the next one above it that has
 * one, else all that are online. */
static int allowed_cpus(int dir, cpu_set_t *out)
{
	char up[3 * MAX_DEPTH + 1] = "", name[sizeof(up) + 32], *text = NULL;
	int rc;

	for (int i = 0; !text && i < MAX_DEPTH; i++, strcat(up, "../")) {
		snprintf(name, sizeof(name), "%scpuset.cpus.effective", up);
		text = text_at(dir, name);
	}
	if (!text)
		text = fsio_read("/sys/devices/system/cpu/online", MAX_TEXT, NULL, NULL);
	rc = text ? counter_cgroup_cpus(text, out) : -1;
	free(text);
	return rc;
}

int counter_cgroup_open(pid_t pid, struct counter_cgroup *out)
{
	char name[64], root[PATH_MAX], path[2 * PATH_MAX], *text, *line;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	text = fsio_read(name, MAX_TEXT, NULL, NULL);
	line = text ? strstr(text, "0::/") : NULL;
	out->fd = -1;
	if (line && (line == text || line[-1] == '\n') && !mount_point(root, sizeof(root))) {
		line += strlen("0::");
		line[strcspn(line, "\n")] = '\0';
		/* The root cgroup is not this task's own. */
		if (line[1] &&
			(size_t)snprintf(path, sizeof(path), "%s%s", root, line) < sizeof(path))
			out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	free(text);
	if (out->fd >= 0 && alone(out->fd, pid) && !allowed_cpus(out->fd, &out->cpus))
		return 0;
	if (out->fd >= 0)
		close(out->fd);
	errno = ENODATA;
	return -1;
}

bool counter_cgroup_holds(const struct counter_cgroup *c, pid_t pid)
{
	cpu_set_t now;

	return alone(c->fd, pid) && !allowed_cpus(c->fd, &now) && CPU_EQUAL(&now, &c->cpus);
}
