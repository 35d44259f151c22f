/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The co-located jobs of this node: who is here, what they run, and what the shutter is to do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
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

/* What the jobs are worked with; pointers are the caller's and must stay valid. */
struct jobs_env {
	const char *dir; /* RUNDIR/jobs */
	const struct nodeconf *conf;
	const struct poppa_settings *settings;
	const struct cluster_conf *cluster;
	struct held_file *held;
	struct shutter *shutter;
	const struct spool *spool;
	struct sender *sender;
	struct shutterlog_writer **log; /* *log may be NULL */
};

struct jobs *jobs_new(const struct jobs_env *env);

/* Takes the shutter's plan away, writes checkpoints and frees everything. */
void jobs_free(struct jobs *js);

/* Reads RUNDIR/jobs: takes up new jobs and finishes those that have ended. */
void jobs_sync(struct jobs *js);

/* Once a second while jobs are there: their tasks, their time, checkpoints, interim records. */
void jobs_tick(struct jobs *js);

/* In how many ms jobs_look() is due, to see whether a stopped task runs again; 0 = not at all. May
 * change with each call of the others. */
int jobs_look_ms(const struct jobs *js);
void jobs_look(struct jobs *js);

/* After the shutter's descriptor became readable: takes the finished block. */
void jobs_block(struct jobs *js);

/* Settings, configuration or cluster facts have changed in place: counters and units are opened
 * anew where need be. */
void jobs_reconfigured(struct jobs *js);

/* Shutters are allowed or not (no guard, on hold). */
void jobs_allow(struct jobs *js, bool allowed);

int jobs_count(const struct jobs *js);

/* Array of the jobs that uid may see (all for root), and the totals; new references. */
json_t *jobs_status(struct jobs *js, uid_t uid);
json_t *jobs_totals(struct jobs *js);
