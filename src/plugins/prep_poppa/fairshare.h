/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives usage back that priority/multifactor has charged: what fairshare and limits count. */
#ifndef POPPA_PREP_FAIRSHARE_H
#define POPPA_PREP_FAIRSHARE_H

#include "accounting/decay.h"

#include "facts.h"

/* The clock of Slurm's usage, from slurm.conf and the state that Slurm saves. Reads a file. */
void fairshare_clock(struct decay *clock);

/*
 * Charges a run that was charged `before` for `after` instead, of the `raw` that Slurm charged at
 * first, all three billing: adjusts the usage of everybody who was charged when it ended, which is
 * its association and all above, its QOS, and its partition's QOS, by what has not decayed since.
 * Nobody's usage falls below 0. Read locks on configuration and partitions, and the association
 * manager's write locks on associations and QOS are held.
 */
void fairshare_adjust(const struct facts *f, const struct decay *clock, uint64_t raw,
	uint64_t before, uint64_t after);

#endif
