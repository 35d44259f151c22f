/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the table of co-located jobs and turns it into plans for the shutter. */
#include "poppa/jobs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "poppa/blockrate.h"
#include "poppa/budget.h"
#include "poppa/counter.h"
#include "poppa/discover.h"
#include "poppa/pace.h"
#include "poppa/proc.h"
#include "poppa/tally.h"

#define CHECKPOINT_EVERY (5 * NS_PER_S)
/* Without a boot id: the wall clock may be set some time after the boot. */
#define CLOCK_SLACK_S 60
#define INTERIM_EVERY (60 * NS_PER_S)
/* A program may publish its heartbeat some time after it starts: ask often at first. */
#define EAGER_TRIES 15
#define LAZY_EVERY (30 * NS_PER_S)
#define REFRESH_SLOW (400 * NS_PER_MS)
#define REFRESH_MAX (10 * NS_PER_S)

/* A stop by others may be short: looked at often at first, ever more rarely, then once a second. */
#define LOOK_FIRST_MS 20
#define LOOK_LAST_MS 640

struct task {
	pid_t pid;
	uint64_t starttime;
	char state;
	bool traced;
	bool seen; /* by the scan under way */
	int tries; /* to open a counter */
	int64_t next_try;
	int64_t refreshed; /* when its counter last looked for threads */
	struct counter *counter;
	struct pause_unit *unit; /* where it is stopped by itself */
};

struct freezer {
	char *path;
	bool seen;
	struct pause_unit *unit;
};

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_STOPPED, JOB_PARTLY_STOPPED };

struct job {
	struct job *next;
	struct registration reg;
	struct tally *tally;
	struct pace pace;
	enum job_state state;
	bool pausable; /* all tasks have a unit */
	bool told_unpausable, told_partly, told_spin;
	bool seen;        /* in RUNDIR/jobs */
	bool was_in_plan; /* since its time was last brought up to date */
	cpu_set_t cpus;
	int tasks, freezers;
	struct task *task;
	struct freezer *freezer;
	struct newborn *newborn; /* where tasks are stopped one by one */
};

/* Counters and units that the shutter's present plan may still use. */
struct garbage {
	struct garbage *next;
	struct counter *counter;
	struct pause_unit *unit;
	struct newborn *newborn;
};

struct jobs {
	struct jobs_env env;
	struct job *first;
	struct garbage *garbage;
	bool changed; /* the plan is out of date */
	bool allowed, active;
	bool blind; /* co-runners would be there, but shutters are off or impossible */
	bool orphans_taken;
	bool told_spool;
	int look_ms; /* to the next look at stopped tasks; 0 = the tick does */
	enum counter_backend counter;
	struct schedule_seed secret; /* of this process, for jobs that came without a seed */
	char boot[64];
	int64_t boot_unix, started_unix, next_checkpoint, next_interim;
	struct schedule schedule; /* as in the last plan, but for the levels */
	struct budget budget;
	bool lengthened; /* told that it is, for the budget's sake */
	uint64_t blocks, shams, absences, windows, outcome[SHUTTER_OUTCOMES];
	int64_t longest_stop_ns, paused_ns, co_ns;
};

static const char *const state_names[] = {"waiting", "running", "stopped", "partly-stopped"};

static int64_t unix_now(void)
{
	return time(NULL);
}

static enum counter_backend wanted_counter(const struct jobs *js)
{
	return js->env.conf->counter_set ? js->env.conf->counter : js->env.settings->counter;
}

struct jobs *jobs_new(const struct jobs_env *env)
{
	struct jobs *js = calloc(1, sizeof(*js));
	struct timespec up;

	if (!js)
		return NULL;
	js->env = *env;
	clock_gettime(CLOCK_BOOTTIME, &up);
	js->started_unix = unix_now();
	js->boot_unix = js->started_unix - up.tv_sec;
	js->counter = wanted_counter(js);
	budget_init(&js->budget);
	if (getrandom(&js->secret, sizeof(js->secret), 0) != sizeof(js->secret)) {
		free(js);
		return NULL;
	}
	proc_boot_id(js->boot, sizeof(js->boot));
	return js;
}

int jobs_count(const struct jobs *js)
{
	int n = 0;

	for (const struct job *j = js->first; j; j = j->next)
		n++;
	return n;
}

static struct job *find(const struct jobs *js, uint32_t job_id, uint32_t restart)
{
	struct job *j = js->first;

	while (j && (j->reg.job_id != job_id || j->reg.restart != restart))
		j = j->next;
	return j;
}

/* --- what the shutter may still use is freed after the next plan is out --- */

static void discard_all(
	struct jobs *js, struct counter *counter, struct pause_unit *unit, struct newborn *newborn)
{
	struct garbage *g;

	if (!counter && !unit && !newborn)
		return;
	js->changed = true;
	g = malloc(sizeof(*g));
	if (!g)
		return; /* rather a leak than a use after free */
	*g = (struct garbage){js->garbage, counter, unit, newborn};
	js->garbage = g;
}

static void discard(struct jobs *js, struct counter *counter, struct pause_unit *unit)
{
	discard_all(js, counter, unit, NULL);
}

static void empty_garbage(struct jobs *js)
{
	while (js->garbage) {
		struct garbage *g = js->garbage;

		js->garbage = g->next;
		counter_close(g->counter);
		pause_close(g->unit);
		newborn_free(g->newborn);
		free(g);
	}
}

/* --- tasks of one job --- */

static void open_counter(struct jobs *js, struct task *t, int64_t now)
{
	struct errmsg err = {""};

	if (t->counter || now < t->next_try || wanted_counter(js) == COUNTER_NONE)
		return;
	t->tries++;
	t->next_try = t->tries < EAGER_TRIES ? now : now + LAZY_EVERY;
	if (!counter_open(wanted_counter(js), js->env.conf, t->pid, &t->counter, &err)) {
		js->changed = true;
		return;
	}
	t->counter = NULL;
}

static struct task *find_task(struct job *j, const struct discover_process *p)
{
	for (int i = 0; i < j->tasks; i++)
		if (j->task[i].pid == p->pid && j->task[i].starttime == p->starttime)
			return &j->task[i];
	return NULL;
}

/*
 * The state of a task, T also where its cgroup is frozen: Slurm suspends a job first with a signal
 * and then with the freezer. What our own shutter holds at this very moment does not count.
 */
static char true_state(struct jobs *js, const struct discovery *d, const struct discover_process *p)
{
	const struct discover_dir *dir = &d->dir[p->dir];
	struct proc_stat st = {.state = p->state};

	if (p->state == 'T' || p->state == 'D' || p->state == 'S') {
		bool frozen = held_frozen(dir->kind, dir->path);

		if (p->state != 'T' && !frozen)
			return p->state;
		shutter_lock(js->env.shutter);
		if (proc_stat(p->pid, &st))
			st.state = 'X';
		else if (held_frozen(dir->kind, dir->path))
			st.state = 'T';
		shutter_unlock(js->env.shutter);
	}
	return st.state;
}

static int take_tasks(struct jobs *js, struct job *j, const struct discovery *d)
{
	int64_t now = shutter_now();
	int kept = 0;
	cpu_set_t cpus;

	for (int i = 0; i < j->tasks; i++)
		j->task[i].seen = false;
	CPU_ZERO(&cpus);
	for (int i = 0; i < d->processes; i++) {
		const struct discover_process *p = &d->process[i];
		struct task *t = p->app ? find_task(j, p) : NULL;
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
			discard(js, j->task[i].counter, j->task[i].unit);
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

static int take_freezer(struct jobs *js, struct job *j, const struct discover_dir *dir)
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
	/* A step of the same name may have come after it: a cgroup of its own. */
	if (f->unit && pause_settled(f->unit) < 0) {
		discard(js, NULL, f->unit);
		f->unit = NULL;
	}
	if (!f->unit)
		f->unit = pause_open_freezer(js->env.held, dir->kind, dir->path);
	return f->unit ? 0 : -1;
}

static int take_process(struct jobs *js, struct job *j, const struct discover_process *p)
{
	struct task *t = find_task(j, p);

	if (!t) {
		errno = ENOMEM;
		return -1;
	}
	if (!t->unit) {
		t->unit = pause_open_process(js->env.held, t->pid, t->starttime);
		js->changed = true;
	}
	return t->unit ? 0 : -1;
}

static void take_units(struct jobs *js, struct job *j, const struct discovery *d)
{
	struct discover_unit *u = NULL;
	int n = discover_units(d, js->env.settings->pause, &u), kept = 0;
	bool was = j->pausable;

	j->pausable = n >= 0;
	for (int i = 0; i < j->freezers; i++)
		j->freezer[i].seen = false;
	for (int i = 0; i < j->tasks; i++)
		j->task[i].seen = false; /* here: has a unit of its own */
	for (int i = 0; i < n; i++) {
		int rc;

		if (u[i].freezer) {
			rc = take_freezer(js, j, &d->dir[u[i].index]);
		} else {
			struct task *t = find_task(j, &d->process[u[i].index]);

			if (t)
				t->seen = true;
			rc = take_process(js, j, &d->process[u[i].index]);
		}
		/* One of many short tasks has ended since it was listed: nothing to pause. */
		if (!rc || (!u[i].freezer && errno == ESRCH))
			continue;
		j->pausable = false;
		if (errno != ESRCH && !j->told_unpausable) {
			plog_warn("job %u cannot be paused: %s", j->reg.job_id, strerror(errno));
			j->told_unpausable = true;
		}
	}
	free(u);
	for (int i = 0; i < j->freezers; i++) {
		if (j->freezer[i].seen) {
			j->freezer[kept++] = j->freezer[i];
		} else {
			discard(js, NULL, j->freezer[i].unit);
			free(j->freezer[i].path);
		}
	}
	j->freezers = kept;
	for (int i = 0; i < j->tasks; i++) {
		if (!j->task[i].seen && j->task[i].unit) {
			discard(js, NULL, j->task[i].unit);
			j->task[i].unit = NULL;
		}
	}
	js->changed |= was != j->pausable;
}

/* Who is in the cgroups whose tasks are stopped one by one. */
static void take_newborn(struct jobs *js, struct job *j, const struct discovery *d)
{
	const char **dir = calloc(d->dirs + 1, sizeof(*dir));
	pid_t *pid = calloc(d->processes + 1, sizeof(*pid));
	bool *watched = calloc(d->dirs + 1, sizeof(*watched));
	int dirs = 0, pids = 0;

	for (int i = 0; dir && pid && watched && i < d->processes; i++) {
		const struct discover_process *p = &d->process[i];
		const struct task *t = p->app ? find_task(j, p) : NULL;

		watched[p->dir] |= t && t->unit;
		pid[pids++] = p->pid;
	}
	for (int i = 0; pids && i < d->dirs; i++)
		if (watched[i])
			dir[dirs++] = d->dir[i].path;
	if (dirs && !j->newborn) {
		j->newborn = newborn_new(js->env.held, js->env.conf);
		js->changed = true;
	}
	if (j->newborn && !dirs) {
		discard_all(js, NULL, NULL, j->newborn);
		j->newborn = NULL;
	}
	if (j->newborn) {
		shutter_lock(js->env.shutter);
		newborn_know(j->newborn, dir, dirs, pid, pids);
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

/* Where several backends have a signal, one of them counts: their units differ. */
static enum counter_backend backend_of(const struct job *j)
{
	static const enum counter_backend order[] = {
		COUNTER_HEARTBEAT, COUNTER_PERF, COUNTER_PAPI, COUNTER_UPROBE, COUNTER_REPLAY};

	for (size_t n = 0; n < sizeof(order) / sizeof(order[0]); n++)
		for (int i = 0; i < j->tasks; i++)
			if (j->task[i].counter && counter_kind(j->task[i].counter) == order[n])
				return order[n];
	return COUNTER_NONE;
}

static void scan_job(struct jobs *js, struct job *j)
{
	struct discovery d;
	enum counter_backend backend;

	if (discover_job(js->env.cluster->cgroup_mount, js->env.cluster->node, j->reg.uid,
		    j->reg.job_id, js->env.conf, &d))
		return;
	if (!take_tasks(js, j, &d)) {
		take_units(js, j, &d);
		take_newborn(js, j, &d);
	}
	discover_free(&d);
	take_state(js, j);
	backend = backend_of(j);
	if (backend != COUNTER_NONE && backend != j->tally->backend) {
		plog_info("job %u: %d task%s, progress from %s", j->reg.job_id, j->tasks,
			j->tasks == 1 ? "" : "s", counter_backend_name(backend));
		j->tally->backend = backend;
	}
}

/* --- the plan --- */

static int level_of(const struct jobs *js, const struct job *j)
{
	int level = js->env.settings->adaptive ? pace_level(&j->pace) : 0;

	return level > js->budget.level ? level : js->budget.level;
}

static void plan_job(
	const struct jobs *js, struct shutter_plan *p, const struct job *j, const cpu_set_t *busy)
{
	struct schedule_job *turns = &p->schedule.job[p->schedule.jobs++];
	struct shutter_job *out = &p->job[p->jobs++];
	enum counter_backend backend = backend_of(j);
	cpu_set_t all;

	out->job_id = j->reg.job_id;
	out->restart = j->reg.restart;
	out->first_task = p->tasks;
	out->first_unit = p->units;
	out->newborn = j->newborn;
	for (int i = 0; i < j->freezers; i++)
		p->unit[p->units++] = (struct shutter_unit){j->freezer[i].unit, -1, false};
	for (int i = 0; i < j->tasks; i++) {
		const struct task *t = &j->task[i];
		bool counted = t->counter && counter_kind(t->counter) == backend;

		if (t->unit)
			p->unit[p->units++] =
				(struct shutter_unit){t->unit, counted ? p->tasks : -1, true};
		if (counted)
			p->task[p->tasks++] = (struct shutter_task){t->counter, t->pid};
	}
	out->tasks = p->tasks - out->first_task;
	out->units = p->units - out->first_unit;
	turns->measured = out->tasks > 0;
	turns->level = level_of(js, j);
	turns->seed = schedule_seed(
		j->reg.seeded ? &j->reg.seed : &js->secret, out->job_id, out->restart);
	/* Idle processors are best, else those of the jobs that are not measured. */
	if (sched_getaffinity(getpid(), sizeof(all), &all))
		return;
	CPU_AND(&out->elsewhere, &all, busy);
	CPU_XOR(&out->elsewhere, &all, &out->elsewhere);
	out->here = out->elsewhere;
	if (!CPU_COUNT(&out->elsewhere)) {
		CPU_AND(&out->here, &all, &j->cpus);
		CPU_XOR(&out->elsewhere, &all, &out->here);
	}
}

static bool in_plan(const struct job *j)
{
	return j->state == JOB_RUNNING || j->state == JOB_PARTLY_STOPPED;
}

/* NULL where there is nothing to shutter. *blind is set where co-runners would be there, but
 * shutters are off or impossible. */
static struct shutter_plan *make_plan(const struct jobs *js, bool *blind)
{
	int jobs = 0, tasks = 0, units = 0;
	struct shutter_plan *p;
	cpu_set_t busy;

	*blind = false;
	CPU_ZERO(&busy);
	for (const struct job *j = js->first; j; j = j->next) {
		if (!in_plan(j))
			continue;
		jobs++;
		tasks += j->tasks;
		units += j->tasks + j->freezers;
		CPU_OR(&busy, &busy, &j->cpus);
		*blind |= !j->pausable || j->state == JOB_PARTLY_STOPPED;
	}
	*blind |= !js->allowed || !js->env.settings->period_ns || jobs > SHUTTER_MAX_JOBS;
	if (jobs < 2 || *blind)
		return NULL;
	p = shutter_plan_new(tasks, units, js->env.settings->windows);
	if (!p) {
		*blind = true;
		return NULL;
	}
	p->schedule.period_ns = budget_period(jobs, js->env.settings->shutter_ns,
		js->env.settings->period_ns, js->env.settings->overhead_max);
	p->schedule.block_ns = SHUTTER_REGIONS * js->env.settings->shutter_ns;
	p->schedule.spread = SCHEDULE_SPREAD;
	p->schedule.sham_every = SCHEDULE_SHAM_EVERY;
	p->schedule.absent_every = SCHEDULE_ABSENT_EVERY;
	p->shutter_ns = js->env.settings->shutter_ns;
	p->whole = *js->env.log != NULL;
	p->units = 0;
	p->tasks = 0;
	for (const struct job *j = js->first; j; j = j->next)
		if (in_plan(j))
			plan_job(js, p, j, &busy);
	return p;
}

/* Zero progress in some regions and not in others, and it stands: it was stopped on the way. */
static bool lone_was_stopped(
	const struct jobs *js, const struct shutter_plan *p, const struct est_block *b)
{
	double before = 0, during = 0, after = 0;
	const struct job *j = find(js, p->job[p->lone].job_id, p->job[p->lone].restart);

	for (int k = 0; k < b->before_n; k++)
		before += b->before[k].progress;
	for (int k = 0; k < b->during_n; k++)
		during += b->during[k].progress;
	for (int k = 0; k < b->after_n; k++)
		after += b->after[k].progress;
	if (before > 0 && during > 0 && after > 0)
		return false;
	for (int i = 0; j && i < j->tasks; i++) {
		struct proc_stat st;

		if (!proc_stat(j->task[i].pid, &st) && (st.state == 'T' || st.state == 't'))
			return true;
	}
	return false;
}

static void take_pace(struct jobs *js, struct job *j, const struct est_block *b)
{
	int enough = 2 * js->env.settings->min_blocks;
	struct est_result now;

	tally_result(j->tally, js->env.settings->method, js->env.settings->min_blocks, &now);
	if (pace_add(&j->pace, b, (now.hi - now.lo) / 2, now.used, (uint64_t)enough))
		plog_debug("job %u: another phase", j->reg.job_id);
}

/* What the co-runners cost each task, where waiting in a loop would count as progress. */
static void take_tasks_apart(struct job *j, const struct shutter_plan *p)
{
	int n = p->job[p->lone].tasks;
	uint64_t id[SPIN_MAX_TASKS];
	double log_ratio[SPIN_MAX_TASKS];
	const struct spin_result *r = &j->tally->spin_result;

	if (j->tally->backend == COUNTER_HEARTBEAT || n < 2)
		return;
	if (n > SPIN_MAX_TASKS)
		n = SPIN_MAX_TASKS;
	for (int i = 0; i < n; i++) {
		struct est_block b;
		double co, solo;

		shutter_plan_task(p, i, &b);
		id[i] = (uint64_t)p->task[p->job[p->lone].first_task + i].pid;
		log_ratio[i] = blockrate(&b, &co, &solo) ? log(solo / co) : NAN;
	}
	tally_tasks(j->tally, n, id, log_ratio);
	if (r->verdict < SPIN_UNEVEN || j->told_spin)
		return;
	j->told_spin = true;
	plog_info("job %u: its co-runners cost its tasks from %.0f %% to %.0f %%: if some wait for "
		  "others in a loop, its degradation reads too low; poppa-heartbeat-mpi(7) mends "
		  "that",
		j->reg.job_id, 100 * r->least, 100 * r->most);
}

/* What the absent job costs each of the others. */
static void take_absence(struct jobs *js, const struct shutter_plan *p)
{
	for (int i = 0; i < p->jobs; i++) {
		struct job *j = find(js, p->job[i].job_id, p->job[i].restart);
		struct est_block b;

		if (i == p->lone || !j || !p->job[i].tasks)
			continue;
		shutter_plan_block_of(p, i, &b);
		attribution_block(&j->tally->attribution, p->job[p->lone].job_id, &b);
	}
	js->absences++;
}

static void take_block(struct jobs *js, struct shutter_plan *p)
{
	struct est_block b;
	struct job *lone;

	for (int i = 0; i < p->jobs; i++) {
		struct job *j = find(js, p->job[i].job_id, p->job[i].restart);

		if (j && p->paused_ns[i])
			tally_paused(j->tally, p->paused_ns[i]);
		js->paused_ns += p->paused_ns[i];
	}
	if (p->stop_ns > js->longest_stop_ns)
		js->longest_stop_ns = p->stop_ns;
	if (p->outcome == SHUTTER_OK && p->kind != SHUTTER_ABSENT) {
		shutter_plan_block(p, &b);
		if (lone_was_stopped(js, p, &b))
			p->outcome = SHUTTER_STOPPED;
	}
	js->blocks++;
	js->outcome[p->outcome]++;
	if (p->outcome == SHUTTER_OVERDUE)
		plog_warn("the guard resumed what a shutter of %.1f ms held: block dropped",
			(double)p->stop_ns / NS_PER_MS);
	if (p->outcome == SHUTTER_OK && p->kind == SHUTTER_SHAM) {
		lone = find(js, p->job[p->lone].job_id, p->job[p->lone].restart);
		if (lone)
			tally_sham(lone->tally, &b);
		js->shams++;
	} else if (p->outcome == SHUTTER_OK && p->kind == SHUTTER_ABSENT) {
		take_absence(js, p);
	} else if (p->outcome == SHUTTER_OK) {
		lone = find(js, p->job[p->lone].job_id, p->job[p->lone].restart);
		if (lone) {
			tally_block(lone->tally, &b);
			take_tasks_apart(lone, p);
			take_pace(js, lone, &b);
			p->schedule.job[p->lone].level = level_of(js, lone);
		}
		for (int r = 0; r < SHUTTER_REGIONS; r++)
			js->windows += p->boundaries[r] ? p->boundaries[r] - 1 : 0;
		if (*js->env.log && p->whole)
			shutter_plan_log(p, *js->env.log);
	}
	p->finished = false;
}

/* Brings the time of all jobs up to date and sets what their time counts as from now on. */
static void account(struct jobs *js)
{
	int64_t now = shutter_now();
	int running = 0;

	for (const struct job *j = js->first; j; j = j->next)
		running += in_plan(j);
	for (struct job *j = js->first; j; j = j->next) {
		int64_t co = j->tally->mode_ns[TALLY_CO];

		tally_advance(j->tally, now,
			!in_plan(j)   ? TALLY_ABSENT
			: running < 2 ? TALLY_SOLO
			: js->blind   ? TALLY_UNMEASURED
				      : TALLY_CO);
		co = j->tally->mode_ns[TALLY_CO] - co;
		js->co_ns += co;
		for (const struct job *o = js->first; o; o = o->next)
			if (o != j && o->was_in_plan)
				attribution_together(&j->tally->attribution, o->reg.job_id, co);
		for (const struct job *o = js->first; o && in_plan(j); o = o->next)
			if (o != j && in_plan(o))
				tally_partner(j->tally, o->reg.job_id);
	}
	for (struct job *j = js->first; j; j = j->next)
		j->was_in_plan = in_plan(j);
}

/* One line when the period begins to be longer than its setting, and one when it is so no more. */
static void tell_period(struct jobs *js)
{
	int64_t slot = (js->schedule.period_ns + js->schedule.block_ns) << js->budget.level;
	int64_t set = js->env.settings->period_ns, now = slot - js->schedule.block_ns;
	bool lengthened = now > set;

	if (lengthened == js->lengthened)
		return;
	js->lengthened = lengthened;
	if (lengthened)
		plog_info("the period is %.0f ms for now instead of %.0f ms: more shutters would "
			  "cost more than poppa_overhead_max=%.6g%%",
			(double)now / NS_PER_MS, (double)set / NS_PER_MS,
			100 * js->env.settings->overhead_max);
	else
		plog_info("the period is %.0f ms again", (double)now / NS_PER_MS);
}

/* Compares what shutters cost with poppa_overhead_max. */
static void look_at_cost(struct jobs *js)
{
	struct budget_spent spent = {.now_ns = shutter_now(),
		.held_ns = js->paused_ns,
		.co_ns = js->co_ns,
		.cores = (int)sysconf(_SC_NPROCESSORS_ONLN)};
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	spent.cpu_ns = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
	if (budget_look(&js->budget, &spent, js->env.settings->overhead_max))
		js->changed = true;
}

/* A new plan where something has changed; the time of all jobs. */
static void update(struct jobs *js)
{
	struct shutter_plan *next, *old;

	if (js->changed) {
		next = make_plan(js, &js->blind);
		js->active = next != NULL;
		if (next) {
			js->schedule = next->schedule;
			tell_period(js);
		}
		old = shutter_publish(js->env.shutter, next);
		if (old && old->finished)
			take_block(js, old);
		shutter_plan_free(old);
		empty_garbage(js);
		js->changed = false;
	}
	account(js);
}

static void scan(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next)
		scan_job(js, j);
	update(js);
}

/* --- coming and going --- */

/* From the registration to our start. */
static int64_t unseen_s(const struct jobs *js, const struct registration *r)
{
	int64_t s = r->uptime >= 0 && !strcmp(r->boot_id, js->boot)
			    ? js->started_unix - js->boot_unix - r->uptime
			    : js->started_unix - r->registered;

	return s > 0 ? s : 0;
}

static struct tally *restore(struct jobs *js, const struct registration *r)
{
	struct errmsg err = {""};
	json_t *state = spool_restore(js->env.spool, r->job_id, r->restart, &err);
	struct tally *t = NULL;

	if (state) {
		t = tally_load(state, js->boot, shutter_now(), unix_now());
		json_decref(state);
		/* The checkpoint of a job id that was used before is not ours. */
		if (t && (t->start_unix != r->registered || t->uid != r->uid)) {
			tally_free(t);
			t = NULL;
		} else if (!t) {
			plog_warn(
				"job %u: its checkpoint is unreadable and is not used", r->job_id);
		}
	} else if (errno != ENOENT) {
		plog_warn("job %u: no checkpoint: %s", r->job_id, err.text);
	}
	if (!t) {
		t = tally_new(r->job_id, r->restart, r->uid, r->registered, shutter_now());
		if (t)
			tally_unmeasured(t, unseen_s(js, r) * NS_PER_S);
	}
	return t;
}

static struct job *add(struct jobs *js, uint32_t job_id, uint32_t restart, bool ended)
{
	struct job *j = calloc(1, sizeof(*j)), **tail = &js->first;
	struct errmsg err = {""};

	if (!j)
		return NULL;
	if (registry_read(js->env.dir, job_id, restart, ended, &j->reg, &err)) {
		if (errno != ENOENT)
			plog_error("%s", err.text);
		free(j);
		return NULL;
	}
	j->tally = restore(js, &j->reg);
	if (!j->tally) {
		free(j);
		return NULL;
	}
	j->tally->lane = registry_lane(&j->reg, js->env.settings->stripe_lanes);
	j->tally->cores = j->reg.core_count;
	while (*tail)
		tail = &(*tail)->next;
	*tail = j;
	js->changed = true;
	if (!ended)
		plog_info("job %u of uid %u: co-located here, lane %d", job_id, j->reg.uid,
			j->tally->lane);
	return j;
}

static void free_job(struct jobs *js, struct job *j)
{
	struct job **at = &js->first;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	for (int i = 0; i < j->tasks; i++)
		discard(js, j->task[i].counter, j->task[i].unit);
	for (int i = 0; i < j->freezers; i++) {
		discard(js, NULL, j->freezer[i].unit);
		free(j->freezer[i].path);
	}
	discard_all(js, NULL, NULL, j->newborn);
	js->changed = true;
	free(j->task);
	free(j->freezer);
	tally_free(j->tally);
	free(j);
}

/* The final record is safe in the spool before anything else of the job goes. */
static bool finish(struct jobs *js, struct job *j)
{
	char path[PATH_MAX + 64], degradation[32] = "unknown";
	struct ledger_record r;
	struct errmsg err = {""};

	tally_advance(j->tally, shutter_now(), TALLY_ABSENT);
	tally_record(j->tally, js->env.settings, js->env.cluster->cluster, js->env.cluster->node,
		true, unix_now(), &r);
	if (spool_record(js->env.spool, &r, &err)) {
		if (!js->told_spool)
			plog_error("the spool takes no record, trying again: %s", err.text);
		js->told_spool = true;
		return false;
	}
	js->told_spool = false;
	spool_forget(js->env.spool, j->reg.job_id, j->reg.restart);
	snprintf(path, sizeof(path), "%s/%u.%u" REGISTRY_ENDED, js->env.dir, j->reg.job_id,
		j->reg.restart);
	unlink(path);
	path[strlen(path) - strlen(REGISTRY_ENDED)] = '\0';
	unlink(path);
	sender_wake(js->env.sender);
	if (isfinite(r.degradation))
		snprintf(degradation, sizeof(degradation), "%.4f", r.degradation);
	plog_info("job %u has ended: degradation %s, %llu of %llu blocks used, %.1f s co-located, "
		  "%.3f s stopped",
		r.job_id, degradation, (unsigned long long)r.used, (unsigned long long)r.blocks,
		(double)r.co_ns / NS_PER_S, (double)r.paused_ns / NS_PER_S);
	return true;
}

struct ended {
	uint32_t job_id, restart;
};

struct listing {
	struct jobs *js;
	int count;
	struct ended *ended;
};

static bool of_this_boot(const struct jobs *js, const struct registration *r)
{
	return *r->boot_id ? !strcmp(r->boot_id, js->boot)
			   : r->registered >= js->boot_unix - CLOCK_SLACK_S;
}

static void one_file(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct listing *l = arg;
	struct job *j = find(l->js, job_id, restart);

	if (ended) {
		struct ended *more = realloc(l->ended, (l->count + 1) * sizeof(*more));

		if (more) {
			l->ended = more;
			l->ended[l->count++] = (struct ended){job_id, restart};
		}
		return;
	}
	if (!j)
		j = add(l->js, job_id, restart, false);
	/* Nothing of a job outlives a boot: its epilog never ran. */
	if (j)
		j->seen = of_this_boot(l->js, &j->reg);
}

/* A checkpoint without a registration: the node was restarted, or the file was taken away. */
static void orphan(uint32_t job_id, uint32_t restart, void *arg)
{
	struct jobs *js = arg;
	struct errmsg err = {""};
	json_t *state;
	struct job *j;

	if (find(js, job_id, restart))
		return;
	j = calloc(1, sizeof(*j));
	state = spool_restore(js->env.spool, job_id, restart, &err);
	if (j && state) {
		j->reg.job_id = job_id;
		j->reg.restart = restart;
		j->tally = tally_load(state, js->boot, shutter_now(), unix_now());
	}
	json_decref(state);
	if (!j || !j->tally) {
		plog_warn("the checkpoint of job %u is unreadable and is dropped", job_id);
		spool_forget(js->env.spool, job_id, restart);
		free(j);
		return;
	}
	j->reg.uid = j->tally->uid;
	j->next = js->first;
	js->first = j;
}

void jobs_sync(struct jobs *js)
{
	struct listing l = {.js = js};
	struct errmsg err = {""};

	for (struct job *j = js->first; j; j = j->next)
		j->seen = false;
	if (registry_scan(js->env.dir, one_file, &l, &err)) {
		plog_error("%s", err.text);
		free(l.ended);
		return;
	}
	for (int i = 0; i < l.count; i++)
		if (!find(js, l.ended[i].job_id, l.ended[i].restart))
			add(js, l.ended[i].job_id, l.ended[i].restart, true);
	free(l.ended);
	if (!js->orphans_taken)
		spool_each(js->env.spool, orphan, js);
	js->orphans_taken = true;
	/* A job that was requeued has one run at a time, the last. */
	for (struct job *j = js->first; j; j = j->next)
		for (const struct job *o = js->first; o; o = o->next)
			if (o->reg.job_id == j->reg.job_id && o->reg.restart > j->reg.restart)
				j->seen = false;
	scan(js);
	for (struct job *j = js->first, *next; j; j = next) {
		next = j->next;
		if (!j->seen && finish(js, j))
			free_job(js, j);
	}
	update(js);
}

static void checkpoint(struct jobs *js)
{
	struct errmsg err = {""};

	for (const struct job *j = js->first; j; j = j->next) {
		json_t *state = tally_save(j->tally, js->boot, unix_now());
		int rc =
			spool_checkpoint(js->env.spool, j->reg.job_id, j->reg.restart, state, &err);

		json_decref(state);
		if (rc) {
			if (!js->told_spool)
				plog_error("no checkpoints: %s", err.text);
			js->told_spool = true;
			return;
		}
	}
	if (js->first)
		js->told_spool = false;
}

static void interim(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		struct ledger_record r;

		tally_record(j->tally, js->env.settings, js->env.cluster->cluster,
			js->env.cluster->node, false, unix_now(), &r);
		sender_interim(js->env.sender, &r);
	}
}

/* A uprobe is opened in some 25 ms and closed in up to 340: between two blocks, or if it has waited
 * for long enough. */
static bool refresh_now(const struct jobs *js, const struct task *t, int64_t now)
{
	return counter_kind(t->counter) != COUNTER_UPROBE || now - t->refreshed > REFRESH_MAX ||
	       shutter_idle_ns(js->env.shutter) > REFRESH_SLOW;
}

/* Threads come and go, and a program may give up its signal, as after exec(). */
static void refresh(struct jobs *js)
{
	int64_t now = shutter_now();

	for (struct job *j = js->first; j; j = j->next) {
		for (int i = 0; i < j->tasks; i++) {
			struct task *t = &j->task[i];
			bool ended;

			if (!t->counter || !refresh_now(js, t, now))
				continue;
			t->refreshed = now;
			shutter_lock(js->env.shutter);
			ended = counter_refresh(t->counter) && errno == ENODATA;
			shutter_unlock(js->env.shutter);
			if (!ended)
				continue;
			discard(js, t->counter, NULL);
			t->counter = NULL;
			t->tries = 0;
			t->next_try = 0;
		}
	}
}

void jobs_tick(struct jobs *js)
{
	int64_t now = shutter_now();
	struct errmsg err = {""};
	bool waiting = false;

	refresh(js);
	look_at_cost(js);
	scan(js);
	if (now >= js->next_checkpoint) {
		checkpoint(js);
		js->next_checkpoint = now + CHECKPOINT_EVERY;
		if (*js->env.log && shutterlog_flush(*js->env.log, &err)) {
			plog_error("the shutter log ends here: %s", err.text);
			shutterlog_close(*js->env.log);
			*js->env.log = NULL;
		}
	}
	if (!js->next_interim) {
		js->next_interim = now + INTERIM_EVERY;
	} else if (now >= js->next_interim) {
		interim(js);
		js->next_interim = now + INTERIM_EVERY;
	}
	for (const struct job *j = js->first; j; j = j->next)
		waiting |= !j->seen;
	if (waiting)
		jobs_sync(js); /* a final record that the spool did not take */
}

/* One that was stopped at the last scan runs again. */
static bool someone_runs_again(const struct jobs *js)
{
	for (const struct job *j = js->first; j; j = j->next) {
		for (int i = 0; i < j->tasks; i++) {
			const struct task *t = &j->task[i];
			struct proc_stat st;

			if ((t->state != 'T' && t->state != 't') || proc_stat(t->pid, &st))
				continue;
			if (!strchr("TtD", st.state))
				return true;
		}
	}
	return false;
}

int jobs_look_ms(const struct jobs *js)
{
	return js->look_ms;
}

void jobs_look(struct jobs *js)
{
	bool again = someone_runs_again(js);

	js->look_ms = again || js->look_ms >= LOOK_LAST_MS ? 0 : js->look_ms * 2;
	if (again)
		scan(js);
}

void jobs_block(struct jobs *js)
{
	struct shutter_plan *p = shutter_take(js->env.shutter);
	enum shutter_outcome outcome;
	bool changed;

	if (!p)
		return;
	take_block(js, p);
	outcome = p->outcome;
	changed = p->changed;
	shutter_done(js->env.shutter);
	if (outcome == SHUTTER_COUNTER)
		refresh(js);
	if (changed || (outcome != SHUTTER_OK && outcome != SHUTTER_OVERDUE))
		scan(js);
}

void jobs_reconfigured(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		j->tally->lane = registry_lane(&j->reg, js->env.settings->stripe_lanes);
		for (int i = 0; i < j->tasks; i++) {
			struct task *t = &j->task[i];

			t->tries = 0;
			t->next_try = 0;
			if (js->counter != wanted_counter(js)) {
				discard(js, t->counter, NULL);
				t->counter = NULL;
			}
		}
	}
	js->counter = wanted_counter(js);
	/* What other settings cost says nothing of these. */
	budget_init(&js->budget);
	js->changed = true;
	scan(js);
}

void jobs_allow(struct jobs *js, bool allowed)
{
	if (js->allowed == allowed)
		return;
	js->allowed = allowed;
	js->changed = true;
	update(js);
}

void jobs_free(struct jobs *js)
{
	struct shutter_plan *old;

	if (!js)
		return;
	old = shutter_publish(js->env.shutter, NULL);
	if (old && old->finished)
		take_block(js, old);
	shutter_plan_free(old);
	account(js);
	checkpoint(js);
	while (js->first)
		free_job(js, js->first);
	empty_garbage(js);
	free(js);
}

/* --- for the eye --- */

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / NS_PER_S);
}

static const char *pause_of(const struct job *j)
{
	int alone = 0;

	for (int i = 0; i < j->tasks; i++)
		alone += j->task[i].unit != NULL;
	return alone && j->freezers ? "mixed"
	       : alone              ? "sigstop"
	       : j->freezers        ? "freezer"
				    : "none";
}

/* Mean time between two blocks of a job, s. */
static json_t *block_every(const struct jobs *js, int level)
{
	struct schedule s = js->schedule;

	for (int i = 0; i < s.jobs; i++) {
		s.job[i].level = level;
		if (js->active && schedule_interval(&s, i))
			return seconds(schedule_interval(&s, i));
	}
	return json_null();
}

/* Who of several co-runners cost how much; empty while it is not known. */
static json_t *attribution_json(const struct jobs *js, const struct tally *t)
{
	struct attribution_share share[RECORD_MAX_PARTNERS];
	int n = tally_shares(t, js->env.settings, share);
	json_t *list = json_array();

	for (int i = 0; list && i < n; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:f, s:[f,f]}", "job", (json_int_t)share[i].job_id,
				      "degradation", share[i].degradation, "ci95", share[i].lo,
				      share[i].hi));
	return list;
}

static json_t *job_status(const struct jobs *js, const struct job *j)
{
	const struct poppa_settings *s = js->env.settings;
	const struct tally *t = j->tally;
	json_t *partners = json_array(), *ci = json_null();
	struct est_result now, thesis;
	double sham, sham_error;
	int counted = 0, level = level_of(js, j);
	json_t *status;

	tally_result(t, s->method, s->min_blocks, &now);
	tally_result(t, ESTIMATE_THESIS, s->min_blocks, &thesis);
	for (int i = 0; i < t->partner_count; i++)
		json_array_append_new(partners, json_integer(t->partner[i]));
	for (int i = 0; i < j->tasks; i++)
		counted += j->task[i].counter != NULL;
	if (isfinite(now.lo) && isfinite(now.hi))
		ci = json_pack("[f,f]", now.lo, now.hi);
	sham = sham_degradation(&t->sham, &sham_error);
	status = json_pack("{s:I, s:I, s:s, s:I, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:I, s:I, "
			   "s:o, s:o, s:o, s:o, s:o, s:s, s:s}",
		"job", (json_int_t)t->job_id, "restart", (json_int_t)t->restart, "user",
		j->reg.user, "uid", (json_int_t)t->uid, "lane", t->lane, "cores", t->cores, "tasks",
		j->tasks, "counted_tasks", counted, "backend", counter_backend_name(t->backend),
		"degradation", real(now.degradation), "ci95", ci, "thesis_degradation",
		real(thesis.degradation), "blocks", (json_int_t)now.blocks, "used",
		(json_int_t)now.used, "co_s", seconds(tally_co_ns(t)), "solo_s",
		seconds(t->mode_ns[TALLY_SOLO]), "paused_s", seconds(t->paused_ns), "unmeasured_s",
		seconds(t->mode_ns[TALLY_UNMEASURED]), "partners", partners, "pause", pause_of(j),
		"state", state_names[j->state]);
	if (status)
		json_object_update_new(status,
			json_pack("{s:i, s:o, s:b, s:{s:I, s:o, s:o}}", "level", level,
				"block_every_s", block_every(js, level), "shutter_sensing",
				sham_caught(&t->sham), "sham", "blocks", (json_int_t)t->sham.blocks,
				"degradation", real(sham), "error", real(sham_error)));
	if (status && t->partner_count > 1)
		json_object_set_new(status, "attribution", attribution_json(js, t));
	if (status && t->spin_result.verdict != SPIN_UNKNOWN)
		json_object_set_new(status, "spin",
			json_pack("{s:s, s:f, s:f}", "verdict",
				spin_verdict_name(t->spin_result.verdict), "most",
				t->spin_result.most, "least", t->spin_result.least));
	return status;
}

json_t *jobs_status(struct jobs *js, uid_t uid)
{
	json_t *all = json_array();

	account(js);
	for (const struct job *j = js->first; j; j = j->next)
		if (!uid || uid == j->reg.uid)
			json_array_append_new(all, job_status(js, j));
	return all;
}

/* What the model (3.9) expects at the present levels: a block of one job holds all others, but for
 * those that hold that one or none. */
static double model_cost(const struct jobs *js)
{
	const struct schedule *s = &js->schedule;
	double held =
		schedule_share(s, SHUTTER_LONE) * (s->jobs - 1) + schedule_share(s, SHUTTER_ABSENT);
	double cost = 0;

	for (const struct job *j = js->first; j; j = j->next)
		if (in_plan(j) && backend_of(j) != COUNTER_NONE)
			cost += ldexp(1, -level_of(js, j));
	for (int i = 0; i < s->jobs; i++) {
		struct schedule level0 = *s;

		level0.job[i].level = 0;
		if (s->job[i].measured)
			return cost * held * (double)js->env.settings->shutter_ns / s->jobs /
			       (double)schedule_interval(&level0, i);
	}
	return NAN;
}

json_t *jobs_totals(struct jobs *js)
{
	json_t *discarded = json_object(), *cost;

	for (int o = SHUTTER_OK + 1; o < SHUTTER_OUTCOMES; o++)
		if (js->outcome[o])
			json_object_set_new(discarded, shutter_outcome_name(o),
				json_integer((json_int_t)js->outcome[o]));
	cost = json_pack("{s:o, s:o, s:f, s:b, s:i}", "held", real(js->budget.held), "cpu",
		real(js->budget.cpu), "max", js->env.settings->overhead_max, "capped",
		js->active && js->lengthened, "level", js->budget.level);
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:b, s:o, s:o}", "shutters",
		(json_int_t)js->blocks, "shams", (json_int_t)js->shams, "absences",
		(json_int_t)js->absences, "windows", (json_int_t)js->windows, "discarded",
		discarded, "longest_stop_ns", (json_int_t)js->longest_stop_ns, "overhead",
		js->co_ns ? json_real((double)js->paused_ns / js->co_ns) : json_null(),
		"overhead_model", real(js->active ? model_cost(js) : NAN), "shutter_cpu_s",
		seconds(shutter_cpu_ns(js->env.shutter)), "active", js->active, "period_s",
		js->active ? seconds(js->schedule.period_ns) : json_null(), "cost", cost);
}
