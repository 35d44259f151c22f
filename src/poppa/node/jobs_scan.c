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
#define LEFTOVERS_EVERY (2 * NS_PER_S)
/* The kernel counts processor time in steps of some ms. */
#define CPU_LOOK (500 * NS_PER_MS)
/* A stop that is not poppad's may be short: look at the task often at first. */
#define LOOK_FIRST_MS 20
#define LOOK_TASKS 256 /* of a job, for that */

/* What one job may take of what all jobs share. */
#define COUNTED_THREADS 4096     /* each takes some file descriptors: a job with more has no data */
#define FROZEN_PROCESSES 1024    /* more do not all stand still within a shutter */
#define FREEZABLE_PROCESSES 4096 /* to freeze more takes longer than a shutter may last */
#define WAKE_S 20e-6          /* of a processor, for a thread to be stopped and resumed, at most */
#define FREEZABLE_THREADS 256 /* of one process: each wakes for it, and again afterwards */
#define LOOKED_CGROUPS 256    /* in which new tasks are looked for, within a shutter */
#define BUSY_FOR (10 * NS_PER_S) /* so long after it used a processor, a task is not idle */
/* As JOBS_LONG, for the opening of one counter. */
#define OPEN_LONG (100 * NS_PER_MS)
#define OPEN_MAX (500 * NS_PER_MS) /* for the counters that one scan opens */
/* What the counters of one job may keep the main thread from other jobs: so much at once, and then
 * one part in JOBS_REST of the time. */
#define OPEN_BUDGET (5 * NS_PER_S)

/* Whether more may be done for the job's counters now. */
static bool may_open(struct job *j, int64_t now)
{
	j->opening_ns -= (now - j->opening_at) / JOBS_REST;
	j->opening_ns = j->opening_ns > 0 ? j->opening_ns : 0;
	j->opening_at = now;
	return j->opening_ns < OPEN_BUDGET;
}

static void charge_opening(struct job *j, int64_t spent)
{
	j->opening_ns += spent;
	if (j->opening_ns < OPEN_BUDGET)
		return;
	if (!j->told_slow)
		plog_warn("job %u of uid %u has had %.0f s of poppad's time for its counters: "
			  "what of it is not counted yet may never be",
			j->reg.job_id, (unsigned)j->reg.uid, (double)OPEN_BUDGET / NS_PER_S);
	j->told_slow = true;
}

/* Of a task that just has no signal nothing is said. */
static void tell_unreadable(struct job *j, const char *why)
{
	if ((errno == EREMOTE || errno == ETIMEDOUT) && !j->told_unreadable) {
		plog_warn("job %u of uid %u: its program cannot be looked at: %s", j->reg.job_id,
			(unsigned)j->reg.uid, why);
		j->told_unreadable = true;
	}
}

/* The next block waits until the last one is taken: this is called between steps that take
 * long. Whether a task has come or gone meanwhile the scan finds by itself. */
static void take_block(void *jobs)
{
	enum shutter_outcome outcome;
	bool changed;

	jobs_take_finished(jobs, &outcome, &changed);
}

static void open_counter(struct jobs *js, struct job *j, struct task *t, int64_t now)
{
	struct errmsg err = {""};

	if (t->counter || t->headless || now < t->next_try ||
		jobs_wanted_counter(js) == COUNTER_NONE)
		return;
	take_block(js);
	t->tries++;
	t->next_try = t->tries < EAGER_TRIES ? now : now + LAZY_EVERY;
	if (!counter_open(jobs_wanted_counter(js), js->env.conf, t->pid, &t->counter, &err)) {
		js->changed = true;
		return;
	}
	t->counter = NULL;
	tell_unreadable(j, err.text);
}

/* Opens counters of tasks that have none, some at a time. */
static void open_counters(struct jobs *js, struct job *j)
{
	int64_t began = clock_now(), now = began;

	for (int i = 0; i < j->tasks && began >= j->next_open && now - began < OPEN_MAX; i++) {
		int64_t before = now;

		if (!may_open(j, now))
			break;
		open_counter(js, j, &j->task[i], now);
		now = clock_now();
		charge_opening(j, now - before);
		if (now - before > OPEN_LONG) {
			j->next_open = now + JOBS_REST * (now - before);
			break;
		}
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct task *find_task(struct job *j, const struct found_process *p)
{
	const struct task key = {.pid = p->pid};
	struct task *t = j->tasks ? bsearch(&key, j->task, j->tasks, sizeof(key), by_pid) : NULL;

	return t && t->starttime == p->starttime ? t : NULL;
}

/* Whether somebody else keeps a cgroup frozen. The lock keeps the shutter from doing so meanwhile.
 */
static bool frozen(struct jobs *js, const struct found_cgroup *dir)
{
	bool is = freezer_frozen(held_freezer(dir->kind), dir->path);

	if (!is)
		return false;
	shutter_lock(js->env.shutter);
	is = freezer_frozen(held_freezer(dir->kind), dir->path);
	shutter_unlock(js->env.shutter);
	return is;
}

/*
 * The state of a task: T also where its cgroup is frozen, because Slurm suspends a job first with a
 * signal and then with the freezer. It is looked at again where the shutter may have stopped it.
 */
static char true_state(
	struct jobs *js, const struct task *t, const struct found_process *p, bool frozen_dir)
{
	struct proc_stat st = {.state = p->state};

	if (frozen_dir && (p->state == 'T' || p->state == 'D' || p->state == 'S'))
		return 'T';
	if (p->state != 'T' || (!t->unit && t->state))
		return p->state;
	shutter_lock(js->env.shutter);
	if (proc_stat(p->pid, &st))
		st.state = 'X';
	shutter_unlock(js->env.shutter);
	return st.state;
}

/*
 * Whether a process has used a processor since it was looked at. Of very many threads each wakes
 * when poppad stops and resumes the process: so much time is no work, nor is a thread that is just
 * waking. A freezer wakes each process: of thousands, many are just waking whenever one looks. What
 * works within that is left alone as idle, and is seen to run while it is held.
 */
static bool worked(const struct jobs *js, const struct job *j, const struct task *t,
	const struct found_process *p)
{
	double stops = (double)(js->blocks - t->looked_blocks);
	double woken = stops * p->threads * WAKE_S * (double)sysconf(_SC_CLK_TCK);

	if (p->threads <= PAUSE_SIGNALLED_THREADS)
		return (p->state == 'R' && !j->held_whole) || p->cpu_ticks != t->cpu_ticks;
	return p->cpu_ticks > t->cpu_ticks + (uint64_t)woken + 1;
}

static void look_at_task(struct jobs *js, const struct job *j, struct task *t,
	const struct found_process *p, bool frozen_dir)
{
	bool was = jobs_task_stopped(t);

	t->state = true_state(js, t, p, frozen_dir);
	t->traced = p->traced;
	t->headless = p->headless;
	/* Its counter would say at each block that it has ended. */
	if (t->headless) {
		jobs_discard(js, t->counter, NULL, NULL);
		t->counter = NULL;
	}
	if (worked(js, j, t, p))
		t->busy_ns = clock_now();
	t->cpu_ticks = p->cpu_ticks;
	t->looked_blocks = js->blocks;
	js->changed |= was != jobs_task_stopped(t);
}

/* Gives the program what the task has used since it was looked at. A process may have become
 * another program meanwhile, and a clock of processor time does not go back. What the tasks used
 * that are there when poppad has read its checkpoint is in that, but for the last seconds. */
static void name_program(struct job *j, struct task *t, const struct found_process *p)
{
	if (p->own_ticks > t->own_ticks && !j->tally->programs.resumed)
		programs_ran(&j->tally->programs, p->exe, p->own_ticks - t->own_ticks);
	t->own_ticks = p->own_ticks;
}

/* Closes the counters of a job that has too many threads. */
static void limit_threads(struct jobs *js, struct job *j, int threads)
{
	if (threads > COUNTED_THREADS && !j->uncounted)
		plog_warn("job %u of uid %u has more than %d threads: its progress is not counted",
			j->reg.job_id, (unsigned)j->reg.uid, COUNTED_THREADS);
	j->uncounted = threads > COUNTED_THREADS;
	for (int i = 0; i < j->tasks && j->uncounted; i++) {
		jobs_discard(js, j->task[i].counter, NULL, NULL);
		j->task[i].counter = NULL;
	}
}

static void forget_task(struct jobs *js, struct job *j, const struct task *t)
{
	j->put_aside += t->unit != NULL;
	jobs_discard(js, t->counter, t->unit, NULL);
}

/* Whether a known task comes before the processes from p on, and so has ended. */
static bool precedes(const struct task *t, const struct found_process *p)
{
	return t->pid < p->pid || (t->pid == p->pid && t->starttime != p->starttime);
}

/* Both lists of tasks are sorted. */
static int take_tasks(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	struct task *next = calloc(d->processes + 1, sizeof(*next));
	bool *known = calloc(d->dirs + 1, sizeof(*known)), *is = calloc(d->dirs + 1, sizeof(*is));
	int old = 0, n = 0, threads = 0;
	cpu_set_t cpus, own;

	CPU_ZERO(&cpus);
	for (int i = 0; next && known && is && i < d->processes; i++) {
		const struct found_process *p = &d->process[i];

		/* One that moved to another cgroup meanwhile is listed twice. */
		if (!p->app || (n && next[n - 1].pid == p->pid))
			continue;
		while (old < j->tasks && precedes(&j->task[old], p))
			forget_task(js, j, &j->task[old++]);
		if (old < j->tasks && j->task[old].pid == p->pid)
			next[n] = j->task[old++];
		else if (p->headless || find_tasks_holds(d->dir[p->dir].path, p->pid)) {
			next[n] = (struct task){.pid = p->pid,
				.starttime = p->starttime,
				.looked_blocks = js->blocks};
			j->newest_ns = clock_now();
		} else
			continue;
		if (!known[p->dir])
			is[p->dir] = frozen(js, &d->dir[p->dir]);
		known[p->dir] = true;
		name_program(j, &next[n], p);
		look_at_task(js, j, &next[n++], p, is[p->dir]);
		threads += p->threads;
		if (!sched_getaffinity(p->pid, sizeof(own), &own))
			CPU_OR(&cpus, &cpus, &own);
	}
	if (next && known && is) {
		if (n)
			j->tally->programs.resumed = false;
		while (old < j->tasks)
			forget_task(js, j, &j->task[old++]);
		free(j->task);
		j->task = next;
		j->tasks = n;
		js->changed |= !CPU_EQUAL(&cpus, &j->cpus);
		j->cpus = cpus;
		limit_threads(js, j, threads);
	}
	free(known);
	free(is);
	if (j->task == next)
		return 0;
	free(next);
	return -1;
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
	if (f->unit && pause_stands_still(f->unit) < 0) {
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

static void tell_unpausable(struct job *j, const char *why)
{
	if (!j->told_unpausable)
		plog_warn("job %u of uid %u cannot be paused, so its co-runners are not measured: "
			  "%s",
			j->reg.job_id, (unsigned)j->reg.uid, why);
	j->told_unpausable = true;
	j->pausable = false;
}

static void tell_error(struct job *j, int error)
{
	char text[160];

	snprintf(text, sizeof(text),
		"the jobs here have more than %d tasks that are stopped one by one; "
		"poppa_pause=freezer stops cgroups as a whole",
		HELD_ENTRIES);
	tell_unpausable(j, error == ENOSPC ? text : strerror(error));
}

/* How many units a job may have: the list of what is held is for all jobs. */
static int most_units(const struct jobs *js, const struct job *j)
{
	int jobs = jobs_count(js);

	/* What has ended is in the list until the next plan is out. */
	return HELD_ENTRIES / (jobs > 2 ? jobs : 2) - NEW_TASKS_MAX - j->put_aside;
}

static bool idle(const struct task *t, int64_t now)
{
	return !t->busy_ns || now - t->busy_ns > BUSY_FOR;
}

/* How choose_units() chooses. */
enum choice {
	BY_TASKS,     /* what suits the tasks */
	WHOLE,        /* frozen with the launchers, where that is sure to be in time */
	WHOLE_ANYWAY, /* where it may be: signals do not do */
};

/* Whether so much idles that not all of it can be stopped in time. */
static bool crowded(struct job *j, const struct found_tasks *d, enum choice choice, int64_t now)
{
	bool whole = choice != BY_TASKS;
	int most = whole ? FREEZABLE_THREADS : PAUSE_SIGNALLED_THREADS;

	if (d->processes > (whole ? FREEZABLE_PROCESSES : FROZEN_PROCESSES))
		return true;
	/* One idle process must not keep the others from being frozen. */
	if (choice == WHOLE_ANYWAY)
		return false;
	for (int i = 0; i < d->processes; i++) {
		const struct found_process *p = &d->process[i];
		const struct task *t = p->app && p->threads > most ? find_task(j, p) : NULL;

		if (t && idle(t, now))
			return true;
	}
	return false;
}

/*
 * What to stop of a job: cgroups with all that is in them, where not BY_TASKS. Tasks that its user
 * has stopped are left alone, and so are idle ones where there are too many: it takes too long to
 * freeze them. Should either run during a shutter, the job's processor time shows it. Sets *why
 * where the job cannot be stopped with these.
 */
static int choose_units(struct jobs *js, struct job *j, const struct found_tasks *d,
	enum choice choice, struct found_unit **unit, const char **why)
{
	enum pause_method method = js->env.settings->pause;
	/* Signals to those that are not idle stop a crowd sooner than a freezer, which has to do
	 * where signals do not. */
	int64_t now = clock_now();
	bool crowd = crowded(j, d, choice, now);
	int n, kept = 0, most = most_units(js, j);

	*unit = NULL;
	if (choice != BY_TASKS)
		method = PAUSE_FREEZER;
	n = find_tasks_units(d, crowd ? PAUSE_SIGSTOP : method, unit);
	*why = n < 0 ? strerror(errno) : NULL;
	for (int i = 0; i < n; i++) {
		const struct found_unit *u = &(*unit)[i];
		const struct task *t = u->freezer ? NULL : find_task(j, &d->process[u->index]);

		if (!u->freezer && (!t || ((crowd || n > most) && idle(t, now))))
			continue;
		if (t && (d->more || d->dirs > LOOKED_CGROUPS))
			*why = "it has too many processes or cgroups to look at";
		else if (t && t->traced)
			*why = "a debugger or strace is attached to it";
		else if (t && jobs_task_stopped(t))
			continue;
		(*unit)[kept++] = *u;
	}
	if (kept > most)
		*why = "too many of its tasks are stopped one by one; poppa_pause=freezer stops "
		       "cgroups as a whole";
	return kept;
}

/*
 * With poppa_pause=auto, a job is frozen with its launchers where signals do not do: a task is
 * traced (its tracer, not poppad, would decide when it goes on), there are too many tasks or
 * cgroups, its user has set going what signals had stopped, or no cgroup counts the job's processor
 * time, which would show what was not stopped.
 */
static void take_units(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	struct found_unit *u;
	const char *why;
	bool was = j->pausable, automatic = js->env.settings->pause == PAUSE_AUTO;
	bool uncounted = j->cpu && job_cpu_total_ns(j->cpu) < 0;
	enum choice choice = !automatic     ? BY_TASKS
			     : j->way.whole ? WHOLE_ANYWAY
			     : uncounted    ? WHOLE
					    : BY_TASKS;
	int n = choose_units(js, j, d, choice, &u, &why), kept = 0;

	while (why && automatic && choice != WHOLE_ANYWAY) {
		free(u);
		n = choose_units(js, j, d, ++choice, &u, &why);
	}
	j->held_whole = choice != BY_TASKS;
	j->pausable = true;
	if (why)
		tell_unpausable(j, why);
	for (int i = 0; i < j->freezers; i++)
		j->freezer[i].seen = false;
	for (int i = 0; i < j->tasks; i++)
		j->task[i].single = false;
	for (int i = 0; i < n && !why; i++) {
		int rc;

		if (u[i].freezer)
			rc = take_freezer(js, j, &d->dir[u[i].index]);
		else
			rc = take_process(js, j, &d->process[u[i].index]);
		j->held_whole &= u[i].freezer;
		/* A task that has ended since it was listed need not be paused. */
		if (!rc || (!u[i].freezer && errno == ESRCH))
			continue;
		j->pausable = false;
		if (errno != ESRCH)
			tell_error(j, errno);
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

/* Tells new_tasks which cgroups may have tasks that are stopped one by one, which are all that are
 * not frozen, and the processes that are known. */
static void take_new_tasks(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	const char **dir = calloc(d->dirs + 1, sizeof(*dir));
	pid_t *pid = calloc(d->processes + 1, sizeof(*pid));
	bool *frozen = calloc(d->dirs + 1, sizeof(*frozen)), any = false;
	int dirs = 0, pids = 0;

	for (int i = 0; i < j->tasks; i++)
		any |= j->task[i].unit != NULL;
	/* To list so many processes in a shutter would make it long. */
	any &= d->processes <= FROZEN_PROCESSES;
	for (int i = 0; any && pid && i < d->processes; i++)
		pid[pids++] = d->process[i].pid;
	for (int i = 0; dir && pids && frozen && i < d->dirs; i++) {
		int parent = d->dir[i].parent;

		frozen[i] = find_freezer(j, d->dir[i].path) || (parent >= 0 && frozen[parent]);
		if (d->dir[i].in_step && !frozen[i])
			dir[dirs++] = d->dir[i].path;
	}
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
	free(frozen);
}

static void take_state(struct jobs *js, struct job *j)
{
	enum job_state was = j->state;
	int stopped = 0;
	bool traced = false;

	for (int i = 0; i < j->tasks; i++) {
		stopped += jobs_task_stopped(&j->task[i]);
		traced |= j->task[i].traced;
	}
	j->state = !j->tasks             ? JOB_WAITING
		   : stopped == j->tasks ? JOB_STOPPED
		   : stopped || traced   ? JOB_PARTLY_STOPPED
					 : JOB_RUNNING;
	if (was != j->state && (j->state == JOB_STOPPED || j->state == JOB_PARTLY_STOPPED))
		js->look_ms = LOOK_FIRST_MS;
	/* What it used before it was stopped does not make it a job that works unseen. */
	if (was != j->state && j->state == JOB_STOPPED) {
		j->busy = false;
		j->cpu_ns = 0;
	}
	js->changed |= was != j->state;
}

static void take_cpu(struct jobs *js, struct job *j, const struct found_tasks *d)
{
	bool was = j->unwatched;

	if (!j->cpu) {
		j->cpu = job_cpu_open();
		js->changed = true;
	}
	if (j->cpu && !job_cpu_knows(j->cpu, d)) {
		shutter_lock_reading(js->env.shutter);
		job_cpu_know(j->cpu, d);
		shutter_unlock(js->env.shutter);
	}
	j->unwatched = j->cpu && job_cpu_misses(j->cpu);
	js->changed |= was != j->unwatched;
	if (j->unwatched && !j->told_unwatched)
		plog_warn("job %u of uid %u has more than %d processes, and no cgroup counts their "
			  "processor time, so its co-runners are not measured: set "
			  "JobAcctGatherType=jobacct_gather/cgroup",
			j->reg.job_id, (unsigned)j->reg.uid, JOB_CPU_MAX_CLOCKS);
	j->told_unwatched |= j->unwatched;
}

static void take_cpu_time(struct job *j, const struct found_tasks *d)
{
	int64_t now = clock_now(), passed = now - j->cpu_ns, used;

	if (passed < CPU_LOOK)
		return;
	/* A process that ended between two scans is counted with the shell that waited for it. */
	used = (int64_t)d->cpu_ticks * NS_PER_S / sysconf(_SC_CLK_TCK);
	j->busy = j->cpu_ns && (double)(used - j->used_ns) > JOBS_BUSY * (double)passed;
	j->used_ns = used;
	j->cpu_ns = now;
}

static void scan_job(struct jobs *js, struct job *j)
{
	const struct find_tasks_meanwhile meanwhile = {take_block, js};
	struct found_tasks d;
	enum counter_backend backend;
	int64_t began = clock_own();

	if (clock_now() < j->next_scan)
		return;
	if (find_tasks(js->env.cluster->cgroup_mount, js->env.cluster->node, j->reg.uid,
		    j->reg.job_id, j->reg.cgroup, js->env.conf, &meanwhile, &d)) {
		if (!j->told_unseen)
			plog_warn("job %u: its tasks cannot be looked at for now: %s",
				j->reg.job_id, strerror(errno));
		j->told_unseen = true;
		return;
	}
	take_cpu(js, j, &d);
	if (!take_tasks(js, j, &d)) {
		take_units(js, j, &d);
		take_new_tasks(js, j, &d);
	}
	take_state(js, j);
	take_cpu_time(j, &d);
	find_tasks_free(&d);
	j->next_scan = jobs_rest_until(clock_own() - began);
	if (!j->uncounted)
		open_counters(js, j);
	js->scans_ns += clock_own() - began;
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

static bool has_job(void *jobs, uid_t uid, uint32_t job_id)
{
	const struct jobs *js = jobs;

	for (const struct job *j = js->first; j; j = j->next)
		if (j->seen && j->reg.uid == uid && (!job_id || j->reg.job_id == job_id))
			return true;
	return false;
}

void jobs_look_for_leftovers(struct jobs *js)
{
	const struct leftovers_place place = {.mount = js->env.cluster->cgroup_mount,
		.node = js->env.cluster->node,
		.works = JOBS_BUSY,
		.ours = has_job,
		.arg = js};
	int64_t began = clock_own(), now = clock_now(), next;
	uint32_t was = js->left_by;

	if (!js->leftovers || now < js->next_leftovers)
		return;
	leftovers_look(js->leftovers, &place, now);
	js->left_by = leftovers_working(js->leftovers, now);
	js->changed |= !was != !js->left_by;
	next = jobs_rest_until(clock_own() - began);
	js->next_leftovers = next > now + LEFTOVERS_EVERY ? next : now + LEFTOVERS_EVERY;
	js->scans_ns += clock_own() - began;
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
		int64_t own = clock_own();

		for (int i = 0; i < j->tasks; i++) {
			struct task *t = &j->task[i];
			int64_t began = clock_now();
			bool ended;

			if (!t->counter || !refresh_now(js, t, now) || !may_open(j, began))
				continue;
			t->refreshed = now;
			counter_prepare(t->counter);
			if (clock_now() - began > JOBS_LONG)
				charge_opening(j, clock_now() - began);
			shutter_lock_reading(js->env.shutter);
			ended = counter_refresh(t->counter) && errno == ENODATA;
			shutter_unlock(js->env.shutter);
			if (!ended)
				continue;
			jobs_discard(js, t->counter, NULL, NULL);
			t->counter = NULL;
			t->tries = 0;
			t->next_try = 0;
		}
		/* New threads may come without end. To look for them is no cost of shutters. */
		own = clock_own() - own;
		js->scans_ns += own;
		charge_opening(j, own);
	}
}

bool jobs_someone_runs_again(const struct jobs *js)
{
	for (const struct job *j = js->first; j; j = j->next) {
		for (int i = 0; i < j->tasks && i < LOOK_TASKS; i++) {
			const struct task *t = &j->task[i];
			struct proc_stat st;

			if (jobs_task_stopped(t) && !proc_stat(t->pid, &st) &&
				!strchr("TtD", st.state))
				return true;
		}
	}
	return false;
}
