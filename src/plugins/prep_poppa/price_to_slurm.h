/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a run's price to where Slurm shows it: writes it there, and checks that slurmdbd has it. */
#pragma once

#include "settler_context.h"

/* Both may wait for slurmdbd; none of Slurm's locks is held. */

/*
 * Writes run->settlement (write_back.h), once all that it may give back is on the disk: slurmctld
 * saves its usage first. A run without a record is looked up in slurmdbd. RUN_NEXT: written, and
 * slurmdbd is told if run->told_ms says so; RUN_OVER: nobody knows the run any more.
 */
enum outcome price_to_slurm_write(struct settler *w, struct run *run);

/* RUN_NEXT: slurmdbd shows the price; RUN_BACK: write it again. */
enum outcome price_to_slurm_check(struct settler *w, struct run *run);
