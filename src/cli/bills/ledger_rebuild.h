/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings prices that the ledger has lost back from Slurm's own accounting. */
#ifndef POPPA_CLI_BILLS_LEDGER_REBUILD_H
#define POPPA_CLI_BILLS_LEDGER_REBUILD_H

#include <stdbool.h>

/*
 * Asks sacct for all jobs since a time (as sacct takes it) and stores the prices that their
 * SystemComment shows in the running poppa-ledgerd, unless it has one; prints what was brought back
 * and a line for what cannot be. conf NULL = the default poppa.conf. Returns an exit status.
 */
int ledger_rebuild(const char *since, const char *conf, bool json);

#endif
