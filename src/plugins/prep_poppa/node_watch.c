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
#include "registration/ask_pace.h"
#include "registration/registration.h"

#include "node_watch.h"

SLURM_WEAK(conf)

#define LOOK_EVERY (1 * NS_PER_S)
/* The end of steps that were here for so many looks is asked about soon. Those of a loop of short
 * steps are not. */
#define LONG_STEP 60
#define MAX_JOBS 256

struct watched_job {
	uint32_t job_id, restart;
	int nodes, node; /* of the registration */
	int asked;
	int looks_left;   /* until it is asked about */
	int looks_on_end; /* in a row, with a step */
	bool stepped;     /* it has had a step here */
	bool seen;
};

static const char *jobs_dir; /* set before the thread starts */
static pthread_t watcher;
static bool watching, stopping; /* stopping: guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* Of the registered jobs. The watcher's thread alone uses them, so no lock guards them. */
static struct watched_job jobs[MAX_JOBS];
static int job_count;

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

static struct watched_job *remember(uint32_t job_id, uint32_t restart)
{
	struct watched_job *job = &jobs[job_count];
	struct registration *r;
	struct errmsg err;

	for (int i = 0; i < job_count; i++)
		if (jobs[i].job_id == job_id && jobs[i].restart == restart)
			return &jobs[i];
	if (job_count == MAX_JOBS)
		return NULL;
	*job = (struct watched_job){.job_id = job_id, .restart = restart, .nodes = 1};
	r = xmalloc(sizeof(*r));
	if (!registration_read(jobs_dir, job_id, restart, false, r, &err) && r->node_index >= 0 &&
		r->node_index < r->node_count) {
		job->nodes = r->node_count;
		job->node = r->node_index;
	}
	xfree(r);
	job->looks_left = ask_pace_s(job->nodes, job->node, 0, false);
	job_count++;
	return job;
}

static void look_at(uint32_t job_id, uint32_t restart, bool ended, void *steps)
{
	struct watched_job *job = ended ? NULL : remember(job_id, restart);
	struct errmsg err;

	if (!job)
		return;
	job->seen = true;
	if (steps && list_find_first(steps, is_step_of, &job_id)) {
		job->stepped = true;
		if (++job->looks_on_end == LONG_STEP)
			job->asked = 0;
		job->looks_left = ask_pace_s(job->nodes, job->node, job->asked, true);
		return;
	}
	job->looks_on_end = 0;
	if (job->looks_left-- > 0)
		return;
	if (is_over(job_id, restart) && registration_end(jobs_dir, job_id, restart, &err))
		error("prep/poppa: %s", err.text);
	job->looks_left = ask_pace_s(job->nodes, job->node, ++job->asked, job->stepped);
}

static void look(void)
{
	void *steps = stepd_available(conf->spooldir, conf->node_name);
	struct errmsg err;
	int kept = 0;

	for (int i = 0; i < job_count; i++)
		jobs[i].seen = false;
	registration_scan(jobs_dir, look_at, steps, &err);
	for (int i = 0; i < job_count; i++)
		if (jobs[i].seen)
			jobs[kept++] = jobs[i];
	job_count = kept;
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
