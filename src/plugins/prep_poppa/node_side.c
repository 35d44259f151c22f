/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers jobs in RunDir and publishes what slurmd's slurm.conf says. */
#include "plugins/compat/slurm_compat.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "common/fsio.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "striping/submit/option.h"
#include "striping/lanes/lanes.h"

#include "node_side.h"
#include "node_watch.h"

SLURM_WEAK(conf)

#define ME "prep/poppa"
#define ENDED ".ended"
#define PUBLISH_EVERY_S 1

static char run_dir[PATH_MAX]; /* empty: poppa.conf was not usable */
static char jobs_dir[PATH_MAX];

static pthread_t publisher;
static bool publishing, stopping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* Name="value" without what would end the value. */
static void add_text(char **out, const char *name, const char *value)
{
	xstrfmtcat(*out, "%s=\"", name);
	for (; value && *value; value++)
		if (*value != '"' && *value != '\n' && *value != '\r')
			xstrcatchar(*out, *value);
	xstrcat(*out, "\"\n");
}

/* What slurmd knows of the cluster, newly allocated with xmalloc. */
static char *cluster_text(void)
{
	slurm_conf_t *c = slurm_conf_lock();
	char *text = NULL, *hosts = NULL;

	for (uint32_t i = 0; i < c->control_cnt; i++) {
		const char *name = c->control_machine[i], *address = c->control_addr[i];

		if (!name)
			continue;
		xstrfmtcat(hosts, "%s%s", hosts ? "," : "", name);
		if (address && strcmp(address, name))
			xstrfmtcat(hosts, "(%s)", address);
	}
	add_text(&text, "ClusterName", c->cluster_name);
	add_text(&text, "NodeName", conf->node_name);
	add_text(&text, "PrEpParameters", c->prep_params);
	add_text(&text, "SlurmctldHost", hosts);
	slurm_conf_unlock();
	add_text(&text, "CgroupMountpoint",
		slurm_cgroup_conf.cgroup_mountpoint ? slurm_cgroup_conf.cgroup_mountpoint
						    : "/sys/fs/cgroup");
	xfree(hosts);
	return text;
}

/* Rewrites cluster.conf whenever slurmd's view has changed, and again if somebody removed it. */
static void *publish(void *arg)
{
	char path[PATH_MAX + sizeof("/cluster.conf")], *published = NULL, complaint[512] = "";

	(void)arg;
	snprintf(path, sizeof(path), "%s/cluster.conf", run_dir);
	pthread_mutex_lock(&lock);
	while (!stopping) {
		struct timespec until;
		struct errmsg err = {""};
		char *text;

		pthread_mutex_unlock(&lock);
		text = cluster_text();
		if (xstrcmp(text, published) || access(path, F_OK)) {
			if (!fsio_mkdirs(run_dir, 0755, &err) &&
				!fsio_write(path, text, strlen(text), 0644, 0, &err)) {
				xfree(published);
				published = xstrdup(text);
			}
			if (strcmp(complaint, err.text)) {
				if (*err.text)
					error(ME ": %s", err.text);
				snprintf(complaint, sizeof(complaint), "%s", err.text);
			}
		}
		xfree(text);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += PUBLISH_EVERY_S;
		pthread_mutex_lock(&lock);
		if (!stopping)
			pthread_cond_timedwait(&wake, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	xfree(published);
	return NULL;
}

static int make_dirs(struct errmsg *err)
{
	return fsio_mkdirs(run_dir, 0755, err) || fsio_mkdirs(jobs_dir, 0700, err) ? -1 : 0;
}

void node_side_start(void)
{
	struct nodeconf *nc = xmalloc(sizeof(*nc));
	struct errmsg err = {""};
	char path[PATH_MAX];

	nodeconf_path(path, sizeof(path));
	if (nodeconf_load(path, nc, &err)) {
		error(ME ": co-located jobs are not registered: %s", err.text);
		xfree(nc);
		return;
	}
	nodeconf_expand(nc->run_dir, conf->node_name, run_dir, sizeof(run_dir));
	xfree(nc);
	if (snprintf(jobs_dir, sizeof(jobs_dir), "%s/jobs", run_dir) >= (int)sizeof(jobs_dir)) {
		error(ME ": co-located jobs are not registered: RunDir is too long");
		run_dir[0] = '\0';
		return;
	}
	if (make_dirs(&err))
		error(ME ": %s", err.text);
	stopping = false;
	publishing = !pthread_create(&publisher, NULL, publish, NULL);
	if (!publishing)
		error(ME ": cannot start a thread: %m");
	node_watch_start();
}

void node_side_stop(void)
{
	node_watch_stop();
	if (!publishing)
		return;
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(publisher, NULL);
	publishing = false;
}

/* The value of KEY= in the job's SPANK environment, or NULL. */
static const char *env_of(const job_env_t *job, const char *key)
{
	for (uint32_t i = 0; i < job->spank_job_env_size; i++)
		if (!xstrncmp(job->spank_job_env[i], key, strlen(key)))
			return job->spank_job_env[i] + strlen(key);
	return NULL;
}

/*
 * The whole lane that these cores of the node are, by the cluster's settings; -1 for none or
 * several, or where slurmd does not know which cores are specialised.
 */
static int lane_of(bitstr_t *cores, int sockets, int per_socket)
{
	int all = sockets * per_socket, threads = MAX(conf->threads, 1), lanes, lane = -1;
	int *assigned = xcalloc(all, sizeof(*assigned));
	bool *spare = xcalloc(all, sizeof(*spare));
	struct poppa_settings settings;
	struct errmsg err = {""};
	bitstr_t *cpus = NULL;

	if (conf->cpu_spec_list) {
		cpus = bit_alloc((bitoff_t)all * threads);
		if (bit_unfmt(cpus, conf->cpu_spec_list))
			bit_clear_all(cpus);
	}
	for (int c = 0; cpus && c < all * threads; c++)
		spare[c / threads] |= bit_test(cpus, c);
	if (!settings_parse(slurm_conf.prep_params, &settings, &err) &&
		(cpus || !conf->core_spec_cnt)) {
		lanes = lanes_count(&settings, sockets, per_socket);
		if (lanes_of_node(sockets, per_socket, spare, lanes, assigned, NULL) > 0)
			lane = -2;
	}
	for (int c = 0; lane != -1 && c < all; c++)
		if (bit_test(cores, c))
			lane = lane == -2 || lane == assigned[c] ? assigned[c] : -1;
	FREE_NULL_BITMAP(cpus);
	xfree(spare);
	xfree(assigned);
	return lane < 0 ? -1 : lane;
}

/*
 * The abstract ids of the job's cores on this node, as a list of ranges. The credential's core
 * bitmap covers the job's nodes one after the other. *lane: out, as of lane_of().
 */
static char *cores_on_node(const slurm_cred_arg_t *arg, const char *node, int *lane)
{
	compat_hostlist_t *nodes = arg->job_hostlist ? hostlist_create(arg->job_hostlist) : NULL;
	int index = nodes ? hostlist_find(nodes, node) : -1, seen = 0;
	bitstr_t *cores;
	char *text = NULL;
	int64_t first = 0;

	if (nodes)
		hostlist_destroy(nodes);
	if (index < 0 || !arg->job_core_bitmap)
		return NULL;
	for (int i = 0; i < arg->core_array_size; i++) {
		int per_node = arg->sockets_per_node[i] * arg->cores_per_socket[i];

		if (index >= seen + (int)arg->sock_core_rep_count[i]) {
			seen += arg->sock_core_rep_count[i];
			first += (int64_t)per_node * arg->sock_core_rep_count[i];
			continue;
		}
		first += (int64_t)per_node * (index - seen);
		if (per_node <= 0 || first + per_node > bit_size(arg->job_core_bitmap))
			return NULL;
		cores = bit_alloc(per_node);
		for (int core = 0; core < per_node; core++)
			if (bit_test(arg->job_core_bitmap, first + core))
				bit_set(cores, core);
		text = bit_fmt_full(cores);
		*lane = lane_of(cores, arg->sockets_per_node[i], arg->cores_per_socket[i]);
		FREE_NULL_BITMAP(cores);
		break;
	}
	return text;
}

/* Restart count, cores and lane from the credential; *cores is for xfree(). */
static void read_cred(slurm_cred_t *cred, uint32_t *restart, char **cores, int *lane)
{
	slurm_cred_arg_t *arg = cred ? slurm_cred_get_args(cred) : NULL;

	*restart = 0;
	*cores = NULL;
	*lane = -1;
	if (!cred)
		return;
	if (arg) {
		*restart = arg->job_restart_cnt;
		*cores = cores_on_node(arg, conf->node_name, lane);
	}
	slurm_cred_unlock_args(cred);
}

/* The wall clock may be set while the job runs; these two stay as they are. */
static void add_boot(char **text)
{
	struct errmsg err = {""};
	char *id = fsio_read("/proc/sys/kernel/random/boot_id", 64, NULL, &err);
	struct timespec up;

	if (!id)
		return;
	id[strcspn(id, "\n")] = '\0';
	clock_gettime(CLOCK_BOOTTIME, &up);
	xstrfmtcat(*text, "BootId=%s\nUptime=%lld\n", id, (long long)up.tv_sec);
	free(id);
}

void node_side_register(const job_env_t *job, slurm_cred_t *cred)
{
	const char *colocate = env_of(job, COLOCATE_ENV "=");
	const char *seed = env_of(job, COLOCATE_SEED_ENV "=");
	char path[PATH_MAX + 32], *text = NULL, *cores, *user, *cgroup;
	struct errmsg err = {""};
	struct stat st;
	uint32_t job_id = compat_env_job_id(job), restart;
	int lane;

	if (!colocate || !*run_dir)
		return;
	read_cred(cred, &restart, &cores, &lane);
	snprintf(path, sizeof(path), "%s/%u.%u", jobs_dir, job_id, restart);
	/* A second prolog of the same run must not make it younger. */
	if (!stat(path, &st)) {
		xfree(cores);
		return;
	}
	xstrfmtcat(text, "JobId=%u\nRestart=%u\nUid=%u\n", job_id, restart, job->uid);
	user = compat_user_name(job);
	add_text(&text, "User", user);
	xfree(user);
	add_text(&text, "Colocate", colocate);
	add_text(&text, "Nodes", job->node_list);
	add_text(&text, "Partition", job->partition);
	add_text(&text, "Cores", cores);
	cgroup = compat_cgroup_name(job);
	if (cgroup)
		add_text(&text, "Cgroup", cgroup);
	xfree(cgroup);
	if (lane >= 0)
		xstrfmtcat(text, "Lane=%d\n", lane);
	/* Only slurmctld's prolog can be trusted with it: the one that comes with a step has what
	 * the user's srun put there. */
	if (seed && slurm_conf.prolog_flags & PROLOG_FLAG_ALLOC)
		add_text(&text, "Seed", seed);
	xstrfmtcat(text, "Registered=%lld\n", (long long)time(NULL));
	add_boot(&text);
	if (make_dirs(&err) || fsio_write(path, text, strlen(text), 0600, 0, &err))
		error(ME ": job %u runs unmeasured: %s", job_id, err.text);
	xfree(text);
	xfree(cores);
}

void node_side_mark_ended(const char *name)
{
	char from[PATH_MAX + 256], to[sizeof(from) + sizeof(ENDED)];

	snprintf(from, sizeof(from), "%s/%s", jobs_dir, name);
	snprintf(to, sizeof(to), "%s" ENDED, from);
	if (rename(from, to) && errno != ENOENT)
		error(ME ": cannot rename %s: %m", from);
}

void node_side_for_each(
	void (*fn)(const char *name, uint32_t job_id, uint32_t restart, void *arg), void *arg)
{
	DIR *dir = *run_dir ? opendir(jobs_dir) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned int job_id, restart;
		int used = 0;

		if (sscanf(entry->d_name, "%u.%u%n", &job_id, &restart, &used) == 2 &&
			!entry->d_name[used])
			fn(entry->d_name, job_id, restart, arg);
	}
	if (dir)
		closedir(dir);
}

static void end_if_job(const char *name, uint32_t job_id, uint32_t restart, void *arg)
{
	(void)restart;
	if (job_id == *(const uint32_t *)arg)
		node_side_mark_ended(name);
}

/* Only one run of a job can be on the node, so the restart count does not matter. */
void node_side_end(const job_env_t *job)
{
	uint32_t job_id = compat_env_job_id(job);

	node_side_for_each(end_if_job, &job_id);
}
