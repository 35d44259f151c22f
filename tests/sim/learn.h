/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pair history learns of the runs, and how good its expectations are. */
#pragma once

#include "sim/sim.h"

/* An empty history: 0, or -1 with err. */
int learn_new(struct sim *s, struct errmsg *err);
void learn_free(struct sim *s);

/* Job and partner meet on a node. */
void learn_met(struct sim *s, int job, int partner, int node);

/*
 * Enters what a job that goes on has shown since it last told, as slurmctld does by the records of
 * running jobs: when a partner ends, as nothing is added to that later, and every ten minutes.
 * slurmctld looks more often, but after an hour and a half beside a partner a segment is ten
 * minutes anyway.
 */
#define LEARN_EVERY_S 600
void learn_so_far(struct sim *s, int job);

/* A partner's run ends. */
void learn_left(struct sim *s, int job, int partner);

/* The job ran beside those that are here for so long, and lost so much by that. */
void learn_beside(struct sim *s, int job, double seconds, double lost_s);

/* A run has ended: enters what it tells into the history, as slurmctld does when it settles it. */
void learn_run(struct sim *s, int job);

/* A job has ended: enters how long it ran. learn_usual_s() is how long its class usually runs,
 * seconds; 0 = that is not known. */
void learn_time(struct sim *s, int job);
double learn_usual_s(const struct sim *s, int job);

/* Two jobs come together: compares what is expected of them with the truth. */
void learn_compare(struct sim *s, int job, int partner);

/* The expected degradation of a job beside another. */
double learn_expect(const struct sim *s, int job, int partner);
