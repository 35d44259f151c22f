/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes --constraint leaves a job. */
#pragma once

#include <stdbool.h>

/*
 * Whether a node with these features (a comma list; NULL is "") may be among those of a job with
 * this --constraint. '&' (',') and '|' bind from left to right, as slurmctld has them, and brackets
 * "()" first. Where numbers or "[]" let nodes differ from each other, a node with any of the
 * features may; what is no constraint is for Slurm to refuse.
 */
bool constraint_allows(const char *constraint, const char *features);
