/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much the losses of a user's jobs count, by what these jobs have lost to partners already. */
#pragma once

#include "striping/history/pairs.h"

/* A user's losses count at most so many times, and at least by one divided by it. So a user who
 * makes their own jobs suffer gains no more than that. */
#define USER_WEIGHT_MOST 2.0

/* What is known of a user is mixed with so much time at the mean of all users, s. */
#define USER_WEIGHT_PRIOR_S 3600.0

/*
 * What all users have lost, by the rows of a history: of the time that a user's jobs shared, as it
 * has aged there, the share that they lost. Does not change after it was made.
 */
struct user_weights;

/* Takes a pass through the rows and sorts them: not to be called under locks that others wait for.
 * NULL without memory. user_weights_free() takes NULL. */
struct user_weights *user_weights_new(const struct pairs *p);
void user_weights_free(struct user_weights *w);

/*
 * The share that the user of a class has lost, by that of all users together, within
 * USER_WEIGHT_MOST. class_name: a class, a variant of one or a user's name (class_name.h); all of a
 * user have one weight, so splitting work into classes moves nothing. 1 for classes that are
 * everybody's, for users of whom nothing is known, and where all together have lost nothing; and
 * for NULL. It is the policy FAIR of Fedorova et al., TR-17-04, section 6.4, by what was lost in
 * place of how often a thread was chosen: here each job runs in its turn anyway.
 */
double user_weights_of(const struct user_weights *w, const char *class_name);
