/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which sets of nodes Slurm's own plugin is asked about for a job, and in which order. */
#pragma once

#include "plugins/select_stripe/candidates.h"

/* job_test for a co-located job; ask->me and all above it are filled in. */
int place_colocated(struct ask *ask);

/* job_test for any other job, while there are co-located jobs. */
int place_other(struct ask *ask);
