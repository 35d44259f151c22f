/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of co-located jobs, as the files that work on it share it. */
#pragma once

#include <sched.h>

#include "common/clock.h"
#include "common/units.h"
#include "poppa/measure/overhead_limit.h"
#include "poppa/counter/counter.h"
#include "poppa/hold/find_tasks.h"
#include "poppa/node/jobs.h"
#include "poppa/node/leftovers.h"
#include "poppa/hold/job_cpu.h"
#include "poppa/hold/new_tasks.h"
#include "poppa/map/map_job.h"
#include "poppa/measure/hold_way.h"
#include "poppa/measure/long_credit.h"
#include "poppa/measure/pace.h"
#include "poppa/hold/pause.h"
#include "poppa/measure/schedule.h"
#include "poppa/measure/turns.h"
#include "poppa/node/tally.h"

/*
 * The table is the main thread's. The shutter's thread sees only the plan that was published last,
 * and through it the counters, pause units, new_tasks and job_cpu that the table owns. So
 *  - what a plan may name is never freed at once: jobs_discard() puts it aside, and
 *    jobs_empty_garbage() frees it after the next plan is out;
 *  - what a block must not see half done (a counter's refresh, new_tasks_know(), job_cpu_know()) is
 *    done under shutter_lock().
 * Each file calls only functions above its own name in this header; jobs.c and jobs_status.c, all.
 */

/* How much one shutter counts in job.ran_share. */
#define JOBS_RAN_WEIGHT (1.0 / SHUTTER_RAN_SHARE)
/* After a scan of a job, or the like, that took longer than JOBS_LONG, the job waits before the
 * next for JOBS_REST times what it took. */
#define JOBS_LONG (20 * NS_PER_MS)
#define JOBS_REST 30
/* A job that uses more of a processor works. */
#define JOBS_BUSY 0.05

struct task {
	pid_t pid;
	uint64_t starttime;
	char state;
	bool traced, headless;
	bool single;            /* the scan under way stops it by itself, and not with a freezer */
	uint64_t cpu_ticks;     /* when it was last looked at */
	uint64_t own_ticks;     /* the same of its own only, which its program has got */
	uint64_t looked_blocks; /* blocks of the node until then */
	int64_t busy_ns;        /* when it was last seen to use processor time; 0 = never */
	int tries;              /* to open a counter */
	int64_t next_try;
	int64_t refreshed; /* when its counter last looked for threads */
	struct counter *counter;
	struct pause_unit *unit; /* where it is stopped by itself */
};

struct freezer {
	char *path;
	bool seen; /* by the scan under way */
	struct pause_unit *unit;
};

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_STOPPED, JOB_PARTLY_STOPPED };

struct job {
	struct job *next;
	struct registration reg;
	struct tally *tally;
	struct pace pace;
	enum job_state state;
	bool pausable;       /* all that runs has a unit */
	struct hold_way way; /* where poppa_pause=auto: see take_units() */
	bool held_whole;     /* its units freeze it as a whole */
	bool uncounted;      /* it has more threads than are counted */
	bool unwatched;      /* nothing tells whether all of it stands still */
	bool told_unpausable, told_spin, told_unseen, told_ran, told_unwatched, told_slow,
		told_unreadable;
	int64_t next_interim; /* CLOCK_MONOTONIC; 0 = none was planned yet */
	int64_t next_checkpoint;
	int64_t next_scan, next_open; /* CLOCK_MONOTONIC: not before, because the last took long */
	int64_t opening_ns, opening_at; /* what its counters have taken of the main thread, less
					   what has been forgiven, and when */
	uint64_t still;                 /* shutters in which it was to stand still */
	uint64_t ran;                   /* those of them that it spoiled by running */
	int spoilt;       /* those that somebody spoiled by resuming or stopping its tasks */
	double ran_share; /* how much of that time it ran, a mean over some last ones */
	uint32_t blinded; /* the job for which this one's time is not measured; 0 = none */
	struct long_credit long_credit;
	struct turns_blocks turns_blocks; /* what its blocks beside these co-runners have shown */
	int64_t newest_ns;                /* CLOCK_MONOTONIC when its last new task was found */
	int64_t spared_ns, spared_at; /* for how long it was not to be held, as it started tasks or
					 had stopped ones, less what has been forgiven; and when */
	json_t *shown;                /* what its owner may see of its blocks, and */
	int64_t shown_ns;             /* since when: see jobs_status.c */
	bool seen;                    /* in RUNDIR/jobs */
	bool told_alone;              /* that it has slices for its limit; and */
	int64_t alone_ns;             /* when that was told last */
	bool told_unkept;             /* that its max-degradation cannot be kept */
	bool unkept;                  /* that is so: for the record */
	int64_t leave_ns;             /* since when it had better leave; 0 = it need not */
	bool replaced;      /* another job has its id now, so jobs_find() does not find it */
	int64_t counted_ns; /* when one of its tasks last had a counter */
	/* When its time was last brought up to date: whether it was in the plan, and alone there;
	 * the processor time of its processes, ended ones included, and when that was. */
	bool was_in_plan, was_alone;
	int64_t work_ns, work_at;
	int64_t work_user_ns; /* that of all of its user's, where that is known; else -1 */
	bool worked;          /* not in the plan, it used processor time before that */
	/* The same where no cgroup tells it, as of the last scan. */
	bool busy;
	int64_t used_ns, cpu_ns;
	cpu_set_t cpus;
	int tasks, freezers;
	int put_aside; /* units of its tasks that have ended, in the garbage */
	struct task *task;
	struct freezer *freezer;
	struct new_tasks *new_tasks; /* where tasks are stopped one by one */
	struct job_cpu *cpu;
	struct map_job *map;   /* NULL: it is not to be mapped */
	int64_t next_map_look; /* as next_scan */
};

/* What was put aside because the shutter's present plan may still use it; each may be NULL. */
struct garbage {
	struct garbage *next;
	struct counter *counter;
	struct pause_unit *unit;
	struct new_tasks *new_tasks;
	struct job_cpu *cpu;
};

struct jobs {
	struct jobs_env env;
	struct leftovers *leftovers; /* NULL: nobody looks for them */
	int64_t next_leftovers;      /* as next_scan of a job */
	uint32_t left_by;            /* the ended job that works as of then; 0 = none */
	uint32_t left_was;           /* the same when times were last brought up to date */
	bool map_counts; /* counters of mapped jobs may run, until the next jobs_map() */
	struct job *first;
	struct garbage *garbage;
	bool changed; /* the plan is out of date */
	bool allowed, active;
	bool blind; /* there are co-runners, but shutters are off or impossible */
	bool orphans_taken;
	bool told_spool;
	struct turns turns;
	uint32_t favoured; /* id of the job that turns.favoured is */
	bool turning;      /* the plan that is out has turns */
	bool told_watch;
	uint64_t slices, slices_disturbed;
	int look_ms; /* to the next look at stopped tasks; 0 = the tick does */
	enum counter_backend counter;
	struct schedule_seed secret; /* of this process, for jobs without a seed */
	char boot[64];
	int64_t boot_unix, started_unix, next_flush;
	struct schedule schedule; /* as in the last plan; its levels may be old */
	struct overhead_limit limit;
	bool lengthened; /* it is logged that the limit makes the period longer */
	uint64_t blocks, shams, absences, long_blocks, windows, outcome[SHUTTER_OUTCOMES];
	int64_t longest_stop_ns, paused_ns, co_ns;
	int64_t long_ns; /* of paused_ns, what long blocks took, which have a limit of their own */
	int64_t long_length_ns; /* of the longest block in the last plan, beyond a usual one */
	int64_t scans_ns;       /* processor time of looking for tasks */
	json_t *shown;          /* the totals that users may see, and */
	int64_t shown_ns;
};

/* When what has taken so much processor time may be done again, CLOCK_MONOTONIC; 0 = at once. */
static inline int64_t jobs_rest_until(int64_t spent)
{
	return spent > JOBS_LONG ? clock_now() + JOBS_REST * spent : 0;
}

/* --- jobs_table.c --- */

/* The run of a job, or NULL. */
struct job *jobs_find(const struct jobs *js, uint32_t job_id, uint32_t restart);

/* Adds a job to the table, at its end; the table owns it then. */
void jobs_add(struct jobs *js, struct job *j);

/* Takes a job out of the table and frees it. */
void jobs_drop(struct jobs *js, struct job *j);

/* Puts aside what the shutter may still use, each may be NULL, for jobs_empty_garbage() to free. */
void jobs_discard(struct jobs *js, struct counter *counter, struct pause_unit *unit,
	struct new_tasks *new_tasks);

/* Frees what was discarded. To be called when the published plan no longer names any of it. */
void jobs_empty_garbage(struct jobs *js);

/* The counter that poppa.conf names, else that of slurm.conf. */
enum counter_backend jobs_wanted_counter(const struct jobs *js);

/* The backend that measures a job: of those that its tasks have, the first by order, because the
 * units of several differ. COUNTER_NONE where no task has a counter. */
enum counter_backend jobs_backend(const struct job *j);

/* Whether the job takes part in shutters, if there are others. */
bool jobs_in_plan(const struct job *j);

/* Whether somebody has stopped the task, or its tracer holds it. */
bool jobs_task_stopped(const struct task *t);

/* How often the job's block rate is halved: by its pace or by the limit of the overhead, whichever
 * is more. */
int jobs_level(const struct jobs *js, const struct job *j);

/* Whether the job runs while it is to stand still, so that nobody can be measured beside it. */
bool jobs_unheld(const struct job *j);

/* Fills the record of a run as it is now, and gives it the next seq. */
void jobs_record(const struct jobs *js, const struct job *j, bool final, struct ledger_record *r);

/* Sets in a plan whose blocks may be long now, and how long. */
void jobs_permit_long(const struct jobs *js, struct shutter_plan *p);

/* --- jobs_turns.c --- */

/* Decides whether the jobs take turns. Sets js->changed where the plan is out of date. */
void jobs_turns_look(struct jobs *js);

/* Takes what a block of a job has shown. */
void jobs_turns_block(struct jobs *js, struct job *j, const struct est_block *b);

/* Whether the job could be held now for the turns of others. */
bool jobs_turns_holdable(const struct jobs *js, const struct job *j);

/* Lets the jobs of a new plan take turns, where they do and all can be held. */
void jobs_turns_plan(struct jobs *js, struct shutter_plan *p);

/* Gives the jobs what slices have taken of them. */
void jobs_turns_take(struct jobs *js, const struct shutter_turned *t);

/* The same for the plan that is out, up to now. */
void jobs_turns_account(struct jobs *js);

/* --- jobs_map.c --- */

/* Begins to map jobs that ask for it, and looks at the threads of all that are mapped. */
void jobs_map_look(struct jobs *js);

/* To be called when poppa.conf has changed: all begin anew. */
void jobs_map_anew(struct jobs *js);

/* --- jobs_account.c --- */

/* Brings the time of all jobs up to date, and sets their modes (tally.h) from now on. */
void jobs_account(struct jobs *js);

/* Compares what shutters cost with poppa_overhead_max. Sets js->changed where the plan is out of
 * date. */
void jobs_look_at_cost(struct jobs *js);

/* --- jobs_block.c --- */

/* Takes a finished block, if there is one, says which long blocks may follow, and lets the shutter
 * go on. Then it returns true, the block's outcome, and whether a task has come or gone meanwhile.
 */
bool jobs_take_finished(struct jobs *js, enum shutter_outcome *outcome, bool *changed);

/* Gives a finished block to the jobs that it measures. shutter_done() must follow where the plan
 * stays in use. */
void jobs_take_block(struct jobs *js, struct shutter_plan *p);

/* --- jobs_plan.c --- */

/* Gives the shutter a new plan where js->changed; then brings the time of all jobs up to date. */
void jobs_update(struct jobs *js);

/* --- jobs_scan.c --- */

/* Finds the jobs' tasks and what they are stopped with, opens counters, and makes a new plan where
 * something has changed. */
void jobs_scan(struct jobs *js);

/* Lets open counters look for new threads; drops those whose program has ended its signal. */
void jobs_refresh(struct jobs *js);

/* Looks, when it is time to, whether a job that has ended left something that works: while it does,
 * nobody is measured, nor counted as alone. Sets js->changed where the plan is out of date. */
void jobs_look_for_leftovers(struct jobs *js);

/* Whether a task that was stopped at the last scan runs again. */
bool jobs_someone_runs_again(const struct jobs *js);
