/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for prices that administrators have changed in the ledger. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "settler_context.h"

/*
 * The ledger keeps a changed price until Slurm shows it, and whether somebody has begun to write
 * it. So the state file needs none of them: after a kill they are found again. The refunds' journal
 * tells what was refunded or, where that is lost, whether somebody has begun.
 */

/* When to look again, CLOCK_MONOTONIC, ms. */
int64_t changed_prices_due_ms(const struct settler *w);

/* Adds a run (RUN_REPRICED) for each changed price, if it is time. Waits for the ledger and
 * slurmdbd; none of Slurm's locks is held. */
void changed_prices_look(struct settler *w, int64_t now_ms);

/* Tells the ledger that Slurm shows a change everywhere; false where it did not answer. */
bool changed_prices_end(struct settler *w, const struct settlement *price);
