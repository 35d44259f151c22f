/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes --constraint leaves a job. */
#pragma once

#include <stdbool.h>

/* Longer ones are left to Slurm, as reading one takes time for each node: 22.05 refuses them. */
#define CONSTRAINT_BYTES_MAX 1024

/*
 * Whether a node with these features (a comma list; NULL is "") may be among those of a job with
 * this --constraint. As in slurmctld, brackets "()" bind first, then '&' (',') and '|' from left to
 * right. Where numbers or "[]" let nodes differ from each other, a node with any of the features
 * may be among them. Slurm itself refuses a text that is no constraint.
 */
bool constraint_allows(const char *constraint, const char *features);

/* What is known of one constraint; all zero at first. The texts of features are the caller's. */
#define CONSTRAINT_ANSWERS 64
struct constraint_answers {
	const char *features[CONSTRAINT_ANSWERS];
	bool allowed[CONSTRAINT_ANSWERS];
};

/* As constraint_allows(), for many nodes: those that have the same features are looked up. */
bool constraint_allows_again(
	const char *constraint, const char *features, struct constraint_answers *known);
