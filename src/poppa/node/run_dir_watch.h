/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells poppad when slurmd has written into RunDir: registrations of jobs, or cluster.conf. */
#pragma once

#include "common/errmsg.h"

/*
 * Watches run_dir for cluster.conf and run_dir/jobs for registrations. Returns a non-blocking
 * inotify descriptor, or -1 with err.
 */
int run_dir_watch(const char *run_dir, struct errmsg *err);

/* Reads the waiting events; returns a mask of what may have changed. */
#define RUN_DIR_JOBS 1
#define RUN_DIR_CLUSTER 2
int run_dir_changed(int fd);
