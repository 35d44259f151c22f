/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves threads as their user, and reads where they are. */
#include "poppa/map/affinity.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "poppa/counter/counter_cgroup.h"

#define TEXT_MAX 65536

/* Of the calling thread alone: the C library's function changes all threads. */
static int be(uid_t uid)
{
	return (int)syscall(SYS_setresuid, (uid_t)-1, uid, (uid_t)-1);
}

int affinity_move(pid_t tid, uid_t uid, int pu)
{
	static bool told;
	uid_t own = geteuid();
	cpu_set_t one, all;
	int rc, code;

	CPU_ZERO(&one);
	CPU_SET(pu, &one);
	/* The kernel leaves of these those of the cpuset, and does so again when that grows. */
	memset(&all, 0xff, sizeof(all));
	if (uid != own && be(uid)) {
		errno = ENOTSUP;
		return -1;
	}
	rc = sched_setaffinity(tid, sizeof(one), &one);
	code = errno;
	if (!rc && sched_setaffinity(tid, sizeof(all), &all) && errno != ESRCH && !told) {
		told = true;
		plog_warn("thread %d stays on PU %d: %s", (int)tid, pu, strerror(errno));
	}
	/* A poppad with a user's rights would be one that resumes nothing. */
	if (uid != own && be(own)) {
		plog_error("cannot take back its own user id: %s", strerror(errno));
		abort();
	}
	errno = code;
	return rc;
}

int affinity_get(pid_t tid, cpu_set_t *out)
{
	CPU_ZERO(out);
	return sched_getaffinity(tid, sizeof(*out), out);
}

int affinity_cpuset(const char *mount, pid_t pid, cpu_set_t *out)
{
	char name[64], path[3 * PATH_MAX], *own, *text = NULL;
	int rc = -1;

	snprintf(name, sizeof(name), "/proc/%d/cpuset", (int)pid);
	own = fsio_read(name, PATH_MAX, NULL, NULL);
	if (!own) {
		errno = ESRCH;
		return -1;
	}
	own[strcspn(own, "\n")] = '\0';
	/* One that this process's namespace does not show begins with "/..". */
	if (!strstr(own, "/..")) {
		/* cgroup v1, then v2; the effective PUs are those that are online. */
		snprintf(path, sizeof(path), "%s/cpuset%s/cpuset.effective_cpus", mount, own);
		text = fsio_read(path, TEXT_MAX, NULL, NULL);
		if (!text) {
			snprintf(path, sizeof(path), "%s%s/cpuset.cpus.effective", mount, own);
			text = fsio_read(path, TEXT_MAX, NULL, NULL);
		}
	}
	free(own);
	if (text)
		rc = counter_cgroup_cpus(text, out);
	free(text);
	if (rc)
		errno = ENODATA;
	return rc;
}

/* The number in a file of a PU; unknown where the kernel says -1, as in some virtual machines. */
static int number(const char *sys, int pu, const char *file, int unknown, int *out)
{
	char path[PATH_MAX], *text, *end;
	int rc;
	long n;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%d/topology/%s", sys, pu, file);
	text = fsio_read(path, TEXT_MAX, NULL, NULL);
	if (!text)
		return -1;
	n = strtol(text, &end, 10);
	*out = n < 0 ? unknown : (int)n;
	rc = end == text ? -1 : 0;
	free(text);
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const struct mapper_pu *x = a, *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return (x->pu > y->pu) - (x->pu < y->pu);
}

int affinity_topology(const char *sys, const cpu_set_t *pus, struct mapper_pu *out)
{
	int n = 0, socket = -1, core = -1, was_socket = 0, was_core = 0;

	for (int pu = 0; pu < CPU_SETSIZE; pu++) {
		if (!CPU_ISSET(pu, pus))
			continue;
		out[n].pu = pu;
		if (number(sys, pu, "physical_package_id", 0, &out[n].socket) ||
			number(sys, pu, "core_id", pu, &out[n].core)) {
			errno = ENODATA;
			return -1;
		}
		n++;
	}
	qsort(out, (size_t)n, sizeof(*out), by_place);
	/* The kernel's numbers have gaps, and cores' numbers begin anew in each socket. */
	for (int i = 0; i < n; i++) {
		bool other = !i || out[i].socket != was_socket;

		if (other || out[i].core != was_core)
			core++;
		if (other)
			socket++;
		was_socket = out[i].socket;
		was_core = out[i].core;
		out[i].socket = socket;
		out[i].core = core;
	}
	return n;
}
