/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds registered jobs that have left the node without an epilog, and marks them as ended. */
#pragma once

/*
 * slurmd runs no epilog for a job whose steps have all ended, where neither Epilog nor a
 * SPANK epilog is configured. So a thread asks slurmctld about registered jobs without a step here
 * and marks those that are over as ended. dir: RunDir/jobs; it must stay until node_watch_stop().
 */
void node_watch_start(const char *dir);
void node_watch_stop(void);
