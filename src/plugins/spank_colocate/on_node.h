/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the SPANK plugin does in slurmd and slurmstepd. */
#pragma once

#include "slurm/spank.h"

#include "striping/submit/colocate_option.h"

/* What Slurm's commands make of the variable that this plugin sets: the job is co-located. */
#define JOB_MARK "SLURM_SPANK_" COLOCATE_ENV

/* Reads the plugin's arguments; slurmd logs what is wrong with them, and nobody else does. */
void on_node_arguments(int count, char **arguments);

/* As root, when a step begins: its tasks have the mark where the job is co-located, whoever wanted
 * that and however the job was submitted. */
void on_node_step(spank_t sp);

/* As the job's user, before a task's program begins: offers it the heartbeat of MPI programs. */
void on_node_task(spank_t sp);
