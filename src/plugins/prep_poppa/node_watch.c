/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks slurmctld about registered jobs that have no step on the node. */
#include "plugins/compat/prep_compat.h"

#include <pthread.h>
#include <time.h>

#include "src/common/list.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/stepd_api.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "common/clock.h"
#include "common/units.h"
#include "registration/registration.h"

#include "node_watch.h"

SLURM_WEAK(conf)

#define LOOK_EVERY (1 * NS_PER_S)
/* slurmctld is asked about a job without steps after 1, 2, 4, ... s: a salloc may have none for
 * long. */
#define MAX_ASK_EVERY_S 32
#define MAX_IDLE_JOBS 256

struct idle_job {
	uint32_t job_id, restart;
	int looks_left; /* until it is asked about */
	int interval;
	bool seen;
};

static const char *jobs_dir; /* set before the thread starts */
static pthread_t watcher;
static bool watching, stopping; /* stopping: guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* Used by the watcher's thread only, so no lock guards them. */
static struct idle_job idle[MAX_IDLE_JOBS];
static int idle_count;

static int is_step_of(void *x, void *key)
{
	return ((const step_loc_t *)x)->step_id.job_id == *(const uint32_t *)key;
}

/* Whether slurmctld says that this run is over; false where it does not answer. */
static bool is_over(uint32_t job_id, uint32_t restart)
{
	job_info_msg_t *info = NULL;
	bool over = true;

	if (compat_load_job(job_id, &info))
		return errno == ESLURM_INVALID_JOB_ID;
	for (uint32_t i = 0; i < info->record_count; i++) {
		const job_info_t *job = &info->job_array[i];

		if (job->job_id == job_id && job->restart_cnt == restart && !IS_JOB_FINISHED(job) &&
			!IS_JOB_PENDING(job))
			over = false;
	}
	slurm_free_job_info_msg(info);
	return over;
}

static struct idle_job *remember(uint32_t job_id, uint32_t restart)
{
	for (int i = 0; i < idle_count; i++)
		if (idle[i].job_id == job_id && idle[i].restart == restart)
			return &idle[i];
	if (idle_count == MAX_IDLE_JOBS)
		return NULL;
	idle[idle_count] = (struct idle_job){job_id, restart, 1, 1, false};
	return &idle[idle_count++];
}

static void look_at(uint32_t job_id, uint32_t restart, bool ended, void *steps)
{
	struct idle_job *job;
	struct errmsg err;

	if (ended || (steps && list_find_first(steps, is_step_of, &job_id)))
		return;
	job = remember(job_id, restart);
	if (!job)
		return;
	job->seen = true;
	if (job->looks_left-- > 0)
		return;
	if (is_over(job_id, restart) && registration_end(jobs_dir, job_id, restart, &err))
		error("prep/poppa: %s", err.text);
	job->interval = job->interval * 2 < MAX_ASK_EVERY_S ? job->interval * 2 : MAX_ASK_EVERY_S;
	job->looks_left = job->interval;
}

static void look(void)
{
	void *steps = stepd_available(conf->spooldir, conf->node_name);
	struct errmsg err;
	int kept = 0;

	for (int i = 0; i < idle_count; i++)
		idle[i].seen = false;
	registration_scan(jobs_dir, look_at, steps, &err);
	for (int i = 0; i < idle_count; i++)
		if (idle[i].seen)
			idle[kept++] = idle[i];
	idle_count = kept;
	FREE_NULL_LIST(steps);
}

static void *watch(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!stopping) {
		const struct timespec until = clock_wall_in(LOOK_EVERY);

		pthread_cond_timedwait(&wake, &lock, &until);
		if (stopping)
			break;
		pthread_mutex_unlock(&lock);
		look();
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void node_watch_start(const char *dir)
{
	jobs_dir = dir;
	stopping = false;
	watching = !pthread_create(&watcher, NULL, watch, NULL);
	if (!watching)
		error("prep/poppa: cannot start a thread: %m");
}

void node_watch_stop(void)
{
	if (!watching)
		return;
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
	watching = false;
}
