/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees what jobs that have ended have left running on a node with cgroup v1. */
#include "poppa/node/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"

#define TELL_EVERY (3600 * NS_PER_S)

struct leftover {
	uid_t uid;
	uint32_t job_id;  /* which was seen last */
	int looks;        /* in which it was seen */
	int64_t seen_ns;  /* when it was seen last, CLOCK_MONOTONIC */
	int64_t told_ns;  /* when it was logged; 0 = never */
	int64_t worked;   /* when it was last found to work; 0 = never */
	int64_t used_ns;  /* processor time of the user that no running job has, until */
	int64_t looked;   /* this look; 0 = it is not known */
	uint64_t running; /* the jobs that ran then, as user_look has them */
};

struct leftovers {
	int count;
	struct leftover l[LEFTOVERS_MAX];
};

/* What one look finds of a user. */
struct user_look {
	const struct leftovers_place *place;
	const char *slurm; /* slurm_NODE or slurm, as below each hierarchy */
	uid_t uid;
	int64_t running_ns; /* processor time of their jobs that run */
	uint64_t running;   /* tells one set of such jobs from another */
	uint32_t left;      /* a job that has left something; 0 = none */
};

struct leftovers *leftovers_new(void)
{
	return calloc(1, sizeof(struct leftovers));
}

void leftovers_free(struct leftovers *l)
{
	free(l);
}

/* The processor time of a user's cgroups, or of a job's where job_id is not 0; -1 where the kernel
 * does not count it. */
static int64_t usage_ns(const struct user_look *u, uint32_t job_id)
{
	char path[PATH_MAX], job[32] = "", *text = NULL;
	int64_t ns;

	if (job_id)
		snprintf(job, sizeof(job), "/job_%u", job_id);
	if (snprintf(path, sizeof(path), "%s/cpuacct/%s/uid_%u%s/cpuacct.usage", u->place->mount,
		    u->slurm, (unsigned)u->uid, job) < PATH_MAX)
		text = fsio_read(path, 64, NULL, &(struct errmsg){""});
	ns = text ? strtoll(text, NULL, 10) : -1;
	free(text);
	return ns;
}

/* Whether a cgroup has a process. True where its list is there and cannot be read. */
static bool has_process(const char *dir)
{
	char path[PATH_MAX], c;
	FILE *f;
	bool has;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= PATH_MAX)
		return true;
	f = fopen(path, "re");
	if (!f)
		return errno != ENOENT && errno != ENODEV;
	has = fread(&c, 1, 1, f) == 1;
	fclose(f);
	return has;
}

/* Whether any cgroup below a job's has a process. A user may make more cgroups, and deeper ones,
 * than poppad can look at. Slurm makes few, so that counts as a process, too. */
static bool has_process_below(const char *dir)
{
	char *const roots[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool has = false;
	int dirs = 0;

	for (FTSENT *e = fts ? fts_read(fts) : NULL; e && !has; e = fts_read(fts)) {
		if (e->fts_info == FTS_D && e->fts_level > 0)
			has = ++dirs > LEFTOVERS_DIRS || has_process(e->fts_path);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
			has = e->fts_errno == ENAMETOOLONG;
	}
	if (fts)
		fts_close(fts);
	return has;
}

static void look_at_job(struct user_look *u, const char *dir, uint32_t job_id)
{
	bool runs;

	if (u->place->ours(u->place->arg, u->uid, job_id))
		return;
	runs = has_process(dir);
	if (!runs && !has_process_below(dir))
		return;
	/* A step that has begun meanwhile has its slurmstepd by now; a job may have ended. */
	if (runs || has_process(dir) || access(dir, F_OK)) {
		int64_t used = usage_ns(u, job_id);

		u->running_ns += used > 0 ? used : 0;
		u->running += (uint64_t)job_id * job_id + 1;
	} else {
		u->left = job_id;
	}
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

static struct leftover *known(struct leftovers *l, uid_t uid)
{
	for (int i = 0; i < l->count; i++)
		if (l->l[i].uid == uid)
			return &l->l[i];
	return NULL;
}

/* A new user in the table, in place of one that has never worked where it is full; NULL where all
 * have. */
static struct leftover *add(struct leftovers *l, uid_t uid)
{
	int at = l->count;

	if (at == LEFTOVERS_MAX)
		for (at = 0; at < LEFTOVERS_MAX && l->l[at].worked; at++)
			;
	if (at == LEFTOVERS_MAX)
		return NULL;
	l->count += at == l->count;
	l->l[at] = (struct leftover){.uid = uid};
	return &l->l[at];
}

static void tell(struct leftover *o, int64_t now)
{
	if (o->looks < 2 || (o->told_ns && now - o->told_ns < TELL_EVERY))
		return;
	o->told_ns = now;
	plog_warn(
		"job %u of uid %u has ended and left processes in cgroups below its steps': nobody "
		"is measured while they work; end them",
		o->job_id, (unsigned)o->uid);
}

/* Looks whether what a user has left has worked since the last look. */
static void judge(struct leftover *o, const struct user_look *u, int64_t now)
{
	int64_t all = usage_ns(u, 0), used = all - u->running_ns;
	/* A job's time stays in its user's when it ends. So with no leftover in sight, time counts
	 * only between two looks that have found the same jobs. */
	bool comparable = o->looked && (u->left || o->running == u->running);
	bool works = all < 0 ? u->left != 0
			     : comparable && (double)(used - o->used_ns) >
						     u->place->works * (double)(now - o->looked);

	if (o->looks >= 2 && works)
		o->worked = now;
	o->used_ns = used;
	o->looked = all < 0 ? 0 : now;
	o->running = u->running;
}

static void look_at_user(struct leftovers *l, struct user_look *u, const char *path, int64_t now)
{
	struct leftover *o = known(l, u->uid);
	char job[PATH_MAX];
	struct dirent *e;
	DIR *dir = opendir(path);

	while (dir && (e = readdir(dir))) {
		int64_t job_id = number_after(e->d_name, "job_");

		if (job_id > 0 && snprintf(job, PATH_MAX, "%s/%s", path, e->d_name) < PATH_MAX)
			look_at_job(u, job, (uint32_t)job_id);
	}
	if (dir)
		closedir(dir);
	if (u->left && !o)
		o = add(l, u->uid);
	if (!o)
		return;
	if (u->left) {
		o->job_id = u->left;
		o->seen_ns = now;
		o->looks++;
		tell(o, now);
	}
	judge(o, u, now);
}

static void look_below(
	struct leftovers *l, const struct leftovers_place *p, const char *slurm, int64_t now)
{
	char path[PATH_MAX], user[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	if (snprintf(path, PATH_MAX, "%s/freezer/%s", p->mount, slurm) >= PATH_MAX)
		return;
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		int64_t uid = number_after(e->d_name, "uid_");
		struct user_look u = {.place = p, .slurm = slurm, .uid = (uid_t)uid};

		if (uid < 0 || snprintf(user, PATH_MAX, "%s/%s", path, e->d_name) >= PATH_MAX)
			continue;
		if (!p->ours(p->arg, u.uid, 0) || usage_ns(&u, 0) < 0)
			look_at_user(l, &u, user, now);
	}
	if (dir)
		closedir(dir);
}

static bool is_recent(int64_t when, int64_t now)
{
	return when && now - when < LEFTOVERS_REST_S * NS_PER_S;
}

void leftovers_look(struct leftovers *l, const struct leftovers_place *p, int64_t now)
{
	char own[NAME_MAX + 1];
	int kept = 0;

	snprintf(own, sizeof(own), "slurm_%s", p->node);
	look_below(l, p, own, now);
	look_below(l, p, "slurm", now);
	for (int i = 0; i < l->count; i++)
		if (is_recent(l->l[i].seen_ns, now) || is_recent(l->l[i].worked, now))
			l->l[kept++] = l->l[i];
	l->count = kept;
}

uint32_t leftovers_working(const struct leftovers *l, int64_t now)
{
	for (int i = 0; i < l->count; i++)
		if (is_recent(l->l[i].worked, now))
			return l->l[i].job_id;
	return 0;
}
