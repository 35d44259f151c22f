/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has the threads of jobs that ask for it mapped, away from shutters. */
#include "poppa/node/jobs_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"

/* So near to a block nothing is moved: a moved thread finds its caches cold. It is short, because
 * who watches threads move learns that no block follows within it. */
#define QUIET (5 * NS_PER_MS)
/* Counters begin where they will have stopped again before the next block, with some room. */
#define COUNT_QUIET (MAP_COUNT_MS * NS_PER_MS + 2 * QUIET)

static bool wanted(const struct job *j)
{
	return !strcmp(j->reg.map, "auto") && j->seen && j->reg.core_count;
}

/* Gives it the tasks as of the last scan. After a look that took long it waits, as scans do. */
static void look(struct job *j)
{
	int64_t began = clock_own();
	pid_t *process;

	if (clock_now() < j->next_map_look)
		return;
	process = calloc((size_t)j->tasks + 1, sizeof(*process));
	for (int i = 0; process && i < j->tasks; i++)
		process[i] = j->task[i].pid;
	if (process)
		map_job_look(j->map, process, j->tasks);
	free(process);
	j->next_map_look = jobs_rest_until(clock_own() - began);
}

void jobs_map_look(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		if (!wanted(j)) {
			map_job_free(j->map);
			j->map = NULL;
			continue;
		}
		if (!j->map)
			j->map = map_job_new(js->env.conf, js->env.cluster->cgroup_mount,
				j->reg.job_id, j->reg.uid, j->reg.core_count);
		if (j->map)
			look(j);
	}
}

void jobs_map_anew(struct jobs *js)
{
	for (struct job *j = js->first; j; j = j->next) {
		map_job_free(j->map);
		j->map = NULL;
	}
}

/* Jobs that somebody holds say nothing. */
static bool maps(const struct job *j)
{
	return j->map && map_job_active(j->map) && j->state == JOB_RUNNING;
}

int jobs_map_ms(const struct jobs *js)
{
	bool any = js->map_counts; /* they are to stop */

	for (const struct job *j = js->first; j; j = j->next)
		any |= maps(j);
	return !any ? 0 : js->map_counts ? MAP_COUNT_MS : MAP_INTERVAL_MS - MAP_COUNT_MS;
}

void jobs_map(struct jobs *js)
{
	js->map_counts = !js->map_counts;
	for (struct job *j = js->first; j; j = j->next) {
		bool quiet;

		if (js->map_counts && maps(j))
			map_job_prepare(j->map);
		quiet = maps(j) &&
			shutter_lock_quiet(js->env.shutter, js->map_counts ? COUNT_QUIET : QUIET);

		if (j->map && !js->map_counts)
			map_job_step(j->map, quiet);
		else if (quiet)
			map_job_count(j->map);
		if (quiet)
			shutter_unlock(js->env.shutter);
	}
}
