/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a node asks slurmctld whether a registered job that has no step there is over. */
#pragma once

#include <stdbool.h>

/*
 * The seconds that a node waits, from when it has registered the job, from when it has seen a step
 * of it last, or from when it has asked last. All nodes of a job begin at about the same time, so
 * each has a turn of its own, and the turns get longer with the number of nodes: a job without any
 * step, such as an idle salloc, costs slurmctld 4 requests a second at most, one that has had steps
 * 32. Only the end of a step is asked about soon, as the bill may wait for it: by all nodes within
 * 17 s.
 *
 * nodes: how many nodes the job has (>= 1); node: this one's place among them (0 to nodes-1);
 * asked: how often it has asked already; stepped: the job has had a step here.
 */
int ask_pace_s(int nodes, int node, int asked, bool stepped);
