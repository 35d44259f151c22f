/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads registrations and cluster.conf, and watches both. */
#include "poppa/node/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/keyval.h"
#include "common/units.h"

#define MAX_FILE (256 * 1024)
#define CLUSTER_FILE "cluster.conf"

static int set_text(const char *key, const char *value, char *out, size_t size, struct errmsg *err)
{
	if (strlen(value) >= size)
		return errmsg_set(err, "%s is longer than %zu characters", key, size - 1);
	strcpy(out, value);
	return 0;
}

static int set_u32(const char *key, const char *value, uint32_t *out, struct errmsg *err)
{
	struct errmsg why = {""};
	int64_t v;

	if (units_parse_int(value, 0, UINT32_MAX, &v, &why))
		return errmsg_set(err, "%s: %s", key, why.text);
	*out = (uint32_t)v;
	return 0;
}

/* "0,2,4-6". */
static int set_cores(const char *value, struct registration *r, struct errmsg *err)
{
	const char *p = value;

	r->core_count = 0;
	while (*p) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (end != p && *end == '-')
			last = strtol(p = end + 1, &end, 10);
		if (end == p || (*end && *end != ',') || first < 0 || last < first || last > 65535)
			return errmsg_set(err, "Cores=%s is not a list of core numbers", value);
		for (long core = first; core <= last; core++) {
			if (r->core_count == REGISTRY_MAX_CORES)
				return errmsg_set(
					err, "Cores has more than %d entries", REGISTRY_MAX_CORES);
			r->core[r->core_count++] = (uint16_t)core;
		}
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int one_field(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct registration *r = arg;
	uint32_t n = 0;
	int64_t lane = 0;
	int rc = 0;

	(void)line;
	if (!strcasecmp(key, "JobId")) {
		rc = set_u32(key, value, &r->job_id, err);
	} else if (!strcasecmp(key, "Restart")) {
		rc = set_u32(key, value, &r->restart, err);
	} else if (!strcasecmp(key, "Uid")) {
		rc = set_u32(key, value, &n, err);
		r->uid = n;
	} else if (!strcasecmp(key, "User")) {
		rc = set_text(key, value, r->user, sizeof(r->user), err);
	} else if (!strcasecmp(key, "Colocate")) {
		rc = set_text(key, value, r->colocate, sizeof(r->colocate), err);
	} else if (!strcasecmp(key, "Partition")) {
		rc = set_text(key, value, r->partition, sizeof(r->partition), err);
	} else if (!strcasecmp(key, "Cgroup")) {
		if (strchr(value, '/') || value[0] == '.')
			return errmsg_set(err, "Cgroup=%s is not the name of a directory", value);
		rc = set_text(key, value, r->cgroup, sizeof(r->cgroup), err);
	} else if (!strcasecmp(key, "Registered")) {
		rc = units_parse_int(value, 0, INT64_MAX, &r->registered, err);
	} else if (!strcasecmp(key, "BootId")) {
		rc = set_text(key, value, r->boot_id, sizeof(r->boot_id), err);
	} else if (!strcasecmp(key, "Uptime")) {
		rc = units_parse_int(value, 0, INT64_MAX / NS_PER_S, &r->uptime, err);
	} else if (!strcasecmp(key, "Seed")) {
		if (schedule_parse_seed(value, &r->seed))
			return errmsg_set(err, "Seed is not 32 hexadecimal digits");
		r->seeded = true;
	} else if (!strcasecmp(key, "Lane")) {
		rc = units_parse_int(value, 0, REGISTRY_MAX_CORES, &lane, err);
		if (!rc)
			r->lane = (int)lane;
	} else if (!strcasecmp(key, "Cores")) {
		rc = set_cores(value, r, err);
	}
	return rc;
}

/* "12.0" or "12.0.ended". */
static bool take_name(const char *name, uint32_t *job_id, uint32_t *restart, bool *ended)
{
	unsigned long long job, run;
	char *end, *dot;

	if (name[0] < '1' || name[0] > '9')
		return false;
	errno = 0;
	job = strtoull(name, &dot, 10);
	if (*dot != '.' || dot[1] < '0' || dot[1] > '9')
		return false;
	run = strtoull(dot + 1, &end, 10);
	*ended = !strcmp(end, REGISTRY_ENDED);
	if (errno || (*end && !*ended) || job > UINT32_MAX || run > UINT32_MAX)
		return false;
	*job_id = (uint32_t)job;
	*restart = (uint32_t)run;
	return true;
}

int registry_parse(const char *name, const char *text, struct registration *r, struct errmsg *err)
{
	uint32_t job, restart;
	bool ended;

	memset(r, 0, sizeof(*r));
	r->uid = (uid_t)-1;
	r->uptime = -1;
	r->lane = -1;
	if (!take_name(name, &job, &restart, &ended))
		return errmsg_set(err, "%s is not JOBID.RESTART", name);
	if (keyval_text(name, text, one_field, r, err))
		return -1;
	if (r->job_id != job || r->restart != restart)
		return errmsg_set(err, "%s: JobId and Restart within differ from its name", name);
	if (r->uid == (uid_t)-1)
		return errmsg_set(err, "%s: Uid is missing", name);
	return 0;
}

int registry_scan(const char *dir, registry_fn fn, void *arg, struct errmsg *err)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int failed;

	if (!d)
		return errmsg_set(err, "cannot read %s: %s", dir, strerror(errno));
	/* What is not listed has ended: a list that breaks off is none. */
	for (errno = 0; (e = readdir(d)); errno = 0) {
		uint32_t job, restart;
		bool ended;

		if (take_name(e->d_name, &job, &restart, &ended))
			fn(job, restart, ended, arg);
	}
	failed = errno;
	closedir(d);
	return failed ? errmsg_set(err, "cannot read %s: %s", dir, strerror(failed)) : 0;
}

int registry_read(const char *dir, uint32_t job_id, uint32_t restart, bool ended,
	struct registration *r, struct errmsg *err)
{
	char path[PATH_MAX], name[64], *text;
	int rc;

	snprintf(name, sizeof(name), "%u.%u%s", job_id, restart, ended ? REGISTRY_ENDED : "");
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	text = fsio_read(path, MAX_FILE, NULL, err);
	if (!text)
		return -1;
	rc = registry_parse(name, text, r, err);
	free(text);
	if (rc)
		errno = EINVAL;
	return rc;
}

int registry_lane(const struct registration *r, int lanes)
{
	int lane = -1;

	if (r->lane >= 0)
		return r->lane;
	for (int i = 0; i < r->core_count; i++) {
		int of = r->core[i] % lanes;

		if (lane >= 0 && of != lane)
			return -1;
		lane = of;
	}
	return lane;
}

static int one_cluster(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct cluster_conf *c = arg;

	(void)line;
	if (!strcasecmp(key, "ClusterName"))
		return set_text(key, value, c->cluster, sizeof(c->cluster), err);
	if (!strcasecmp(key, "NodeName"))
		return set_text(key, value, c->node, sizeof(c->node), err);
	if (!strcasecmp(key, "PrEpParameters"))
		return set_text(key, value, c->prep_parameters, sizeof(c->prep_parameters), err);
	if (!strcasecmp(key, "SlurmctldHost"))
		return set_text(key, value, c->controllers, sizeof(c->controllers), err);
	if (!strcasecmp(key, "CgroupMountpoint"))
		return set_text(key, value, c->cgroup_mount, sizeof(c->cgroup_mount), err);
	return 0;
}

int registry_cluster(const char *path, struct cluster_conf *c, struct errmsg *err)
{
	struct cluster_conf next = {.cgroup_mount = "/sys/fs/cgroup"};
	char *text = fsio_read(path, MAX_FILE, NULL, err);
	int rc;

	if (!text)
		return -1;
	rc = keyval_text(path, text, one_cluster, &next, err);
	free(text);
	if (!rc && (!*next.cluster || !*next.node))
		rc = errmsg_set(err, "%s: ClusterName and NodeName must be there", path);
	if (!rc)
		*c = next;
	else
		errno = EINVAL;
	return rc;
}

int registry_watch(const char *run_dir, struct errmsg *err)
{
	const uint32_t what = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char jobs[PATH_MAX];

	if (fd < 0)
		return errmsg_set(err, "cannot watch %s: %s", run_dir, strerror(errno));
	snprintf(jobs, sizeof(jobs), "%s/jobs", run_dir);
	if (inotify_add_watch(fd, run_dir, what) < 0 || inotify_add_watch(fd, jobs, what) < 0) {
		errmsg_set(err, "cannot watch %s: %s", jobs, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int registry_changed(int fd)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	int mask = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;
			uint32_t job, restart;
			bool ended;

			if (e->mask & IN_Q_OVERFLOW)
				mask |= REGISTRY_JOBS | REGISTRY_CLUSTER;
			else if (e->len && !strcmp(e->name, CLUSTER_FILE))
				mask |= REGISTRY_CLUSTER;
			else if (e->len && take_name(e->name, &job, &restart, &ended))
				mask |= REGISTRY_JOBS;
			p += sizeof(*e) + e->len;
		}
	}
	return mask;
}
