/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes --constraint leaves a job. */
#pragma once

#include <stdbool.h>

/*
 * Whether a node with these features (a comma list; NULL is "") may be among those of a job with
 * this --constraint. As in slurmctld, brackets "()" bind first, then '&' (',') and '|' from left to
 * right. Where numbers or "[]" let nodes differ from each other, a node with any of the features
 * may be among them. Slurm itself refuses a text that is no constraint.
 */
bool constraint_allows(const char *constraint, const char *features);
