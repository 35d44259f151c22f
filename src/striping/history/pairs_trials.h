/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has the pair history learn what imported trials have measured. */
#pragma once

#include "striping/history/imported_trial.h"
#include "striping/history/pairs.h"

/*
 * Adds all losses of trials to a history that was read, once, and sets the weight of each, as
 * pairs_add_loss() does. A class that is the name of jobs counts as what these run. Returns 0, or
 * -1 without memory.
 */
int pairs_add_trials(struct pairs *p, struct imported_trials *trials);
