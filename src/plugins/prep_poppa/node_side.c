/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers jobs in RunDir and publishes what slurmd's slurm.conf says. */
#include "plugins/compat/slurm_compat.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "common/clock.h"
#include "common/fsio.h"
#include "common/keyval.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "common/units.h"
#include "registration/registration.h"
#include "striping/submit/colocate_option.h"
#include "striping/lanes/lanes.h"

#include "node_side.h"
#include "node_watch.h"

SLURM_WEAK(conf)

#define ME "prep/poppa"
#define PUBLISH_EVERY (1 * NS_PER_S)

/* Written before any thread starts, and then only read. Empty: poppa.conf was not usable. */
static char run_dir[PATH_MAX], jobs_dir[PATH_MAX];

static pthread_t publisher;
static bool publishing, stopping; /* stopping: guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* Copies a text of Slurm, which may be NULL. */
#define COPY(key, value, out, err) keyval_copy(key, (value) ? (value) : "", out, sizeof(out), err)

/* Reads what slurmd knows of the cluster. Returns 0, or -1 with err. */
static int read_cluster(struct cluster_conf *out, struct errmsg *err)
{
	slurm_conf_t *c = slurm_conf_lock();
	const char *mount = slurm_cgroup_conf.cgroup_mountpoint;
	char *hosts = NULL;
	int rc;

	for (uint32_t i = 0; i < c->control_cnt; i++) {
		const char *name = c->control_machine[i], *address = c->control_addr[i];

		if (!name)
			continue;
		xstrfmtcat(hosts, "%s%s", hosts ? "," : "", name);
		if (address && strcmp(address, name))
			xstrfmtcat(hosts, "(%s)", address);
	}
	memset(out, 0, sizeof(*out));
	rc = COPY("ClusterName", c->cluster_name, out->cluster, err) ||
	     COPY("NodeName", conf->node_name, out->node, err) ||
	     COPY("PrEpParameters", c->prep_params, out->prep_parameters, err) ||
	     COPY("SlurmctldHost", hosts, out->controllers, err) ||
	     COPY("CgroupMountpoint", mount ? mount : "/sys/fs/cgroup", out->cgroup_mount, err);
	slurm_conf_unlock();
	xfree(hosts);
	return rc ? -1 : 0;
}

/* Rewrites cluster.conf whenever slurmd's view has changed, and again if somebody removed it. */
static void *publish(void *arg)
{
	struct cluster_conf *next = xcalloc(2, sizeof(*next)), *published = next + 1;
	char path[PATH_MAX + sizeof("/" CLUSTER_CONF_FILE)], complaint[ERRMSG_MAX] = "";

	(void)arg;
	snprintf(path, sizeof(path), "%s/" CLUSTER_CONF_FILE, run_dir);
	pthread_mutex_lock(&lock);
	while (!stopping) {
		struct errmsg err = {""};
		struct timespec until;

		pthread_mutex_unlock(&lock);
		if (read_cluster(next, &err) || memcmp(next, published, sizeof(*next)) ||
			access(path, F_OK)) {
			if (!*err.text && !fsio_mkdirs(run_dir, 0755, &err) &&
				!cluster_conf_write(path, next, &err))
				*published = *next;
			if (strcmp(complaint, err.text)) {
				if (*err.text)
					error(ME ": %s", err.text);
				snprintf(complaint, sizeof(complaint), "%s", err.text);
			}
		}
		until = clock_wall_in(PUBLISH_EVERY);
		pthread_mutex_lock(&lock);
		if (!stopping)
			pthread_cond_timedwait(&wake, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	xfree(next);
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
	if (snprintf(jobs_dir, sizeof(jobs_dir), "%s/" REGISTRATION_DIR, run_dir) >=
		(int)sizeof(jobs_dir)) {
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
	node_watch_start(jobs_dir);
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

/* The lane of one shape that all these cores of the node belong to; -1: none or several. */
static int lane_of_shape(bitstr_t *cores, const struct poppa_settings *settings,
	enum stripe_shape shape, int sockets, int per_socket, const bool *spare)
{
	int all = sockets * per_socket, *assigned = xcalloc(all, sizeof(*assigned)), lane = -1;
	int lanes = lanes_count(settings, sockets, per_socket);

	if (lanes_of_node(shape, sockets, per_socket, spare, lanes, assigned, NULL) > 0)
		lane = -2;
	for (int c = 0; lane != -1 && c < all; c++)
		if (bit_test(cores, c))
			lane = lane == -2 || lane == assigned[c] ? assigned[c] : -1;
	xfree(assigned);
	return lane < 0 ? -1 : lane;
}

/*
 * The lane that all these cores of the node belong to, by the cluster's settings: a stripe, or else
 * whole sockets. -1: they are of none or several, or slurmd does not know which cores are
 * specialised.
 */
static int lane_of(bitstr_t *cores, int sockets, int per_socket)
{
	int all = sockets * per_socket, threads = MAX(conf->threads, 1), lane = -1;
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
		(cpus || !conf->core_spec_cnt))
		for (int shape = 0; lane < 0 && shape < STRIPE_SHAPES; shape++)
			lane = lane_of_shape(cores, &settings, shape, sockets, per_socket, spare);
	FREE_NULL_BITMAP(cpus);
	xfree(spare);
	return lane;
}

/*
 * Puts the abstract ids of the job's cores on this node, and its lane there, into *r. The
 * credential's core bitmap covers the job's nodes one after the other.
 */
static void read_cores(const slurm_cred_arg_t *arg, const char *node, struct registration *r)
{
	compat_hostlist_t *nodes = arg->job_hostlist ? hostlist_create(arg->job_hostlist) : NULL;
	int index = nodes ? hostlist_find(nodes, node) : -1, seen = 0;
	bitstr_t *cores;
	int64_t first = 0;

	if (nodes)
		hostlist_destroy(nodes);
	if (index < 0 || !arg->job_core_bitmap)
		return;
	for (int i = 0; i < arg->core_array_size; i++) {
		int per_node = arg->sockets_per_node[i] * arg->cores_per_socket[i];

		if (index >= seen + (int)arg->sock_core_rep_count[i]) {
			seen += arg->sock_core_rep_count[i];
			first += (int64_t)per_node * arg->sock_core_rep_count[i];
			continue;
		}
		first += (int64_t)per_node * (index - seen);
		if (per_node <= 0 || first + per_node > bit_size(arg->job_core_bitmap))
			return;
		cores = bit_alloc(per_node);
		for (int core = 0; core < per_node; core++) {
			if (!bit_test(arg->job_core_bitmap, first + core))
				continue;
			bit_set(cores, core);
			if (r->core_count < REGISTRATION_MAX_CORES)
				r->core[r->core_count++] = (uint16_t)core;
		}
		r->lane = lane_of(cores, arg->sockets_per_node[i], arg->cores_per_socket[i]);
		FREE_NULL_BITMAP(cores);
		return;
	}
}

/* Restart count, cores and lane. */
static void read_cred(slurm_cred_t *cred, struct registration *r)
{
	slurm_cred_arg_t *arg = cred ? slurm_cred_get_args(cred) : NULL;

	if (!cred)
		return;
	if (arg) {
		r->restart = arg->job_restart_cnt;
		read_cores(arg, conf->node_name, r);
	}
	slurm_cred_unlock_args(cred);
}

/* Notes when the job began by clocks that nobody can set while it runs, unlike the wall clock. */
static void read_boot(struct registration *r)
{
	struct errmsg err = {""};
	char *id = fsio_read("/proc/sys/kernel/random/boot_id", 64, NULL, &err);

	if (!id)
		return;
	id[strcspn(id, "\n")] = '\0';
	if (!COPY("BootId", id, r->boot_id, &err))
		r->uptime = clock_boot() / NS_PER_S;
	free(id);
}

/* How many nodes the job has, and which of them this one is. */
static void read_place(const char *nodes, struct registration *r)
{
	compat_hostlist_t *list = nodes ? hostlist_create(nodes) : NULL;
	int index = list ? hostlist_find(list, conf->node_name) : -1;

	r->nodes = nodes;
	if (index >= 0) {
		r->node_count = hostlist_count(list);
		r->node_index = index;
	}
	if (list)
		hostlist_destroy(list);
}

/* Returns 0, or -1 with err. */
static int read_job(
	const job_env_t *job, const char *colocate, struct registration *r, struct errmsg *err)
{
	const char *seed =
		colocate_env(job->spank_job_env, job->spank_job_env_size, COLOCATE_SEED_ENV);
	char *user = compat_user_name(job), *cgroup = compat_cgroup_name(job);
	struct errmsg no_matter;
	struct colocate wish;
	int rc = COPY("User", user, r->user, err) || COPY("Colocate", colocate, r->colocate, err) ||
		 COPY("Partition", job->partition, r->partition, err) ||
		 COPY("Cgroup", cgroup, r->cgroup, err);

	xfree(user);
	xfree(cgroup);
	if (!colocate_parse(colocate, &wish, &no_matter)) {
		r->max_degradation = wish.max_degradation;
		snprintf(r->map, sizeof(r->map), "%s", wish.map ? "auto" : "");
	}
	r->uid = job->uid;
	read_place(job->node_list, r);
	/* Only a prolog that slurmctld starts has slurmctld's seed. One that a step starts has what
	 * the user's srun put there. */
	if (seed && slurm_conf.prolog_flags & PROLOG_FLAG_ALLOC)
		registration_set_seed(r, seed);
	r->registered = time(NULL);
	read_boot(r);
	return rc ? -1 : 0;
}

void node_side_register(const job_env_t *job, slurm_cred_t *cred)
{
	const char *colocate = colocate_request(job->spank_job_env, job->spank_job_env_size);
	struct registration *r, *there;
	struct errmsg err = {""};

	if (!colocate || !*run_dir)
		return;
	r = xcalloc(2, sizeof(*r));
	there = r + 1;
	registration_init(r);
	r->job_id = compat_env_job_id(job);
	read_cred(cred, r);
	/* A second prolog of the same run must not make it younger. What an earlier job of this id
	 * has left is not this run's: poppad finishes that one. */
	if (read_job(job, colocate, r, &err) || make_dirs(&err) ||
		((registration_read(jobs_dir, r->job_id, r->restart, false, there, &err) ||
			 !registration_same_run(there, r)) &&
			(registration_end(jobs_dir, r->job_id, r->restart, &err) ||
				registration_write(jobs_dir, r, &err))))
		error(ME ": job %u runs unmeasured: %s", r->job_id, err.text);
	xfree(r);
}

static void end_if_job(uint32_t job_id, uint32_t restart, bool ended, void *arg)
{
	struct errmsg err;

	if (job_id == *(const uint32_t *)arg && !ended &&
		registration_end(jobs_dir, job_id, restart, &err))
		error(ME ": %s", err.text);
}

/* Only one run of a job can be on the node, so the restart count does not matter. */
void node_side_end(const job_env_t *job)
{
	uint32_t job_id = compat_env_job_id(job);
	struct errmsg err;

	if (*run_dir)
		registration_scan(jobs_dir, end_if_job, &job_id, &err);
}
