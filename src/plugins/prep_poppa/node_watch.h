/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds registered jobs that have left the node without an epilog. */
#ifndef POPPA_PLUGINS_PREP_NODE_WATCH_H
#define POPPA_PLUGINS_PREP_NODE_WATCH_H

/*
 * slurmd leaves the epilog out for a job whose steps have all ended, where neither Epilog nor a
 * SPANK epilog is configured. So a thread asks slurmctld about registered jobs without a step here.
 */
void node_watch_start(void);
void node_watch_stop(void);

#endif
