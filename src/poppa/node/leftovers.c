/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees what jobs that have ended have left running on a node with cgroup v1. */
#include "poppa/node/leftovers.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"
#include "poppa/hold/proc.h"

#define MAX_PROCS_FILE (1024 * 1024)
/* What uses more of a processor works. */
#define WORKS 0.05

struct leftover {
	uid_t uid;
	uint32_t job_id;
	int64_t first;   /* when it was first seen, CLOCK_MONOTONIC ns */
	int64_t used_ns; /* processor time until the last look: of its user's that no job has */
	int64_t looked;  /* when that was */
	int64_t worked;  /* when it was last seen to work; 0 = never */
	bool seen, confirmed;
};

struct leftovers {
	int count;
	struct leftover l[LEFTOVERS_MAX];
};

/* What one look finds of a user: the time of their jobs that run, and of what ended jobs have. */
struct user_look {
	int64_t all_ns;     /* in all of their cgroups; -1 where no file tells it */
	int64_t running_ns; /* of that, in those of jobs that run */
	int64_t left_ns;    /* as the processes of ended jobs tell it */
};

struct leftovers *leftovers_new(void)
{
	return calloc(1, sizeof(struct leftovers));
}

void leftovers_free(struct leftovers *l)
{
	free(l);
}

/* A number of ns; -1 where there is no such file. */
static int64_t read_ns(const char *path)
{
	char *text = *path ? fsio_read(path, 64, NULL, &(struct errmsg){""}) : NULL;
	int64_t ns = text ? strtoll(text, NULL, 10) : -1;

	free(text);
	return ns;
}

static struct leftover *known(struct leftovers *l, uid_t uid, uint32_t job_id)
{
	for (int i = 0; i < l->count; i++)
		if (l->l[i].uid == uid && l->l[i].job_id == job_id)
			return &l->l[i];
	return NULL;
}

static void see(struct leftovers *l, uid_t uid, uint32_t job_id, int64_t now)
{
	struct leftover *o = known(l, uid, job_id);

	if (!o && l->count == LEFTOVERS_MAX)
		return;
	if (!o) {
		o = &l->l[l->count++];
		*o = (struct leftover){.uid = uid, .job_id = job_id, .first = now, .looked = now};
	} else if (!o->confirmed) {
		/* Not in one look only: a step that begins or ends may be seen half. */
		o->confirmed = true;
		plog_warn(
			"job %u of uid %u has ended and left processes in cgroups that its user "
			"made: nobody is measured while they work; end them, then resume the node",
			job_id, (unsigned)uid);
	}
	o->seen = true;
}

/* Whether a job has a slurmstepd: it is in the job's cgroup itself, which is root's, or in a
 * step's.
 */
static bool has_stepd(const struct found_tasks *d)
{
	char path[PATH_MAX], exe[NAME_MAX + 1], *text = NULL, *end;
	bool has = false;

	for (int i = 0; i < d->processes && !has; i++)
		has = d->process[i].stepd;
	if (!has && d->dirs &&
		snprintf(path, sizeof(path), "%s/cgroup.procs", d->dir[0].path) < PATH_MAX)
		text = fsio_read(path, MAX_PROCS_FILE, NULL, &(struct errmsg){""});
	for (char *p = text; p && *p && !has; p = end + strspn(end, "\n")) {
		pid_t pid = (pid_t)strtol(p, &end, 10);

		if (end == p)
			break;
		has = proc_uid(pid) == geteuid() && !proc_exe(pid, exe, sizeof(exe)) &&
		      !fnmatch("slurmstepd*", exe, 0);
	}
	free(text);
	return has;
}

/* Takes a job's cgroup into the look at its user. */
static void look_at_job(struct leftovers *l, const struct leftovers_place *p, uid_t uid,
	uint32_t job_id, struct user_look *u, int64_t now)
{
	struct found_tasks d;
	int64_t used;

	if (find_tasks(p->mount, p->node, uid, job_id, "", p->conf, p->meanwhile, &d))
		return;
	if (u->all_ns < 0)
		u->all_ns = read_ns(d.user_usage);
	used = read_ns(d.usage);
	if (has_stepd(&d)) {
		u->running_ns += used > 0 ? used : 0;
	} else if (d.processes) {
		u->left_ns += (int64_t)d.cpu_ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
		see(l, uid, job_id, now);
	}
	find_tasks_free(&d);
}

/* The number after a prefix; -1 where the name is another. */
static int64_t number_after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	char *end;
	unsigned long n;

	if (strncmp(name, prefix, len) || name[len] < '0' || name[len] > '9')
		return -1;
	n = strtoul(name + len, &end, 10);
	return *end || n > UINT32_MAX ? -1 : (int64_t)n;
}

/* Whether the user's leftovers have worked since the last look. */
static void judge(struct leftovers *l, uid_t uid, const struct user_look *u, int64_t now)
{
	int64_t used = u->all_ns >= 0 ? u->all_ns - u->running_ns : u->left_ns;

	for (int i = 0; i < l->count; i++) {
		struct leftover *o = &l->l[i];

		if (o->uid != uid || !o->seen)
			continue;
		/* A job of the user that has ended meanwhile is in this, too: nobody else is. */
		if (o->confirmed && now > o->looked &&
			(double)(used - o->used_ns) > WORKS * (double)(now - o->looked))
			o->worked = now;
		o->used_ns = used;
		o->looked = now;
	}
}

static void look_at_user(struct leftovers *l, const struct leftovers_place *p, const char *path,
	uid_t uid, int64_t now)
{
	struct user_look u = {.all_ns = -1};
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int64_t job_id = number_after(e->d_name, "job_");

		if (job_id > 0)
			look_at_job(l, p, uid, (uint32_t)job_id, &u, now);
	}
	if (dir)
		closedir(dir);
	judge(l, uid, &u, now);
}

void leftovers_look(struct leftovers *l, const struct leftovers_place *p, int64_t now)
{
	char path[2][PATH_MAX], user[PATH_MAX];
	struct dirent *e;
	DIR *dir = NULL;
	int at, kept = 0;

	snprintf(path[0], PATH_MAX, "%s/freezer/slurm_%s", p->mount, p->node);
	snprintf(path[1], PATH_MAX, "%s/freezer/slurm", p->mount);
	for (int i = 0; i < l->count; i++)
		l->l[i].seen = false;
	for (at = 0; at < 2 && !dir; at++)
		dir = opendir(path[at]);
	while (dir && (e = readdir(dir))) {
		int64_t uid = number_after(e->d_name, "uid_");

		if (uid >= 0 && !p->ours(p->arg, (uid_t)uid) &&
			snprintf(user, PATH_MAX, "%s/%s", path[at - 1], e->d_name) < PATH_MAX)
			look_at_user(l, p, user, (uid_t)uid, now);
	}
	if (dir)
		closedir(dir);
	for (int i = 0; i < l->count; i++)
		if (l->l[i].seen)
			l->l[kept++] = l->l[i];
	l->count = kept;
}

uint32_t leftovers_working(const struct leftovers *l, int64_t now)
{
	for (int i = 0; i < l->count; i++)
		if (l->l[i].worked && now - l->l[i].worked < LEFTOVERS_REST_S * NS_PER_S)
			return l->l[i].job_id;
	return 0;
}
