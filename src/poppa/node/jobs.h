/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The co-located jobs of this node: their tasks, their checkpoints, and the shutter's plan. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <jansson.h>

#include "common/nodeconf.h"
#include "common/settings.h"
#include "registration/registration.h"
#include "poppa/report/sender.h"
#include "poppa/measure/shutter.h"
#include "poppa/estimate/shutterlog.h"
#include "poppa/report/spool.h"

struct jobs;

/* What the table of jobs needs. The pointers are the caller's and must stay valid. */
struct jobs_env {
	const char *dir; /* RUNDIR/jobs */
	const struct nodeconf *conf;
	const struct poppa_settings *settings;
	const struct cluster_conf *cluster;
	struct held_file *held;
	struct shutter *shutter;
	const struct spool *spool;
	struct sender *sender;          /* it also knows the prior with which jobs begin */
	const char *node_type;          /* node_type.h */
	struct shutterlog_writer **log; /* *log may be NULL */
};

struct jobs *jobs_new(const struct jobs_env *env);

/* Withdraws the shutter's plan, writes checkpoints and frees everything. */
void jobs_free(struct jobs *js);

/* Reads RUNDIR/jobs: takes up new jobs and finishes those that have ended. */
void jobs_sync(struct jobs *js);

/* To be called once a second while jobs are there: brings tasks, times, checkpoints and interim
 * records up to date. */
void jobs_tick(struct jobs *js);

/* In how many ms jobs_look() is due, which sees whether a stopped task runs again; 0 = not at all.
 * Each call of another function here may change it. */
int jobs_look_ms(const struct jobs *js);
void jobs_look(struct jobs *js);

/* In how many ms jobs_map() is due, which moves threads of jobs that ask for it; 0 = not at all. A
 * tick and each call may change it. */
int jobs_map_ms(const struct jobs *js);
void jobs_map(struct jobs *js);

/* Takes the finished block. To be called when the shutter's descriptor is readable. */
void jobs_block(struct jobs *js);

/* To be called when settings, configuration or cluster_conf have changed in place: opens counters
 * and pause units anew where needed. */
void jobs_reconfigured(struct jobs *js);

/* Says whether shutters are allowed: not without a guard, and not while on hold. */
void jobs_allow(struct jobs *js, bool allowed);

int jobs_count(const struct jobs *js);

/* An array of the jobs that uid may see (root: all), and the totals. New references. What users see
 * of blocks is up to a minute old, and only root sees what shams and held jobs have shown: a
 * program that knew of each block what kind it was, and whether it was caught, could learn to
 * cheat. */
json_t *jobs_status(struct jobs *js, uid_t uid);
json_t *jobs_totals(struct jobs *js, uid_t uid);
