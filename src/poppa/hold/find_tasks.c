/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a job's cgroups and tells application tasks from launchers. */
#include "poppa/hold/find_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fsio.h"
#include "common/units.h"
#include "poppa/hold/proc.h"

#define MAX_PROCS_FILE (4 * 1024 * 1024)
#define MAX_DIR (PATH_MAX - 32) /* with room for its files' names */
/* A launcher that has used a second, and 1/20 of a processor since it began, does more than wait.
 */
#define COMPUTES_S 1
#define COMPUTES_SHARE 20

/* Debian's alternatives give Slurm's programs a suffix: slurmstepd-wlm. */
static const char *const launchers[] = {"slurmstepd*", "srun", "srun-*", "sbatch", "sbatch-*",
	"salloc", "salloc-*", "sattach", "sattach-*", "sbcast", "sbcast-*", "mpirun", "mpirun.*",
	"mpiexec", "mpiexec.*", "orterun", "orterun.*", "prterun", "prte", "prted", "orted",
	"hydra_*", "pmi_proxy", "env", "nice", "nohup", "numactl", "taskset", "timeout", "time",
	"tee", "sleep", "tail", "cat", "sudo", "su", "ssh", "sshd", "screen", "tmux*", "script",
	"poppa"};

static const char *const shells[] = {"bash", "sh", "dash", "zsh", "zsh[0-9]*", "ksh*", "mksh*",
	"csh", "tcsh", "fish", "busybox", "slurm_script"};

static bool among(const char *exe, const char *const *pattern, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(pattern[i], exe, 0))
			return true;
	return false;
}

bool find_tasks_launcher(const char *exe, const struct nodeconf *conf)
{
	if (among(exe, launchers, sizeof(launchers) / sizeof(launchers[0])) ||
		among(exe, shells, sizeof(shells) / sizeof(shells[0])))
		return true;
	for (int i = 0; conf && i < conf->launcher_count; i++)
		if (!fnmatch(conf->launcher[i], exe, 0))
			return true;
	return false;
}

/* cgroup v1 lets a user make cgroups below a step's, and the files of those are the user's. */
static bool made_by_user(const char *path, enum held_kind kind)
{
	char file[PATH_MAX];
	struct stat st;

	snprintf(file, sizeof(file), "%s/%s", path, held_freezer(kind)->command);
	return !stat(file, &st) && st.st_uid != geteuid();
}

static int add_dir(
	struct found_tasks *d, const char *path, int parent, bool in_step, enum held_kind kind)
{
	bool users = parent >= 0 && (d->dir[parent].users || made_by_user(path, kind));
	struct found_cgroup *bigger = realloc(d->dir, (d->dirs + 1) * sizeof(*d->dir));

	if (!bigger)
		return -1;
	d->dir = bigger;
	d->dir[d->dirs] = (struct found_cgroup){strdup(path), parent, in_step, users, kind};
	return d->dir[d->dirs].path ? d->dirs++ : -1;
}

/* Whether an error comes from our own lack of files or memory, and not from the job's processes. */
static bool is_ours(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Whether a launcher or a shell runs a part of an application itself: its name is its user's. */
static bool computes(const struct proc_stat *st)
{
	const int64_t hz = sysconf(_SC_CLK_TCK), own = (int64_t)st->own_ticks;

	return own >= COMPUTES_S * hz &&
	       own * COMPUTES_SHARE > clock_boot() / (NS_PER_S / hz) - (int64_t)st->starttime;
}

static int add_process(struct found_tasks *d, pid_t pid, int dir, const struct nodeconf *conf)
{
	struct found_process *bigger, p = {.pid = pid, .dir = dir};
	struct proc_stat st;
	char exe[NAME_MAX + 1];

	if (pid <= 0 || proc_exe(pid, exe, sizeof(exe)))
		return 0; /* ended, a zombie, or a kernel thread */
	if (proc_stat(pid, &st))
		return is_ours(errno) ? -1 : 0;
	if (st.state == 'Z' || st.state == 'X')
		return 0;
	p.starttime = st.starttime;
	p.shell = among(exe, shells, sizeof(shells) / sizeof(shells[0]));
	p.stepd = !fnmatch("slurmstepd*", exe, 0) && proc_uid(pid) == geteuid();
	p.app = !p.stepd && (!find_tasks_launcher(exe, conf) || computes(&st));
	if (p.app) {
		p.headless = st.headless;
		p.cpu_ticks = st.cpu_ticks;
		p.own_ticks = st.own_ticks;
		snprintf(p.exe, sizeof(p.exe), "%.*s", (int)sizeof(p.exe) - 1, exe);
		p.threads = st.threads;
		p.state = st.state;
		p.traced = proc_traced(pid);
		p.job_control = st.tty != 0;
		p.leader_parent = st.pgrp == pid ? st.ppid : 0;
	}
	if (!p.stepd)
		d->cpu_ticks += st.cpu_ticks;
	bigger = realloc(d->process, (d->processes + 1) * sizeof(*d->process));
	if (!bigger)
		return -1;
	d->process = bigger;
	d->process[d->processes++] = p;
	return 0;
}

static void looked_at_one(struct found_tasks *d, const struct find_tasks_meanwhile *meanwhile)
{
	if (++d->looked % FIND_TASKS_MEANWHILE == 0 && meanwhile)
		meanwhile->call(meanwhile->arg);
}

static int add_processes(struct found_tasks *d, int dir, const struct nodeconf *conf,
	const struct find_tasks_meanwhile *meanwhile)
{
	char path[PATH_MAX], *text, *end;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/cgroup.procs", d->dir[dir].path);
	text = fsio_read(path, MAX_PROCS_FILE, NULL, &(struct errmsg){""});
	if (!text)
		return is_ours(errno) ? -1 : 0;
	for (char *p = text; *p && !rc; p = end + strspn(end, "\n")) {
		pid_t pid = strtol(p, &end, 10);

		if (end == p)
			break;
		d->more |= d->processes == FIND_TASKS_MAX;
		if (d->more)
			break;
		rc = add_process(d, pid, dir, conf);
		looked_at_one(d, meanwhile);
	}
	free(text);
	return rc;
}

/* Whatever its name: a user names their own. A directory that vanishes while it is read is no
 * error: the step has just ended. */
static int add_children(struct found_tasks *d, int parent)
{
	DIR *dir = opendir(d->dir[parent].path);
	struct dirent *e;
	int rc = !dir && is_ours(errno) ? -1 : 0;

	while (dir && !rc && (e = readdir(dir))) {
		bool in_step = d->dir[parent].in_step || !strncmp(e->d_name, "step_", 5);
		char child[PATH_MAX];

		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (d->dirs == FIND_TASKS_MAX_DIRS ||
			snprintf(child, sizeof(child), "%s/%s", d->dir[parent].path, e->d_name) >=
				MAX_DIR)
			d->more = true;
		else if (add_dir(d, child, parent, in_step, d->dir[parent].kind) < 0)
			rc = -1;
	}
	if (dir)
		closedir(dir);
	return rc;
}

static int walk(struct found_tasks *d, const char *path, enum held_kind kind,
	const struct nodeconf *conf, const struct find_tasks_meanwhile *meanwhile)
{
	if (add_dir(d, path, -1, false, kind) < 0)
		return -1;
	/* Outside the steps, the job's own cgroup holds only Slurm's helpers. */
	for (int i = 0; i < d->dirs; i++) {
		if ((d->dir[i].in_step && add_processes(d, i, conf, meanwhile)) ||
			add_children(d, i))
			return -1;
		looked_at_one(d, meanwhile);
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct found_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* A shell with job control gives each job a process group. So do some launchers, but these do not
 * wait for stops. */
static void find_job_control(struct found_tasks *d)
{
	for (int i = 0; i < d->processes; i++) {
		const struct found_process key = {.pid = d->process[i].leader_parent}, *parent;

		parent = key.pid ? bsearch(&key, d->process, d->processes, sizeof(key), by_pid)
				 : NULL;
		if (parent && parent->shell)
			d->process[i].job_control = true;
	}
}

/* The part of a directory that names the job and what is below it, whatever the host or a container
 * has above: from the user's on (v1), or from Slurm's scope on (v2). */
static const char *from_job(const char *dir)
{
	const char *at = strstr(dir, "/uid_"), *scope = strstr(dir, "slurmstepd.scope/");

	if (at || !scope)
		return at ? at : dir;
	while (scope > dir && *scope != '/')
		scope--;
	return scope;
}

bool find_tasks_holds(const char *dir, pid_t pid)
{
	struct statfs fs;

	if (!statfs(dir, &fs) && fs.f_type != CGROUP_SUPER_MAGIC &&
		fs.f_type != CGROUP2_SUPER_MAGIC)
		return true;
	return proc_in_cgroup(pid, from_job(dir));
}

/* below: the job's cgroup in any hierarchy, which is the last part of it; before that comes the
 * user's. */
static void find_usage_v1(struct found_tasks *d, const char *mount, const char *below)
{
	static const char *const format = "%s/cpuacct%.*s/cpuacct.usage";
	int job = (int)strlen(below), user = (int)(strrchr(below, '/') - below);

	if (snprintf(d->usage, PATH_MAX, format, mount, job, below) >= PATH_MAX ||
		snprintf(d->user_usage, PATH_MAX, format, mount, user, below) >= PATH_MAX)
		*d->usage = *d->user_usage = '\0';
}

int find_tasks(const char *mount, const char *node, uid_t uid, uint32_t job_id, const char *name,
	const struct nodeconf *conf, const struct find_tasks_meanwhile *meanwhile,
	struct found_tasks *d)
{
	char path[6][PATH_MAX], job[sizeof("job_4294967295")];

	memset(d, 0, sizeof(*d));
	snprintf(job, sizeof(job), "job_%u", job_id);
	if (!*name)
		name = job;
	snprintf(path[0], PATH_MAX, "%s/freezer/slurm_%s/uid_%u/%s", mount, node, uid, job);
	snprintf(path[1], PATH_MAX, "%s/freezer/slurm/uid_%u/%s", mount, uid, job);
	snprintf(path[2], PATH_MAX, "%s/system.slice/%s_slurmstepd.scope/%s", mount, node, name);
	snprintf(path[3], PATH_MAX, "%s/system.slice/slurmstepd.scope/%s", mount, name);
	snprintf(path[4], PATH_MAX, "%s/unified/system.slice/%s_slurmstepd.scope/%s", mount, node,
		name);
	snprintf(path[5], PATH_MAX, "%s/unified/system.slice/slurmstepd.scope/%s", mount, name);
	for (int i = 0; i < 6; i++) {
		if (access(path[i], F_OK))
			continue;
		if (walk(d, path[i], i < 2 ? HELD_FREEZER_V1 : HELD_FREEZER_V2, conf, meanwhile)) {
			int saved = errno;

			find_tasks_free(d);
			errno = saved;
			return -1;
		}
		if (d->processes)
			qsort(d->process, d->processes, sizeof(d->process[0]), by_pid);
		find_job_control(d);
		if (i < 2)
			find_usage_v1(d, mount, path[i] + strlen(mount) + strlen("/freezer"));
		else if (snprintf(d->usage, PATH_MAX, "%s/cpu.stat", path[i]) >= PATH_MAX)
			*d->usage = '\0';
		return 0;
	}
	return 0;
}

void find_tasks_free(struct found_tasks *d)
{
	for (int i = 0; i < d->dirs; i++)
		free(d->dir[i].path);
	free(d->dir);
	free(d->process);
	memset(d, 0, sizeof(*d));
}

/* What a cgroup and the cgroups below it hold, and whether it is chosen to be frozen. */
struct content {
	bool app, other, stepd, job_control, chosen;
};

int find_tasks_units(
	const struct found_tasks *d, enum pause_method method, struct found_unit **units)
{
	struct content *c = calloc(d->dirs + 1, sizeof(*c));
	struct found_unit *u = calloc(d->dirs + d->processes + 1, sizeof(*u));
	int count = 0;

	if (!c || !u) {
		free(c);
		free(u);
		errno = ENOMEM;
		return -1;
	}
	for (int i = 0; i < d->processes; i++) {
		const struct found_process *p = &d->process[i];

		for (int dir = p->dir; dir >= 0; dir = d->dir[dir].parent) {
			c[dir].app |= p->app;
			c[dir].other |= !p->app;
			c[dir].stepd |= p->stepd;
			c[dir].job_control |= p->job_control;
			/* Here only Slurm's cgroup that holds the task counts. */
			if (method == PAUSE_FREEZER && !d->dir[dir].users)
				break;
		}
	}
	for (int i = 0; i < d->dirs && method != PAUSE_SIGSTOP; i++) {
		int parent = d->dir[i].parent;

		c[i].chosen = parent >= 0 && c[parent].chosen;
		if (c[i].chosen || !d->dir[i].in_step || d->dir[i].users || !c[i].app || c[i].stepd)
			continue;
		if (method == PAUSE_AUTO && c[i].other && !c[i].job_control)
			continue;
		c[i].chosen = true;
		u[count++] = (struct found_unit){true, i};
	}
	for (int i = 0; i < d->processes; i++)
		if (d->process[i].app && !c[d->process[i].dir].chosen)
			u[count++] = (struct found_unit){false, i};
	free(c);
	*units = u;
	return count;
}
