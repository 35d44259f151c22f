/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the jobs' processes: their tasks, their counters, and what stops them. */
#include "poppa/node/jobs_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "common/clock.h"
#include "poppa/hold/proc.h"

/* A program may publish its heartbeat some time after it starts: try often at first. */
#define EAGER_TRIES 15
#define LAZY_EVERY (30 * NS_PER_S)
#define REFRESH_SLOW (60 * NS_PER_MS)
#define REFRESH_MAX (10 * NS_PER_S)
/* The kernel counts processor time in steps of some ms. */
#define CPU_LOOK (500 * NS_PER_MS)
#define BUSY 0.05 /* of one processor */
/* A stop that is not poppad's may be short: look at the task often at first. */
#define LOOK_FIRST_MS 20

static void open_counter(struct jobs *js, struct task *t, int64_t now)
{
	struct errmsg err = {""};

	if (t->counter || now < t->next_try || jobs_wanted_counter(js) == COUNTER_NONE)
		return;
	/* Opening may take long, and the next block waits until the last one is taken. */
	jobs_take_finished(js);
	t->tries++;
	t->next_try = t->tries < EAGER_TRIES ? now : now + LAZY_EVERY;
	if (counter_open(jobs_wanted_counter(js), js->env.conf, t->pid, &t->counter, &err))
		t->counter = NULL;
	else
		js->changed = true;
}

static struct task *find_task(struct job *j, const struct found_process *p)
{
	for (int i = 0; i < j->tasks; i++)
		if (j->task[i].pid == p->pid && j->task[i].starttime == p->starttime)
			return &j->task[i];
	return NULL;
}

/*
 * The state of a task: T also where its cgroup is frozen, because Slurm suspends a job first with a
 * signal and then with the freezer. The lock keeps the shutter from holding the task meanwhile.
 */
static char true_state(struct jobs *js, const struct found_tasks *d, const struct found_process *p)
{
	const struct found_cgroup *dir = &d->dir[p->dir];
	struct proc_stat st = {.state = p->state};

	if (p->state == 'T' || p->state == 'D' || p->state == 'S') {
		bool frozen = freezer_frozen(held_freezer(dir->kind), dir->path);

		if (p->state != 'T' && !frozen)
			return p->state;
		shutter_lock(js->env.shutter);
		if (proc_stat(p->pid, &st))
			st.state = 'X';
		else if (freezer_frozen(held_freezer(dir->kind), dir->path))
			st.state = 'T';
		shutter_unlock(js->env.shutter);
	}
	return st.state;
}

static int take_tasks(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	int64_t now = clock_now();
	int kept = 0;
	cpu_set_t cpus;

	for (int i = 0; i < j->tasks; i++)
		j->task[i].seen = false;
	CPU_ZERO(&cpus);
	for (int i = 0; i < d->processes; i++) {
		const struct found_process *p = &d->process[i];
		struct task *t = find_task(j, p);
		cpu_set_t own;

		if (!p->app)
			continue;
		if (!t) {
			t = realloc(j->task, (j->tasks + 1) * sizeof(*t));
			if (!t)
				return -1;
			j->task = t;
			t = &j->task[j->tasks++];
			*t = (struct task){.pid = p->pid, .starttime = p->starttime};
			js->changed = true;
		}
		t->seen = true;
		t->traced = p->traced;
		t->state = true_state(js, d, p);
		if (!sched_getaffinity(p->pid, sizeof(own), &own))
			CPU_OR(&cpus, &cpus, &own);
	}
	for (int i = 0; i < j->tasks; i++) {
		if (j->task[i].seen)
			j->task[kept++] = j->task[i];
		else
			jobs_discard(js, j->task[i].counter, j->task[i].unit, NULL);
	}
	js->changed |= kept != j->tasks || !CPU_EQUAL(&cpus, &j->cpus);
	j->tasks = kept;
	j->cpus = cpus;
	for (int i = 0; i < j->tasks; i++)
		open_counter(js, &j->task[i], now);
	return 0;
}

static struct freezer *find_freezer(struct job *j, const char *path)
{
	for (int i = 0; i < j->freezers; i++)
		if (!strcmp(j->freezer[i].path, path))
			return &j->freezer[i];
	return NULL;
}

static int take_freezer(struct jobs *js, struct job *j, const struct found_cgroup *dir)
{
	struct freezer *f = find_freezer(j, dir->path);

	if (!f) {
		f = realloc(j->freezer, (j->freezers + 1) * sizeof(*f));
		if (!f)
			return -1;
		j->freezer = f;
		f = &j->freezer[j->freezers];
		*f = (struct freezer){.path = strdup(dir->path)};
		if (!f->path)
			return -1;
		j->freezers++;
		js->changed = true;
	}
	f->seen = true;
	/* The step may have ended, and a new one of the same name has a new cgroup. */
	if (f->unit && pause_settled(f->unit) < 0) {
		jobs_discard(js, NULL, f->unit, NULL);
		f->unit = NULL;
	}
	if (!f->unit)
		f->unit = pause_open_freezer(js->env.held, dir->kind, dir->path);
	return f->unit ? 0 : -1;
}

static int take_process(struct jobs *js, struct job *j, const struct found_process *p)
{
	struct task *t = find_task(j, p);

	if (!t) {
		errno = ENOMEM;
		return -1;
	}
	t->single = true;
	if (!t->unit) {
		t->unit = pause_open_process(js->env.held, t->pid, t->starttime);
		js->changed = true;
	}
	return t->unit ? 0 : -1;
}

static void tell_unpausable(const struct job *j, int error)
{
	if (error == ENOSPC)
		plog_warn("job %u cannot be paused: the jobs here have more than %d tasks that are "
			  "stopped one by one; poppa_pause=freezer stops cgroups as a whole",
			j->reg.job_id, HELD_SLOTS);
	else
		plog_warn("job %u cannot be paused: %s", j->reg.job_id, strerror(error));
}

static void take_units(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	struct found_unit *u = NULL;
	int n = find_tasks_units(d, js->env.settings->pause, &u), kept = 0;
	bool was = j->pausable;

	j->pausable = n >= 0;
	for (int i = 0; i < j->freezers; i++)
		j->freezer[i].seen = false;
	for (int i = 0; i < j->tasks; i++)
		j->task[i].single = false;
	for (int i = 0; i < n; i++) {
		int rc;

		if (u[i].freezer)
			rc = take_freezer(js, j, &d->dir[u[i].index]);
		else
			rc = take_process(js, j, &d->process[u[i].index]);
		/* A task that has ended since it was listed need not be paused. */
		if (!rc || (!u[i].freezer && errno == ESRCH))
			continue;
		j->pausable = false;
		if (errno != ESRCH && !j->told_unpausable) {
			tell_unpausable(j, errno);
			j->told_unpausable = true;
		}
	}
	free(u);
	for (int i = 0; i < j->freezers; i++) {
		if (j->freezer[i].seen) {
			j->freezer[kept++] = j->freezer[i];
		} else {
			jobs_discard(js, NULL, j->freezer[i].unit, NULL);
			free(j->freezer[i].path);
		}
	}
	j->freezers = kept;
	for (int i = 0; i < j->tasks; i++) {
		if (!j->task[i].single && j->task[i].unit) {
			jobs_discard(js, NULL, j->task[i].unit, NULL);
			j->task[i].unit = NULL;
		}
	}
	js->changed |= was != j->pausable;
}

/* Tells new_tasks which cgroups have tasks that are stopped one by one, and their processes. */
static void take_new_tasks(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	const char **dir = calloc(d->dirs + 1, sizeof(*dir));
	pid_t *pid = calloc(d->processes + 1, sizeof(*pid));
	bool *watched = calloc(d->dirs + 1, sizeof(*watched));
	int dirs = 0, pids = 0;

	for (int i = 0; dir && pid && watched && i < d->processes; i++) {
		const struct found_process *p = &d->process[i];
		const struct task *t = p->app ? find_task(j, p) : NULL;

		watched[p->dir] |= t && t->unit;
		pid[pids++] = p->pid;
	}
	for (int i = 0; pids && i < d->dirs; i++)
		if (watched[i])
			dir[dirs++] = d->dir[i].path;
	if (dirs && !j->new_tasks) {
		j->new_tasks = new_tasks_open(js->env.held);
		js->changed = true;
	}
	if (j->new_tasks && !dirs) {
		jobs_discard(js, NULL, NULL, j->new_tasks);
		j->new_tasks = NULL;
	}
	if (j->new_tasks) {
		shutter_lock(js->env.shutter);
		new_tasks_know(j->new_tasks, js->env.conf, dir, dirs, pid, pids);
		shutter_unlock(js->env.shutter);
	}
	free(dir);
	free(pid);
	free(watched);
}

static void take_state(struct jobs *js, struct job *j)
{
	enum job_state was = j->state;
	int stopped = 0;
	bool traced = false;

	for (int i = 0; i < j->tasks; i++) {
		stopped += j->task[i].state == 'T' || j->task[i].state == 't';
		traced |= j->task[i].traced;
	}
	j->state = !j->tasks             ? JOB_WAITING
		   : stopped == j->tasks ? JOB_STOPPED
		   : stopped || traced   ? JOB_PARTLY_STOPPED
					 : JOB_RUNNING;
	if (j->state == JOB_PARTLY_STOPPED && !j->told_partly) {
		plog_info("job %u: somebody has stopped or traces some of its tasks: no shutters "
			  "until they run again",
			j->reg.job_id);
		j->told_partly = true;
	}
	if (was != j->state && (j->state == JOB_STOPPED || j->state == JOB_PARTLY_STOPPED))
		js->look_ms = LOOK_FIRST_MS;
	js->changed |= was != j->state;
}

/* A process that ended between two scans is counted with the shell that waited for it. */
static void take_cpu_time(struct job *j, const struct found_tasks *d)
{
	int64_t now = clock_now(), passed = now - j->cpu_ns, spent;

	if (passed < CPU_LOOK)
		return;
	spent = d->cpu_ticks > j->cpu_ticks ? (int64_t)(d->cpu_ticks - j->cpu_ticks) : 0;
	spent = spent * NS_PER_S / sysconf(_SC_CLK_TCK);
	j->busy = j->cpu_ns && (double)spent > BUSY * (double)passed;
	j->cpu_ticks = d->cpu_ticks;
	j->cpu_ns = now;
}

static void scan_job(struct jobs *js, struct job *j)
{
	struct found_tasks d;
	enum counter_backend backend;

	if (find_tasks(js->env.cluster->cgroup_mount, js->env.cluster->node, j->reg.uid,
		    j->reg.job_id, j->reg.cgroup, js->env.conf, &d)) {
		if (!j->told_unseen)
			plog_warn("job %u: its tasks cannot be looked at for now: %s",
				j->reg.job_id, strerror(errno));
		j->told_unseen = true;
		return;
	}
	if (!take_tasks(js, j, &d)) {
		take_units(js, j, &d);
		take_new_tasks(js, j, &d);
	}
	take_cpu_time(j, &d);
	find_tasks_free(&d);
	take_state(js, j);
	backend = jobs_backend(j);
	if (backend != COUNTER_NONE && backend != j->tally->backend) {
		plog_info("job %u: %d task%s, progress from %s", j->reg.job_id, j->tasks,
			j->tasks == 1 ? "" : "s", counter_backend_name(backend));
		j->tally->backend = backend;
	}
}

void jobs_scan(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next)
		scan_job(js, j);
	jobs_update(js);
}

/* Whether the counter's refresh may begin. Opening a uprobe takes some 25 ms, so a refresh that may
 * open one waits until no block is near, for REFRESH_MAX at most. */
static bool refresh_now(const struct jobs *js, const struct task *t, int64_t now)
{
	return counter_kind(t->counter) != COUNTER_UPROBE || now - t->refreshed > REFRESH_MAX ||
	       shutter_idle_ns(js->env.shutter) > REFRESH_SLOW;
}

void jobs_refresh(struct jobs *js)
{
	int64_t now = clock_now();

	for (struct job *j = js->first; j; j = j->next) {
		for (int i = 0; i < j->tasks; i++) {
			struct task *t = &j->task[i];
			bool ended;

			if (!t->counter || !refresh_now(js, t, now))
				continue;
			t->refreshed = now;
			counter_prepare(t->counter);
			shutter_lock(js->env.shutter);
			ended = counter_refresh(t->counter) && errno == ENODATA;
			shutter_unlock(js->env.shutter);
			if (!ended)
				continue;
			jobs_discard(js, t->counter, NULL, NULL);
			t->counter = NULL;
			t->tries = 0;
			t->next_try = 0;
		}
	}
}

bool jobs_someone_runs_again(const struct jobs *js)
{
	for (const struct job *j = js->first; j; j = j->next) {
		for (int i = 0; i < j->tasks; i++) {
			const struct task *t = &j->task[i];
			struct proc_stat st;

			if ((t->state == 'T' || t->state == 't') && !proc_stat(t->pid, &st) &&
				!strchr("TtD", st.state))
				return true;
		}
	}
	return false;
}
