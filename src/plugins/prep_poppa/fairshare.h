/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives back usage that priority/multifactor has charged, which fairshare and limits count. */
#pragma once

#include <stdbool.h>

#include "accounting/settle/decay.h"
#include "accounting/settle/refunds.h"

/* The clock of Slurm's usage, from slurm.conf and the state that Slurm saves. Reads a file and
 * takes the read lock on the configuration: hold none of Slurm's locks. */
void fairshare_clock(struct decay *clock);

/*
 * Charges a size of a run that was charged p->before for p->after instead, of the p->raw that Slurm
 * charged at first (all three are billing). Adjusts the usage of everybody who was charged when it
 * ended, by what has not decayed since: its association and all above (assoc), its QOS and its
 * partition's QOS (qos). Nobody's usage falls below 0.
 *
 * Held: read locks on configuration and partitions, then the association manager's write locks on
 * associations and QOS and its read lock on users. Waits for nothing.
 */
void fairshare_adjust(const struct refund_part *p, const struct decay *clock, bool assoc, bool qos);
