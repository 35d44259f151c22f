/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan: what a shutter does with the jobs of a node, and what its last block has read. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "poppa/counter/counter.h"
#include "poppa/estimate/estimator.h"
#include "poppa/estimate/miss_model.h"
#include "poppa/hold/job_cpu.h"
#include "poppa/hold/new_tasks.h"
#include "poppa/hold/pause.h"
#include "poppa/measure/schedule.h"
#include "poppa/estimate/shutterlog.h"

#define SHUTTER_MAX_JOBS SCHEDULE_MAX_JOBS
/* A job that is to stand still may run for 1/16 of that time. */
#define SHUTTER_RAN_SHARE 16

/* What became of a block. */
enum shutter_outcome {
	SHUTTER_OK,
	SHUTTER_GONE, /* the lone job's task, or all known processes of a co-runner, have ended */
	SHUTTER_STOPPED, /* somebody else had stopped or frozen a co-runner, or did so meanwhile */
	SHUTTER_NOT_FROZEN, /* a cgroup did not freeze in time */
	SHUTTER_NO_GUARD,   /* the guard is dead: nobody would resume if poppad died */
	SHUTTER_OVERDUE,    /* its deadline passed: the guard resumed what it held */
	SHUTTER_COUNTER,    /* a counter could not be read */
	SHUTTER_RAN,        /* a task that was held stopped ran all the same */
	SHUTTER_OUTCOMES
};

const char *shutter_outcome_name(enum shutter_outcome o);

struct shutter_task {
	struct counter *counter;
	pid_t pid;
	bool stopped; /* by somebody else, when this block began */
	bool ended;   /* since the plan was made */
};

struct shutter_unit {
	struct pause_unit *unit;
	int task; /* of a process whose progress is counted: index of plan->task; else -1 */
	bool process;
	bool stopped; /* by somebody else, when this block began: it is left alone */
};

struct shutter_job {
	uint32_t job_id, restart;
	uint32_t owner; /* whose it is: one file counts what all jobs of an owner use */
	int first_task, tasks;
	int first_unit, units;
	bool whole; /* these freeze it as a whole, with its launchers */
	/* Of a job that is frozen: a process whose progress is not counted; it tells that the job
	 * goes on when those have ended that are. pid 0 = none. */
	pid_t witness;
	uint64_t witness_since;      /* its start time, as in proc_stat() */
	struct new_tasks *new_tasks; /* looks for tasks that came later; NULL = no need */
	struct job_cpu *cpu;         /* tells whether it stands still; NULL = not known */
	/* Where the shutter may run without taking time from this job; and from its co-runners.
	 * Empty = anywhere. */
	cpu_set_t elsewhere, here;
	int beyond;     /* windows that its block has beyond "during" where it is long */
	bool displaces; /* no processor is idle: these belong to other jobs */
};

/* What slices of turns have taken of each job, since this was last asked. */
struct shutter_turned {
	int jobs;
	struct {
		uint32_t job_id, restart;
		int64_t held_ns;  /* stopped, for the turns of others */
		int64_t alone_ns; /* it ran while the others were held */
	} job[SHUTTER_MAX_JOBS];
	uint64_t slices;    /* that held somebody */
	uint64_t disturbed; /* that ended early because somebody signalled or froze a job */
};

/*
 * What to do and what was read. The main thread builds it and gives it to the shutter's thread,
 * which has it until shutter_publish() gives it back; in between, the main thread reads the last
 * block while `finished` is set (shutter_take() to shutter_done()). The counters, the pause units,
 * new_tasks and job_cpu belong to the main thread, which must not free them while a plan that is
 * out names them.
 */
struct shutter_plan {
	/* Its job[] has the order of job[] below; a job without counters is not measured. */
	struct schedule schedule;
	int64_t shutter_ns;
	int windows;
	int beyond; /* room for so many windows of a long block beyond "during" */
	bool whole; /* read all jobs in all windows, for a shutter log; else what the block needs */
	/* The first reading that is taken before the stop; windows that begin earlier have no
	 * progress. */
	int first;
	/* The reading after the stop that is left out, so that the windows on both sides of it are
	 * one; 0 = none. */
	int spared;
	int jobs, tasks, units;
	/* The jobs take turns, each for so long (turns.h); 0 = they do not. Then there are blocks
	 * only in slices that are side by side. */
	int64_t turn_ns;
	/* One of them has so many of TURNS_CYCLE slices alone, and the others have none; 0 = all
	 * take turns. */
	int alone_slices, alone_job;
	struct shutter_turned turned; /* the shutter's, also while finished is set */
	/* So many more, behind the others in job[], have no task that can be stopped. A block is of
	 * no use where they run; of each only its number, owner and cpu are set. */
	int watched;
	struct shutter_job job[SHUTTER_MAX_JOBS];
	struct shutter_task *task;
	struct shutter_unit *unit;

	/* The last block: valid while finished is set, until shutter_done(). */
	bool finished;
	enum shutter_outcome outcome;
	uint64_t block;
	enum shutter_kind kind;
	/* Windows beyond the region "during" of a long block, which has no region after the stop;
	 * 0: a usual block. */
	int long_windows;
	int lone; /* index of job[]: whose block it is, which runs alone or is absent */
	/* The number of processors of stopped jobs on which the shutter's thread may run; 0 = it
	 * takes none of theirs, or not known. */
	int displaced;
	int64_t slot_ns;   /* when the schedule had it open, CLOCK_REALTIME */
	bool foreign_stop; /* somebody stopped a co-runner while we held it */
	int by;            /* which job made the block fail, index of job[]; -1 = none */
	bool changed;      /* tasks of a co-runner came or went: find its tasks again */
	int64_t stop_ns;   /* first stop call to last resume call; 0 = none stopped */
	int64_t paused_ns[SHUTTER_MAX_JOBS]; /* the same for each job */
	/* The processor time that each job took which was to stand still, in the last part of the
	 * "during" region, which is still_ns long; 0 = not measured. */
	int64_t ran_ns[SHUTTER_MAX_JOBS], still_ns;
	/* How many were reached: windows + 1 when complete. The first one beyond is the last one of
	 * the region "during". */
	int boundaries[SHUTTERLOG_REGIONS];
	int64_t *when; /* [region][boundary][job], CLOCK_MONOTONIC */
	int64_t *own;  /* [region][boundary], processor time of the shutter's thread */
	struct counter_sample *sample; /* [region][boundary][task] */
};

/* A plan with room for so many of each, all else zero; beyond: 0 where no block is to be long. NULL
 * with ENOMEM. */
struct shutter_plan *shutter_plan_new(int tasks, int units, int windows, int beyond);
void shutter_plan_free(struct shutter_plan *p);

/* How many windows a region has, with those that are not read. */
int shutter_plan_windows(const struct shutter_plan *p, int region);

/* How many windows beyond a long block has that goes on for most_ns at most; 0 = it is too short
 * for any. */
int shutter_plan_beyond(int64_t shutter_ns, int64_t most_ns);

/* How long a long block with so many windows goes on beyond its region "during", ns. */
int64_t shutter_plan_beyond_ns(const struct shutter_plan *p, int windows);

/* The block as the estimator takes it, summed over the tasks of the lone job; also for a sham. */
void shutter_plan_block(const struct shutter_plan *p, struct est_block *out);
/* The same for another job of an absence: its "during" region is without the absent job. */
void shutter_plan_block_of(const struct shutter_plan *p, int job, struct est_block *out);
/* The same for one task of the lone job, counted from its first. */
void shutter_plan_task(const struct shutter_plan *p, int task, struct est_block *out);
/* The windows of the block in which misses were counted, summed over the tasks of the lone job, at
 * most SHUTTER_MISS_WINDOWS. Returns how many; 0 where not all of its tasks have misses. */
#define SHUTTER_MISS_WINDOWS (SHUTTERLOG_REGIONS * EST_MAX_WINDOWS)
int shutter_plan_misses(const struct shutter_plan *p, struct miss_window out[SHUTTER_MISS_WINDOWS]);
/* Appends the block's rows to the log: one for each task and window, in the "during" region only of
 * a job that ran alone. */
void shutter_plan_log(const struct shutter_plan *p, struct shutterlog_writer *w);

/* Whether a job that was to stand still ran for more than 1/SHUTTER_RAN_SHARE of the time. (A
 * signal takes microseconds to stop a task.) */
bool shutter_plan_ran(const struct shutter_plan *p, int job);

/* Whether a job is to stand still while another one runs alone, or is absent. */
static inline bool shutter_plan_stops(const struct shutter_plan *p, int job)
{
	if (job >= p->jobs)
		return p->kind == SHUTTER_LONE;
	return p->kind == SHUTTER_ABSENT ? job == p->lone : job != p->lone;
}

/* --- for shutter_block.c, which fills the plan --- */

/* Where a boundary of a region's windows is among all. */
static inline size_t shutter_plan_place(const struct shutter_plan *p, int region, int boundary)
{
	if (region == SHUTTER_BEYOND && boundary == 0) {
		region = SHUTTER_DURING;
		boundary = p->boundaries[region] > 0 ? p->boundaries[region] - 1 : 0;
	}
	return (size_t)(region * (p->windows + 1) + boundary);
}

/* When each job was read at a boundary of the region's windows. */
static inline int64_t *shutter_plan_when(const struct shutter_plan *p, int region, int boundary)
{
	return p->when + shutter_plan_place(p, region, boundary) * SHUTTER_MAX_JOBS;
}

/* The processor time of the shutter's thread at that boundary. */
static inline int64_t *shutter_plan_own(const struct shutter_plan *p, int region, int boundary)
{
	return p->own + shutter_plan_place(p, region, boundary);
}

/* What was read of each task at that boundary. */
static inline struct counter_sample *shutter_plan_samples(
	const struct shutter_plan *p, int region, int boundary)
{
	return p->sample + shutter_plan_place(p, region, boundary) * (size_t)(p->tasks + 1);
}

/* Whether the co-runners are stopped in that region. */
static inline bool shutter_plan_holds(int region)
{
	return region == SHUTTER_DURING || region == SHUTTER_BEYOND;
}

/* Whether no job is read at that boundary. */
static inline bool shutter_plan_skips(const struct shutter_plan *p, int region, int boundary)
{
	return region == SHUTTER_BEFORE && boundary < p->first;
}

/* Whether that boundary is left out, so that two windows are one. */
static inline bool shutter_plan_spares(const struct shutter_plan *p, int region, int boundary)
{
	return region == SHUTTER_AFTER && boundary > 0 && boundary == p->spared;
}
