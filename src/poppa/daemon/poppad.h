/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of poppad, which the files of the program share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>

#include "common/errmsg.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "poppa/hold/guardctl.h"
#include "poppa/hold/held.h"
#include "poppa/node/jobs.h"
#include "poppa/node/run_dir_watch.h"
#include "poppa/report/node_type.h"
#include "poppa/report/sender.h"
#include "poppa/measure/shutter.h"
#include "poppa/estimate/shutterlog.h"
#include "poppa/report/spool.h"
#include "poppa/report/status.h"

/* The command line. */
struct options {
	const char *node, *conf;
	bool counters, repair, syslog, verbose;
};

/* Where things are, from poppa.conf and the node's name. */
struct paths {
	char run[PATH_MAX], spool[PATH_MAX], log[PATH_MAX];
	char jobs[PATH_MAX + 32], held[PATH_MAX + 32], lock[PATH_MAX + 32], sock[PATH_MAX + 32],
		cluster[PATH_MAX + 32];
};

struct poppad {
	struct options options;
	char node[64], conf_path[PATH_MAX];
	struct paths paths;
	struct nodeconf conf;
	struct poppa_settings settings;
	struct cluster_conf cluster;
	bool have_cluster, told_waiting;
	char bad_settings[sizeof(((struct errmsg *)0)->text)];
	struct event_base *base;
	struct event *tick, *look, *map, *run_dir_event, *block_event, *guard_event, *guard_retry,
		*hold_event;
	struct event *signals[3];
	struct held_file *held;
	int held_fd, lock_fd, run_dir_fd, block_fd;
	struct guard guard;
	bool guarded, held_off, told_guard;
	int64_t hold_until, guard_since;
	struct shutter *shutter;
	struct spool spool;
	struct sender *sender;
	char node_type[SLOW_NODE_TYPE];
	struct status *status;
	struct shutterlog_writer *log;
	struct jobs *jobs;
	bool ticking;
};

/* Each poppad_NAME_events() makes the events of its file. It is called once, when the loop and the
 * descriptors of the events are there. */

/* poppad_options.c: ends the program where the command line is wrong. */
void poppad_options(int argc, char **argv, struct options *o);

/* poppad_counters.c: prints one line of JSON, a list with an object for each backend: "name",
 * "counts", "usable" and, where it is not usable, "why". Returns 0, or -1 where writing fails. */
int poppad_counters(const struct nodeconf *conf);

/* poppad_files.c */

/* Sets d->paths from the configuration and the node's name. */
void poppad_set_paths(struct poppad *d);

/* Makes RunDir where it is missing, checks who may write there, and locks it. 0, or -1 with err. */
int poppad_take_run_dir(struct poppad *d, struct errmsg *err);

/* Locks the node for this process, until it ends. 0, or -1 with err where another poppad runs. */
int poppad_lock(struct poppad *d, struct errmsg *err);

/* Opens a shutter log where one is wanted and none is open. */
void poppad_open_log(struct poppad *d);

/* poppad_guard.c */

void poppad_guard_events(struct poppad *d);

/* Starts the guard and, when it dies, another one. Where a start fails, it is tried again. */
void poppad_watch_guard(struct poppad *d);

/* Tells the jobs whether shutters are allowed: there is a guard, and nobody holds them off. */
void poppad_allow(struct poppad *d);

/* poppad_jobs.c */

void poppad_jobs_events(struct poppad *d);

/* Starts or updates the table of jobs, when settings and cluster.conf have been read. */
void poppad_configure_jobs(struct poppad *d);

/* To be called when RunDir/jobs has changed. */
void poppad_sync_jobs(struct poppad *d);

/* poppad_settings.c */

/* Reads cluster.conf, at the start and when it has changed. */
void poppad_read_cluster(struct poppad *d);

/* Reads poppa.conf again. */
void poppad_reload(struct poppad *d);

/* poppad_requests.c */

void poppad_requests_events(struct poppad *d);

/* Answers a request (status.h); arg is the struct poppad. */
json_t *poppad_answer(const json_t *request, uid_t uid, void *arg);
